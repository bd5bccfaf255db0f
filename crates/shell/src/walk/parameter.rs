//! Parameter, arithmetic and command expansion after a dollar sign.

use super::expand::Fields;
use super::{ANY_WORDS, Variable, Walker};
use crate::answer::{Capability, Span};
use crate::glob;
use crate::mark;
use crate::quote;
use crate::sensitive;
use crate::zone;

/// A parameter's value: nothing, one text, or a list.
enum Value {
    Unset,
    One(String),
    Many(Vec<String>),
}

impl Value {
    fn joined(self) -> String {
        match self {
            Self::Unset => mark::UNSET.to_string(),
            Self::One(text) => text,
            Self::Many(items) => items.join(" "),
        }
    }
}

impl Walker<'_> {
    /// Expands what follows `$` in unquoted text; the position after it is the answer.
    pub(crate) fn dollar(&mut self, raw: &str, i: usize, span: Span, fields: &mut Fields, joined: bool) -> usize {
        let bytes = raw.as_bytes();
        match bytes.get(i + 1) {
            Some(b'\'') => {
                let end = ansi_end(bytes, i + 2);
                fields.push(&quote::unescape(raw.get(i + 2..end).unwrap_or_default()));
                end + 1
            }
            Some(b'"') => {
                let end = quote::skip_double(raw, i + 2).unwrap_or(bytes.len());
                fields.push("");
                self.scan_quoted(raw.get(i + 2..end).unwrap_or_default(), span, fields, false);
                end + 1
            }
            _ => {
                let (value, next) = self.dollar_value(raw, i, span);
                let doubtful = self.is_doubtful_plain(raw, i, &value);
                let from = fields.reached();
                match value {
                    Value::Many(items) if !joined => fields.push_list(&items, false),
                    value @ (Value::Unset | Value::One(_) | Value::Many(_)) => {
                        let text = value.joined();
                        if joined { fields.push(&text) } else { fields.push_split(&text) }
                    }
                }
                if doubtful {
                    fields.doubt(from);
                }
                next
            }
        }
    }

    pub(crate) fn dollar_quoted(&mut self, raw: &str, i: usize, span: Span, fields: &mut Fields) -> usize {
        if raw.as_bytes().get(i + 1).is_some_and(|byte| matches!(byte, b'"' | b'\'')) {
            fields.push("$");
            return i + 1;
        }
        let (value, next) = self.dollar_value(raw, i, span);
        let doubtful = self.is_doubtful_plain(raw, i, &value);
        let from = fields.reached();
        match value {
            Value::Many(items) => fields.push_list(&items, true),
            value @ (Value::Unset | Value::One(_)) => fields.push(&value.joined()),
        }
        if doubtful {
            fields.doubt(from);
        }
        next
    }

    fn dollar_value(&mut self, raw: &str, i: usize, span: Span) -> (Value, usize) {
        let bytes = raw.as_bytes();
        match bytes.get(i + 1) {
            Some(b'(') if bytes.get(i + 2) == Some(&b'(') && quote::end_of_arithmetic(raw, i + 3).is_some() => {
                let end = quote::end_of_arithmetic(raw, i + 3).unwrap_or(raw.len());
                let body = raw.get(i + 3..end).unwrap_or_default().to_owned();
                (Value::One(self.arithmetic(&body, span)), end + 2)
            }
            Some(b'(') => {
                let end = quote::end_of_command(raw, i + 2).unwrap_or(raw.len());
                let body = raw.get(i + 2..end).unwrap_or_default().to_owned();
                (Value::One(self.substituted(&body, span).value()), end + 1)
            }
            Some(b'{') => {
                let end = quote::end_of_parameter(raw, i + 2).unwrap_or(raw.len());
                let body = raw.get(i + 2..end).unwrap_or_default().to_owned();
                let value = self.braced(&body, span);
                let starred = body.starts_with('*') || body.contains("[*]");
                (if starred { self.starred(value) } else { value }, end + 1)
            }
            Some(b'[') => {
                let end = raw.get(i + 2..).and_then(|rest| rest.find(']')).map_or(raw.len(), |offset| i + 2 + offset);
                let body = raw.get(i + 2..end).unwrap_or_default().to_owned();
                (Value::One(self.arithmetic(&body, span)), end + 1)
            }
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {
                let name: String = raw
                    .get(i + 1..)
                    .unwrap_or_default()
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                let next = i + 1 + name.len();
                (self.value_of(&name, span), next)
            }
            Some(byte) if byte.is_ascii_digit() || matches!(byte, b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') => {
                let name = char::from(*byte).to_string();
                let value = self.value_of(&name, span);
                (if *byte == b'*' { self.starred(value) } else { value }, i + 2)
            }
            _ => (Value::One("$".to_owned()), i + 1),
        }
    }

    /// `$*` and its relatives: the values with the first separator between them.
    fn starred(&mut self, value: Value) -> Value {
        match value {
            Value::Many(items) if items.len() > 1 && (self.unordered || self.state.variables.contains_key("IFS")) => {
                let words: Vec<super::Arg> =
                    items.into_iter().map(|item| super::Arg::new(item, Span::default())).collect();
                self.name_words(&words);
                Value::One(mark::OUTPUT.to_string())
            }
            Value::Many(items) => Value::One(items.join(" ")),
            other @ (Value::Unset | Value::One(_)) => other,
        }
    }

    /// The value of a parameter by name.
    fn value_of(&mut self, name: &str, span: Span) -> Value {
        match name {
            "@" | "*" => {
                return match &self.state.positional {
                    Some(items) if *items == [ANY_WORDS] => Value::Many(vec![mark::OUTPUT.to_string()]),
                    Some(items) => Value::Many(items.clone()),
                    None => Value::Unset,
                };
            }
            "#" | "?" | "$" | "!" => return Value::One(mark::NUMBER.to_string()),
            "-" => return Value::One("himBH".to_owned()),
            _ => {}
        }
        if let Ok(index) = name.parse::<usize>() {
            return match (&self.state.positional, index) {
                (_, 0) if self.state.variables.contains_key("BASH_ARGV0") => Value::One(mark::OUTPUT.to_string()),
                (_, 0) => match self.state.variables.get("0") {
                    Some(Variable::Scalar(name)) => Value::One(name.clone()),
                    Some(Variable::List(_) | Variable::Scattered(_)) | None => Value::One("bash".to_owned()),
                },
                // A wildcard may be several words, and then the others stand elsewhere.
                (Some(items), index)
                    if *items == [ANY_WORDS] || items.iter().take(index - 1).any(|item| mark::has_wild(item)) =>
                {
                    Value::One(mark::OUTPUT.to_string())
                }
                (Some(items), index) => items.get(index - 1).cloned().map_or(Value::One(String::new()), Value::One),
                (None, _) => Value::Unset,
            };
        }
        if self.state.references.contains_key(name) {
            let target = self.referred(name);
            if !mark::is_literal(&target) || target.contains('[') || target.is_empty() {
                self.evaluated(&target, span);
                return Value::One(mark::OUTPUT.to_string());
            }
            if target != name {
                return self.value_of(&target, span);
            }
        }
        match self.state.variables.get(name) {
            Some(_) if super::evaluate::DYNAMIC.contains(&name) => Value::One(mark::OUTPUT.to_string()),
            Some(Variable::Scalar(text)) => Value::One(text.clone()),
            Some(Variable::List(items)) => Value::One(items.first().cloned().unwrap_or_default()),
            Some(Variable::Scattered(_)) => Value::One(mark::OUTPUT.to_string()),
            None => self.inherited(name, span),
        }
    }

    /// Variables every shell has, as far as their value is certain.
    fn inherited(&mut self, name: &str, span: Span) -> Value {
        if sensitive::is_secret_variable(name) {
            self.report.can_because(Capability::Credentials, format!("`${name}` holds a secret"), span);
            return Value::One(mark::SECRET.to_string());
        }
        Value::One(match name {
            "HOME" => self.view.home.to_owned(),
            "PWD" => self.state.cwd.clone(),
            "BASH_SOURCE" => match self.reading.last() {
                Some(file) => file.clone(),
                None => return Value::Unset,
            },
            "IFS" => " \t\n".to_owned(),
            "TMPDIR" | "TEMP" | "TMP" | "RUNNER_TEMP" => mark::TEMP.to_string(),
            "EDITOR" | "VISUAL" => "vi".to_owned(),
            "PAGER" => "less".to_owned(),
            "SHELL" | "BASH" => "/bin/bash".to_owned(),
            "USER" | "LOGNAME" | "UID" | "EUID" | "PPID" | "RANDOM" | "SECONDS" | "LINENO" | "HOSTNAME"
            | "HOSTTYPE" | "OSTYPE" | "MACHTYPE" | "BASHPID" | "BASH_VERSION" | "LANG" | "TERM" | "PATH"
            | "COLUMNS" | "LINES" | "EPOCHSECONDS" => mark::NUMBER.to_string(),
            _ => return Value::Unset,
        })
    }

    /// The body of `${…}`.
    fn braced(&mut self, body: &str, span: Span) -> Value {
        if let Some(name) = body.strip_prefix('#').filter(|rest| !rest.is_empty()) {
            let (name, subscript) = name.split_once('[').unwrap_or((name, ""));
            let subscript = subscript.to_owned();
            let value = self.value_of(name, span).joined();
            self.arithmetic(&subscript, span);
            return Value::One(if value.is_ascii() && subscript.is_empty() && !matches!(name, "@" | "*") {
                value.chars().count().to_string()
            } else {
                mark::NUMBER.to_string()
            });
        }
        let (indirect, body) = match body.strip_prefix('!') {
            Some(rest) if !rest.is_empty() => (true, rest),
            Some(_) | None => (false, body),
        };
        let name: String = if body.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            body.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
        } else if body.starts_with(|c: char| c.is_ascii_digit()) {
            body.chars().take_while(char::is_ascii_digit).collect()
        } else {
            body.chars().take(1).collect()
        };
        let mut rest = body.get(name.len()..).unwrap_or_default();
        let mut value = self.value_of(&name, span);
        if let Some(index_body) = rest.strip_prefix('[') {
            let end = super::evaluate::end_of_subscript(index_body);
            let index = index_body.get(..end).unwrap_or_default().to_owned();
            rest = index_body.get(end + 1..).unwrap_or_default();
            value = self.element(&name, &index, span);
        }
        if indirect {
            if let Value::One(target) = &value {
                let target = target.clone();
                if target.contains('[') {
                    self.evaluated(&target, span);
                }
            }
            value = match value {
                Value::One(target) if mark::is_literal(&target) && !target.is_empty() => self.value_of(&target, span),
                Value::Unset | Value::One(_) | Value::Many(_) => Value::Unset,
            };
        }
        self.operated(&name, value, rest, span)
    }

    fn element(&mut self, name: &str, index: &str, span: Span) -> Value {
        if !matches!(index, "@" | "*") {
            self.arithmetic(index, span);
        }
        let name = self.referred(name);
        if let ("BASH_SOURCE", "0", Some(file)) = (name.as_str(), index, self.reading.last()) {
            return Value::One(file.clone());
        }
        if super::evaluate::DYNAMIC.contains(&name.as_str()) || !mark::is_literal(&name) {
            return Value::One(mark::OUTPUT.to_string());
        }
        match self.state.variables.get(&name) {
            Some(Variable::Scattered(items)) => match index {
                "@" | "*" => {
                    self.unordered = true;
                    Value::Many(items.clone())
                }
                _ => Value::One(mark::OUTPUT.to_string()),
            },
            Some(Variable::List(items)) => match index {
                "@" | "*" => Value::Many(items.clone()),
                index => match index.trim().parse::<i64>() {
                    // A number that begins with a naught is one to the base eight.
                    Ok(_) if index.trim().len() > 1 && index.trim().trim_start_matches('-').starts_with('0') => {
                        Value::One(mark::OUTPUT.to_string())
                    }
                    Ok(at) => {
                        let at = if at < 0 {
                            usize::try_from(at.unsigned_abs()).ok().and_then(|back| items.len().checked_sub(back))
                        } else {
                            usize::try_from(at).ok()
                        };
                        Value::One(at.and_then(|at| items.get(at)).cloned().unwrap_or_default())
                    }
                    Err(_) => Value::One(mark::OUTPUT.to_string()),
                },
            },
            Some(Variable::Scalar(text)) => Value::One(text.clone()),
            None => Value::Unset,
        }
    }

    /// Applies the operator that follows the name.
    fn operated(&mut self, name: &str, value: Value, rest: &str, span: Span) -> Value {
        let (colon, op) = match rest.strip_prefix(':') {
            Some(after) if after.starts_with(['-', '=', '?', '+']) => (true, after),
            Some(_) | None => (false, rest),
        };
        let mut chars = op.chars();
        let first = chars.next();
        let operand = chars.as_str();
        match first {
            None => value,
            Some('-' | '=') => self.defaulted(name, value, (colon, first == Some('=')), operand, span),
            Some('+') => match value {
                Value::One(text) if colon && text.is_empty() => Value::One(text),
                Value::Unset => Value::One(self.this_or("", operand, span)),
                Value::One(text) if text.is_empty() || mark::has_hole(&text) || self.is_doubtful(name) => {
                    Value::One(self.this_or("", operand, span))
                }
                Value::One(_) | Value::Many(_) => Value::One(self.operand(operand, span)),
            },
            Some('?') => match value {
                // The shell stops here when the variable is empty, so past this point it is not.
                Value::Unset => {
                    self.operand(operand, span);
                    Value::One(mark::NUMBER.to_string())
                }
                other @ (Value::One(_) | Value::Many(_)) => {
                    self.perhaps(&other, colon, operand, span);
                    other
                }
            },
            Some(':') => {
                self.arithmetic(operand, span);
                if let (Value::Many(items), Some(Variable::Scattered(_))) =
                    (&value, self.state.variables.get(&self.referred(name)))
                {
                    // The numbers are those of places, and those are not known.
                    let words: Vec<super::Arg> = items.iter().map(|item| super::Arg::new(item.clone(), span)).collect();
                    self.name_words(&words);
                    return Value::Many(vec![mark::OUTPUT.to_string()]);
                }
                substring(value, operand, matches!(name, "@" | "*"))
            }
            Some('@') if operand == "P" => {
                match value {
                    Value::Unset => self.prompted(&mark::UNSET.to_string(), span),
                    Value::One(text) => self.prompted(&text, span),
                    Value::Many(items) => items.iter().for_each(|item| self.prompted(item, span)),
                }
                Value::One(mark::OUTPUT.to_string())
            }
            Some('/') => self.replacing(value, operand, span),
            Some('#' | '%' | '^' | ',' | '@') => match self.pattern(operand, span) {
                Some(pattern) => map(value, |text| transformed(text, first.unwrap_or('#'), &pattern)),
                None => map(value, |_| mark::OUTPUT.to_string()),
            },
            Some(_) => {
                self.operand(operand, span);
                Value::One(mark::OUTPUT.to_string())
            }
        }
    }

    /// `${x-a}`, `${x:-a}`, `${x=a}` and `${x:=a}`.
    fn defaulted(
        &mut self,
        name: &str,
        value: Value,
        (colon, assigns): (bool, bool),
        operand: &str,
        span: Span,
    ) -> Value {
        let text = match value {
            Value::Unset => self.operand(operand, span),
            Value::One(text) if colon && text.is_empty() => self.operand(operand, span),
            // Whether it is empty or not set at all is not known.
            Value::One(text) if text.is_empty() || self.is_doubtful(name) => self.this_or(&text, operand, span),
            other @ (Value::One(_) | Value::Many(_)) => {
                self.perhaps(&other, colon, operand, span);
                return other;
            }
        };
        if assigns {
            self.assign(name, Variable::Scalar(text.clone()), span);
        }
        Value::One(text)
    }

    /// Whether a variable may not be set after all.
    fn is_doubtful(&self, name: &str) -> bool {
        let is_positional = matches!(name, "@" | "*") || name.starts_with(|c: char| c.is_ascii_digit());
        let name = if is_positional { "@".to_owned() } else { self.referred(name) };
        self.state.doubtful.contains(&name)
    }

    /// Whether what follows a dollar sign is the value of a variable that may not be set. A vital place stays what it is.
    fn is_doubtful_plain(&self, raw: &str, i: usize, value: &Value) -> bool {
        if self.state.doubtful.is_empty() {
            return false;
        }
        let rest = raw.get(i + 1..).unwrap_or_default();
        let rest = rest.strip_prefix('{').unwrap_or(rest).trim_start_matches('!');
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let vital = |text: &str| text.starts_with('/') && zone::of(text, &self.state.cwd, self.view.home).is_vital();
        let plain = match value {
            Value::One(text) => !text.is_empty() && !vital(text),
            Value::Many(items) => !items.iter().any(|text| vital(text)),
            Value::Unset => false,
        };
        plain && self.is_doubtful(&name)
    }

    /// One of two texts, the second of which is an operand.
    fn this_or(&mut self, text: &str, operand: &str, span: Span) -> String {
        let other = self.operand(operand, span);
        if other == text {
            return other;
        }
        match self.one_of(&Variable::Scalar(text.to_owned()), &Variable::Scalar(other)) {
            Variable::Scalar(either) => either,
            Variable::List(_) | Variable::Scattered(_) => mark::OUTPUT.to_string(),
        }
    }

    /// A text, or none.
    pub(crate) fn text_or_nothing(&mut self, text: String) -> String {
        match self.one_of(&Variable::Scalar(String::new()), &Variable::Scalar(text)) {
            Variable::Scalar(either) => either,
            Variable::List(_) | Variable::Scattered(_) => mark::OUTPUT.to_string(),
        }
    }

    /// The operand that stands in for a value that may turn out empty.
    fn perhaps(&mut self, value: &Value, colon: bool, operand: &str, span: Span) {
        let may_be_empty = match value {
            Value::Unset => true,
            Value::One(text) => colon && (text.is_empty() || mark::has_hole(text)),
            Value::Many(items) => items.iter().all(|text| text.is_empty() || mark::has_hole(text)),
        };
        if may_be_empty {
            self.operand(operand, span);
        }
    }

    fn operand(&mut self, raw: &str, span: Span) -> String {
        let mut fields = Fields::default();
        if self.deeper() {
            self.scan(raw, span, &mut fields, true);
            self.shallower();
        } else {
            fields.push(&mark::OUTPUT.to_string());
        }
        fields.into_joined()
    }

    /// An operand that is a pattern keeps its wildcards; nothing where quotes decide which of them are wildcards, or
    /// where it is a group of patterns.
    fn pattern(&mut self, raw: &str, span: Span) -> Option<String> {
        let quoted = raw.contains(['$', '`', '\'', '"', '\\']);
        let text = if quoted { mark::as_source(&self.operand(raw, span)) } else { raw.to_owned() };
        let unsure = quoted && text.contains(['*', '?', '[', '\\']) || text.contains("[:") || opens_group(&text);
        (!unsure && !mark::has_hole(&text)).then_some(text)
    }

    /// `${x/a/b}` and `${x//a/b}`; wildcards in the pattern are not followed.
    fn replacing(&mut self, value: Value, operand: &str, span: Span) -> Value {
        let (all, operand) = match operand.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, operand),
        };
        let cut = end_of_pattern(operand);
        let pattern = self.pattern(operand.get(..cut).unwrap_or_default(), span);
        let with = self.operand(operand.get(cut + 1..).unwrap_or_default(), span);
        // A sign of "and" stands for what was found, in some versions.
        let plain = pattern
            .filter(|text| !text.starts_with(['#', '%']) && !text.contains(['*', '?', '[']) && !with.contains('&'));
        map(value, |text| match &plain {
            Some(_) if mark::has_hole(text) => text.to_owned(),
            Some(pattern) if pattern.is_empty() => text.to_owned(),
            Some(pattern) if all => text.replace(pattern.as_str(), &with),
            Some(pattern) => text.replacen(pattern.as_str(), &with, 1),
            None => mark::OUTPUT.to_string(),
        })
    }

    /// Walks substitutions inside an arithmetic expression and evaluates what is literal.
    pub(crate) fn arithmetic(&mut self, body: &str, span: Span) -> String {
        let text = if body.contains(['$', '`', '"', '\'', '\\']) { self.operand(body, span) } else { body.to_owned() };
        match crate::arithmetic::evaluate(&mark::as_source(&text)) {
            Some(value) => value.to_string(),
            None => {
                self.evaluated(&text, span);
                mark::NUMBER.to_string()
            }
        }
    }
}

