//! SIGTERM under load: what was acknowledged is there afterwards, and everybody else knows that nothing is known.

use crate::http::{read_answer, request};
use crate::server::{CONTRACT, Server};
use serde_json::json;
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn what_was_acknowledged_is_kept() {
    let mut server = Server::start();
    let token = server.register(CONTRACT);
    let (acknowledged, next) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let (address, token) = (server.address.clone(), token.clone());
            let (acknowledged, next) = (acknowledged.clone(), next.clone());
            std::thread::spawn(move || {
                loop {
                    let order = next.fetch_add(1, Ordering::Relaxed);
                    let params = json!({ "order_id": format!("A-{order}"), "amount": 1 });
                    let body = json!({ "agent": "refund-bot", "action": "issue_refund", "id": format!("p-{order}"), "params": params });
                    let body = body.to_string().into_bytes();
                    let Ok(mut stream) = std::net::TcpStream::connect(&address) else { return };
                    if stream.write_all(&request("POST", "/v1/proposals", Some(&token), Some(&body))).is_err() {
                        return;
                    }
                    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read_answer(&mut stream)));
                    match answer {
                        Ok(answer) if answer.status == 200 => acknowledged.lock().unwrap().push(format!("p-{order}")),
                        Ok(_) | Err(_) => return,
                    }
                }
            })
        })
        .collect();
    while acknowledged.lock().unwrap().len() < 40 {
        std::thread::yield_now();
    }
    server.end();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let acknowledged = acknowledged.lock().unwrap();
    let export = server.store.with_extension("ledger");
    let writkeeper = || Command::new(env!("CARGO_BIN_EXE_writkeeper"));
    let exported =
        writkeeper().args(["ledger", "export", "--out"]).arg(&export).arg("--store").arg(&server.store).output();
    assert!(exported.unwrap().status.success());
    let kept = std::fs::read_to_string(&export).unwrap();
    for id in acknowledged.iter() {
        assert!(
            kept.contains(&format!("\"proposal_id\":\"{id}\"")) || kept.contains(id.as_str()),
            "{id} was acknowledged and is gone"
        );
    }
    assert!(writkeeper().arg("verify").arg(&export).output().unwrap().status.success());
}
