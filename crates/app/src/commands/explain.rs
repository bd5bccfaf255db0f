//! `writkeeper explain`

mod shell_command;

use crate::cli::ExplainArgs;
use crate::exit::{Exit, UsageError};
use crate::hint;
use crate::terminal::say;
use crate::terminal::{FAINT, STRONG, paint};
use kernel::nearest::suggestion;
use kernel::reasons::{Entry, Reason};
use values::json::Json;

/// Explains one code or one shell command, or lists all codes.
pub fn run(args: &ExplainArgs) -> anyhow::Result<Exit> {
    if let Some(command) = &args.shell {
        return shell_command::run(command, args.json);
    }
    let Some(code) = &args.code else {
        list(args.json)?;
        return Ok(Exit::Fine);
    };
    let wanted = code.to_uppercase().replace('-', "_");
    let Some(reason) = Reason::from_code(&wanted) else {
        let hint = suggestion(&wanted, Reason::ALL.iter().map(|reason| reason.code()));
        let rule = "codes a contract defines are explained by the rule that carries them";
        return Err(UsageError(format!("`{code}` is not a built-in reason{hint} ({rule})")).into());
    };
    let entry = reason.entry();
    if args.json {
        say!("{}", to_json(&entry).to_canonical());
        return Ok(Exit::Fine);
    }
    say!("{}  {}", paint(STRONG, entry.code), paint(FAINT, entry.category.word()));
    say!("\n  {}", with_blanks(entry.sentence));
    say!("\n  The agent    {}", with_blanks(entry.fix_agent));
    say!("  The operator {}", with_blanks(&hint::about(reason)));
    Ok(Exit::Fine)
}

fn list(json: bool) -> anyhow::Result<()> {
    if json {
        let entries = Reason::ALL.iter().map(|reason| to_json(&reason.entry())).collect();
        say!("{}", Json::List(entries).to_canonical());
        return Ok(());
    }
    for reason in Reason::ALL {
        let entry = reason.entry();
        say!("{:<28} {}", entry.code, paint(FAINT, with_blanks(entry.sentence)));
    }
    Ok(())
}

fn to_json(entry: &Entry) -> Json {
    Json::object([
        ("code", Json::text(entry.code)),
        ("category", Json::text(entry.category.word())),
        ("sentence", Json::text(entry.sentence)),
        ("fix_agent", Json::text(entry.fix_agent)),
        ("fix_operator", Json::text(entry.fix_operator)),
    ])
}

/// Named values read as what they stand for: `{max}` becomes `<max>`; optional endings disappear.
fn with_blanks(sentence: &str) -> String {
    // Behind a colon it is no ending that may be missing.
    let sentence = sentence.replace(": {because}", ": <because>");
    let sentence = ["{because}", "{nearest}", "{ask}"].iter().fold(sentence, |text, name| text.replace(name, ""));
    let sentence = if sentence.ends_with("missing{problem}") { sentence.replace("{problem}", "") } else { sentence };
    sentence.replace('{', "<").replace('}', ">")
}
