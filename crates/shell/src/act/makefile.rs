//! Makefiles and justfiles: the recipes of the targets that would be made.
//!
//! What a build runs is its own business and not claimed to be known. But a recipe that stands there in plain text, and
//! ends the machine or the guard, is seen.

use crate::answer::Span;
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::walk::{Handed, Walker, Weight};
use std::collections::{BTreeMap, BTreeSet};

/// Lines of recipes that are walked.
const RECIPE_LINES_MAX: usize = 256;

/// How often values are put into values.
const VALUES_DEPTH_MAX: usize = 4;

/// How a file of recipes is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Make,
    Just,
}

#[derive(Default)]
struct Rule {
    targets: Vec<String>,
    needs: Vec<String>,
    recipe: Vec<String>,
}

struct Recipes {
    form: Form,
    rules: Vec<Rule>,
    values: BTreeMap<String, String>,
    /// Lines that are no recipe.
    others: Vec<String>,
}

/// Judges the file of recipes that lies on disk, if it can be looked at.
pub(crate) fn on_disk(walker: &mut Walker<'_>, file: Option<&str>, call: &Call<'_>) {
    let (form, names): (Form, &[&str]) = match call.name {
        "make" | "gmake" | "bmake" | "remake" => (Form::Make, &["GNUmakefile", "makefile", "Makefile"]),
        "just" => (Form::Just, &["justfile", "Justfile", ".justfile"]),
        _ => return,
    };
    let is_there = |name: &&str| {
        let path = walker.resolve(name);
        walker.looks_at(&path).is_some_and(|links| links.exists(&path))
    };
    let file = match file {
        Some(file) => file.to_owned(),
        None => match names.iter().find(|name| is_there(name)) {
            Some(name) => (*name).to_owned(),
            None => return,
        },
    };
    match walker.handed_file(&file, call.span) {
        Handed::OnDisk(text) => {
            let recipes = Recipes::read(&text, form);
            let goals: Vec<String> =
                call.options.texts().into_iter().filter(|word| !word.contains('=')).map(ToOwned::to_owned).collect();
            walker.within_file(&file, Weight::Build, |walker| {
                recipes.walk(walker, &goals, call.span);
                Stream::Opaque
            });
        }
        Handed::Unseen => walker.unseen(&file, call.span),
        Handed::Told(_) => {}
    }
}

impl Recipes {
    fn read(text: &str, form: Form) -> Self {
        let mut recipes = Self { form, rules: Vec::new(), values: BTreeMap::new(), others: Vec::new() };
        let joined = text.replace("\r\n", "\n").replace("\\\n", " ");
        let mut is_open = false;
        for line in joined.lines() {
            let is_recipe = match form {
                Form::Make => line.starts_with('\t'),
                Form::Just => line.starts_with([' ', '\t']),
            };
            if is_recipe && is_open {
                if let Some(rule) = recipes.rules.last_mut() {
                    rule.recipe.push(line.trim_start().to_owned());
                }
                continue;
            }
            let plain = line.split(" #").next().unwrap_or_default().trim();
            if plain.is_empty() || plain.starts_with('#') {
                continue;
            }
            if let Some((name, value)) = assignment(plain) {
                recipes.others.push(value.clone());
                recipes.values.insert(name, value);
                is_open = false;
            } else if let Some((targets, rest)) = plain.split_once(':') {
                recipes.rules.push(rule(targets, rest, form));
                is_open = true;
            } else {
                recipes.others.push(plain.to_owned());
            }
        }
        recipes
    }

    /// The rules that are followed for these goals, or for the first target.
    fn followed(&self, goals: &[String]) -> Vec<&Rule> {
        let is_target = |name: &str| self.rules.iter().any(|rule| rule.targets.iter().any(|target| target == name));
        let mut open: Vec<String> = goals.iter().filter(|goal| is_target(goal)).cloned().collect();
        if open.is_empty() {
            let named = self.values.get(".DEFAULT_GOAL").cloned();
            let first = self.rules.iter().flat_map(|rule| &rule.targets).find(|target| !target.starts_with('.'));
            open.extend(named.or_else(|| first.cloned()));
        }
        let mut seen = BTreeSet::new();
        let mut found = vec![false; self.rules.len()];
        while let Some(goal) = open.pop() {
            if !seen.insert(goal.clone()) {
                continue;
            }
            for (at, rule) in self.rules.iter().enumerate() {
                let fits = rule.targets.iter().any(|target| *target == goal || target.contains('%'));
                let is_new = found.get(at) == Some(&false);
                if !(fits && is_new) {
                    continue;
                }
                if let Some(found) = found.get_mut(at) {
                    *found = true;
                }
                open.extend(rule.needs.iter().flat_map(|need| {
                    self.filled(need, 0).split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>()
                }));
                // A recipe that makes further targets of the same file.
                let again = rule
                    .recipe
                    .iter()
                    .filter(|line| ["$(MAKE)", "${MAKE}", "make ", "just "].iter().any(|word| line.contains(word)));
                open.extend(again.flat_map(|line| line.split_whitespace().map(ToOwned::to_owned)));
            }
        }
        self.rules.iter().zip(found).filter_map(|(rule, found)| found.then_some(rule)).collect()
    }

