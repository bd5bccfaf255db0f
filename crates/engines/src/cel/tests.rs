//! Rows: expression in, answer or fault out.

use super::compile;
use kernel::contract::Role;
use kernel::evaluator::{AgentView, ExpressionEvaluator, Scope, StateView};
use proptest::prelude::*;
use values::decimal::Decimal;
use values::json::Json;

const PARAMS: &str = r#"{"amount": 12.5, "count": 3, "iban": "DE89", "tags": ["a", "b"], "note": null,
    "items": [{"price": 0.1}, {"price": 0.2}], "address": {"city": "Köln"}, "flag": true}"#;

fn answer(text: &str) -> String {
    answer_over(PARAMS, text)
}

fn answer_over(params: &str, text: &str) -> String {
    let expression = match compile(text) {
        Ok(expression) => expression,
        Err(fault) => return format!("{}: {}", fault.offset(), fault.problem),
    };
    let params = Json::parse(params.as_bytes()).unwrap();
    let mut state = StateView::new();
    state.insert("risk".to_owned(), Json::Number(Decimal::parse("0.3").unwrap()));
    state.insert("accounts/{iban}/balance".to_owned(), Json::Number(Decimal::from(100)));
    state.insert("gone".to_owned(), Json::Null);
    let scope = Scope {
        params: params.as_object().unwrap(),
        state: &state,
        agent: AgentView { id: "refund-bot", role: Role::Executor },
        action: "issue_refund",
        confidence: Decimal::parse("0.9"),
    };
    match expression.holds(&scope) {
        Ok(answer) => answer.to_string(),
        Err(fault) => fault.problem,
    }
}

fn check(text: &str, expected: &str) {
    assert_eq!(answer(text), expected, "{text}");
}

fn all_true(rows: &[&str]) {
    for row in rows {
        check(row, "true");
    }
}

#[test]
fn everything_the_reference_shows_holds() {
    use super::reference::{EXAMPLE_PARAMS, FUNCTIONS, MACROS, NAMES, OPERATORS};
    for entry in [NAMES, OPERATORS, MACROS, FUNCTIONS].into_iter().flatten() {
        assert_eq!(answer_over(EXAMPLE_PARAMS, entry.example), "true", "{}: {}", entry.name, entry.example);
        let words: Vec<&str> = entry.name.split(' ').collect();
        assert!(words.iter().all(|word| entry.example.contains(word) || words.len() > 2), "{}", entry.example);
    }
    // Patterns are compiled with the expression, so `matches` is no ordinary function.
    let shown: std::collections::BTreeSet<&str> = FUNCTIONS.iter().map(|entry| entry.name).collect();
    let known = super::tree::Function::WORDS.iter().copied().chain(["matches"]).collect();
    assert_eq!(shown, known);
}

#[test]
fn numbers_are_exact_decimals() {
    all_true(&[
        "0.1 + 0.2 == 0.3",
        "params.items[0].price + params.items[1].price == 0.3",
        "params.amount <= 12.50",
        "params.amount * 3 == 37.5",
        "1 == 1.0 && 2u == 2",
        "7 / 2 == 3.5",
        "1 / 3 * 3 != 1 && 1 / 3 > 0.3333333333 && 1 / 3 < 0.3333333334",
        "-7 % 3 == -1",
        "9007199254740993 != 9007199254740992",
        "9223372036854775807 + 1 > 9223372036854775807",
        "-params.amount == -12.5",
        "1e3 == 1000.0",
    ]);
    check("1 / 0 == 1", "division by zero");
    check("1 % 0 == 1", "division by zero");
    check("1.5 % 1 == 0.5", "`1.5` % `1` needs whole numbers");
    check(
        "9223372036854775807 * 9223372036854775807 > 0",
        "`9223372036854775807` * `9223372036854775807` has more than 28 digits",
    );
    check(
        "params.amount < 0.10000000000000000001",
        "16: the number `0.10000000000000000001` cannot be held exactly; write fewer digits",
    );
}

#[test]
fn faults_name_the_field_and_not_the_value() {
    check("params.amount % 5 == 0", "`params.amount` % `5` needs whole numbers");
    check(
        "params.count * 9223372036854775807 * 9223372036854775807 > 0",
        "`(…)` * `9223372036854775807` has more than 28 digits",
    );
    check("params.tags[params.count] == ''", "`params.tags` has no item at `params.count`");
    check("params.address[params.iban] == ''", "`params.address[params.iban]` is absent");
    check("params[params.iban] == ''", "`params[params.iban]` is absent");
    check("params.iban.substring(params.count, 9) == ''", "`substring` lies outside its text");
    check("int(params.iban) == 1", "`int` cannot read the text as a number");
}

