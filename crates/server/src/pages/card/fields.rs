//! Params as fields of a form, and back.

use crate::pages::html::Html;
use crate::problem::Problem;
use values::ids::is_deceptive;
use values::json::{Bounds, Json, Object};

/// Letters of a value that a field takes; what is longer stays as it is.
const FIELD_MAX: usize = 2_000;

/// What the name of a field of a param begins with.
const PREFIX: &str = "param.";

/// Whether a field can show exactly this value: what a field cannot show must not be changed in one.
fn is_editable(value: &Json) -> bool {
    let text = written(value);
    text.chars().nth(FIELD_MAX).is_none() && !text.chars().any(is_deceptive)
}

/// What stands in the field of a value.
fn written(value: &Json) -> String {
    match value {
        Json::Text(text) => text.clone(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Object(_) => value.to_canonical(),
    }
}

/// A field for each param that can have one.
pub fn write(html: &mut Html, shown: &Object, units: impl Fn(&str) -> Option<String>) {
    for (name, value) in
        shown.iter().filter(|(name, value)| !is_withheld(value) && is_editable(&Json::text(name.as_str())))
    {
        if !is_editable(value) {
            html.raw("<p class=\"faint\">").text(name).raw(" stays as it is.</p>");
            continue;
        }
        html.raw("<label><span>").text(name);
        if let Some(unit) = units(name) {
            html.raw(" <span class=\"faint\">").text(&unit).raw("</span>");
        }
        html.raw("</span>");
        match value {
            Json::Bool(is_so) => {
                html.raw("<select name=\"").value(&format!("{PREFIX}{name}")).raw("\"><option");
                html.raw(if *is_so { " selected" } else { "" }).raw(">true</option><option");
                html.raw(if *is_so { "" } else { " selected" }).raw(">false</option></select>");
            }
            Json::List(_) | Json::Object(_) => {
                html.raw("<textarea rows=\"3\" spellcheck=\"false\" name=\"").value(&format!("{PREFIX}{name}"));
                html.raw("\">").plain(&written(value)).raw("</textarea>");
            }
            Json::Null | Json::Number(_) | Json::Text(_) => {
                html.raw("<input autocomplete=\"off\" spellcheck=\"false\" name=\"").value(&format!("{PREFIX}{name}"));
                html.raw("\" value=\"").value(&written(value)).raw("\"");
                html.raw(if matches!(value, Json::Number(_)) { " inputmode=\"decimal\">" } else { ">" });
            }
        }
        html.raw("</label>");
    }
}

/// What the contract keeps from people.
pub fn is_withheld(value: &Json) -> bool {
    let is_marked = |word: &str| value.get(word) == Some(&Json::Bool(true));
    value.as_object().is_some_and(|members| members.len() == 1) && (is_marked("secret") || is_marked("withheld"))
}

/// The params with what the fields say. A field keeps the kind of its value: text stays text, and everything else is read
/// strictly. What was not shown as it is has no field, and nobody can ask for it by one.
pub fn changed_params(params: &Object, shown: &Object, fields: &[(String, String)]) -> Result<Object, Problem> {
    let mut changed = params.clone();
    for (field, said) in fields {
        let Some(name) = field.strip_prefix(PREFIX) else { continue };
        let Some(value) = params.get(name).filter(|value| is_editable(value) && shown.get(name) == Some(*value)) else {
            return Err(Problem::invalid("a field names a param that cannot be changed here"));
        };
        if *said == written(value) {
            continue;
        }
        let new = match value {
            Json::Text(_) => Json::text(said.as_str()),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Object(_) => {
                let read = Json::parse_within(said.trim().as_bytes(), &Bounds::FILE);
                read.map_err(|refusal| Problem::invalid(format!("`{name}` cannot be read: {refusal}")))?
            }
        };
        changed.insert(name.to_owned(), new);
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
    }

    #[test]
    fn a_field_keeps_the_kind_of_its_value() {
        let check = |params: &str, field: (&str, &str), expected: Result<&str, ()>| {
            let fields = [(field.0.to_owned(), field.1.to_owned()), ("csrf".to_owned(), "x".to_owned())];
            let shown = object(&params.replace("hunter2", "withheld"));
            let found = changed_params(&object(params), &shown, &fields).map_err(|_| ());
            assert_eq!(found, expected.map(object), "{params} {field:?}");
        };
        check(r#"{"amount":40}"#, ("param.amount", "40"), Ok(r#"{"amount":40}"#));
        check(r#"{"amount":40}"#, ("param.amount", " 25.50 "), Ok(r#"{"amount":25.50}"#));
        check(r#"{"amount":40}"#, ("param.amount", "twenty"), Err(()));
        check(r#"{"amount":40}"#, ("param.amount", "\"25\""), Ok(r#"{"amount":"25"}"#));
        check(r#"{"order":"A"}"#, ("param.order", "17"), Ok(r#"{"order":"17"}"#));
        check(r#"{"order":"A"}"#, ("param.order", ""), Ok(r#"{"order":""}"#));
        check(r#"{"urgent":true}"#, ("param.urgent", "false"), Ok(r#"{"urgent":false}"#));
        check(r#"{"items":[1]}"#, ("param.items", "[1,2]"), Ok(r#"{"items":[1,2]}"#));
        check(r#"{"items":[1]}"#, ("param.other", "1"), Err(()));
        check(r#"{"pin":"hunter2"}"#, ("param.pin", "hunter2"), Err(()));
        check("{\"to\":\"a\u{200b}b\"}", ("param.to", "ab"), Err(()));
    }
}
