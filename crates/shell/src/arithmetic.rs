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
        let mut value = self.atom()?;
        loop {
            if self.take(b'*') {
                value = if self.take(b'*') {
                    value.checked_pow(u32::try_from(self.atom()?).ok()?)?
                } else {
                    value.checked_mul(self.atom()?)?
                };
            } else if self.take(b'/') {
                value = value.checked_div(self.atom()?)?;
            } else if self.take(b'%') {
                value = value.checked_rem(self.atom()?)?;
            } else {
                return Some(value);
            }
        }
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
    #[track_caller]
    fn check(text: &str, expected: Option<i64>) {
        assert_eq!(super::evaluate(text), expected, "{text}");
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
}
