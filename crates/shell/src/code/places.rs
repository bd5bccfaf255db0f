//! What the arguments of a call in another language say about paths. What is put together when the code runs is unknown,
//! and a call that writes there writes nobody knows where.

use super::Language;
use super::token::Token;
use crate::mark;
use std::collections::BTreeMap;

/// Where an argument points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Known(String),
    /// One of these.
    Several(Vec<String>),
    /// Something below this folder.
    Below(String),
    /// An argument of the command line.
    Given,
    Unknown,
}

/// Places that names stand for.
pub(super) type Bound = BTreeMap<String, Place>;

/// One argument: its keyword, and what it points to.
pub(super) type Argument = (Option<String>, Place);

/// The arguments of the call whose bracket, or whose first argument, begins the tokens.
pub(super) fn arguments(tokens: &[Token], language: Language, bound: &Bound) -> Vec<Argument> {
    let bracketed = tokens.first() == Some(&Token::Mark('('));
    let mut depth = 0usize;
    let mut current: Vec<&Token> = Vec::new();
    let mut found = Vec::new();
    for token in tokens.iter().skip(usize::from(bracketed)) {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') if depth == 0 => break,
            Token::Mark(')' | ']' | '}') => depth -= 1,
            Token::Mark(';') if depth == 0 => break,
            Token::Mark(',') if depth == 0 => {
                found.push(argument(&current, language, bound));
                current.clear();
                continue;
            }
            Token::Name(word)
                if depth == 0 && !bracketed && matches!(word.as_str(), "or" | "and" | "if" | "unless") =>
            {
                break;
            }
            Token::Mark(_) | Token::Name(_) | Token::Text(_) | Token::Command(_) | Token::Number(_) => {}
        }
        current.push(token);
    }
    if !current.is_empty() {
        found.push(argument(&current, language, bound));
    }
    found
}

fn argument(tokens: &[&Token], language: Language, bound: &Bound) -> Argument {
    match tokens {
        [Token::Name(key), Token::Mark('='), rest @ ..] if rest.first() != Some(&&Token::Mark('=')) => {
            (Some(key.clone()), place(rest, language, bound))
        }
        rest => (None, place(rest, language, bound)),
    }
}

fn place(tokens: &[&Token], language: Language, bound: &Bound) -> Place {
    match tokens {
        [Token::Text(text)] => literal(text, language),
        [Token::Name(prefix), Token::Text(text)] => match prefix.as_str() {
            "b" | "r" | "u" | "rb" | "br" | "B" | "R" => literal(text, language),
            "f" | "fr" | "rf" | "F" if !text.contains('{') => literal(text, language),
            _ => Place::Unknown,
        },
        // A descriptor that is open already.
        [Token::Number(_)] => Place::Known("/dev/stdout".to_owned()),
        [Token::Name(name)] if matches!(name.as_str(), "shift" | "$0") => Place::Given,
        [Token::Name(name)] => bound.get(name).cloned().unwrap_or(Place::Unknown),
        [Token::Name(name), Token::Mark('['), .., Token::Mark(']')]
            if matches!(name.as_str(), "sys.argv" | "argv" | "process.argv" | "ARGV" | "$ARGV" | "$argv" | "arg") =>
        {
            Place::Given
        }
        [Token::Name(name), ..] if name.starts_with("tempfile.") => Place::Known(mark::TEMP.to_string()),
        [Token::Name(name), Token::Mark('('), inner @ .., Token::Mark(')')] if joins(name) => {
            let parts: Option<Vec<&str>> = inner
                .iter()
                .filter(|token| ***token != Token::Mark(','))
                .map(|token| match token {
                    Token::Text(text) if literal(text, language) != Place::Unknown => Some(text.as_str()),
                    Token::Text(_) | Token::Mark(_) | Token::Name(_) | Token::Command(_) | Token::Number(_) => None,
                })
                .collect();
            parts.filter(|parts| !parts.is_empty()).map_or(Place::Unknown, |parts| Place::Known(joined(&parts)))
        }
        _ => Place::Unknown,
    }
}

fn joins(name: &str) -> bool {
    matches!(
        name,
        "Path"
            | "pathlib.Path"
            | "PurePath"
            | "os.path.join"
            | "path.join"
            | "join"
            | "path.resolve"
            | "File.join"
            | "Pathname.new"
    )
}

