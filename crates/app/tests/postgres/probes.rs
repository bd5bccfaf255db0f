//! What a service says of itself while its database is away.

use super::desk::Desk;
use super::server::PostgresServer;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::sync::mpsc;

/// More than there are threads that wait for sockets on a small machine.
const PROBES: usize = 8;

struct Service(Child, String);

impl Service {
    fn start(desk: &Desk, store: &str) -> Service {
        let mut child = desk.command(&format!("serve --listen 127.0.0.1:0 --store {store}")).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.filter_map(|line| Some(line.strip_prefix("listening on ")?.trim().to_owned())).next();
        let address = address.unwrap();
        let address = address.split_once("://").map_or(&*address, |(_, address)| address).to_owned();
        Service(child, address)
    }

    /// A question that is on its way when this returns.
    fn asked(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
        stream
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_service_whose_database_is_away_is_alive_and_not_ready() {
    let Some(mut server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("decisions"));
    let service = Service::start(&desk, &store);
    assert_eq!((status(service.asked("/readyz")), status(service.asked("/healthz"))), ("200".into(), "200".into()));
    server.end();
    let (ended, order) = mpsc::channel();
    for _ in 0..PROBES {
        let (stream, ended) = (service.asked("/readyz"), ended.clone());
        std::thread::spawn(move || ended.send(("ready", status(stream))));
    }
    // Whoever waits for the database holds up nobody who does not.
    let stream = service.asked("/healthz");
    std::thread::spawn(move || ended.send(("healthy", status(stream))));
    let answers: Vec<(&str, String)> = order.iter().collect();
    assert_eq!(answers.len(), PROBES + 1);
    assert_eq!(answers[0], ("healthy", "200".to_owned()), "{answers:?}");
    assert!(answers[1..].iter().all(|(_, status)| status == "503"), "{answers:?}");
}
