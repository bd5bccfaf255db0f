//! `writkeeper login` and `writkeeper logout`: keys for servers.

use crate::cli::login::{LoginArgs, LogoutArgs};
use crate::exit::{Exit, UsageError};
use crate::login;
use crate::store;
use crate::terminal::{GOOD, STRONG, paint, say};
use kernel::finding::visible;
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{IsTerminal, Read as _, Write as _};
use values::json::Json;
use writkeeper::{Keeper, OpenOptions};

/// Most that is read of standard input for a key.
const INPUT_BYTES_MAX: u64 = 8_192;

/// Asks for a key, lets the server say whose it is, and keeps it.
pub fn log_in(args: &LoginArgs) -> anyhow::Result<Exit> {
    demand_server(&args.server)?;
    let key = login::checked(&typed()?, "what was typed")?;
    let options = OpenOptions { key: Some(key.clone()), ..store::options()? };
    let keeper = Keeper::open(&args.server, &options)?;
    let Some(caller) = keeper.runtime().caller() else { return Err(store::other_event()) };
    let file = login::keep(&args.server, &key)?;
    if args.json {
        let told = Json::object([
            ("server", Json::text(args.server.as_str())),
            ("tenant", Json::text(caller.tenant.as_ref())),
            ("role", Json::text(caller.role.as_str())),
            ("name", Json::text(caller.name.as_str())),
        ]);
        say!("{}", told.to_canonical());
        return Ok(Exit::Fine);
    }
    let (name, role, tenant) = (visible(&caller.name), visible(&caller.role), visible(&caller.tenant));
    say!("{} at {} as {}: {role} of tenant {tenant}", paint(GOOD, "logged in"), args.server, paint(STRONG, name));
    say!("the key is in {}", file.display());
    Ok(Exit::Fine)
}

/// Forgets a key.
pub fn log_out(args: &LogoutArgs) -> anyhow::Result<Exit> {
    demand_server(&args.server)?;
    let was_known = login::forget(&args.server)?;
    if args.json {
        say!("{}", Json::object([("forgotten", Json::Bool(was_known))]).to_canonical());
    } else if was_known {
        say!("{} of {}; at the server it still counts until it is revoked", paint(GOOD, "logged out"), args.server);
    } else {
        say!("there was no key for {}", args.server);
    }
    Ok(Exit::Fine)
}

fn demand_server(server: &str) -> anyhow::Result<()> {
    if writkeeper::is_server(server) {
        return Ok(());
    }
    let problem = "is no address of a server; give https://HOST, http://127.0.0.1:PORT or unix:PATH";
    Err(UsageError(format!("--server `{}` {problem}", visible(server))).into())
}

/// The key, from the terminal without showing it, or from standard input.
fn typed() -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        let mut text = String::new();
        std::io::stdin().take(INPUT_BYTES_MAX).read_to_string(&mut text)?;
        return Ok(text);
    }
    let mut screen = std::io::stderr();
    write!(screen, "key: ")?;
    screen.flush()?;
    enable_raw_mode()?;
    let typed = unseen();
    disable_raw_mode()?;
    writeln!(screen)?;
    typed
}

fn unseen() -> anyhow::Result<String> {
    let mut text = String::new();
    loop {
        let event = read()?;
        if let Event::Paste(pasted) = &event {
            text.push_str(pasted);
        }
        let Event::Key(key) = event else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if key.code == KeyCode::Enter {
            return Ok(text);
        } else if key.code == KeyCode::Esc || is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Err(UsageError("no key was typed".to_owned()).into());
        } else if key.code == KeyCode::Backspace {
            text.pop();
        } else if let KeyCode::Char(letter) = key.code {
            text.push(letter);
        }
    }
}
