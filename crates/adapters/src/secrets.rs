//! Secrets by reference: `secret://env/NAME` and `secret://file/PATH`. They are read when they are used and kept nowhere.

use std::io::Read;

/// The longest secret.
const BYTES_MAX: u64 = 16 * 1_024;

const SCHEME: &str = "secret://";

/// Whether the text refers to a secret.
pub fn is_reference(text: &str) -> bool {
    text.starts_with(SCHEME)
}

/// The text itself, or the secret it refers to. The error names the reference, never the secret.
pub fn resolve(text: &str) -> Result<String, String> {
    let Some(reference) = text.strip_prefix(SCHEME) else { return Ok(text.to_owned()) };
    let secret = match reference.split_once('/') {
        Some(("env", name)) => {
            let missing = |_| format!("the environment has no variable `{name}`; start this program with {name}=…");
            std::env::var(name).map_err(missing)?
        }
        Some(("file", path)) => {
            let unread = |error: std::io::Error| format!("`/{path}` cannot be read: {}", error.kind());
            let file = std::fs::File::open(format!("/{path}")).map_err(unread)?;
            let mut secret = String::new();
            file.take(BYTES_MAX).read_to_string(&mut secret).map_err(unread)?;
            secret.trim_end_matches(['\r', '\n']).to_owned()
        }
        Some(_) | None => {
            return Err(format!("`{text}` is no reference; write `secret://env/NAME` or `secret://file/PATH`"));
        }
    };
    if secret.is_empty() || secret.chars().any(char::is_control) {
        return Err(format!("what `{text}` refers to is empty, or is more than one line"));
    }
    Ok(secret)
}
