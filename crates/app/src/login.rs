//! Keys for servers: out of the environment, or out of a file that only its owner can read.

use crate::exit::{InvalidData, StoreUnavailable, UsageError};
use crate::files;
use adapters::durable_file::replace;
use anyhow::Context as _;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use values::json::{Bounds, Json, Object};

/// The variable that holds a key.
const VARIABLE: &str = "WRITKEEPER_KEY";

/// Servers one file knows keys for.
const SERVERS_MAX: usize = 100;

/// Longest key or token: more than any server gives out, and still a header.
const KEY_BYTES_MAX: usize = 4_096;

/// The key for a server, with what to do where there is none.
pub fn key_for(server: &str) -> anyhow::Result<String> {
    if let Ok(key) = std::env::var(VARIABLE)
        && !key.is_empty()
    {
        return checked(&key, VARIABLE);
    }
    let missing = || {
        let command = format!("writkeeper login --server {}", crate::hint::quoted(server));
        UsageError(format!("there is no key for `{}`: run `{command}`, or set {VARIABLE}", shown(server)))
    };
    Ok(read(&file()?)?.remove(&name(server)).and_then(|key| key.as_text().map(str::to_owned)).ok_or_else(missing)?)
}

/// Keeps the key for a server, in place of the one before.
pub fn keep(server: &str, key: &str) -> anyhow::Result<PathBuf> {
    let file = file()?;
    let mut logins = read(&file)?;
    logins.insert(name(server), Json::text(key));
    if logins.len() > SERVERS_MAX {
        return Err(
            InvalidData(format!("`{}` holds {SERVERS_MAX} keys already; log out somewhere", file.display())).into()
        );
    }
    write(&file, logins)?;
    Ok(file)
}

/// Forgets the key for a server; whether there was one.
pub fn forget(server: &str) -> anyhow::Result<bool> {
    let file = file()?;
    let mut logins = read(&file)?;
    let was_known = logins.remove(&name(server)).is_some();
    if was_known {
        write(&file, logins)?;
    }
    Ok(was_known)
}

/// A key as it can be sent.
pub fn checked(key: &str, what: &str) -> anyhow::Result<String> {
    let key = key.trim();
    if key.is_empty() || key.len() > KEY_BYTES_MAX || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(InvalidData(format!("{what} holds no key: one word of printable letters")).into());
    }
    Ok(key.to_owned())
}

/// A slash at the end makes no other server.
fn name(server: &str) -> String {
    server.trim_end_matches('/').to_owned()
}

fn shown(server: &str) -> String {
    kernel::finding::visible(server)
}

fn file() -> anyhow::Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = named("XDG_CONFIG_HOME").or_else(|| named("HOME").map(|home| home.join(".config")));
    let problem = || UsageError(format!("neither HOME nor XDG_CONFIG_HOME says where keys are kept; set {VARIABLE}"));
    Ok(folder.ok_or_else(problem)?.join("writkeeper").join("logins"))
}

fn read(file: &Path) -> anyhow::Result<Object> {
    let metadata = match std::fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Object::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot open `{}`", file.display())),
    };
    if metadata.permissions().mode() & 0o077 != 0 {
        let problem = format!("`{}` can be read by others; run `chmod 600` on it", file.display());
        return Err(InvalidData(problem).into());
    }
    let json = Json::parse_within(&files::read(file)?, &Bounds::FILE).ok();
    let logins = json.and_then(|json| json.as_object().cloned());
    Ok(logins.ok_or_else(|| InvalidData(format!("`{}` holds no keys that can be read", file.display())))?)
}

fn write(file: &Path, logins: Object) -> anyhow::Result<()> {
    let unwritten = |error: std::io::Error| StoreUnavailable(format!("cannot write `{}`: {error}", file.display()));
    if let Some(folder) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unwritten)?;
    }
    replace(file, format!("{}\n", Json::Object(logins).to_canonical()).as_bytes(), 0o600).map_err(unwritten)?;
    Ok(())
}
