//! Rows: a contract in, `line:column` and the underlined text out.

use crate::load::load;
use contract::source::Diagnostic;

fn shown(text: &str, diagnostic: &Diagnostic) -> String {
    let place = diagnostic.place;
    let covered = text.get(place.start..place.end).unwrap();
    assert_eq!(text[..place.start].matches('\n').count() + 1, place.line, "{text}");
    format!("{}:{} {}", place.line, place.column, covered.lines().next().unwrap_or_default())
}

fn check(text: &str, expected: &[&str]) {
    let diagnostics = match load(text) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors,
    };
    let found: Vec<String> = diagnostics.iter().map(|diagnostic| shown(text, diagnostic)).collect();
    assert_eq!(found, expected, "{text}\n{diagnostics:?}");
}

/// One action `pay` in the short form with this line in it.
fn check_line(line: &str, expected: &str) {
    check(
        &format!(
            "agent: bot\napprovers: [desk]\nactions:\n  pay:\n    params: {{ amount: number, p: text }}\n    {line}\n"
        ),
        &[expected],
    );
}

#[test]
fn a_word_of_a_plain_expression() {
    check_line("allow: amunt <= 25", "6:12 amunt");
    check_line("allow: amount <= 25 && amunt > 1", "6:28 amunt");
    check_line("allow: p == 'a' && amount > params.amunt", "6:40 amunt");
    check_line("ask: amount <= 25 && amunt > 1", "6:26 amunt");
    check_line("refuse: [{ when: amount > 1 && nope, reason: BECAUSE }]", "6:36 nope");
    check_line("allow: amount <=", "6:20 =");
    check_line("allow: amount + 1", "6:19 +");
}

#[test]
fn quotes() {
    check_line("allow: 'p == ''é'' && amunt > 1'", "6:27 amunt");
    check_line(r#"allow: "p == \"é\" && amunt > 1""#, "6:27 amunt");
    check_line(r#"allow: "p == \"\u00e9\" && amunt > 1""#, r#"6:12 "p == \"\u00e9\" && amunt > 1""#);
    check(
        r#"{"agent": "bot", "actions": {"pay": {"params": {"a": "number"}, "allow": "a > 1 && b > 1"}}}"#,
        &["1:84 b"],
    );
}

#[test]
fn several_lines() {
    check_line("allow: |\n      amount > 1\n        && amunt > 1", "8:12 amunt");
    check_line("allow: |\n\n      amount > 1 &&\n\n      amunt > 1", "10:7 amunt");
    check_line("allow: >-\n      amount > 1\n      && amunt > 1", "8:10 amunt");
    check_line("allow: amount > 1\n      && amunt > 1", "7:10 amunt");
    check_line("allow: |\r\n      amount > 1\r\n      && amunt > 1\r", "8:10 amunt");
}

#[test]
fn policies() {
    let policies = "policies: |\n      // é\n      forbid (principal, action, resource)\n      whn { true };\n";
    let whole = |policies: &str| {
        format!("agent: bot\nactions:\n  pay:\n    params: {{ amount: number, note: optional text }}\n{policies}")
    };
    check(&whole(policies), &["8:7 whn"]);
    let second = "policies: |\n  // é\n  forbid (principal, action, resource)\n  when { false };\n\n  \
        @id(\"b\") forbid (principal, action, resource)\n  when { context.params.nte == \"é\" };\n";
    check(&whole(second), &["11:25 nte"]);
    check(
        &whole("policies: |\n\n  // é\n  permit (principal, action, resource);\n"),
        &["8:3 permit (principal, action, resource);"],
    );
    let compared = "policies: |\n  forbid (principal, action, resource)\n  when { context.params.amount > 25 };\n";
    check(&whole(compared), &["7:10 context.params.amount > 25"]);
    let optional = "policies: 'forbid (principal, action, resource) when { context.params.note == \"é\" };'\n";
    check(&whole(optional), &["5:56 context.params.note"]);
}
