//! Tokens of code: literals, names and marks, with literals folded.

use super::Language;
use crate::decode;
use crate::quote;

/// Tokens looked at in one piece of code; more would only be data.
const TOKENS_MAX: usize = 8192;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A string literal.
    Text(String),
    /// A literal that the language runs as a command: back-quotes, `%x()`, `qx()`.
    Command(String),
    /// A name with its owners, as `os.path.join`; `.close` after a bracket.
    Name(String),
    Number(i64),
    Mark(char),
}

/// Splits code into tokens. Comments are dropped.
pub(super) fn lex(text: &str, language: Language) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut i = 0usize;
    while let Some(&c) = chars.get(i) {
        if tokens.len() >= TOKENS_MAX {
            break;
        }
        match c {
            '#' if !matches!(language, Language::Node | Language::Lua) => i = line_end(&chars, i),
            '/' if chars.get(i + 1) == Some(&'/') && matches!(language, Language::Node | Language::Php) => {
                i = line_end(&chars, i)
            }
            '-' if chars.get(i + 1) == Some(&'-') && language == Language::Lua => i = line_end(&chars, i),
            '\'' | '"' => {
                let (body, next) = literal(&chars, i);
                tokens.push(Token::Text(body));
                i = next;
                continue;
            }
            '`' => {
                let (body, next) = literal(&chars, i);
                tokens.push(if matches!(language, Language::Node) { Token::Text(body) } else { Token::Command(body) });
                i = next;
                continue;
            }
            '%' | 'q' if is_quote_operator(&chars, i) => {
                let (token, next) = quote_operator(&chars, i);
                tokens.push(token);
                i = next;
                continue;
            }
            c if c.is_alphabetic() || c == '_' || c == '$' || c == '@' => {
                let (name, next) = name(&chars, i);
                tokens.push(Token::Name(name));
                i = next;
                continue;
            }
            '.' if chars.get(i + 1).is_some_and(|next| next.is_alphabetic() || *next == '_') => {
                let (name, next) = name(&chars, i + 1);
                tokens.push(Token::Name(format!(".{name}")));
                i = next;
                continue;
            }
            c if c.is_ascii_digit() => {
                let start = i;
                while chars.get(i).is_some_and(char::is_ascii_alphanumeric) {
                    i += 1;
                }
                let digits: String = chars.get(start..i).unwrap_or_default().iter().collect();
                let value = digits
                    .strip_prefix("0x")
                    .map_or_else(|| digits.parse().ok(), |hex| i64::from_str_radix(hex, 16).ok());
                tokens.push(Token::Number(value.unwrap_or(-1)));
                continue;
            }
            c if c.is_whitespace() => {}
            c => tokens.push(Token::Mark(c)),
        }
        i += 1;
    }
    tokens
}

fn line_end(chars: &[char], from: usize) -> usize {
    chars.get(from..).unwrap_or_default().iter().position(|c| *c == '\n').map_or(chars.len(), |offset| from + offset)
}

/// A quoted literal, triple quotes included; the position after it.
fn literal(chars: &[char], at: usize) -> (String, usize) {
    let quote = chars.get(at).copied().unwrap_or('"');
    let triple = chars.get(at + 1) == Some(&quote) && chars.get(at + 2) == Some(&quote);
    let width = if triple { 3 } else { 1 };
    let mut i = at + width;
    let mut body = String::new();
    while let Some(&c) = chars.get(i) {
        if c == '\\' {
            body.push(c);
            body.extend(chars.get(i + 1));
            i += 2;
            continue;
        }
        let ends = c == quote && (!triple || (chars.get(i + 1) == Some(&quote) && chars.get(i + 2) == Some(&quote)));
        if ends {
            return (quote::unescape(&body), i + width);
        }
        body.push(c);
        i += 1;
    }
    (quote::unescape(&body), chars.len())
}

fn is_quote_operator(chars: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| chars.get(before));
    if before.is_some_and(|c| c.is_alphanumeric() || *c == '_' || *c == '$') {
        return false;
    }
    let after: String = chars.get(at..at + 3).unwrap_or_default().iter().collect();
    ["%x(", "%x{", "%x[", "qx(", "qx{", "qx[", "qx/", "qx|", "qq(", "qq{", "%q(", "%Q("].contains(&after.as_str())
        || after.starts_with("q(")
        || after.starts_with("q{")
}

