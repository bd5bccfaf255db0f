//! Arithmetic on literals, so that `$((0x2f))` and friends are not a hiding place.

/// Nested brackets followed before giving up.
const DEPTH_MAX: usize = 16;

/// The value of an expression of literals, `+ - * / % ** ( )`, bases; `None` for anything else.
pub fn evaluate(text: &str) -> Option<i64> {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, depth: 0 };
    let value = reader.sum()?;
    reader.space();
    (reader.at == reader.bytes.len()).then_some(value)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn space(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> bool {
        self.space();
        let found = self.bytes.get(self.at) == Some(&wanted);
        if found {
            self.at += 1;
        }
        found
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            if self.take(b'+') {
                value = value.checked_add(self.product()?)?;
            } else if self.take(b'-') {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.power()?;
        loop {
            if self.take(b'*') {
                value = value.checked_mul(self.power()?)?;
            } else if self.take(b'/') {
                value = value.checked_div(self.power()?)?;
            } else if self.take(b'%') {
                value = value.checked_rem(self.power()?)?;
            } else {
                return Some(value);
            }
        }
    }

    /// Binds tighter than a product, looser than a sign, and groups from the right: `2**3**2` is `2**9`.
    fn power(&mut self) -> Option<i64> {
        let base = self.atom()?;
        self.space();
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(b"**")) {
            return Some(base);
        }
        self.at += 2;
        self.depth += 1;
        let exponent = if self.depth > DEPTH_MAX { None } else { self.power() };
        self.depth -= 1;
        base.checked_pow(u32::try_from(exponent?).ok()?)
    }

    fn atom(&mut self) -> Option<i64> {
        self.depth += 1;
        let value = if self.depth > DEPTH_MAX {
            None
        } else if self.take(b'(') {
            let value = self.sum()?;
            self.take(b')').then_some(value)
        } else if self.take(b'-') {
            self.atom()?.checked_neg()
        } else if self.take(b'+') {
            self.atom()
        } else {
            self.number()
        };
        self.depth -= 1;
        value
    }

    fn number(&mut self) -> Option<i64> {
        self.space();
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'#') {
            self.at += 1;
        }
        let text = std::str::from_utf8(self.bytes.get(start..self.at)?).ok()?;
        if let Some((base, digits)) = text.split_once('#') {
            return i64::from_str_radix(digits, base.parse().ok().filter(|base| (2..=36).contains(base))?).ok();
        }
        if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            return i64::from_str_radix(hex, 16).ok();
        }
        if text.len() > 1 && text.starts_with('0') {
            return i64::from_str_radix(text, 8).ok();
        }
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use std::process::{Command, Stdio};

    #[track_caller]
    fn check(text: &str, expected: Option<i64>) {
        assert_eq!(evaluate(text), expected, "{text}");
    }

    #[test]
    fn literals() {
        check("1 + 2*3", Some(7));
        check("(1+2)*3", Some(9));
        check("0x2f", Some(47));
        check("8#57", Some(47));
        check("2**5", Some(32));
        check("x+1", None);
        check("1/0", None);
        check("", None);
    }

    #[test]
    fn powers_bind_tighter_than_products_and_group_from_the_right() {
        check("2*3**2", Some(18));
        check("2**3**2", Some(512));
        check("(2**3)**2", Some(64));
        check("-2**2", Some(4));
        check("2**3*2", Some(16));
        check("4%3**2", Some(4));
        check("2**-1", None);
        check("2* *3", None);
        check(&"2**".repeat(40), None);
    }

    /// Literals of every base, signs, brackets and all operators, three levels deep.
    fn expression() -> impl Strategy<Value = String> {
        let literal = prop_oneof![
            4 => (0..12_u8).prop_map(|number| number.to_string()),
            1 => prop::sample::select(vec!["0x1f", "0X2", "010", "08", "2#101", "8#57", "36#z", "16#fF", "2#2"])
                .prop_map(str::to_owned),
        ];
        let operator = prop::sample::select(vec!["+", "-", "*", "/", "%", "**", " ** ", " * ", " - "]);
        literal.prop_recursive(3, 12, 3, move |inner| {
            prop_oneof![
                4 => (inner.clone(), operator.clone(), inner.clone()).prop_map(|(left, sign, right)| left + sign + &right),
                1 => inner.clone().prop_map(|inner| format!("({inner})")),
                1 => (prop::sample::select(vec!["-", "+", "- "]), inner).prop_map(|(sign, inner)| sign.to_owned() + &inner),
            ]
        })
    }

    /// What bash makes of each; `None` where it refuses.
    fn said_by_bash(expressions: &[String]) -> Option<Vec<Option<i64>>> {
        // An error in arithmetic ends the shell that meets it, so each expression gets one of its own.
        let script = "for text; do (eval \"echo \\$(($text))\") 2>/dev/null || echo refused; done";
        let mut command = Command::new("bash");
        command.args(["-c", script, "bash"]).args(expressions).stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).lines().map(|line| line.parse().ok()).collect())
    }

    #[test]
    fn bash_computes_the_same() {
        let mut runner = TestRunner::default();
        let draw = |_| expression().new_tree(&mut runner).unwrap().current();
        let expressions: Vec<String> = (0..600).map(draw).collect();
        let Some(said) = said_by_bash(&expressions) else {
            println!("missing: bash");
            return;
        };
        assert_eq!(said.len(), expressions.len());
        let (mut agreed, mut refused) = (0, 0);
        for (text, bash) in expressions.iter().zip(said) {
            match (evaluate(text), bash) {
                (Some(ours), bash) => {
                    assert_eq!(Some(ours), bash, "{text}");
                    agreed += 1;
                }
                // Bash wraps around; we leave such a value unknown.
                (None, Some(_)) => {}
                (None, None) => refused += 1,
            }
        }
        assert!(agreed > 300 && refused > 20, "{agreed} alike, {refused} refused by both");
    }
}
