//! Arguments of programs with placeholders over params: `--order={order}`.
//!
//! A placeholder is `{name}`, where the name could be a param's. `${name}`, `{}` and `{ print }` mean something to the
//! program and stay as they are; `{{name}}` stands for `{name}`.

use values::json::{Json, Object};

enum Piece<'a> {
    Literal(&'a str),
    Param(&'a str),
}

/// The params an argument needs.
pub fn params(argument: &str) -> impl Iterator<Item = &str> {
    pieces(argument).into_iter().filter_map(|piece| match piece {
        Piece::Param(name) => Some(name),
        Piece::Literal(_) => None,
    })
}

/// Puts the params in; the error completes "not run: …". Whatever a value contains, it is a part of this one argument, and
/// never its beginning as an option.
pub fn render(argument: &str, params: &Object) -> Result<String, String> {
    let mut text = String::with_capacity(argument.len());
    for piece in pieces(argument) {
        let name = match piece {
            Piece::Literal(literal) => {
                text.push_str(literal);
                continue;
            }
            Piece::Param(name) => name,
        };
        let value = match params.get(name) {
            Some(Json::Text(value)) => value.clone(),
            Some(value @ (Json::Number(_) | Json::Bool(_))) => value.to_canonical(),
            Some(Json::Null | Json::List(_) | Json::Object(_)) | None => {
                return Err(format!("the argument `{argument}` needs the param `{name}`"));
            }
        };
        if text.is_empty() && value.starts_with('-') {
            return Err(format!("the param `{name}` would be read as an option in `{argument}`"));
        }
        text.push_str(&value);
    }
    Ok(text)
}

fn pieces(argument: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = argument;
    while let Some((literal, behind)) = rest.split_once('{') {
        let escaped = behind.strip_prefix('{').and_then(|inner| Some((name_of(inner)?, inner)));
        if let Some((name, inner)) = escaped.filter(|(name, inner)| after(inner, name).starts_with('}')) {
            pieces.extend([Piece::Literal(literal), Piece::Literal(whole(behind, name))]);
            rest = after(inner, name).strip_prefix('}').unwrap_or_default();
            continue;
        }
        match name_of(behind).filter(|_| !literal.ends_with('$')) {
            Some(name) => {
                pieces.extend([Piece::Literal(literal), Piece::Param(name)]);
                rest = after(behind, name);
            }
            None => {
                let (taken, left) = rest.split_at_checked(literal.len() + 1).unwrap_or((rest, ""));
                pieces.push(Piece::Literal(taken));
                rest = left;
            }
        }
    }
    pieces.push(Piece::Literal(rest));
    pieces
}

/// The name at the beginning, if a `}` follows it.
fn name_of(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('}')?;
    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let first = name.chars().next()?;
    (!first.is_ascii_digit() && name.chars().all(letter)).then_some(name)
}

/// What follows a name and its `}`.
fn after<'a>(text: &'a str, name: &str) -> &'a str {
    text.get(name.len() + 1..).unwrap_or_default()
}

/// `{name}` of `{name}}…`.
fn whole<'a>(text: &'a str, name: &str) -> &'a str {
    text.get(..name.len() + 2).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argument: &str, expected: Result<&str, &str>) {
        let values = br#"{"order":"A 1; rm -rf /","n":12.50,"yes":true,"list":[1],"flag":"--all","print":"P"}"#;
        let values = Json::parse(values).unwrap();
        let rendered = render(argument, values.as_object().unwrap());
        assert_eq!(rendered.as_deref().map_err(String::as_str), expected, "{argument}");
    }

    #[test]
    fn a_value_is_a_part_of_one_argument() {
        check("--order={order}", Ok("--order=A 1; rm -rf /"));
        check("{order}", Ok("A 1; rm -rf /"));
        check("{n}/{yes}", Ok("12.5/true"));
        check("--{flag}", Ok("----all"));
        check("plain", Ok("plain"));
        check("", Ok(""));
    }

    #[test]
    fn what_means_something_to_the_program_stays() {
        for text in ["{}", "${order}", "{ print }", "{print $1}", "{1}", "{", "}", "a}b{", "{\"a\":1}", "{a-b}"] {
            check(text, Ok(text));
            assert_eq!(params(text).count(), 0, "{text}");
        }
        check("{{print}}", Ok("{print}"));
        check("a{{print}}{n}", Ok("a{print}12.5"));
        check("{{}}", Ok("{{}}"));
        assert_eq!(params("{{print}} {n}x{order}").collect::<Vec<_>>(), ["n", "order"]);
    }

    #[test]
    fn what_cannot_be_an_argument_is_refused() {
        check("{flag}", Err("the param `flag` would be read as an option in `{flag}`"));
        check("x{list}", Err("the argument `x{list}` needs the param `list`"));
        check("{absent}", Err("the argument `{absent}` needs the param `absent`"));
    }
}
