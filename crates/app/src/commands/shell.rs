//! `writkeeper shell …`

use crate::cli::{ClassifyArgs, ShellCommand};
use crate::commands::lines::Lines;
use crate::exit::Exit;
use shell::View;
use shell::jsonl::classify_line;
use std::io::Write;

/// Runs one of the shell tools.
pub fn run(command: &ShellCommand) -> anyhow::Result<Exit> {
    match command {
        ShellCommand::Classify(args) => classify(args),
    }
}

fn classify(args: &ClassifyArgs) -> anyhow::Result<Exit> {
    let place = Place::of(args.cwd.clone(), args.home.clone());
    let mut lines = Lines::open(args.commands.as_deref())?;
    let mut output = std::io::stdout().lock();
    while let Some((_, line)) = lines.next_line()? {
        let answer = classify_line(&String::from_utf8_lossy(line), &place.view());
        writeln!(output, "{answer}")?;
    }
    Ok(Exit::Fine)
}

/// Where commands would run.
pub struct Place {
    cwd: String,
    home: String,
}

impl Place {
    /// What was named, else where we are and whose home it is.
    pub fn of(cwd: Option<String>, home: Option<String>) -> Place {
        let here = || std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default();
        let cwd = cwd.unwrap_or_else(here);
        let home = home.filter(|home| home.starts_with('/')).unwrap_or_else(|| "/root".to_owned());
        Place { cwd: if cwd.starts_with('/') { cwd } else { "/".to_owned() }, home }
    }

    /// As the classifier takes it.
    pub fn view(&self) -> View<'_> {
        View::new(&self.cwd, &self.home)
    }
}