fn quote_operator(chars: &[char], at: usize) -> (Token, usize) {
    let word: String = chars.get(at..at + 2).unwrap_or_default().iter().collect();
    let width = if word == "q(" || word == "q{" { 1 } else { 2 };
    let open = chars.get(at + width).copied().unwrap_or('(');
    let close = match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        other => other,
    };
    let from = at + width + 1;
    let end = chars
        .get(from..)
        .unwrap_or_default()
        .iter()
        .position(|c| *c == close)
        .map_or(chars.len(), |offset| from + offset);
    let body: String = chars.get(from..end).unwrap_or_default().iter().collect();
    (if word.ends_with('x') { Token::Command(body) } else { Token::Text(body) }, end + 1)
}

fn name(chars: &[char], at: usize) -> (String, usize) {
    let mut i = at;
    let mut name = String::new();
    while let Some(&c) = chars.get(i) {
        let joins = match c {
            '.' => chars.get(i + 1).is_some_and(|next| next.is_alphabetic() || *next == '_'),
            ':' => chars.get(i + 1) == Some(&':') || chars.get(i.wrapping_sub(1)) == Some(&':'),
            '-' => chars.get(i + 1) == Some(&'>'),
            '>' => chars.get(i.wrapping_sub(1)) == Some(&'-'),
            '$' | '@' => i == at,
            c => c.is_alphanumeric() || c == '_',
        };
        if !joins {
            break;
        }
        name.push(c);
        i += 1;
    }
    (name, i.max(at + 1))
}

/// Folds literals: concatenation, `join`, `chr`, decoders, and names assigned one literal.
pub(super) fn fold(tokens: &[Token], language: Language) -> Vec<Token> {
    let mut current = tokens.to_vec();
    for _ in 0..4 {
        let next = assigned(&once(&current, language));
        if next == current {
            break;
        }
        current = next;
    }
    current
}

fn once(tokens: &[Token], language: Language) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut i = 0usize;
    while let Some(token) = tokens.get(i) {
        let rest = tokens.get(i..).unwrap_or_default();
        if let Some((text, taken)) = character(rest).or_else(|| decoded(rest)).or_else(|| joined(rest)) {
            out.push(Token::Text(text));
            i += taken;
            continue;
        }
        let glue = match (out.last(), token, tokens.get(i + 1)) {
            (Some(Token::Text(_)), Token::Mark('+'), Some(Token::Text(next))) => Some((next, 2)),
            (Some(Token::Text(_)), Token::Mark('.'), Some(Token::Text(next)))
                if matches!(language, Language::Perl | Language::Php) =>
            {
                Some((next, 2))
            }
            (Some(Token::Text(_)), Token::Text(next), _)
                if matches!(language, Language::Python | Language::Ruby | Language::Other) =>
            {
                Some((next, 1))
            }
            _ => None,
        };
        if let Some((next, taken)) = glue {
            if let Some(Token::Text(last)) = out.last_mut() {
                last.push_str(next);
            }
            i += taken;
            continue;
        }
        out.push(token.clone());
        i += 1;
    }
    out
}

/// `chr(47)`, `String.fromCharCode(114, 109)`.
fn character(tokens: &[Token]) -> Option<(String, usize)> {
    let (Some(Token::Name(name)), Some(Token::Mark('('))) = (tokens.first(), tokens.get(1)) else { return None };
    if !matches!(name.as_str(), "chr" | "String.fromCharCode" | "string.char") {
        return None;
    }
    let mut text = String::new();
    let mut i = 2usize;
    loop {
        match tokens.get(i)? {
            Token::Number(value) => text.push(u32::try_from(*value).ok().and_then(char::from_u32)?),
            Token::Mark(',') => {}
            Token::Mark(')') => return Some((text, i + 1)),
            Token::Mark(_) | Token::Text(_) | Token::Command(_) | Token::Name(_) => return None,
        }
        i += 1;
    }
}