#[test]
fn logic_absorbs_faults_as_cel_does() {
    all_true(&[
        "params.missing == 1 || true",
        "true || params.missing == 1",
        "!(params.missing == 1 && false)",
        "!(false && params.missing == 1)",
        "params.flag ? true : params.missing",
        "[1, 2].exists(x, x == 2 || params.missing == x)",
        "!params.tags.all(t, t == 'b' && t == params.missing)",
    ]);
    check("params.missing == 1 || false", "`params.missing` is absent");
    check("true && params.missing == 1", "`params.missing` is absent");
}

#[test]
fn what_is_absent_is_named() {
    check("params.missing > 1", "`params.missing` is absent");
    check("state.missing > 1", "`state.missing` is absent");
    check("state['a/{iban}'] > 1", "`state[\"a/{iban}\"]` is absent");
    check("params.address.street == ''", "`params.address.street` is absent");
    check("params.iban.x == ''", "`params.iban` is text, not an object");
    check("params.tags[2] == ''", "`params.tags` has no item at `2`");
    all_true(&[
        "!has(params.missing)",
        "!has(params.note)",
        "has(params.amount)",
        "!has(state.missing)",
        "!has(state.gone)",
        "has(state.risk)",
        "'accounts/{iban}/balance' in state",
        "has(params.address.city)",
        "!('note' in params) && 'iban' in params",
        "params.note == null",
    ]);
}

#[test]
fn state_agent_action_and_confidence_are_seen() {
    all_true(&[
        "state.risk < 0.31",
        "state['accounts/{iban}/balance'] == 100",
        "state[\"risk\"] == 0.3",
        "agent.id == 'refund-bot' && agent.role == 'EXECUTOR'",
        "action == 'issue_refund'",
        "confidence >= 0.9",
    ]);
}

#[test]
fn macros_and_functions() {
    all_true(&[
        "params.tags.all(t, size(t) == 1)",
        "params.tags.exists(t, t == 'b')",
        "params.tags.exists_one(t, t == 'b')",
        "params.items.map(i, i.price) == [0.1, 0.2]",
        "params.items.map(i, i.price > 0.1, i.price) == [0.2]",
        "params.items.filter(i, i.price > 0.1).size() == 1",
        "[[1], [2]].all(x, x.all(y, y > 0 && x.size() == 1))",
        "params.exists(k, k == 'iban')",
        "'b' in params.tags && !('c' in params.tags)",
        "params.tags + ['c'] == ['a', 'b', 'c']",
        "params.iban.startsWith('DE') && params.iban.endsWith('89') && params.iban.contains('E8')",
        "params.iban.matches('^[A-Z]{2}[0-9]+$') && !matches(params.iban, '^x')",
        "params.iban + '-' + string(params.count) == 'DE89-3'",
        "'aBc'.lowerAscii() == 'abc' && 'aBc'.upperAscii() == 'ABC' && ' a '.trim() == 'a'",
        "'a,b'.split(',') == ['a', 'b'] && 'aba'.replace('a', 'x') == 'xbx'",
        "'Köln'.substring(1) == 'öln' && 'Köln'.substring(0, 2) == 'Kö' && size('Köln') == 4",
        "abs(-2.5) == 2.5 && floor(2.5) == 2 && ceil(2.5) == 3 && round(2.5) == 3 && round(-2.5) == -3",
        "min(3, 1, 2) == 1 && max([1, 4]) == 4",
        "int(2.9) == 2 && int(-2.9) == -2 && int('7') == 7 && double('7.5') == 7.5",
        "string(1.50) == '1.5' && string(true) == 'true'",
        "'a' < 'b' && false < true",
        "1 != 'a' && !(null == 0) && [1] != ['1']",
        "size(params) == 8",
        "params['amount'] == 12.5 && params.address['city'] == 'Köln'",
        "params.tags[0] == 'a'",
    ]);
    check("params.iban > 5", "`params.iban` is text and `5` is a number: they have no order");
    check("params.iban * 2 == 2", "`params.iban` is text and `2` is a number: `*` has no meaning for them");
    check("params.amount.startsWith('1')", "`startsWith` has no meaning for a number, text");
    check("params.iban", "the expression yields text, not true or false");
    check("!params.iban", "`params.iban` is text, not true or false");
    check("int('7.5') == 7", "`int` cannot read the text as a number");
    check("max([]) == 1", "`max` of an empty list");
}

