//! From text to tree, with every refusal that keeps the grammar safe.

use super::Walker;
use crate::answer::Span;
use crate::grammar_trap;
use crate::limits::{self, Refusal};
use crate::stream::Stream;
use brush_parser::{ParserOptions, Token, ast, parse_tokens, uncached_tokenize_str};

/// What any text costs besides its length.
const SCRIPT_COST: usize = 64;

/// Lines tried as the end of what a shell would still run.
const PREFIXES_MAX: usize = 16;

impl Walker<'_> {
    /// Parses and walks one text; its standard output is the answer.
    pub(crate) fn script(&mut self, text: &str, stdin: Stream) -> Stream {
        let span = self.origin.unwrap_or(Span { start: 0, end: text.len() });
        self.work = self.work.saturating_add(text.len() + SCRIPT_COST);
        let refusal = limits::refuse(text).or((self.work > limits::WORK_BYTES_MAX).then_some(Refusal::Long));
        if let Some(refusal) = refusal {
            let sentence = match refusal {
                Refusal::Long => "the text is too long to judge",
                Refusal::Deep => "the text is nested too deeply to judge",
                Refusal::Many => "the text has more parts than are judged",
            };
            self.report.unknown("TOO_LARGE", sentence, span);
            return Stream::Opaque;
        }
        if let Some(program) = with_documents(text) {
            self.work = self.work.saturating_add(text.len());
            // Its places are not those of the text that was typed.
            let origin = self.origin.replace(span);
            let out = self.program(&program, stdin);
            self.origin = origin;
            return out;
        }
        match with_cases(text).or_else(|| parse(text)).or_else(|| repaired(text)) {
            Some(program) => self.program(&program, stdin),
            None => self.unparsable(text, stdin, span),
        }
    }

    pub(crate) fn program(&mut self, program: &ast::Program, stdin: Stream) -> Stream {
        let mut out = Stream::Absent;
        for list in &program.complete_commands {
            out = out.then(self.list(list, stdin.clone()));
        }
        out
    }

    /// A shell runs the lines before the one it cannot read, so those are walked; the rest is unknown.
    fn unparsable(&mut self, text: &str, stdin: Stream, span: Span) -> Stream {
        self.report.unknown("UNPARSABLE", "the text is not valid shell", span);
        // Each further reading below is a parse of its own.
        self.work = self.work.saturating_add(text.len().saturating_mul(PREFIXES_MAX));
        let origin = self.origin;
        self.origin = Some(span);
        let mut good = None;
        for (offset, _) in text.match_indices('\n').take(PREFIXES_MAX) {
            if let Some(program) = text.get(..offset).and_then(parse) {
                good = Some((program, offset));
            }
        }
        let rest = match good {
            Some((program, offset)) => {
                self.program(&program, stdin.clone());
                text.get(offset..).unwrap_or_default()
            }
            None => text,
        };
        // A second look at what the broken rest would be if its quotes were closed: caution only grows.
        if let Some(program) = closed(rest) {
            self.program(&program, stdin);
        }
        self.origin = origin;
        Stream::Opaque
    }
}

/// The tree of a text that is walked more than once.
pub(crate) fn parsed(text: &str) -> Option<ast::Program> {
    let refused = limits::refuse(text).is_some();
    if refused {
        None
    } else {
        with_documents(text).or_else(|| with_cases(text)).or_else(|| parse(text)).or_else(|| repaired(text))
    }
}

/// A text that the grammar reads wrongly, or not at all, until its quoted here-documents are written in another way.
fn with_documents(text: &str) -> Option<ast::Program> {
    let rewritten = super::document::as_here_strings(text)?;
    if limits::refuse(&rewritten).is_some() {
        return None;
    }
    parse(&rewritten)
}

/// Tokens, a bound on nesting, then the grammar.
///
/// The texts known to make the grammar panic are refused first. Catching a panic is the last line of
/// defence, for the ones not known yet: a judge that falls over must still say no.
fn parse(text: &str) -> Option<ast::Program> {
    let trapped = grammar_trap::has_number_overflow(text)
        || grammar_trap::has_loose_here_document(text)
        || grammar_trap::has_empty_here_tag(text);
    if trapped {
        return None;
    }
    let read = || {
        let options = ParserOptions::default();
        let tokens = uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
        if nesting(&tokens) > limits::COMPOUND_MAX {
            return None;
        }
        parse_tokens(&tokens, &options).ok()
    };
    std::panic::catch_unwind(read).ok().flatten()
}

/// Nesting of compound commands, overestimated: a keyword counts wherever it stands.
fn nesting(tokens: &[Token]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    for token in tokens {
        match token.to_str() {
            "(" | "{" | "if" | "while" | "until" | "for" | "case" | "((" | "[[" | "select" => depth += 1,
            ")" | "}" | "fi" | "done" | "esac" | "))" | "]]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Texts that a shell accepts although the grammar does not.
fn repaired(text: &str) -> Option<ast::Program> {
    if let Some(cut) = text.trim_end_matches([' ', '\t']).strip_suffix('\\') {
        return parse(cut);
    }
    if text.contains("select ")
        && let Some(program) = parse(&text.replace("select ", "for "))
    {
        return Some(program);
    }
    // A here-document may end with the text.
    let start = text.find("<<")?;
    let rest = text.get(start + 2..)?.trim_start_matches(['-', ' ']);
    let tag: String = rest
        .chars()
        .take_while(|c| !c.is_whitespace() && !matches!(c, ';' | '|' | '&' | ')' | '<' | '>'))
        .filter(|c| !matches!(c, '\'' | '"' | '\\'))
        .collect();
    if tag.is_empty() { None } else { parse(&format!("{text}\n{tag}\n")) }
}

/// A text with `case` inside a substitution; the grammar would end the substitution at the first pattern.
fn with_cases(text: &str) -> Option<ast::Program> {
    let nested = text.contains("$(") || text.contains("<(") || text.contains(">(");
    (nested && text.contains("case ") && text.contains("esac")).then(|| parse(&bracketed_cases(text))).flatten()
}

/// Writes `(x)` for the `x)` of a case pattern: the tokenizer counts brackets inside substitutions.
fn bracketed_cases(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = ["in ", "in\n", ";;"].iter().filter_map(|mark| rest.find(mark).map(|at| at + mark.len())).min()
    {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let space = tail.len() - tail.trim_start().len();
        let (space, body) = tail.split_at(space);
        out.push_str(space);
        let pattern = body.split([')', '\n', ';', '(']).next().unwrap_or_default();
        if !body.starts_with('(')
            && !body.starts_with("esac")
            && body.get(pattern.len()..).is_some_and(|after| after.starts_with(')'))
            && !pattern.contains(' ')
        {
            out.push('(');
        }
        rest = body;
    }
    out.push_str(rest);
    out
}

/// The text with its open quote or bracket closed, or with a stray leading operator dropped.
fn closed(text: &str) -> Option<ast::Program> {
    let trimmed = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '|' | '&' | ';' | ')'));
    ["", "'", "\"", "`", ")", "\n}", "\nfi", "\ndone", "\")", "')"]
        .iter()
        .find_map(|end| parse(&format!("{trimmed}{end}")))
}
