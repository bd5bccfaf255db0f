//! The programs and rules the shell classifier knows, from its own tables.

use super::Page;
use ::shell::rules::{self, git};
use ::shell::{Capability, Class};
use anyhow::Result;
use std::fmt::Write as _;

/// The page of programs.
pub fn pages() -> Result<Vec<Page>> {
    Ok(vec![Page { file: "shell.md".to_owned(), text: reference() }])
}

/// Markdown that lists every program and rule.
fn reference() -> String {
    let mut out = String::from(
        "# Programs the shell understands\n\nGenerated from the rule tables; edit those, not this page.\n",
    );
    for (family, programs) in rules::FAMILIES {
        let _ = write!(out, "\n## {family}\n\n| programs | class | can | what it does |\n|---|---|---|---|\n");
        for program in *programs {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {}{} |",
                names(program.names),
                program.class.name(),
                capabilities(program.capabilities),
                program.about,
                if program.is_judged_by_operands() { "; operands and options decide" } else { "" }
            );
            for verb in program.verbs {
                row(&mut out, &format!("… `{}`", escaped(verb.pattern)), verb.class, verb.capabilities, verb.about);
                for flag in verb.flags.iter().filter(|flag| !flag.softens) {
                    row(
                        &mut out,
                        &format!("… `{}` with `{}`", escaped(verb.pattern), flag.names),
                        flag.class,
                        flag.capabilities,
                        flag.about,
                    );
                }
            }
            for flag in program.flags {
                row(&mut out, &format!("… with `{}`", flag.names), flag.class, flag.capabilities, flag.about);
            }
        }
    }
    out.push_str("\n## git subcommands\n\n| subcommands | class | can | what it does |\n|---|---|---|---|\n");
    for sub in git::SUBCOMMANDS {
        row(&mut out, &names(sub.names), sub.class, sub.capabilities, sub.about);
        for verb in sub.verbs {
            row(&mut out, &format!("… `{}`", escaped(verb.pattern)), verb.class, verb.capabilities, verb.about);
        }
        for flag in sub.flags {
            row(&mut out, &format!("… with `{}`", flag.names), flag.class, flag.capabilities, flag.about);
        }
    }
    out
}

fn row(out: &mut String, what: &str, class: Class, can: &[Capability], about: &str) {
    let _ = writeln!(out, "| {what} | {} | {} | {about} |", class.name(), capabilities(can));
}

fn names(list: &str) -> String {
    list.split(' ').map(|name| format!("`{}`", escaped(name))).collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

fn capabilities(list: &[Capability]) -> String {
    list.iter().map(|capability| capability.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_families_and_programs() {
        let page = super::reference();
        assert!(page.contains("## coreutils") && page.contains("`rm`") && page.contains("`terraform`"));
    }
}
