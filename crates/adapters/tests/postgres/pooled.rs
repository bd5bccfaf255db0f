//! Behind a pooler in transaction mode: every transaction may be carried by another session.

use crate::conforms::failures_on;
use crate::server::PostgresServer;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// Kept as long as the pooler runs.
struct Pooler(Child, std::path::PathBuf);

impl Drop for Pooler {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
        let _left = std::fs::remove_dir_all(&self.1);
    }
}

/// Starts pgbouncer before a server, with fewer sessions than the store opens connections; the port it listens on.
fn pooler(server: &PostgresServer) -> Option<(Pooler, u16)> {
    let binary =
        ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().find(|path| std::path::Path::new(path).is_file());
    let Some(binary) = binary else {
        println!("missing: pgbouncer (`apt-get install pgbouncer`)");
        return None;
    };
    let folder = std::env::temp_dir().join(format!("writkeeper-pooler-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let settings = format!(
        "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         auth_type = any\npool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 200\nunix_socket_dir =\n\
         [databases]\n* = host=127.0.0.1 port={} user=writkeeper\n",
        server.port
    );
    let file = folder.join("pgbouncer.ini");
    std::fs::write(&file, settings).unwrap();
    let mut command = Command::new(binary);
    command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It refuses to run as root, as PostgreSQL does.
    if let Some((user, group)) = server.account() {
        command.uid(user).gid(group);
    }
    let pooler = Pooler(command.spawn().unwrap(), folder);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(std::time::Instant::now() < end, "the pooler does not listen");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    Some((pooler, port))
}

#[test]
fn the_store_conforms_behind_a_pooler_in_transaction_mode() {
    let Some(server) = PostgresServer::start_with(&["fsync=off"]) else { return };
    let Some((_pooler, port)) = pooler(&server) else { return };
    let through = |location: String| location.replace(&format!(":{}/", server.port), &format!(":{port}/"));
    assert_eq!(failures_on(&server, through), []);
}
