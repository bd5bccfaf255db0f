//! Runs cases of enforcement from any file: same input, our answer, and every row where it is another one.
//!
//! Prose is not compared; enums, flags, counts and payloads are. Where we answer otherwise on purpose, a rule says so: the
//! runner recognises from the input that the rule applies, and `cases/on_purpose.json` holds the reason.

mod breaker;
mod handler;
mod host_hooks;
mod ladder;
mod outside;
mod runs;
mod scope;
mod tool_calls;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The rules by which we differ, with their reasons and the rows of the given files that show them.
const ON_PURPOSE: &str = include_str!("cases/on_purpose.json");

/// One row, both answers in the same words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compared {
    /// What we answer.
    pub ours: String,
    /// What the row expects.
    pub theirs: String,
    /// The rule by which a difference would be meant.
    pub rule: Option<&'static str>,
}

impl Compared {
    fn new(ours: impl Into<String>, theirs: impl Into<String>) -> Compared {
        Compared { ours: ours.into(), theirs: theirs.into(), rule: None }
    }

    fn by(self, rule: Option<&'static str>) -> Compared {
        Compared { rule, ..self }
    }
}

/// What became of the rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Tally {
    ok: usize,
    /// Those that differ, with the rule if it is meant.
    differ: Vec<(String, Option<&'static str>)>,
    unknown: BTreeMap<String, usize>,
}

/// `cases FILE…`: says which rows differ. It fails if one differs that is not meant to.
pub fn run(files: &[&str]) -> Result<bool> {
    if files.is_empty() {
        bail!("cases takes files with one JSON row in each line");
    }
    let rules = rules()?;
    let mut tally = Tally::default();
    for file in files {
        let text = std::fs::read_to_string(Path::new(file)).with_context(|| format!("reading {file}"))?;
        for said in judge(&text, &rules, &mut tally).with_context(|| (*file).to_owned())? {
            println!("{said}");
        }
    }
    for (what, count) in &tally.unknown {
        println!("unknown: {what} ({count}): {}", why_unknown(what));
    }
    println!("{} ok, {} differ, {} unknown", tally.ok, tally.differ.len(), tally.unknown.values().sum::<usize>());
    Ok(tally.differ.iter().all(|(_, rule)| rule.is_some()))
}

/// The reason of every rule.
fn rules() -> Result<BTreeMap<String, String>> {
    let listed: Value = serde_json::from_str(ON_PURPOSE).context("reading the rules")?;
    let listed = listed.as_array().context("the rules are a list")?;
    let rule = |rule: &Value| Some((rule.get("rule")?.as_str()?.to_owned(), rule.get("why")?.as_str()?.to_owned()));
    listed.iter().map(|listed| rule(listed).context("a rule has a name and a reason")).collect()
}

/// Judges the rows of one file; the lines name those that differ.
fn judge(text: &str, rules: &BTreeMap<String, String>, tally: &mut Tally) -> Result<Vec<String>> {
    let mut said = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).with_context(|| format!("line {}", number + 1))?;
        let id = ["id", "name"].iter().find_map(|key| row.get(key)?.as_str()).unwrap_or("a row without a name");
        let (what, compared) = answer(&row);
        match compared {
            None => *tally.unknown.entry(what.to_owned()).or_default() += 1,
            Some(compared) if compared.ours == compared.theirs => tally.ok += 1,
            Some(Compared { ours, theirs, rule }) => {
                let meant = rule.and_then(|rule| rules.get(rule).map(|why| (rule, why)));
                let why = meant.map(|(rule, why)| format!(" on purpose ({rule}: {why})")).unwrap_or_default();
                said.push(format!("{id} differs{why}\n  expected {theirs}\n  ours     {ours}"));
                tally.differ.push((id.to_owned(), meant.map(|(rule, _)| rule)));
            }
        }
    }
    Ok(said)
}

/// What a row is about, and both answers where we know the operation.
fn answer(row: &Value) -> (&str, Option<Compared>) {
    let input = &row["input"];
    let has = |keys: &[&str]| keys.iter().all(|key| input.get(key).is_some());
    match row["op"].as_str() {
        Some(op) => (op, operation(op, row)),
        None if row.get("behaviour").is_some() => ("handler", handler::answer(row)),
        None if row.get("verb").is_some() => ("host_hooks", host_hooks::answer(row)),
        None if has(&["events", "start"]) => ("breaker", breaker::answer(row)),
        None if has(&["work", "tokens"]) => ("efficiency", runs::efficiency(row)),
        None if has(&["deltas"]) => ("productivity", runs::productivity(row)),
        None if has(&["tool_name", "args"]) => ("arg_provenance", None),
        None => ("a row of another shape", None),
    }
}

fn operation(op: &str, row: &Value) -> Option<Compared> {
    match op {
        "tool_stream" => tool_calls::stall(row),
        "precursor_gate" => tool_calls::precursor(row),
        "noop_streak" => runs::noop_streak(row),
        "dangling_intent" => runs::dangling_intent(row),
        "liveness" => runs::liveness(row),
        "scope_gate" => scope::gate(row),
        "lane_overlap" => scope::overlap(row),
        "run_predicates" => outside::predicate(row),
        "run_judge" => outside::judge(row),
        _ => ladder::answer(op, row),
    }
}

