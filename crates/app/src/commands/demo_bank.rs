//! `writkeeper demo-bank`: a bank that does whatever it is asked, and logs it. It has no rules on purpose.

use crate::cli::DemoBankArgs;
use crate::exit::Exit;
use anyhow::Context;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;
use values::json::Json;

/// Longest request body it reads.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Prints its port, then serves until its standard input closes.
pub fn run(args: &DemoBankArgs) -> anyhow::Result<Exit> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen")?;
    let mut log = File::create(&args.log).with_context(|| format!("cannot create `{}`", args.log.display()))?;
    println!("{}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    std::thread::spawn(leave_with_parent);
    for stream in listener.incoming() {
        // A client that breaks off is its own problem.
        let _ = serve(stream?, &mut log);
    }
    Ok(Exit::Fine)
}

fn leave_with_parent() {
    let mut byte = [0];
    while matches!(std::io::stdin().read(&mut byte), Ok(read) if read > 0) {}
    std::process::exit(0);
}

fn serve(stream: TcpStream, log: &mut File) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut reader = BufReader::new(stream.try_clone()?.take(2 * BODY_BYTES_MAX as u64));
    let mut length = 0;
    let mut request = String::new();
    reader.read_line(&mut request)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0).min(BODY_BYTES_MAX);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let payment = Json::parse(&body).map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
    let params = payment.get("params").unwrap_or(&payment);
    let param = |name: &str| params.get(name).cloned().unwrap_or(Json::Null);
    writeln!(log, "{} EUR to {}", kernel::finding::shown(&param("amount")), kernel::finding::shown(&param("iban")))?;
    log.sync_all()?;
    // It has paid, and nobody will ever hear of it.
    if request.split(' ').nth(1) == Some("/lost") {
        return Ok(());
    }
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
    Ok(())
}