    fn walk(&self, walker: &mut Walker<'_>, goals: &[String], span: Span) {
        for line in self.others.iter().take(RECIPE_LINES_MAX) {
            crate::act::handed::make_shell(walker, line, span);
        }
        let mut walked = 0usize;
        for rule in self.followed(goals) {
            let is_script = rule.recipe.first().is_some_and(|line| line.starts_with("#!"));
            if is_script {
                walker.program_text(&self.filled(&rule.recipe.join("\n"), 0), Stream::Absent, span);
                continue;
            }
            for line in &rule.recipe {
                walked += 1;
                if walked > RECIPE_LINES_MAX {
                    return;
                }
                let line = self.filled(line, 0);
                let line = line.trim_start().trim_start_matches(['@', '-', '+']);
                walker.inner(line, Stream::Absent, span);
            }
        }
    }

    /// A text with the values of variables in it; what is not known is a hole.
    fn filled(&self, text: &str, depth: usize) -> String {
        let (open, hole) = (if self.form == Form::Make { "$" } else { "{{" }, mark::OUTPUT);
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(open) {
            out.push_str(rest.get(..at).unwrap_or_default());
            rest = rest.get(at + open.len()..).unwrap_or_default();
            let (name, behind) = match self.form {
                Form::Just => rest.split_once("}}").unwrap_or((rest, "")),
                Form::Make => match rest.chars().next() {
                    Some('$') => {
                        out.push('$');
                        rest = rest.get(1..).unwrap_or_default();
                        continue;
                    }
                    Some('(') => closed(rest, ')'),
                    Some('{') => closed(rest, '}'),
                    Some(letter) => {
                        let (name, behind) = rest.split_at(letter.len_utf8());
                        (name, behind)
                    }
                    None => ("", ""),
                },
            };
            rest = behind;
            match (name.trim(), self.values.get(name.trim())) {
                ("MAKE", _) => out.push_str("make"),
                ("RM", None) => out.push_str("rm -f"),
                (_, Some(value)) if depth < VALUES_DEPTH_MAX => out.push_str(&self.filled(value, depth + 1)),
                (_, Some(_) | None) => out.push(hole),
            }
        }
        out.push_str(rest);
        out
    }
}

/// The inside of a bracket that opens a text, and what follows.
fn closed(text: &str, end: char) -> (&str, &str) {
    let inner = text.get(1..).unwrap_or_default();
    let start = if end == ')' { '(' } else { '{' };
    let mut depth = 0usize;
    for (at, letter) in inner.char_indices() {
        if letter == start {
            depth += 1;
        } else if letter == end {
            if depth == 0 {
                return (inner.get(..at).unwrap_or_default(), inner.get(at + 1..).unwrap_or_default());
            }
            depth -= 1;
        }
    }
    (inner, "")
}

/// `NAME = value` in one of its forms.
fn assignment(line: &str) -> Option<(String, String)> {
    let at = line.find('=')?;
    let before = line.get(..at)?.trim_end_matches([':', '?', '+', '!']).trim();
    let before = before.strip_prefix("export ").or_else(|| before.strip_prefix("override ")).unwrap_or(before).trim();
    let is_name = !before.is_empty() && before.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let value = line.get(at + 1..)?.trim();
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    is_name.then(|| (before.to_owned(), value.to_owned()))
}

fn rule(targets: &str, rest: &str, form: Form) -> Rule {
    let rest = rest.trim_start_matches(':');
    let words =
        |text: &str| text.split_whitespace().map(|word| word.trim_matches(['(', ')', '@']).to_owned()).collect();
    match form {
        Form::Make => {
            let (needs, recipe) = rest.split_once(';').map_or((rest, None), |(needs, recipe)| (needs, Some(recipe)));
            let recipe = recipe.map(|recipe| recipe.trim().to_owned()).into_iter().collect();
            Rule { targets: words(targets), needs: words(needs), recipe }
        }
        // Behind the name of a recipe stand its parameters.
        Form::Just => {
            let name = targets.split_whitespace().next().unwrap_or_default();
            Rule { targets: words(name), needs: words(rest), recipe: Vec::new() }
        }
    }
}
