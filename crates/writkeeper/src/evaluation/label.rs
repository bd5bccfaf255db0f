//! What a person said of a case, and lines that carry it.

use kernel::nearest::suggestion;
use values::json::{Json, Object};

/// Whether something should have been said against a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// Nothing is wrong with it.
    Good,
    /// It should be noticed: refused, asked about or alarmed.
    Bad,
}

impl Label {
    /// The word that labels are written with.
    pub fn word(self) -> &'static str {
        match self {
            Label::Good => "good",
            Label::Bad => "bad",
        }
    }

    /// Reads `"bad"`, `"good"`, or whether it is bad as `true` and `false`.
    pub fn read(json: &Json) -> Result<Label, String> {
        match json {
            Json::Bool(is_bad) => Ok(if *is_bad { Label::Bad } else { Label::Good }),
            Json::Text(text) if text == Label::Bad.word() => Ok(Label::Bad),
            Json::Text(text) if text == Label::Good.word() => Ok(Label::Good),
            Json::Null | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => {
                Err("`label` must be \"bad\" or \"good\" (or true for bad and false for good)".to_owned())
            }
        }
    }
}

/// Reads a line `{"label": …, KEY: …}`: its label and the rest of its members, all of which are known.
pub fn line(bytes: &[u8], known: &[&str]) -> Result<(Label, Object), String> {
    let json = Json::parse(bytes).map_err(|refusal| refusal.to_string())?;
    let Json::Object(mut members) = json else {
        return Err(format!("a case is an object, not {}", json.kind()));
    };
    let label = members.remove("label").ok_or("`label` is missing: \"bad\" or \"good\"")?;
    if let Some(key) = members.keys().find(|key| !known.contains(&key.as_str())) {
        let meant = suggestion(key, known.iter().copied());
        return Err(format!("`{}` is not known here{meant}", kernel::finding::visible(key)));
    }
    Ok((Label::read(&label)?, members))
}