/// A decoder applied to a literal.
fn decoded(tokens: &[Token]) -> Option<(String, usize)> {
    let (Some(Token::Name(name)), Some(Token::Mark('('))) = (tokens.first(), tokens.get(1)) else { return None };
    let last = name.rsplit(['.', ':']).next()?;
    let mut at = 2usize;
    // `b'…'` has its prefix as a name.
    if matches!(tokens.get(at), Some(Token::Name(prefix)) if matches!(prefix.as_str(), "b" | "r" | "rb" | "br")) {
        at += 1;
    }
    let Some(Token::Text(body)) = tokens.get(at) else { return None };
    let text = match last {
        "b64decode" | "decode_base64" | "atob" | "base64_decode" | "decode64" | "urlsafe_b64decode"
        | "strict_decode64" | "standard_b64decode" | "decodebytes" | "unbase64" => decode::base64(body)?,
        "b32decode" => decode::base32(body)?,
        "fromhex" | "unhexlify" | "hex2bin" | "a2b_hex" => decode::hex(body)?,
        "from" if name == "Buffer.from" => match tokens.get(at + 2) {
            Some(Token::Text(kind)) if kind == "base64" => decode::base64(body)?,
            Some(Token::Text(kind)) if kind == "hex" => decode::hex(body)?,
            Some(_) | None => body.clone(),
        },
        "pack" if body.starts_with('H') => {
            at += 2;
            match tokens.get(at) {
                Some(Token::Text(digits)) => decode::hex(digits)?,
                Some(_) | None => return None,
            }
        }
        "str_rot13" => decode::rot13(body),
        "strrev" => body.chars().rev().collect(),
        _ => return None,
    };
    let mut end = at + 1;
    while !matches!(tokens.get(end), Some(Token::Mark(')')) | None) {
        end += 1;
    }
    end += 1;
    // `.decode()` and `.toString()` change nothing here.
    while matches!(tokens.get(end), Some(Token::Name(name)) if matches!(name.as_str(), ".decode" | ".toString" | ".strip"))
    {
        end += 1;
        while !matches!(tokens.get(end), Some(Token::Mark(')')) | None) {
            end += 1;
        }
        end += 1;
    }
    Some((text, end))
}

