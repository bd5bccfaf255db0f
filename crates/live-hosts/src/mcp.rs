//! A server of the Model Context Protocol on standard input and output with one tool, which writes a file.

use anyhow::Result;
use serde_json::{Value, json};
use std::io::{BufRead, Write};

/// What hosts call the server.
pub const SERVER: &str = "scratch";

/// Answers until input ends.
pub fn serve() -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let Some(id) = asked.get("id") else { continue };
        let result = answer(&asked)?;
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", json!({ "jsonrpc": "2.0", "id": id, "result": result }))?;
        output.flush()?;
    }
    Ok(())
}

fn answer(asked: &Value) -> Result<Value> {
    let text = |pointer: &str| asked.pointer(pointer).and_then(Value::as_str);
    Ok(match text("/method") {
        Some("initialize") => json!({
            "protocolVersion": text("/params/protocolVersion").unwrap_or("2024-11-05"),
            "capabilities": { "tools": {} }, "serverInfo": { "name": SERVER, "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [{
            "name": "touch", "description": "Writes a file",
            "inputSchema": { "type": "object", "properties": { "target": { "type": "string" } }, "required": ["target"] },
        }] }),
        Some("tools/call") => {
            std::fs::write(text("/params/arguments/target").unwrap_or_default(), "written\n")?;
            json!({ "content": [{ "type": "text", "text": "written" }] })
        }
        _ => json!({}),
    })
}
