//! Awk programs: `system()`, pipes, and files that are written or read.

use crate::answer::{Capability, Span};
use crate::mark;
use crate::quote;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::Walker;
use std::collections::BTreeMap;

/// Tokens of one program that are looked at.
const TOKENS_MAX: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Text(String),
    Word(String),
    Number(String),
    Pattern,
    /// `||`, `>>`, `{`; a new line is `;`.
    Mark(&'static str),
    Other(char),
}

/// Marks, longest first.
const MARKS: &[&str] = &[
    "**=", "||", "&&", "|&", ">>", ">=", "<=", "==", "!=", "!~", "+=", "-=", "*=", "/=", "%=", "^=", "++", "--", "|",
    ">", "<", "=", "(", ")", "{", "}", "[", "]", ";", ",", "?", ":", "!", "$", "@", "~",
];

/// Words behind which a slash begins a pattern.
const KEYWORDS: &[&str] = &["print", "printf", "return", "in", "if", "while", "do", "else", "case", "getline"];

fn lex(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if tokens.len() >= TOKENS_MAX {
            break;
        }
        let (token, taken) = match c {
            '\n' => (Some(Token::Mark(";")), 1),
            '\\' if rest.starts_with("\\\n") => (None, 2),
            c if c.is_whitespace() => (None, c.len_utf8()),
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '"' => {
                let (body, taken) = enclosed(rest, '"');
                (Some(Token::Text(quote::unescape(body))), taken)
            }
            '/' if !ends_operand(tokens.last()) => (Some(Token::Pattern), enclosed(rest, '/').1),
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
                (rest.get(..end).map(|word| Token::Word(word.to_owned())), end)
            }
            c if c.is_ascii_digit() => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '.')).unwrap_or(rest.len());
                (rest.get(..end).map(|digits| Token::Number(digits.to_owned())), end)
            }
            c => match MARKS.iter().find(|mark| rest.starts_with(**mark)) {
                Some(mark) => (Some(Token::Mark(mark)), mark.len()),
                None => (Some(Token::Other(c)), c.len_utf8()),
            },
        };
        tokens.extend(token);
        rest = rest.get(taken.max(1)..).unwrap_or_default();
    }
    tokens
}

/// Whether a slash behind the token divides.
fn ends_operand(last: Option<&Token>) -> bool {
    match last {
        Some(Token::Word(word)) => !KEYWORDS.contains(&word.as_str()),
        Some(Token::Text(_) | Token::Number(_)) => true,
        Some(Token::Mark(mark)) => matches!(*mark, ")" | "]" | "++" | "--" | "$"),
        Some(Token::Pattern | Token::Other(_)) | None => false,
    }
}

/// What stands between two quotes, and how much of the text that is with them.
fn enclosed(text: &str, quote: char) -> (&str, usize) {
    let mut escaped = false;
    let mut in_set = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if quote == '/' => in_set = true,
            ']' => in_set = false,
            c if c == quote && !in_set => return (text.get(1..at).unwrap_or_default(), at + 1),
            '\n' if quote == '/' => return (text.get(1..at).unwrap_or_default(), at),
            _ => {}
        }
    }
    (text.get(1..).unwrap_or_default(), text.len())
}

/// The value of an expression as far as it is text; what is not is unknown.
fn value(tokens: &[Token], known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Text(text) => out.push_str(text),
            Token::Number(digits) => out.push_str(digits),
            Token::Word(name) => match known.get(name).filter(|_| tokens.get(at + 1) != Some(&Token::Mark("("))) {
                Some(text) => out.push_str(text),
                None => out.push(mark::OUTPUT),
            },
            Token::Mark("(" | ")") => {}
            Token::Pattern | Token::Mark(_) | Token::Other(_) => out.push(mark::OUTPUT),
        }
    }
    out
}

/// Variables that are given one text, once.
fn known(tokens: &[Token]) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(name) = token else { continue };
        let changes = matches!(
            tokens.get(at + 1),
            Some(Token::Mark("=" | "+=" | "-=" | "*=" | "/=" | "%=" | "^=" | "**=" | "++" | "--"))
        ) || at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|before| {
            matches!(before, Token::Mark("++" | "--")) || *before == Token::Word("getline".to_owned())
        });
        // Functions that change what they are given, and loops over names.
        let handed = matches!(tokens.get(at + 1), Some(Token::Word(word)) if word == "in");
        if !changes && !handed {
            continue;
        }
        let given = tokens.get(at + 2..).map(ahead).filter(|_| tokens.get(at + 1) == Some(&Token::Mark("=")));
        let text = given.map(|expression| value(expression, &BTreeMap::new())).filter(|text| mark::is_literal(text));
        found.entry(name.clone()).and_modify(|before| *before = None).or_insert(text);
    }
    let is_changed = tokens
        .iter()
        .any(|token| matches!(token, Token::Word(name) if matches!(name.as_str(), "sub" | "gsub" | "split")));
    if is_changed {
        return BTreeMap::new();
    }
    found.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

