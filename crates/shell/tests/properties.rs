//! Whatever the text, the answer comes back, is the same twice, and points inside the text.

use proptest::prelude::*;
use shell::{View, classify};

/// Pieces that make texts look like shell more often than random letters do.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "rm", "-rf", "/", "~", "$HOME", "${x:-y}", "$(", ")", "`", "'", "\"", "\\", "|", "||", "&&", "&", ";", "\n",
        "{", "}", "(", "((", "))", "<<E\n", "<<<", ">", ">>", "<(", "$((", "[[", "]]", "if", "then", "fi", "for", "in",
        "do", "done", "case", "esac", "while", "function", "f()", "eval", "bash", "-c", "echo", "xargs", "find",
        "-exec", "{}", "\\;", "*", "?", "[a-z]", "{a,b}", "{1..9}", "#", "!", "=", "x=", "$x", "$@", "é", "\u{E000}",
        "\0",
    ]);
    prop_oneof![4 => fixed.prop_map(ToOwned::to_owned), 1 => "[ -~]{0,6}", 1 => any::<String>()]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec((piece(), prop::bool::ANY), 0..40)
        .prop_map(|pieces| pieces.into_iter().map(|(piece, space)| if space { piece + " " } else { piece }).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn shell_like_texts_are_answered(text in text()) {
        let view = View::default();
        let first = classify(&text, &view);
        prop_assert_eq!(&first, &classify(&text, &view));
        for reason in &first.reasons {
            prop_assert!(reason.span.start <= reason.span.end);
        }
    }

    #[test]
    fn any_string_is_answered(text in any::<String>()) {
        let _ = classify(&text, &View::default());
    }

    #[test]
    fn single_quotes_make_data(text in "[ -&(-~]{0,40}") {
        let answer = classify(&format!("echo '{text}'"), &View::default());
        prop_assert_eq!(answer.class.name(), "read");
    }

    #[test]
    fn a_danger_behind_anything_complete_is_still_seen(prefix in "[a-z]{1,8}") {
        let answer = classify(&format!("echo {prefix}; rm -rf /"), &View::default());
        prop_assert_eq!(answer.class.name(), "catastrophic");
    }
}
