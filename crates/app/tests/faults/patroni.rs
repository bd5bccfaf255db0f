//! Three PostgreSQL servers that Patroni leads by etcd, all of them on this machine: one takes writes, two follow it.

use crate::server::{USER, account_of_server, binaries};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than a cluster takes to come about, or to become whole again, on a busy machine.
const LONG: Duration = Duration::from_secs(240);

/// A member that says nothing for so long is left for the next one.
const ASKED_MAX: Duration = Duration::from_millis(1_500);

/// Servers: one can be away, and a commit still has a standby to wait for.
const NODES: usize = 3;

/// Whether a commit waits for a standby.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Standby {
    Synchronous,
    Asynchronous,
}

/// One machine of the cluster.
struct Node {
    name: String,
    patroni: Option<Child>,
    port: u16,
    rest: u16,
}

/// The cluster.
pub struct Cluster {
    folder: tempfile::TempDir,
    account: Option<(u32, u32)>,
    etcd: Option<Child>,
    nodes: Vec<Node>,
    standby: Standby,
}

fn found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Free a moment ago.
fn free_ports(count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
    held.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn signal(process: u32, name: &str) {
    // It may have ended by itself.
    let _gone = Command::new("kill").args([name, &process.to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// The processes that a process has started itself, with their command lines.
fn children(parent: u32) -> Vec<(u32, String)> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |number: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default().to_owned();
        fields.split(' ').nth(1) == Some(parent.to_string().as_str())
    };
    let said = |number: u32| std::fs::read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
    numbers.filter(is_child).map(|number| (number, said(number))).collect()
}

impl Cluster {
    /// Starts one; `None`, and a word about it, where something for it is missing.
    pub fn start(standby: Standby) -> Option<Cluster> {
        for (program, package) in [("patroni", "patroni"), ("etcd", "etcd-server")] {
            if !found(program) {
                println!("missing: {program} (`apt-get install {package}`)");
                return None;
            }
        }
        let Some(programs) = binaries() else {
            println!("missing: PostgreSQL (`apt-get install postgresql`)");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let account = account_of_server();
        if let Some((user, group)) = account {
            chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let ports = free_ports(2 + 2 * NODES);
        let mut cluster = Cluster { folder, account, etcd: None, nodes: Vec::new(), standby };
        cluster.run_etcd(ports[0], ports[1]);
        for number in 0..NODES {
            let (port, rest) = (ports[2 + 2 * number], ports[3 + 2 * number]);
            let node = Node { name: format!("n{number}"), patroni: None, port, rest };
            let settings = cluster.settings(&node, &programs, ports[0]);
            std::fs::write(cluster.path(&format!("{}.yml", node.name)), settings.to_string()).unwrap();
            cluster.nodes.push(node);
            cluster.run_patroni(number);
        }
        cluster.until_whole();
        Some(cluster)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str, log: &str) -> Command {
        let log = File::options().create(true).append(true).open(self.path(log)).unwrap();
        let mut command = Command::new(program);
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command.current_dir(self.folder.path()).env("LC_ALL", "C").env("HOME", self.folder.path());
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    fn run_etcd(&mut self, client: u16, peer: u16) {
        let [client, peer] = [client, peer].map(|port| format!("http://127.0.0.1:{port}"));
        let mut etcd = self.command("etcd", "etcd.log");
        etcd.args(["--listen-client-urls", &client, "--advertise-client-urls", &client, "--listen-peer-urls", &peer]);
        etcd.args(["--initial-advertise-peer-urls", &peer, "--initial-cluster", &format!("default={peer}")]);
        self.etcd = Some(etcd.arg("--data-dir").arg(self.path("etcd")).spawn().unwrap());
    }

    fn run_patroni(&mut self, number: usize) {
        let name = self.nodes[number].name.clone();
        let mut patroni = self.command("patroni", &format!("{name}.log"));
        self.nodes[number].patroni = Some(patroni.arg(self.path(&format!("{name}.yml"))).spawn().unwrap());
    }

    /// What the guide advises, with Patroni's shortest times.
    fn settings(&self, node: &Node, programs: &Path, etcd: u16) -> Value {
        let here = |port: u16| format!("127.0.0.1:{port}");
        let is_synchronous = self.standby == Standby::Synchronous;
        let of_role = json!({ "username": USER });
        json!({
            "scope": "writkeeper",
            "name": node.name,
            "restapi": { "listen": here(node.rest), "connect_address": here(node.rest) },
            "etcd3": { "host": here(etcd) },
            "bootstrap": {
                "dcs": {
                    "ttl": 20, "loop_wait": 1, "retry_timeout": 3, "primary_start_timeout": 0,
                    "maximum_lag_on_failover": 1 << 30,
                    "synchronous_mode": is_synchronous, "synchronous_mode_strict": is_synchronous,
                    "postgresql": {
                        "use_pg_rewind": true,
                        "parameters": {
                            "wal_log_hints": "on", "max_connections": 80, "shared_buffers": "32MB", "wal_keep_size": "256MB",
                        },
                    },
                },
                "initdb": [{ "encoding": "UTF8" }, { "locale": "C" }, "data-checksums", "no-sync"],
                "pg_hba": [
                    "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust", "local all all trust",
                ],
            },
            "postgresql": {
                "listen": here(node.port),
                "connect_address": here(node.port),
                "data_dir": self.path(&format!("{}.data", node.name)),
                "bin_dir": programs,
                "pgpass": self.path(&format!("{}.pgpass", node.name)),
                "authentication": { "superuser": of_role, "replication": of_role, "rewind": of_role },
                "parameters": { "unix_socket_directories": self.folder.path() },
                "remove_data_directory_on_rewind_failure": true,
                "remove_data_directory_on_diverged_timelines": true,
            },
        })
    }

    /// The location of a database in it, with all hosts.
    pub fn location(&self, database: &str) -> String {
        let hosts: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("postgres://{USER}@{}/{database}", hosts.join(","))
    }

    /// Runs a statement where writes are taken.
    pub fn sql(&self, database: &str, sql: &str) {
        let port = self.nodes[self.leader().unwrap()].port.to_string();
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", &port, "-U", USER, "-d", database]);
        assert!(psql.args(["-c", sql]).stdin(Stdio::null()).status().unwrap().success(), "{sql}");
    }

    /// What the members say of each other, by one that answers.
    fn members(&self) -> Vec<Value> {
        let answers = self.nodes.iter().filter_map(|node| {
            // A machine that stands still takes five connections and answers none; the sixth would wait two minutes.
            let address = SocketAddr::from(([127, 0, 0, 1], node.rest));
            let mut stream = TcpStream::connect_timeout(&address, ASKED_MAX).ok()?;
            stream.set_read_timeout(Some(ASKED_MAX)).ok()?;
            stream.write_all(b"GET /cluster HTTP/1.0\r\n\r\n").ok()?;
            let mut text = String::new();
            stream.read_to_string(&mut text).ok()?;
            let said: Value = serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()?;
            said["members"].as_array().cloned()
        });
        answers.into_iter().next().unwrap_or_default()
    }

    /// The member that takes writes.
    pub fn leader(&self) -> Option<usize> {
        let members = self.members();
        let leader = members.iter().find(|member| member["role"] == "leader" && member["state"] == "running")?;
        self.nodes.iter().position(|node| node.name == leader["name"])
    }

    /// Waits until every member runs, and a standby can take over.
    pub fn until_whole(&self) {
        until("the cluster does not become whole", || {
            let members = self.members();
            let count = |role: &str| {
                let is_so = |member: &&Value| {
                    member["role"] == role && matches!(member["state"].as_str(), Some("running" | "streaming"))
                };
                members.iter().filter(is_so).count()
            };
            let (leaders, synchronous) = (count("leader"), count("sync_standby"));
            let is_safe = self.standby == Standby::Asynchronous || synchronous > 0;
            leaders == 1 && is_safe && leaders + synchronous + count("replica") == NODES
        });
    }

    /// Waits until another member takes writes; which.
    pub fn until_led_by_another(&self, than: usize) -> usize {
        let mut now = None;
        until("nobody takes over", || {
            now = self.leader().filter(|leader| *leader != than);
            now.is_some()
        });
        now.unwrap()
    }

    fn postmaster(&self, number: usize) -> Option<u32> {
        let file = self.path(&format!("{}.data/postmaster.pid", self.nodes[number].name));
        std::fs::read_to_string(file).ok()?.lines().next()?.parse().ok()
    }

    /// Every process of a machine's server, its first one at the beginning.
    fn server(&self, number: usize) -> Vec<u32> {
        let Some(postmaster) = self.postmaster(number) else { return Vec::new() };
        std::iter::once(postmaster).chain(children(postmaster).into_iter().map(|(child, _)| child)).collect()
    }

    /// Kills the server of a machine; what leads it stays.
    pub fn kill_server(&self, number: usize) {
        signal(self.postmaster(number).unwrap(), "-KILL");
    }

    /// Kills everything on a machine.
    pub fn kill_machine(&mut self, number: usize) {
        let server = self.server(number);
        if let Some(mut patroni) = self.nodes[number].patroni.take() {
            patroni.kill().unwrap();
            patroni.wait().unwrap();
        }
        server.into_iter().for_each(|process| signal(process, "-KILL"));
    }

    /// A machine that was killed comes back.
    pub fn start_machine(&mut self, number: usize) {
        self.run_patroni(number);
    }

    /// A machine stands still with everything on it, and nobody is told.
    pub fn freeze_machine(&self, number: usize, name: &str) {
        let patroni = self.nodes[number].patroni.as_ref().map(Child::id);
        patroni.into_iter().chain(self.server(number)).for_each(|process| signal(process, name));
    }

    /// Nothing of what is decided from now on leaves the machine.
    pub fn stop_sending(&self, number: usize) {
        let senders: Vec<u32> = children(self.postmaster(number).unwrap())
            .into_iter()
            .filter_map(|(child, line)| line.contains("walsender").then_some(child))
            .collect();
        assert_eq!(senders.len(), NODES - 1, "every standby has a sender");
        senders.into_iter().for_each(|sender| signal(sender, "-STOP"));
    }

    /// What the processes of the cluster said last, for whoever looks for the reason of a failure.
    pub fn told(&self) -> String {
        let last = |name: &str| {
            let text = std::fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(8).collect();
            format!("{name}\n{}\n", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        self.nodes.iter().map(|node| last(&node.name)).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.told());
        }
        (0..self.nodes.len()).for_each(|number| self.kill_machine(number));
        if let Some(mut etcd) = self.etcd.take() {
            let _gone = etcd.kill();
            let _gone = etcd.wait();
        }
    }
}
