//! Awk programs: `system()`, pipes and output files.

use crate::answer::{Capability, Span};
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::Walker;

use super::Language;
use super::token::{self, Token};

impl Walker<'_> {
    /// An awk program: `system()`, pipes and output files.
    pub fn awk_program(&mut self, text: &str, stdin: &Stream, span: Span) {
        if !text.contains("system") && !text.contains('|') && !text.contains('>') && !text.contains("getline") {
            return;
        }
        if !self.deeper() {
            return;
        }
        let tokens = token::fold(&token::lex(text, Language::Other), Language::Other);
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1);
            match (token, next) {
                (Token::Name(name), Some(Token::Mark('('))) if name == "system" => {
                    self.report.can(Capability::Exec);
                    let (texts, unknown) = token::arguments(tokens.get(at + 1..).unwrap_or_default());
                    if texts.is_empty() && *stdin == Stream::Remote {
                        self.remote_code("awk runs what another machine sends".to_owned(), span);
                    }
                    let joined = texts.join("") + if unknown { "\u{E001}" } else { "" };
                    self.inner(&joined, Stream::Absent, span);
                }
                (Token::Mark('|'), Some(Token::Text(command))) => {
                    self.report.can(Capability::Exec);
                    self.inner(&command.clone(), Stream::Opaque, span);
                }
                (Token::Mark('|'), Some(Token::Name(name))) if name == "getline" => {
                    self.report.can(Capability::Exec);
                    if let Some(Token::Text(command)) = at.checked_sub(1).and_then(|before| tokens.get(before)) {
                        self.inner(&command.clone(), Stream::Absent, span);
                    }
                }
                (Token::Mark('>'), Some(named @ (Token::Text(_) | Token::Name(_)))) if at > 0 => {
                    let path = match named {
                        Token::Text(path) if path.chars().all(|c| c.is_ascii_digit() || c == '.') => continue,
                        Token::Text(path) => path.clone(),
                        // A variable or a field: where it goes is known only when it runs.
                        Token::Name(_) | Token::Mark(_) | Token::Number(_) | Token::Command(_) => {
                            crate::mark::OUTPUT.to_string()
                        }
                    };
                    // `$3 > "x"` compares, `print > "x"` writes; the words before the mark decide.
                    let printing = tokens
                        .get(..at)
                        .unwrap_or_default()
                        .iter()
                        .rev()
                        .take(12)
                        .take_while(|token| !matches!(token, Token::Mark(';' | '{' | '}')))
                        .any(|token| matches!(token, Token::Name(name) if name.starts_with("print")));
                    if printing {
                        self.write_file(&path, How::Overwrite, span);
                    }
                }
                _ => {}
            }
        }
        self.shallower();
    }
}