/// `''.join(['r', 'm'])` and `['r', 'm'].join('')`.
fn joined(tokens: &[Token]) -> Option<(String, usize)> {
    match tokens {
        [Token::Text(glue), Token::Name(name), Token::Mark('('), Token::Mark('[' | '('), rest @ ..]
            if name == ".join" =>
        {
            let (items, taken) = list(rest)?;
            Some((items.join(glue), 4 + taken + 1))
        }
        [Token::Mark('['), rest @ ..] => {
            let (items, taken) = list(rest)?;
            match rest.get(taken..) {
                Some([Token::Name(name), Token::Mark('('), Token::Text(glue), Token::Mark(')'), ..])
                    if name == ".join" =>
                {
                    Some((items.join(glue), 1 + taken + 4))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Literals up to the closing bracket; how many tokens that took.
fn list(tokens: &[Token]) -> Option<(Vec<String>, usize)> {
    let mut items = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Text(text) => items.push(text.clone()),
            Token::Mark(',') => {}
            Token::Mark(']' | ')') => return (!items.is_empty()).then_some((items, at + 1)),
            Token::Mark(_) | Token::Command(_) | Token::Name(_) | Token::Number(_) => return None,
        }
    }
    None
}

/// Replaces a name by the one literal it was assigned.
fn assigned(tokens: &[Token]) -> Vec<Token> {
    let mut values: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    let mut out = Vec::with_capacity(tokens.len());
    let rebound = rebound(tokens);
    for (at, token) in tokens.iter().enumerate() {
        // `name += 'more'`.
        if let (Token::Name(name), Some(Token::Mark('+' | '.')), Some(Token::Mark('='))) =
            (token, tokens.get(at + 1), tokens.get(at + 2))
        {
            match (tokens.get(at + 3), values.get_mut(name)) {
                (Some(Token::Text(more)), Some(value)) => value.push_str(more),
                _ => _ = values.remove(name),
            }
            out.push(token.clone());
            continue;
        }
        if let (Token::Name(name), Some(Token::Mark('=')), Some(Token::Text(value))) =
            (token, tokens.get(at + 1), tokens.get(at + 2))
            && !matches!(tokens.get(at + 3), Some(Token::Mark('+' | '.' | '%')))
        {
            values.insert(name.clone(), value.clone());
            out.push(token.clone());
            continue;
        }
        match token {
            Token::Name(name) if tokens.get(at + 1) != Some(&Token::Mark('=')) && !rebound.contains(name.as_str()) => {
                match values.get(name) {
                    Some(value) => out.push(Token::Text(value.clone())),
                    None => out.push(token.clone()),
                }
            }
            Token::Name(_) | Token::Text(_) | Token::Command(_) | Token::Number(_) | Token::Mark(_) => {
                out.push(token.clone())
            }
        }
    }
    out
}

/// Names that something else than one literal may be bound to: loops, parameters, several names at once, other values.
fn rebound(tokens: &[Token]) -> std::collections::BTreeSet<&str> {
    let mut found = std::collections::BTreeSet::new();
    let (mut depth, mut parameters) = (0usize, false);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => {
                depth = depth.saturating_sub(1);
                parameters = false;
            }
            Token::Name(name) => {
                let next = |ahead: usize| tokens.get(at + ahead);
                parameters |= matches!(name.as_str(), "def" | "function" | "lambda");
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                let introduced = matches!(before, Some(Token::Name(word)) if matches!(word.as_str(), "for" | "as"))
                    || matches!(next(1), Some(Token::Name(word)) if matches!(word.as_str(), "in" | "of"));
                let valued =
                    next(1) == Some(&Token::Mark('=')) && !matches!(next(2), Some(Token::Text(_) | Token::Mark('=')));
                let walrus = next(1) == Some(&Token::Mark(':')) && next(2) == Some(&Token::Mark('='));
                let several = depth == 0 && next(1) == Some(&Token::Mark(',')) && is_assigned_with(tokens, at);
                let arrow = next(1) == Some(&Token::Mark(')')) && next(2) == Some(&Token::Mark('='));
                if introduced || valued || walrus || several || arrow || parameters && depth > 0 {
                    found.insert(name.as_str());
                }
            }
            Token::Text(_) | Token::Command(_) | Token::Number(_) | Token::Mark(_) => {}
        }
    }
    found
}

/// `a, b = …`
fn is_assigned_with(tokens: &[Token], at: usize) -> bool {
    let names = tokens.get(at..).unwrap_or_default().iter();
    let mut behind = names.skip_while(|token| matches!(token, Token::Name(_) | Token::Mark(',')));
    behind.next() == Some(&Token::Mark('=')) && behind.next() != Some(&Token::Mark('='))
}

/// The literal arguments of a call, and whether any argument is not literal.
pub(super) fn arguments(tokens: &[Token]) -> (Vec<String>, bool) {
    if let Some(Token::Text(text)) = tokens.first() {
        // Perl and Ruby leave the brackets out: arguments run to the end of the statement.
        let mut texts = vec![text.clone()];
        for token in tokens.iter().skip(1) {
            match token {
                Token::Text(text) => texts.push(text.clone()),
                Token::Mark(',') => {}
                Token::Mark(_) | Token::Name(_) | Token::Number(_) | Token::Command(_) => break,
            }
        }
        return (texts, false);
    }
    let (mut texts, mut unknown, mut depth) = (Vec::new(), false, 0usize);
    let mut key = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            Token::Text(text) if !key => texts.push(text.clone()),
            Token::Text(_) => key = false,
            Token::Name(name) => {
                // `shell=True`, `check=True`, `{recursive: true}`, `b'…'` and values that are plain words are no arguments.
                let keyword = matches!(tokens.get(at + 1), Some(Token::Mark('=' | ':')));
                key = keyword;
                let plain = matches!(
                    name.as_str(),
                    "True"
                        | "False"
                        | "true"
                        | "false"
                        | "None"
                        | "null"
                        | "b"
                        | "r"
                        | "f"
                        | "undefined"
                        | "nil"
                        | "recursive"
                        | "force"
                );
                let value =
                    matches!(at.checked_sub(1).and_then(|before| tokens.get(before)), Some(Token::Mark('=' | ':')));
                unknown |= !keyword && !plain && !value;
            }
            Token::Command(_) => unknown = true,
            Token::Number(_) | Token::Mark(_) => {}
        }
    }
    (texts, unknown)
}