fn ansi_end(bytes: &[u8], from: usize) -> usize {
    let mut i = from;
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' => i += 1,
            b'\'' => return i,
            _ => {}
        }
        i += 1;
    }
    bytes.len()
}

fn map(value: Value, change: impl Fn(&str) -> String) -> Value {
    match value {
        Value::Unset => Value::Unset,
        Value::One(text) => Value::One(change(&text)),
        Value::Many(items) => Value::Many(items.iter().map(|item| change(item)).collect()),
    }
}

/// Whether a group of patterns begins in a text: `@(a|b)` and its relatives.
fn opens_group(text: &str) -> bool {
    ["@(", "+(", "!(", "?(", "*("].iter().any(|group| text.contains(group))
}

/// Where the pattern of a replacement ends: at the first slash that nothing quotes.
fn end_of_pattern(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut i = 0usize;
    while let Some(&byte) = bytes.get(i) {
        if let Some(end) = quote::end_of_quoted(text, i) {
            i = end + 1;
            continue;
        }
        if byte == b'/' {
            return i;
        }
        i += 1;
    }
    bytes.len()
}

/// `${x:offset:length}` with literal numbers. Positional parameters are counted from one.
fn substring(value: Value, operand: &str, positional: bool) -> Value {
    let mut parts = operand.splitn(2, ':');
    let number = |text: Option<&str>| text.map(|text| crate::arithmetic::evaluate(text.trim()));
    let (offset, length) = (number(parts.next()).flatten(), number(parts.next()));
    let cut = |text: &str| -> String {
        let count = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        // Whether letters or bytes are counted is a matter of the locale.
        let (Some(offset), true) = (offset, text.is_ascii()) else { return mark::OUTPUT.to_string() };
        let start = if offset < 0 { (count + offset).max(0) } else { offset.min(count) };
        let end = match length {
            None => count,
            Some(Some(length)) if length < 0 => (count + length).max(start),
            Some(Some(length)) => start.saturating_add(length).min(count),
            Some(None) => return mark::OUTPUT.to_string(),
        };
        let (start, end) = (usize::try_from(start).unwrap_or(0), usize::try_from(end).unwrap_or(0));
        text.chars().skip(start).take(end.saturating_sub(start)).collect()
    };
    match value {
        Value::Many(items) => {
            let start = offset.and_then(|offset| usize::try_from(offset).ok());
            let count = length.map(|length| length.and_then(|length| usize::try_from(length).ok()));
            match (start, count) {
                _ if !items.iter().all(|item| mark::is_literal(item)) => Value::Many(vec![mark::OUTPUT.to_string()]),
                (Some(0), _) if positional => Value::Many(vec![mark::OUTPUT.to_string()]),
                (_, Some(None)) | (None, _) => Value::Many(vec![mark::OUTPUT.to_string()]),
                (Some(start), count) => {
                    let start = if positional { start - 1 } else { start };
                    Value::Many(items.into_iter().skip(start).take(count.flatten().unwrap_or(usize::MAX)).collect())
                }
            }
        }
        other @ (Value::Unset | Value::One(_)) => map(other, cut),
    }
}

