//! What each program does, as data. One file per family; adding a program is one entry and its rows.

pub mod archives;
pub mod build;
pub mod builtins;
pub mod cloud;
pub mod containers;
pub mod coreutils;
pub mod databases;
pub mod disks;
pub mod editors;
pub(crate) mod environment;
pub mod git;
pub mod languages;
pub mod network;
pub mod outputs;
pub mod packages;
pub mod persistence;
pub mod privilege;
pub mod services;
pub mod system;
pub mod text;
pub mod wrappers;

use crate::answer::{Capability, Class};
use crate::call::Call;
use crate::names::ByName;
use crate::stream::Stream;
use crate::walk::Walker;

/// What the operands of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// Not paths.
    None,
    /// Paths that are read.
    Read,
    /// The first operand is no path, the others are read.
    ReadAfterFirst,
    /// Paths that are created or touched.
    Create,
    /// Paths whose content is edited or replaced.
    Write,
    /// All are read but the last, which is written.
    CopyLike,
    /// One file is removed for each operand.
    Remove,
}

/// How options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `-rf`, `--recursive`, `--depth=1`.
    Gnu,
    /// `-recursive`: a dash and a whole word.
    Word,
}

/// An option that changes what the program does.
#[derive(Clone, Copy)]
pub struct Flag {
    /// Spellings, separated by spaces.
    pub names: &'static str,
    /// The class it asks for; [`Class::Read`] with `softens` set makes a dry run.
    pub class: Class,
    /// What it adds.
    pub capabilities: &'static [Capability],
    /// Whether the option makes the whole call harmless.
    pub softens: bool,
    /// What it does, for people.
    pub about: &'static str,
}

/// A subcommand, written as a pattern over operands: words alternatives separated by `, `, words by spaces, choices by `|`; `*` and `**` are wildcards.
#[derive(Clone, Copy)]
pub struct Verb {
    /// The pattern.
    pub pattern: &'static str,
    /// The class it asks for.
    pub class: Class,
    /// What it adds.
    pub capabilities: &'static [Capability],
    /// Options of this subcommand.
    pub flags: &'static [Flag],
    /// What it does, for people.
    pub about: &'static str,
}

/// Code for what a table cannot say.
pub(crate) type Act = for<'a, 'b, 'c> fn(&'a mut Walker<'b>, &'a Call<'c>) -> Stream;

/// One entry: a program, or several that behave alike.
#[derive(Clone, Copy)]
pub struct Program {
    /// Names, separated by spaces.
    pub names: &'static str,
    /// What it does, for people.
    pub about: &'static str,
    /// The class without any option or subcommand that says otherwise.
    pub class: Class,
    /// What it can do always.
    pub capabilities: &'static [Capability],
    /// What its operands are.
    pub files: Files,
    /// How its options are written.
    pub style: Style,
    /// Options that take the next word as their value, separated by spaces.
    pub valued: &'static str,
    /// Options that matter.
    pub flags: &'static [Flag],
    /// Subcommands.
    pub verbs: &'static [Verb],
    /// Code, where data is not enough.
    pub(crate) act: Option<Act>,
}

const fn program(names: &'static str, class: Class, about: &'static str) -> Program {
    Program {
        names,
        about,
        class,
        capabilities: &[],
        files: Files::None,
        style: Style::Gnu,
        valued: "",
        flags: &[],
        verbs: &[],
        act: None,
    }
}

/// A program that changes nothing.
pub const fn read(names: &'static str, about: &'static str) -> Program {
    program(names, Class::Read, about)
}

/// A program that makes ordinary changes.
pub const fn write(names: &'static str, about: &'static str) -> Program {
    program(names, Class::Write, about)
}

/// A program that loses data.
pub const fn destroy(names: &'static str, about: &'static str) -> Program {
    program(names, Class::Destructive, about)
}

/// A program that ends the machine or a disk.
pub const fn ruin(names: &'static str, about: &'static str) -> Program {
    program(names, Class::Catastrophic, about)
}

