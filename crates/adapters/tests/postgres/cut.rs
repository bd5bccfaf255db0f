//! The connection is cut exactly at a commit: before the server hears of it, and after it has carried it out.

use crate::lost::{count_once, key, open};
use crate::server::PostgresServer;
use kernel::world::Row;
use runtime::ports::store::Store as _;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Batches; every third commit that passes is cut.
const BATCHES: u64 = 30;
const EVERY: u64 = 3;

/// A way to the server that breaks.
#[derive(Default)]
struct Cuts {
    commits: AtomicU64,
    unheard: AtomicU64,
    unanswered: AtomicU64,
}

/// Passes everything on, and cuts at some commits; its port.
fn way_to(port: u16, cuts: Arc<Cuts>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (cuts, back) = (cuts.clone(), (server.try_clone().unwrap(), client.try_clone().unwrap()));
            let is_deaf = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let deaf = is_deaf.clone();
            std::thread::spawn(move || pass_back(back.0, back.1, &deaf));
            std::thread::spawn(move || pass_on(client, server, &cuts, &is_deaf));
        }
    });
    own
}

fn pass_on(mut client: TcpStream, mut server: TcpStream, cuts: &Cuts, is_deaf: &std::sync::atomic::AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = client.read(&mut bytes) {
        let heard = &bytes[..read];
        let is_commit = heard.windows(7).any(|part| part == b"COMMIT\0");
        let number = if is_commit { cuts.commits.fetch_add(1, Ordering::SeqCst) + 1 } else { 1 };
        if number.is_multiple_of(EVERY) && number.is_multiple_of(2) {
            cuts.unheard.fetch_add(1, Ordering::SeqCst);
            break;
        }
        // From here on the client hears nothing, and the connection ends once the server has answered.
        if number.is_multiple_of(EVERY) {
            cuts.unanswered.fetch_add(1, Ordering::SeqCst);
            is_deaf.store(true, Ordering::SeqCst);
        }
        if server.write_all(heard).is_err() {
            break;
        }
    }
    let _gone = (server.shutdown(Shutdown::Both), client.shutdown(Shutdown::Both));
}

fn pass_back(mut server: TcpStream, mut client: TcpStream, is_deaf: &std::sync::atomic::AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = server.read(&mut bytes) {
        if is_deaf.load(Ordering::SeqCst) || client.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _gone = (server.shutdown(Shutdown::Both), client.shutdown(Shutdown::Both));
}

#[test]
fn a_connection_cut_during_a_commit_loses_nothing_and_repeats_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    drop(open(&server.database("cut")));
    let cuts = Arc::new(Cuts::default());
    let port = way_to(server.port, cuts.clone());
    let mut store = open(&server.location("cut").replace(&server.port.to_string(), &port.to_string()));
    for batch in 1..=BATCHES {
        count_once(&mut store, &format!("batch {batch}"), u128::from(batch));
    }
    let mut reader = open(&server.location("cut")).reader().unwrap();
    let records = reader.records(0, usize::MAX).unwrap();
    let mut names: Vec<&str> = records.iter().map(|record| record.leaf.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!((records.len() as u64, names.len() as u64), (BATCHES, BATCHES), "something is lost, or there twice");
    let Some(Row::State(row)) = reader.get(&key().entity).unwrap() else { panic!("nothing was counted") };
    assert_eq!(row.version, BATCHES);
    let [unheard, unanswered] = [&cuts.unheard, &cuts.unanswered].map(|count| count.load(Ordering::SeqCst));
    println!("{unheard} connections cut before the server heard of the commit, {unanswered} after it was carried out");
    assert!(unheard > 2 && unanswered > 2, "{unheard} {unanswered}");
}
