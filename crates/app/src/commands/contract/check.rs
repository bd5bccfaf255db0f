//! `writkeeper contract check`

use crate::cli::CheckArgs;
use crate::contract_file;
use crate::diagnostics;
use crate::exit::Exit;
use crate::files;
use crate::terminal::say;
use crate::terminal::{FAINT, GOOD, paint};
use contract::sentence::{Sentence, sentences};
use contract::source::{Diagnostic, Severity};
use engines::load::load;
use kernel::contract::attenuate::attenuate;
use values::json::Json;

/// Says everything that is wrong.
pub fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let text = files::read_text(&args.file)?;
    let mut warnings = Vec::new();
    let mut digest = None;
    let mut said = Vec::new();
    let errors = match load(&text) {
        Err(errors) => errors,
        Ok(loaded) => {
            warnings.extend(loaded.warnings);
            digest = Some(loaded.compiled.digest.to_string());
            said = sentences(&loaded.compiled.contract);
            let mut errors = if args.allow_inert { Vec::new() } else { loaded.inert.clone() };
            if args.allow_inert {
                let accepted = |inert: Diagnostic| Diagnostic { severity: Severity::Warning, ..inert };
                warnings.extend(loaded.inert.into_iter().map(accepted));
            }
            if let Some(parent) = &args.parent {
                let parent = contract_file::open(parent)?;
                let widening = attenuate(&loaded.compiled.contract, &parent.loaded.compiled.contract).err();
                errors.extend(widening.map(Diagnostic::widens_parent));
            }
            errors
        }
    };
    report(args, &text, &Checked { errors: &errors, warnings: &warnings, digest, said: &said })?;
    if errors.is_empty() { Ok(Exit::Fine) } else { Ok(Exit::Invalid) }
}

/// What was found out about a contract.
struct Checked<'a> {
    errors: &'a [Diagnostic],
    warnings: &'a [Diagnostic],
    digest: Option<String>,
    said: &'a [Sentence],
}

fn report(args: &CheckArgs, text: &str, checked: &Checked<'_>) -> anyhow::Result<()> {
    let Checked { errors, warnings, digest, said } = checked;
    let all: Vec<Diagnostic> = errors.iter().chain(*warnings).cloned().collect();
    if args.json {
        let report = Json::object([
            ("file", Json::text(args.file.display().to_string())),
            ("valid", Json::Bool(errors.is_empty())),
            ("digest", Json::from(digest.clone())),
            ("sentences", Json::List(said.iter().map(Sentence::to_json).collect())),
            ("diagnostics", diagnostics::to_json(&all)),
        ]);
        say!("{}", report.to_canonical());
        return Ok(());
    }
    diagnostics::print(&args.file, text, &all);
    let name = args.file.display();
    match (errors.len(), digest) {
        (0, Some(digest)) => {
            say!("{} {name} {}", paint(GOOD, "valid"), paint(FAINT, format!("sha256 {digest}")));
            for sentence in *said {
                say!("{sentence}");
            }
        }
        (count, _) => {
            let what = if count == 1 { "error" } else { "errors" };
            crate::terminal::error(&format!("`{name}`: {count} {what}"));
        }
    }
    Ok(())
}
