//! Standbys: what is acknowledged was seen by those that commits wait for, whatever happens to the wait, and processes find
//! the one that takes over.

use super::desk::Desk;
use super::server::PostgresServer;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than a server takes to come back on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Backends that wait for a standby.
const WAITING: &str = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

/// A process that decides what it is told, line by line.
pub struct Decider {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Decider {
    pub fn start(desk: &Desk, store: &str) -> Decider {
        Decider::start_with(desk, store, &[])
    }

    pub fn start_with(desk: &Desk, store: &str, variables: &[(&str, &str)]) -> Decider {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(["decide", "--quiet", "--contract", "refunds.yaml", "--store", store]).current_dir(desk.path());
        command.env("USER", "ann").env("HOME", desk.path()).env_remove("XDG_STATE_HOME");
        command.envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Decider { child, input, output }
    }

    /// Asks, and does not wait for the answer.
    pub fn ask(&mut self, order: &str) {
        let line = format!(
            "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"p-{order}\",\"idempotency_key\":\"k-{order}\",\
             \"params\":{{\"order_id\":\"{order}\",\"amount\":5}}}}\n"
        );
        self.input.write_all(line.as_bytes()).unwrap();
    }

    pub fn answer(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub fn says(&mut self, order: &str) -> String {
        self.ask(order);
        self.answer()
    }
}

impl Drop for Decider {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

fn found(server: &PostgresServer, sql: &str) -> String {
    String::from_utf8_lossy(&server.sql("postgres", sql).stdout).trim().to_owned()
}

/// Commits wait for a standby of this name from now on, or for none.
fn wait_for(server: &PostgresServer, standby: &str) {
    let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{standby}'");
    assert!(server.sql("postgres", &set).status.success());
    assert!(server.sql("postgres", "SELECT pg_reload_conf()").status.success());
    until("the setting is not read", || found(server, "SHOW synchronous_standby_names") == standby);
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A backend other than `than` waits for a standby, and nobody was told anything.
fn until_waiting(server: &PostgresServer, decider: &mut Decider, than: &str) -> String {
    let mut waiting = String::new();
    until("nothing waits for the standby", || {
        assert!(decider.child.try_wait().unwrap().is_none(), "it ended, although no standby has the decision");
        waiting = found(server, WAITING);
        !waiting.is_empty() && waiting != than
    });
    waiting
}

#[test]
fn nobody_is_told_before_a_standby_has_it_also_after_a_crash() {
    let Some(mut server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("waiting"));
    let mut first = Decider::start(&desk, &store);
    let mut second = Decider::start(&desk, &store);
    assert_eq!(first.says("A"), second.says("A"));
    wait_for(&server, "nobody");
    first.ask("B");
    let waiting = until_waiting(&server, &mut first, "");
    // Whoever ends the wait makes the server say that it is committed.
    assert!(server.sql("postgres", &format!("SELECT pg_cancel_backend({waiting})")).status.success());
    let waiting = until_waiting(&server, &mut first, &waiting);
    // After a crash it is there for everybody to see, and still on this disk only.
    server.crash();
    let waiting = until_waiting(&server, &mut first, &waiting);
    // Whoever asks for the same is answered from what is stored, and waits all the same.
    drop(first);
    assert!(server.sql("postgres", &format!("SELECT pg_terminate_backend({waiting})")).status.success());
    second.ask("B");
    until_waiting(&server, &mut second, &waiting);
    wait_for(&server, "");
    let told = second.answer();
    assert!(told.contains("ACCEPT") && told.contains("p-B"), "{told}");
    assert_eq!(Decider::start(&desk, &store).says("B"), told, "asked again it is the same");
}

#[test]
fn processes_find_the_standby_that_takes_over() {
    let Some(mut primary) = PostgresServer::start() else { return };
    let (desk, _) = (Desk::new(), primary.database("led"));
    let standby = primary.start_standby();
    wait_for(&primary, "walreceiver");
    // The standby is named first, and a host that is not there before it.
    let cluster =
        format!("postgres://writkeeper@127.0.0.1:1,127.0.0.1:{},127.0.0.1:{}/led", standby.port, primary.port);
    let mut decider = Decider::start(&desk, &cluster);
    let first = decider.says("A");
    assert!(first.contains("ACCEPT"), "{first}");
    primary.end();
    decider.ask("B");
    assert!(standby.sql("postgres", "SELECT pg_promote()").status.success());
    let second = decider.answer();
    assert!(second.contains("ACCEPT"), "{second}");
    assert_eq!(decider.says("A"), first, "what was acknowledged before is there");
    let report = desk.says(&format!("intents list --store {cluster}"), "", 0);
    assert!(report.contains("refund:A") && report.contains("refund:B"), "{report}");
}
