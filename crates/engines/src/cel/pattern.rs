//! Regular expressions of `matches`: linear in the text, bounded in size, and compiled no sooner than needed.

use super::When;
use regex::{Regex, RegexBuilder};
use std::fmt;
use std::sync::OnceLock;

/// Compiled patterns larger than this are refused.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A pattern as it is written, and as it runs.
pub(super) struct Pattern {
    source: String,
    compiled: OnceLock<Result<Regex, &'static str>>,
}

impl Pattern {
    pub(super) fn of(source: &str) -> Pattern {
        Pattern { source: source.to_owned(), compiled: OnceLock::new() }
    }

    /// What is wrong with it; one that was compiled before is not looked at until it runs.
    pub(super) fn problem(&self, when: When) -> Option<&'static str> {
        match when {
            When::Now => self.regex().as_ref().err().copied(),
            When::Asked => None,
        }
    }

    /// Compiled.
    pub(super) fn regex(&self) -> &Result<Regex, &'static str> {
        self.compiled.get_or_init(|| compiled(&self.source))
    }

    /// As written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(formatter)
    }
}

#[cfg(test)]
thread_local! {
    /// How many patterns this thread has set up.
    static SET_UP: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn compiled(source: &str) -> Result<Regex, &'static str> {
    #[cfg(test)]
    SET_UP.set(SET_UP.get() + 1);
    let built = RegexBuilder::new(source).size_limit(PATTERN_BYTES_MAX).build();
    built.map_err(|error| {
        let look_around = ["(?=", "(?!", "(?<=", "(?<!"].into_iter().any(|sign| source.contains(sign));
        if matches!(error, regex::Error::CompiledTooBig(_)) {
            "is too large"
        } else if look_around {
            "cannot be used: look-around would not run in linear time"
        } else {
            "is not a regular expression"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::SET_UP;
    use crate::cel::compile_known;
    use kernel::contract::Role;
    use kernel::evaluator::{AgentView, ExpressionEvaluator, Scope, StateView};
    use values::json::Json;

    /// Whether the template for coding agents lets the line pass unasked, and how many patterns that took.
    fn check(line: &str, expected: (bool, usize)) {
        let text = contract::template("coding-agent").unwrap().text;
        let contract = crate::load::load(text).unwrap().compiled.contract;
        let allow = compile_known(contract.actions["tool.shell"].allow.as_ref().unwrap()).unwrap();
        let nothing = || Json::List(Vec::new());
        let params = Json::object([
            ("class", Json::text("write")),
            ("argv", Json::List(vec![Json::text(line)])),
            ("outside", nothing()),
            ("shadowed", nothing()),
            ("unclear", nothing()),
            ("can", nothing()),
            ("programs", nothing()),
        ]);
        let scope = Scope {
            params: params.as_object().unwrap(),
            state: &StateView::new(),
            agent: AgentView { id: "a", role: Role::Executor },
            action: "tool.shell",
            confidence: None,
        };
        let before = SET_UP.get();
        let free = allow.holds(&scope).unwrap();
        assert_eq!((free, SET_UP.get() - before), expected, "{line}");
    }

    /// Setting one up takes as long as much of a call, and a hook without a daemon does it again for every call.
    #[test]
    fn an_ordinary_command_is_judged_without_setting_up_a_pattern() {
        for line in ["cargo test --workspace", "git commit -m fix", "npm ci", "make", "ls -la", "pytest -q"] {
            check(line, (true, 0));
        }
        check("git push origin fix-1", (true, 3));
        check("git push origin main", (false, 3));
        check("npm publish", (false, 1));
        check("gh pr create --fill", (true, 1));
        check("./gradlew test", (true, 1));
    }
}
