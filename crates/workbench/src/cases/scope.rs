//! What lies in a tree, and who may hold which region beside whom.

use super::{Compared, is_error, json, renamed, text, texts};
use kernel::detectors::scope;
use kernel::lease::book::{LeaseBook, Verdict};
use kernel::lease::region::Region;
use kernel::lease::{Mode, Party, Request};
use serde_json::{Value, json};
use values::time::{Duration, Instant};

pub fn gate(row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let names = [("tree", "tree"), ("tolerance", "creep_tolerance"), ("shared", "allow_shared_infra")];
    let written = renamed(input, &names);
    let (tree, touched) = (texts(&input["tree"])?, texts(&input["touched"])?);
    let rule = otherwise(&tree, &touched);
    let Ok(settings) = scope::Settings::read("scope", Some(&json(&written)?)) else {
        return Some(Compared::new("error", theirs(expect)?).by(rule));
    };
    let judgement = scope::judge(&scope::Evidence { root: "/".to_owned(), touched }, &settings);
    let is_allowed = judgement.state == scope::State::InScope;
    let refused = judgement.refused();
    let ours = json!([is_allowed, judgement.state.word(), refused, judgement.inside, judgement.outside]).to_string();
    Some(Compared::new(ours, theirs(expect)?).by(rule))
}

fn theirs(expect: &Value) -> Option<String> {
    if is_error(expect) {
        return Some("error".to_owned());
    }
    let sorted = |files: &Value| {
        let mut files = texts(files)?;
        files.sort();
        Some(files)
    };
    let scope = &expect["scope"];
    let (inside, outside) = (sorted(&scope["in_scope_files"])?, sorted(&scope["out_of_scope_files"])?);
    let refused = sorted(&expect["refused_files"])?;
    Some(json!([expect["allowed"], text(&expect["verdict"]), refused, inside, outside]).to_string())
}

/// Whether comparing letters and comparing paths come to something else, or a shared name lies far from the tree.
fn otherwise(tree: &[String], touched: &[String]) -> Option<&'static str> {
    let settings = |shared: bool| {
        let written = json(&json!({ "tree": tree, "shared": shared }))?;
        scope::Settings::read("scope", Some(&written)).ok()
    };
    let state = |path: &String, shared: bool| {
        let evidence = scope::Evidence { root: "/".to_owned(), touched: vec![path.clone()] };
        settings(shared).map(|settings| scope::judge(&evidence, &settings).state)
    };
    let begins = |path: &String| {
        let folded = path.to_lowercase();
        let prefix = |pattern: &String| pattern.split('*').next().unwrap_or_default().to_lowercase();
        tree.iter().any(|pattern| folded.starts_with(&prefix(pattern)))
    };
    let is_inside = |path: &String| state(path, false) == Some(scope::State::InScope);
    if touched.iter().any(|path| begins(path) != is_inside(path)) {
        return Some("path_text");
    }
    let is_shared = |path: &String| scope::SHARED.contains(&path.rsplit('/').next().unwrap_or_default());
    let is_far = |path: &String| is_shared(path) && state(path, true) != Some(scope::State::InScope);
    touched.iter().any(is_far).then_some("shared_anywhere")
}

pub fn overlap(row: &Value) -> Option<Compared> {
    let (input, expect) = (&row["input"], &row["expect"]);
    let (held, asked) = (texts(&input["lease"])?, texts(&input["requested"])?);
    let conflict = |held_as: Mode, asked_as: Mode| conflicts(&held, held_as, &asked, asked_as);
    let alone = conflict(Mode::Exclusive, Mode::Exclusive)?;
    let beside = conflict(Mode::Exclusive, Mode::Shared)? && conflict(Mode::Shared, Mode::Exclusive)?;
    let shared = conflict(Mode::Shared, Mode::Shared)?;
    let theirs = format!(
        "xx {} ss {} sx {} admitted {}",
        expect["region_conflict_xx"], expect["region_conflict_ss"], expect["region_conflict_sx"], expect["admissible"]
    );
    let rule = match (alone, expect["region_conflict_xx"].as_bool(), expect["admissible"].as_bool()) {
        (true, _, Some(true)) => Some("diluted"),
        (false, Some(true), _) => Some("path_text"),
        (_, _, _) => None,
    };
    Some(Compared::new(format!("xx {alone} ss {shared} sx {beside} admitted {}", !alone), theirs).by(rule))
}

fn conflicts(held: &[String], held_as: Mode, asked: &[String], asked_as: Mode) -> Option<bool> {
    let request = |patterns: &[String], holder: &str, mode: Mode| {
        let regions: Option<Vec<Region>> = patterns.iter().map(|pattern| Region::glob("/", pattern).ok()).collect();
        let party = Party::parse(holder).ok()?;
        // A lease on nothing cannot be asked for, so it stands against nobody.
        Some(Request::new(party, mode, regions?, Duration::from_secs(60)).ok())
    };
    let (Some(held), Some(asked)) = (request(held, "one", held_as)?, request(asked, "other", asked_as)?) else {
        return Some(false);
    };
    let (mut book, now) = (LeaseBook::default(), Instant::PURE_DEFAULT);
    book.acquire(&held, now);
    Some(matches!(book.decide(&asked, now), Verdict::Held { .. }))
}
