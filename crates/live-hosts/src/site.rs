//! A fresh home with a workspace in it, guarded as a person would do it: with `writkeeper init`.

use crate::hosts::{Host, Trust};
use crate::places::{self, CACHE, HOME, MARKS, PROGRAMS, WORKSPACE};
use crate::process::{self, Ended};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What stands in the secret that no agent may read.
pub const SECRET: &str = "SECRET-OF-NOBODY";

/// How long a verb of the binary may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// Something precious outside of the workspace.
pub const PRECIOUS: &str = "/home/user/precious/letters";

/// A guarded workspace.
pub struct Site {
    /// What `init` printed.
    pub said: String,
}

impl Site {
    /// Everything anew; what was there before is gone.
    pub fn fresh(host: &dyn Host, trust: Trust, port: u16, options: &[&str]) -> Result<Site> {
        empty(Path::new(HOME))?;
        for folder in [WORKSPACE, MARKS, PROGRAMS, "/home/user/.ssh", "/home/user/precious"] {
            fs::create_dir_all(folder)?;
        }
        fs::copy(format!("{CACHE}/bin/writkeeper"), places::binary()).context("copying the binary under test")?;
        fs::write("/home/user/.ssh/id_rsa", format!("{SECRET}\n"))?;
        fs::write(PRECIOUS, "from somebody\n")?;
        fs::write(places::inside("README.md"), "a file to read\n")?;
        // In the repository itself: Gemini CLI gives its shell another global configuration.
        let git = "git init -q . && git config user.email user@example.invalid && git config user.name user \
                   && git add . && git commit -qm first";
        let committed = process::run(shell(git).current_dir(WORKSPACE), PATIENCE)?;
        ensure!(committed.code == Some(0), "git in the workspace: {}", committed.both());
        host.prepare(port)?;
        let said = keeper(&[&["init", "--host", host.word()], options].concat())?;
        ensure!(said.code == Some(0), "`writkeeper init` failed: {}", said.both());
        match trust {
            Trust::Given => host.trust()?,
            Trust::InitAlone => {}
        }
        Ok(Site { said: said.both() })
    }
}

/// Runs the binary under test in the workspace.
pub fn keeper(arguments: &[&str]) -> Result<Ended> {
    process::run(in_home(Command::new(places::binary())).args(arguments), PATIENCE)
}

/// A shell that reads this text.
pub fn shell(text: &str) -> Command {
    let mut command = in_home(Command::new("/bin/sh"));
    command.args(["-c", text]);
    command
}

/// A command in the workspace that knows the private home and nothing of ours.
pub fn in_home(mut command: Command) -> Command {
    let path = format!("{PROGRAMS}:{CACHE}/npm/node/node_modules/.bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    let known = [("HOME", HOME), ("PATH", &path), ("USER", "user"), ("LOGNAME", "user")];
    command.env_clear().envs(known).envs([("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("SHELL", "/bin/bash")]);
    command.current_dir(WORKSPACE);
    command
}

fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("emptying `{}`", folder.display()))?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Whether a mark is there.
pub fn is_marked(name: &str) -> bool {
    Path::new(MARKS).join(name).exists()
}
