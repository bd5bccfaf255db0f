//! The same random expressions through the `cel` crate's own interpreter: where semantics agree, answers must.
//!
//! Left out because they differ on purpose: division, doubles, integers beyond 64 bits.

use super::{TWO_MEANINGS, compile, quickly};
use kernel::contract::Role;
use kernel::evaluator::{AgentView, ExpressionEvaluator, Scope, StateView};
use proptest::prelude::*;
use values::json::Json;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Bool,
    Number,
    Text,
    Numbers,
}

fn expression(sort: Sort, depth: u32) -> BoxedStrategy<String> {
    let leaf = match sort {
        Sort::Bool => {
            prop_oneof![Just("true".to_owned()), Just("false".to_owned()), Just("params.yes".to_owned())].boxed()
        }
        Sort::Number => prop_oneof![
            (-9_i32..10).prop_map(|n| format!("({n})")),
            Just("params.three".to_owned()),
            Just("params.missing".to_owned())
        ]
        .boxed(),
        Sort::Text => prop_oneof![
            Just("'a'".to_owned()),
            Just("'ab'".to_owned()),
            Just("''".to_owned()),
            Just("params.word".to_owned())
        ]
        .boxed(),
        Sort::Numbers => {
            prop_oneof![Just("[1, 2, 3]".to_owned()), Just("params.list".to_owned()), Just("[1]".to_owned())].boxed()
        }
    };
    if depth == 0 {
        return leaf;
    }
    let part = |sort| expression(sort, depth - 1);
    let joined = |sort, words: &'static [&'static str]| {
        (part(sort), prop::sample::select(words), part(sort))
            .prop_map(|(a, word, b)| format!("({a} {word} {b})"))
            .boxed()
    };
    let chosen = (part(Sort::Bool), part(sort), part(sort)).prop_map(|(c, a, b)| format!("({c} ? {a} : {b})")).boxed();
    match sort {
        Sort::Bool => prop_oneof![
            leaf,
            chosen,
            joined(Sort::Bool, &["&&", "||", "==", "!="]),
            joined(Sort::Number, &["==", "!=", "<", "<=", ">", ">="]),
            joined(Sort::Text, &["==", "!=", "<", ">="]),
            joined(Sort::Numbers, &["==", "!="]),
            part(Sort::Bool).prop_map(|a| format!("!({a})")),
            (part(Sort::Number), part(Sort::Numbers)).prop_map(|(a, b)| format!("({a} in {b})")),
            (part(Sort::Numbers), prop::sample::select(vec!["all", "exists", "exists_one"]), part(Sort::Number))
                .prop_map(move |(a, word, b)| format!("{a}.{word}(v{depth}, v{depth} > {b})")),
            (part(Sort::Text), prop::sample::select(vec!["contains", "startsWith", "endsWith"]), part(Sort::Text))
                .prop_map(|(a, word, b)| format!("{a}.{word}({b})")),
            (part(Sort::Text), part(Sort::Number)).prop_map(|(a, b)| format!("({a} == {b})")),
            Just("has(params.missing)".to_owned()),
        ]
        .boxed(),
        Sort::Number => prop_oneof![
            leaf,
            chosen,
            joined(Sort::Number, &["+", "-", "*", "%"]),
            part(Sort::Text).prop_map(|a| format!("size({a})")),
            part(Sort::Numbers).prop_map(|a| format!("{a}.size()")),
            (part(Sort::Numbers), part(Sort::Number)).prop_map(|(a, b)| format!("{a}[{b}]")),
        ]
        .boxed(),
        Sort::Text => prop_oneof![leaf, chosen, joined(Sort::Text, &["+"])].boxed(),
        Sort::Numbers => prop_oneof![
            leaf,
            joined(Sort::Numbers, &["+"]),
            (part(Sort::Numbers), part(Sort::Number))
                .prop_map(move |(a, b)| format!("{a}.map(m{depth}, m{depth} + {b})")),
            (part(Sort::Numbers), part(Sort::Number))
                .prop_map(move |(a, b)| format!("{a}.filter(f{depth}, f{depth} < {b})")),
        ]
        .boxed(),
    }
}

fn ours(text: &str) -> Option<Option<bool>> {
    let expression = match compile(text) {
        Ok(expression) => expression,
        // The generator may nest deeper than we allow; such rows say nothing about semantics.
        Err(fault) if fault.problem.contains("nested") || fault.problem.contains("bytes") => return None,
        Err(fault) => panic!("{text}: {}", fault.problem),
    };
    let params = Json::parse(br#"{"yes": true, "three": 3, "word": "abc", "list": [3, -1, 7]}"#).unwrap();
    let state = StateView::new();
    let scope = Scope {
        params: params.as_object().unwrap(),
        state: &state,
        agent: AgentView { id: "a", role: Role::Executor },
        action: "b",
        confidence: None,
    };
    Some(expression.holds(&scope).ok())
}

fn theirs(text: &str) -> Option<bool> {
    let mut context = cel::Context::default();
    let list = vec![cel::Value::Int(3), cel::Value::Int(-1), cel::Value::Int(7)];
    let params = [
        ("yes", cel::Value::Bool(true)),
        ("three", cel::Value::Int(3)),
        ("word", cel::Value::String("abc".to_owned().into())),
        ("list", cel::Value::List(list.into())),
    ];
    let map = params.into_iter().map(|(key, value)| (key.into(), value)).collect();
    context.add_variable_from_value("params", cel::Value::Map(cel::objects::Map { map: std::sync::Arc::new(map) }));
    match cel::Program::compile(text).unwrap().execute(&context) {
        Ok(cel::Value::Bool(answer)) => Some(answer),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn we_agree_with_cel(text in expression(Sort::Bool, 3)) {
        if let Some(ours) = ours(&text) {
            prop_assert!(quickly(&text).is_some(), "{}", text);
            prop_assert_eq!(ours, theirs(&text), "{}", text);
        }
    }

    /// Without parentheses only the parsers say what belongs together.
    #[test]
    fn both_parsers_read_the_same(first in flat_operand(), rest in prop::collection::vec((flat_sign(), flat_operand()), 0..6)) {
        let text = rest.iter().fold(first, |text, (sign, operand)| format!("{text}{sign}{operand}"));
        if let Err(fault) = compile(&text) {
            prop_assert_ne!(fault.problem, TWO_MEANINGS, "{}", text);
        }
    }
}

fn flat_operand() -> impl Strategy<Value = String> {
    let operands = [
        "true",
        "false",
        "1",
        "-2",
        "- 3",
        "!true",
        "!!false",
        "params.yes",
        "params.list[0]",
        "params.word",
        "'a'",
        "\"b\"",
        "r'\\d'",
        "'\\n'",
        "[1, 2]",
        "[]",
        "size(params.word)",
        "params.word.size()",
        "(1 + 2)",
        "null",
        "0x1f",
        "1u",
        "'''c'''",
        "params.list.exists(x, x > 1)",
        "has(params.yes)",
        "state.a",
        "state['a/{word}']",
        "'\\u00e9'",
        "params.word.matches('^a')",
    ];
    prop::sample::select(operands.to_vec()).prop_map(str::to_owned)
}

fn flat_sign() -> impl Strategy<Value = String> {
    let signs = [
        " && ", "||", " == ", "!=", "<", "<= ", " > ", ">=", " + ", "-", "*", " / ", "%", " in ", " ? ", " : ", ".",
        ", ",
    ];
    prop::sample::select(signs.to_vec()).prop_map(str::to_owned)
}