/// The expression that begins here: up to the end of the statement or of the bracket around it.
fn ahead(tokens: &[Token]) -> &[Token] {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        let ends = match token {
            Token::Mark("(" | "[") => {
                depth += 1;
                false
            }
            Token::Mark(")" | "]") if depth > 0 => {
                depth -= 1;
                false
            }
            Token::Mark(")" | "]" | ";" | "{" | "}") => true,
            Token::Mark("," | "|" | "|&" | ">" | ">>" | "&&" | "||" | "?") => depth == 0,
            Token::Text(_) | Token::Word(_) | Token::Number(_) | Token::Pattern | Token::Mark(_) | Token::Other(_) => {
                false
            }
        };
        if ends {
            return tokens.get(..at).unwrap_or_default();
        }
    }
    tokens
}

/// The expression that ends here.
fn behind(tokens: &[Token]) -> &[Token] {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().rev() {
        let begins = match token {
            Token::Mark(")" | "]") => {
                depth += 1;
                false
            }
            Token::Mark("(" | "[") if depth > 0 => {
                depth -= 1;
                false
            }
            Token::Mark("(" | "[" | ";" | "{" | "}") => true,
            Token::Mark("," | "&&" | "||" | "?" | ":" | "!" | "=") => depth == 0,
            Token::Text(_) | Token::Word(_) | Token::Number(_) | Token::Pattern | Token::Mark(_) | Token::Other(_) => {
                false
            }
        };
        if begins {
            return tokens.get(at + 1..).unwrap_or_default();
        }
    }
    tokens
}

/// Whether the statement that ends here prints, outside of all brackets.
fn prints(tokens: &[Token]) -> bool {
    let mut depth = 0usize;
    for token in tokens.iter().rev() {
        match token {
            Token::Mark(")" | "]") => depth += 1,
            Token::Mark("(" | "[") if depth > 0 => depth -= 1,
            Token::Mark("(" | "[" | ";" | "{" | "}") => return false,
            Token::Word(name) if depth == 0 && matches!(name.as_str(), "print" | "printf") => return true,
            Token::Text(_) | Token::Word(_) | Token::Number(_) | Token::Pattern | Token::Mark(_) | Token::Other(_) => {}
        }
    }
    false
}

/// The file behind `getline <`: one operand.
fn operand(tokens: &[Token]) -> &[Token] {
    match tokens.first() {
        Some(Token::Mark("(")) => {
            let inner = ahead(tokens.get(1..).unwrap_or_default());
            tokens.get(1..=inner.len()).unwrap_or_default()
        }
        Some(Token::Mark("$")) => tokens.get(..2).unwrap_or(tokens),
        Some(_) | None => tokens.get(..1).unwrap_or_default(),
    }
}