/// Why rows of a kind are not compared.
fn why_unknown(what: &str) -> &'static str {
    match what {
        "arg_provenance" => "no door tells where a value came from, so nothing looks for values from nowhere",
        "answer_shape" => "what an answer looks like is not judged",
        "arbitrate" => "leases are asked for by path and are given or refused; no other one is picked instead",
        "data_class" => "files are not sorted into classes of retention",
        "hook_exit" => "scripts outside answer in JSON; their exit codes say nothing but that they failed",
        "host_hooks" => {
            "the host is not guarded here, or the row needs a workspace, a journal or a transcript of its own"
        }
        _ => "the tool does not know this shape",
    }
}

/// The kernel's value of a JSON value of the cases.
fn json(value: &Value) -> Option<values::json::Json> {
    values::json::Json::parse(value.to_string().as_bytes()).ok()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// The settings of a row in our names; what is null is not written.
fn renamed(policy: &Value, names: &[(&str, &str)]) -> Value {
    let written = |name: &str| policy.get(name).filter(|value| !value.is_null());
    let renamed = names.iter().filter_map(|(ours, theirs)| Some(((*ours).to_owned(), written(theirs)?.clone())));
    Value::Object(renamed.collect())
}

fn is_error(expect: &Value) -> bool {
    expect.get("error").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn check(row: &str, expected: &str) {
        let mut tally = Tally::default();
        let said = judge(row, &rules().unwrap(), &mut tally).unwrap();
        let meant = tally.differ.iter().map(|(id, rule)| format!("{id} {}", rule.unwrap_or("-")));
        let unknown = tally.unknown.keys().map(|what| format!("? {what}"));
        let shown: Vec<String> = (0..tally.ok).map(|_| "ok".to_owned()).chain(meant).chain(unknown).collect();
        assert_eq!(shown.join(" "), expected, "{said:?}");
    }

    #[test]
    fn rows_are_told_apart_by_their_shape() {
        check(
            r#"{"id":"a","op":"noop_streak","input":{"noop_turns":0},"expect":{"verdict":"LIVE","allow":true,"noop_turns":1}}"#,
            "ok",
        );
        check(
            r#"{"id":"a","op":"noop_streak","input":{"noop_turns":0},"expect":{"verdict":"LIVE","allow":true,"noop_turns":2}}"#,
            "a -",
        );
        check(r#"{"id":"a","op":"data_class","input":{"path":"x"},"expect":"AUDIT"}"#, "? data_class");
        check(r#"{"id":"a","input":{"deltas":[0],"policy":{}},"expect":{"verdict":"PRODUCTIVE"}}"#, "ok");
        check(r#"{"name":"h","verb":"stop","dialect":"x","stdin":{},"stdout":null}"#, "? host_hooks");
        check("{}", "? a row of another shape");
        check("", "");
    }

    #[test]
    fn what_is_meant_is_recognised_in_any_row() {
        let scope = |touched: &str, verdict: &str| {
            format!(
                r#"{{"id":"s","op":"scope_gate","input":{{"touched":["{touched}"],"tree":["src/api"],"creep_tolerance":0,"allow_shared_infra":true}},"expect":{{"allowed":{},"verdict":"{verdict}","refused_files":[],"scope":{{"in_scope_files":["{touched}"],"out_of_scope_files":[]}}}}}}"#,
                verdict == "IN_SCOPE"
            )
        };
        check(&scope("src/api/a.py", "IN_SCOPE"), "ok");
        check(&scope("src/apix/a.py", "IN_SCOPE"), "s path_text");
        check(&scope("src/api/a.py", "WRONG_TARGET"), "s -");
        let dangling = r#"{"id":"d","op":"dangling_intent","input":{"final_turn_text":"Next, I'll push.","results_after_turn":0},"expect":{"verdict":"ABSTAIN","matched_cue":""}}"#;
        check(dangling, "d contraction");
    }

    #[test]
    fn a_damaged_row_is_named() {
        let problem = judge("{}\n{", &rules().unwrap(), &mut Tally::default()).unwrap_err();
        assert_eq!(problem.to_string(), "line 2");
    }

    /// The given files lie outside of the repository and are never copied into it.
    #[test]
    fn given_rows_differ_as_listed() {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let found: Option<PathBuf> = above.map(|at| at.join("shared/cases/enforcement")).find(|path| path.is_dir());
        let Some(folder) = found else {
            println!("skipped: shared cases not present");
            return;
        };
        let mut tally = Tally::default();
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            judge(&text, &rules().unwrap(), &mut tally).unwrap();
        }
        let listed: Value = serde_json::from_str(ON_PURPOSE).unwrap();
        let listed = listed.as_array().unwrap().iter().flat_map(|rule| {
            let name = rule["rule"].as_str().unwrap();
            rule["rows"].as_array().unwrap().iter().map(move |id| (id.as_str().unwrap(), Some(name)))
        });
        let mut listed: Vec<(&str, Option<&str>)> = listed.collect();
        let mut differ: Vec<(&str, Option<&str>)> =
            tally.differ.iter().map(|(id, rule)| (id.as_str(), *rule)).collect();
        listed.sort_unstable();
        differ.sort_unstable();
        assert_eq!(differ, listed);
        assert!(tally.ok >= 450, "{}", tally.ok);
    }
}