/// A later part that begins at the root stands alone.
fn joined(parts: &[&str]) -> String {
    parts.iter().fold(String::new(), |path, part| {
        if part.starts_with('/') || path.is_empty() { (*part).to_owned() } else { format!("{path}/{part}") }
    })
}

/// A literal, unless the language puts values into it.
fn literal(text: &str, language: Language) -> Place {
    let filled = match language {
        Language::Node => text.contains("${"),
        Language::Ruby => text.contains("#{"),
        Language::Perl | Language::Php => text.contains(['$', '@']),
        Language::Python | Language::Lua | Language::Other => false,
    };
    if filled { Place::Unknown } else { Place::Known(text.to_owned()) }
}

/// Names that stand for paths: items of a list, folders that are walked through, objects made of a path.
pub(super) fn bound(tokens: &[Token], language: Language) -> Bound {
    let mut found = Bound::new();
    let mut doubtful: Vec<String> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        let rest = tokens.get(at + 1..).unwrap_or_default();
        let value = match rest {
            [Token::Mark('='), Token::Mark('='), ..] => continue,
            [Token::Mark('='), value @ ..] => object(value, language),
            [Token::Name(word), source @ ..] if matches!(word.as_str(), "in" | "of") => items(source, language),
            _ => continue,
        };
        if found.insert(name.clone(), value.clone()).is_some_and(|before| before != value) {
            doubtful.push(name.clone());
        }
    }
    for name in doubtful {
        found.insert(name, Place::Unknown);
    }
    found
}

/// `Path('a')`, `Path('a') / 'b'`, and nothing behind it.
fn object(tokens: &[Token], language: Language) -> Place {
    let Some(end) = tokens.iter().position(|token| *token == Token::Mark(')')) else { return Place::Unknown };
    let call: Vec<&Token> = tokens.get(..=end).unwrap_or_default().iter().collect();
    if !matches!(call.first(), Some(Token::Name(name)) if joins(name)) {
        return Place::Unknown;
    }
    let Place::Known(mut path) = place(&call, language, &Bound::new()) else { return Place::Unknown };
    let mut rest = tokens.get(end + 1..).unwrap_or_default();
    while let [Token::Mark('/'), Token::Text(part), more @ ..] = rest {
        path = joined(&[&path, part]);
        rest = more;
    }
    match rest.first() {
        Some(Token::Mark('/' | '.' | '[' | '%' | '+')) => Place::Unknown,
        Some(Token::Name(name)) if name.starts_with('.') => Place::Unknown,
        Some(_) | None => Place::Known(path),
    }
}

/// What is gone through: literals, or a folder with a plain name.
fn items(tokens: &[Token], language: Language) -> Place {
    match tokens {
        [Token::Mark('[' | '('), list @ ..] => {
            let mut texts = Vec::new();
            for token in list {
                match token {
                    Token::Text(text) if literal(text, language) != Place::Unknown => texts.push(text.clone()),
                    Token::Mark(',') => {}
                    Token::Mark(']' | ')') => return Place::Several(texts),
                    Token::Text(_) | Token::Mark(_) | Token::Name(_) | Token::Command(_) | Token::Number(_) => break,
                }
            }
            Place::Unknown
        }
        [
            Token::Name(path),
            Token::Mark('('),
            Token::Text(folder),
            Token::Mark(')'),
            Token::Name(walk),
            Token::Mark('('),
            ..,
        ] if joins(path) && matches!(walk.as_str(), ".rglob" | ".glob" | ".iterdir" | ".walk") => below(folder),
        [Token::Name(walk), Token::Mark('('), Token::Text(pattern), ..]
            if matches!(walk.as_str(), "glob.glob" | "glob.iglob" | "glob" | "iglob" | "Dir.glob") =>
        {
            let fixed = pattern.split(['*', '?', '[', '{']).next().unwrap_or_default();
            below(fixed.rsplit_once('/').map(|(folder, _)| folder).unwrap_or_default())
        }
        _ => Place::Unknown,
    }
}

/// A folder that names itself: no hidden one lies between it and where the code runs, and it leads nowhere else.
fn below(folder: &str) -> Place {
    let plain = !folder.is_empty() && folder.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    if plain { Place::Below(folder.to_owned()) } else { Place::Unknown }
}