impl Walker<'_> {
    /// An awk program: what it runs, writes and reads besides its input.
    pub fn awk_program(&mut self, text: &str, stdin: &Stream, span: Span) {
        if !self.deeper() {
            return;
        }
        let text = mark::as_source(text);
        if text.trim_start().starts_with(mark::is_hole) {
            self.report.unknown("DYNAMIC_CODE", "what the awk program does cannot be known", span);
        }
        let tokens = lex(&text);
        if tokens.len() >= TOKENS_MAX {
            self.report.unknown("TOO_MANY", "the awk program is longer than is followed", span);
        }
        let known = known(&tokens);
        for at in 0..tokens.len() {
            self.awk_token(&tokens, at, &known, stdin, span);
        }
        self.shallower();
    }

    fn awk_token(&mut self, tokens: &[Token], at: usize, known: &BTreeMap<String, String>, stdin: &Stream, span: Span) {
        let before = tokens.get(..at).unwrap_or_default();
        let after = tokens.get(at + 1..).unwrap_or_default();
        match (tokens.get(at), after.first()) {
            (Some(Token::Word(name)), Some(Token::Mark("("))) if name == "system" => {
                let command = value(ahead(after.get(1..).unwrap_or_default()), known);
                if *stdin == Stream::Remote && !command.chars().any(|c| !mark::is_hole(c)) {
                    self.remote_code("awk runs what another machine sends".to_owned(), span);
                }
                self.awk_runs(&command, Stream::Absent, span);
            }
            (Some(Token::Mark("|" | "|&")), Some(Token::Word(name))) if name == "getline" => {
                self.awk_runs(&value(behind(before), known), Stream::Absent, span);
            }
            (Some(Token::Mark("|" | "|&")), _) => self.awk_runs(&value(ahead(after), known), Stream::Opaque, span),
            (Some(Token::Mark(">" | ">>")), _) if prints(before) => {
                self.write_file(&value(ahead(after), known), How::Overwrite, span);
            }
            (Some(Token::Mark("<")), _) if reads_line(before) => self.awk_reads(&value(operand(after), known), span),
            (Some(Token::Word(name)), Some(Token::Mark("["))) if name == "ARGV" => {
                let index = ahead(after.get(1..).unwrap_or_default()).len();
                if after.get(index + 2) == Some(&Token::Mark("=")) {
                    self.awk_reads(&value(ahead(after.get(index + 3..).unwrap_or_default()), known), span);
                }
            }
            // Libraries, other programs, and functions called by a name that is computed.
            (Some(Token::Mark("@")), Some(Token::Word(_))) => {
                self.report.unknown("DYNAMIC_CODE", "the awk program loads or calls what is not followed", span)
            }
            _ => {}
        }
    }

    fn awk_runs(&mut self, command: &str, stdin: Stream, span: Span) {
        self.report.can(Capability::Exec);
        if mark::has_hole(command) {
            self.report.unknown("DYNAMIC_CODE", "the awk program runs a command that is not known", span);
        }
        self.inner(command, stdin, span);
    }

    fn awk_reads(&mut self, path: &str, span: Span) {
        if path.is_empty() {
            return;
        }
        if mark::has_hole(path) {
            self.report.unknown("DYNAMIC_CODE", "which file the awk program reads cannot be known", span);
        }
        self.read_file(path, span);
    }
}

/// `getline <` and `getline name <`.
fn reads_line(before: &[Token]) -> bool {
    let is_getline = |token: Option<&Token>| matches!(token, Some(Token::Word(name)) if name == "getline");
    let words = before.iter().rev().take_while(|token| {
        matches!(token, Token::Word(_) | Token::Mark("[" | "]" | "$") | Token::Number(_) | Token::Text(_))
    });
    words.take(8).any(|token| is_getline(Some(token)))
}

#[cfg(test)]
mod asked {
    use crate::testing::asked;
    use crate::testing::free;

    #[test]
    fn what_a_program_runs_writes_and_reads() {
        asked(&[
            "awk -f - <<< 'BEGIN{print \"x\" > \".claude/settings.json\"}'",
            "awk -f /dev/stdin <<< 'BEGIN{print \"x\" > \".claude/settings.json\"}'",
            "awk '{(\"cp README.md .claude/settings.json\")|getline}' README.md",
            "awk '{ $0 | getline x }' README.md",
            "awk '{ print | $0 }' README.md",
            "awk 'BEGIN{print \"\" | (\"rm ../ou\" \"t/p\")}'",
            "awk 'BEGIN{printf(\"\") > (\"../ou\" \"t/p\")}'",
            "awk 'BEGIN{while((getline l < (ENVIRON[\"HOME\"] \"/.ssh/id_rsa\"))>0) print l}'",
            "awk 'BEGIN{ARGV[1]=\".env\"; ARGC=2} {print}'",
            "awk \"/\\\"/ { print > \\\".claude/settings.json\\\" }\" README.md",
            "awk '@load \"x\"'",
            "awk -l x 'BEGIN{}'",
            "awk -f /tmp/x.awk f",
            "awk --fi=- <<< 'BEGIN{system(\"rm ../out/p\")}'",
            "awk '{print > $1\".txt\"}' f",
            "awk '{print |& \"rm ../out/p\"}' f",
            "awk 'BEGIN{c=\"rm ../out/p\"; system(c)}'",
            "awk 'BEGIN{c=\"rm \"; c=c \"../out/p\"; system(c)}'",
            "awk -v c=x '{system(c)}' f",
            "awk '$1 ~ /[/]\"/ { print >> \"../out/p\" }' f",
            "awk \"$p\" f",
        ]);
        free(&[
            "awk -F, '{print $1, $2}' data.csv",
            "awk 'NR==FNR{a[$1]=$2;next} ($1 in a){print $0, a[$1]}' f1 f2",
            "awk '$3 > 100 {s+=$3} END {print s/NR}' f",
            "awk '{ if ($1 > 5 || $2 < 3) print $0 }' f",
        ]);
    }
}