impl Program {
    /// Adds what it can do.
    #[must_use]
    pub const fn can(mut self, capabilities: &'static [Capability]) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Says what operands are.
    #[must_use]
    pub const fn files(mut self, files: Files) -> Self {
        self.files = files;
        self
    }

    /// Names the options that take a value.
    #[must_use]
    pub const fn valued(mut self, valued: &'static str) -> Self {
        self.valued = valued;
        self
    }

    /// Options are a dash and a whole word.
    #[must_use]
    pub const fn word_options(mut self) -> Self {
        self.style = Style::Word;
        self
    }

    /// Adds options.
    #[must_use]
    pub const fn flags(mut self, flags: &'static [Flag]) -> Self {
        self.flags = flags;
        self
    }

    /// Adds subcommands.
    #[must_use]
    pub const fn verbs(mut self, verbs: &'static [Verb]) -> Self {
        self.verbs = verbs;
        self
    }

    /// Whether code looks at its operands and options, because a table cannot say what they do.
    #[must_use]
    pub const fn is_judged_by_operands(&self) -> bool {
        self.act.is_some()
    }

    pub(crate) const fn act(mut self, act: Act) -> Self {
        self.act = Some(act);
        self
    }
}

/// An option that raises the class.
pub const fn flag(names: &'static str, class: Class, about: &'static str) -> Flag {
    Flag { names, class, capabilities: &[], softens: false, about }
}

/// An option that makes the call a dry run or a question.
pub const fn dry(names: &'static str) -> Flag {
    Flag { names, class: Class::Read, capabilities: &[], softens: true, about: "only shows what it would do" }
}

impl Flag {
    /// Adds what it can do.
    #[must_use]
    pub const fn can(mut self, capabilities: &'static [Capability]) -> Self {
        self.capabilities = capabilities;
        self
    }
}

/// A subcommand.
pub const fn verb(pattern: &'static str, class: Class, about: &'static str) -> Verb {
    Verb { pattern, class, capabilities: &[], flags: &[], about }
}

impl Verb {
    /// Adds what it can do.
    #[must_use]
    pub const fn can(mut self, capabilities: &'static [Capability]) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Adds options.
    #[must_use]
    pub const fn flags(mut self, flags: &'static [Flag]) -> Self {
        self.flags = flags;
        self
    }

    /// Whether the operands begin with this subcommand; how precisely.
    pub(crate) fn matched(&self, operands: &[&str]) -> Option<usize> {
        self.pattern.split(", ").filter_map(|pattern| matched(pattern, operands)).max()
    }
}

/// One alternative; the answer is how precisely it fits.
fn matched(pattern: &str, operands: &[&str]) -> Option<usize> {
    let mut at = 0usize;
    let mut weight = 0usize;
    let mut any = false;
    for token in pattern.split(' ') {
        if token == "**" {
            any = true;
            continue;
        }
        let rest = operands.get(at..).unwrap_or_default();
        let found = if any {
            rest.iter().position(|word| token_matches(token, word))
        } else {
            rest.first().and_then(|word| token_matches(token, word).then_some(0))
        };
        at += found? + 1;
        weight += if token.contains('*') {
            2
        } else if any {
            3
        } else {
            4
        };
        any = false;
    }
    Some(weight)
}

fn token_matches(token: &str, word: &str) -> bool {
    token
        .split('|')
        .any(|choice| if choice.contains('*') { crate::glob::matches(choice, word) } else { choice == word })
}

/// Every family with its name, in the order the reference page shows them.
pub const FAMILIES: &[(&str, &[Program])] = &[
    ("builtins", builtins::PROGRAMS),
    ("coreutils", coreutils::PROGRAMS),
    ("text", text::PROGRAMS),
    ("editors", editors::PROGRAMS),
    ("archives", archives::PROGRAMS),
    ("git", git::PROGRAMS),
    ("packages", packages::PROGRAMS),
    ("build", build::PROGRAMS),
    ("languages", languages::PROGRAMS),
    ("wrappers", wrappers::PROGRAMS),
    ("network", network::PROGRAMS),
    ("containers", containers::PROGRAMS),
    ("cloud", cloud::PROGRAMS),
    ("databases", databases::PROGRAMS),
    ("services", services::PROGRAMS),
    ("system", system::PROGRAMS),
    ("disks", disks::PROGRAMS),
    ("privilege", privilege::PROGRAMS),
    ("persistence", persistence::PROGRAMS),
];

static PROGRAMS: ByName<Program> = ByName::new(|see| {
    let programs = FAMILIES.iter().flat_map(|(_, programs)| programs.iter());
    programs.for_each(|program| see(program.names, program));
});

fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.get(name).first().copied()
}

/// The entry for a program name without its directory.
pub(crate) fn lookup(name: &str) -> Option<&'static Program> {
    find(name)
        .or_else(|| {
            // `python3.11`, `gcc-13`, `pip3.9`: the version is not part of the name.
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
            (stem.len() < name.len() && stem.len() > 1).then(|| find(stem)).flatten()
        })
        .or_else(|| {
            name.split_once('.')
                .filter(|(stem, _)| matches!(*stem, "mkfs" | "fsck" | "mount"))
                .and_then(|(stem, _)| find(stem))
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn every_name_stands_once() {
        let mut seen = BTreeSet::new();
        let mut doubled = Vec::new();
        for (family, programs) in super::FAMILIES {
            for program in *programs {
                for name in program.names.split(' ') {
                    if !seen.insert(name) {
                        doubled.push(format!("{family}/{name}"));
                    }
                }
            }
        }
        assert!(doubled.is_empty(), "{doubled:?}");
    }
}