/// Prefix and suffix removal, replacement and case changes.
fn transformed(text: &str, op: char, operand: &str) -> String {
    if mark::has_hole(text) {
        return text.to_owned();
    }
    if !text.is_ascii() && (!matches!(op, '#' | '%') || operand.contains(['?', '['])) {
        return mark::OUTPUT.to_string();
    }
    match op {
        '#' | '%' => {
            let longest = operand.starts_with(op);
            trimmed(text, if longest { operand.get(1..).unwrap_or_default() } else { operand }, op == '#', longest)
        }
        '^' if operand == "^" => text.to_uppercase(),
        ',' if operand == "," => text.to_lowercase(),
        '^' if operand.is_empty() => first_changed(text, |c| c.to_uppercase().collect()),
        ',' if operand.is_empty() => first_changed(text, |c| c.to_lowercase().collect()),
        // Only letters that fit a pattern.
        '^' | ',' => mark::OUTPUT.to_string(),
        '@' => match operand {
            "U" => text.to_uppercase(),
            "L" => text.to_lowercase(),
            "u" => first_changed(text, |c| c.to_uppercase().collect()),
            "E" => quote::unescape(text),
            "Q" if !text.contains(['\'', '\n', '\t']) => crate::run::quoted(text),
            _ => mark::OUTPUT.to_string(),
        },
        _ => text.to_owned(),
    }
}

fn first_changed(text: &str, change: impl Fn(char) -> String) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| change(first) + chars.as_str())
}

/// Longest value for which every cut is tried; beyond it the result is unknown.
const TRIM_CHARS_MAX: usize = 256;

fn trimmed(text: &str, pattern: &str, prefix: bool, longest: bool) -> String {
    let mut cuts: Vec<usize> = text.char_indices().map(|(offset, _)| offset).chain([text.len()]).collect();
    if cuts.len() > TRIM_CHARS_MAX {
        return mark::OUTPUT.to_string();
    }
    // Shortest prefix first, shortest suffix first; reversed when the longest is wanted.
    if prefix == longest {
        cuts.reverse();
    }
    for cut in cuts {
        let (head, tail) = text.split_at(cut);
        let (removed, kept) = if prefix { (head, tail) } else { (tail, head) };
        if glob::matches(pattern, removed) {
            return kept.to_owned();
        }
    }
    text.to_owned()
}
