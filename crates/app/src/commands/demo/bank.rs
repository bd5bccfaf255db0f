//! The bank's front: starts its process, sends it requests, reads its log.

use anyhow::{Context, bail};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use values::json::Json;

/// Far longer than a request on loopback takes.
const PATIENCE: Duration = Duration::from_secs(5);

/// A bank running in a process of its own.
pub struct Bank {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Bank {
    /// Starts the bank and learns its port.
    pub fn open() -> anyhow::Result<Bank> {
        let folder = std::env::temp_dir().join(format!("writkeeper-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut process = Command::new(program)
            .arg("demo-bank")
            .arg("--log")
            .arg(folder.join("bank.log"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the bank")?;
        let mut line = String::new();
        let output = process.stdout.take().context("the bank has no output")?;
        BufReader::new(output.take(64)).read_line(&mut line).context("the bank said nothing")?;
        let port = line.trim().parse().context("the bank named no port")?;
        Ok(Bank { process, port, folder })
    }

    /// A folder that goes when the bank does.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Asks the bank to do what an intent says.
    pub fn perform(&self, intent: &Json) -> anyhow::Result<()> {
        let field = |name: &str| intent.get(name).cloned().unwrap_or(Json::Null);
        let body = Json::object([("key", field("effect_key")), ("params", field("params"))]).to_canonical();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).context("the bank is closed")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "POST /refunds HTTP/1.1\r\nhost: bank\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.take(1024).read_to_string(&mut answer).context("the bank did not answer")?;
        if !answer.starts_with("HTTP/1.1 200") {
            bail!("the bank refused: {answer}");
        }
        Ok(())
    }

    /// The lines of the bank's own log.
    pub fn payments(&self) -> anyhow::Result<Vec<String>> {
        let path = self.folder.join("bank.log");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        // Closing its input ends the bank; killing makes sure.
        drop(self.process.stdin.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