#[test]
fn mistakes_are_refused_with_advice() {
    check("amount <= 25", "0: `amount` is not known; if it is a param write `params.amount`");
    check(
        "parms.amount <= 25",
        "0: `parms` is not known; if it is a param write `params.parms`; did you mean `params`?",
    );
    check("agent.name == 'x'", "5: `agent.name` is not known; there are `agent.id` and `agent.role`");
    check(
        "state[params.iban] > 1",
        "12: state keys must be written out; use a template over params such as `state[\"accounts/{account}/balance\"]`",
    );
    check("size(state) > 1", "5: `state` can only be read by key: `state.key` or `state[\"a/{param}/b\"]`");
    check("state['a/{b'] > 1", "5: state key `a/{b` has a `{` without a `}`");
    check("params.iban.matches(params.pattern)", "26: the pattern of `matches` must be written out, not computed");
    check(
        "params.iban.matches('(?=a)')",
        "20: the pattern `(?=a)` cannot be used: look-around would not run in linear time",
    );
    check("params.amount + 1", "14: the expression is a number, not true or false");
    check("action", "0: the expression is text, not true or false");
    check("!(1 + 1)", "4: `(…)` is a number, not true or false");
    check("action > 5", "7: text and a number have no order");
    check("timestamp('2026-01-01T00:00:00Z') == 1", "9: `timestamp` is not supported");
    check("rond(1.5) == 2", "4: there is no function `rond`; did you mean `round`?");
    check("{'a': 1}.a == 1", "0: objects cannot be written here");
    check("params.tags.all(params, true)", "15: the loop variable `params` hides another name; choose a new one");
    check("", "0: is empty");
    check("'é' == )", "8: is not an expression: something is wrong near `)`");
    check("params.amount >", "15: is not an expression: something is wrong at its end");
    check("'é' == 'é' && nope", "16: `nope` is not known; if it is a param write `params.nope`");
}

#[test]
fn work_is_bounded() {
    let nested = "[1,2,3,4,5,6,7,8,9,10]";
    let mut text = "true".to_owned();
    for level in 0..6 {
        text = format!("{nested}.all(x{level}, {text})");
    }
    check(&text, "the expression takes more than 100000 steps");
    check(&format!("{text} || true"), "the expression takes more than 100000 steps");
    check(&"(".repeat(5000), "0: is longer than 4096 bytes");
    let doubling = "['aaaaaaaaaaaaaaaa'].map(a, a+a+a+a+a+a+a+a).map(b, b+b+b+b+b+b+b+b).map(c, c+c+c+c+c+c+c+c).map(d, d+d+d+d+d+d+d+d).map(e, e+e+e+e+e+e+e+e).map(f, f+f+f+f+f+f+f+f).map(g, g+g+g+g+g+g+g+g).size() == 1";
    check(doubling, "the expression takes more than 100000 steps");
}

#[test]
fn depth_is_bounded() {
    for text in [format!("{}true{}", "(".repeat(500), ")".repeat(500)), format!("{}1 == 1", "1+".repeat(1500))] {
        assert!(compile(&text).is_err(), "{text}");
    }
    assert!(compile(&format!("{}1 == 51", "1+".repeat(50))).is_ok());
    assert!(compile(&format!("{}true", "true && ".repeat(400))).is_ok());
}

#[test]
fn reads_are_exact() {
    let check = |text: &str, expected: &str| {
        let expression = compile(text).unwrap();
        let reads = expression.reads();
        let params: Vec<&str> = reads.params.iter().map(String::as_str).collect();
        let state: Vec<&str> = reads.state.iter().map(|template| template.as_str()).collect();
        let found = format!("{params:?} {} {state:?} {}", reads.all_params, reads.confidence);
        assert_eq!(found, expected, "{text}");
    };
    check("params.a > 1 && has(params.b) && 'c' in params", r#"["a", "b", "c"] false [] false"#);
    check("params['a'] > state['x/{b}'] && has(state.y)", r#"["a"] false ["x/{b}", "y"] false"#);
    check("size(params) > 1 && confidence > 0.5", "[] true [] true");
    check("params[action] == 1", "[] true [] false");
}

proptest! {
    #[test]
    fn no_text_makes_the_compiler_panic(text in "[a-z0-9 ().,'\"\\[\\]{}?:+*/%<>=!&|-]{0,40}") {
        let _ = compile(&text);
    }

    #[test]
    fn no_sequence_of_words_makes_it_panic(words in prop::collection::vec(prop::sample::select(vec![
        "params", ".", "a", "state", "[", "]", "'x/{a}'", "(", ")", "has", "size", "all", ",", "x", "1", "2.5",
        "+", "-", "!", "&&", "||", "?", ":", "==", "<", "in", "map", "\"", "{", "}", "null",
    ]), 0..14)) {
        let _ = answer(&words.concat());
        let _ = answer(&words.join(" "));
    }
}
