//! Walks a written contract: every value knows its path and place, and every fault is collected, not thrown.

use crate::keys::Shape;
use crate::source::{Diagnostic, Member, Node, Place, Severity, Value};
use kernel::nearest::nearest;
use kernel::template::Template;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::ids;
use values::json::Json;
use values::time::Duration;

/// The code of everything that makes a contract unusable.
pub(super) const CONTRACT_INVALID: &str = "CONTRACT_INVALID";

/// What was found while reading.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub errors: Vec<Diagnostic>,
    pub inert: Vec<Diagnostic>,
}

/// A value, where it stands and how one gets there.
#[derive(Clone, Debug)]
pub(super) struct Spot<'a> {
    pub node: &'a Node,
    pub path: String,
}

/// A map whose keys have been checked against its shape.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub spot: Spot<'a>,
}

impl<'a> Spot<'a> {
    pub fn root(node: &'a Node) -> Spot<'a> {
        Spot { node, path: String::new() }
    }

    /// Reports that this value makes the contract unusable.
    pub fn fail(&self, report: &mut Report, message: impl Into<String>, help: Option<&str>) {
        self.fail_at(self.node.place, &self.path, report, message.into(), help.map(str::to_owned));
    }

    fn fail_at(&self, place: Place, path: &str, report: &mut Report, message: String, help: Option<String>) {
        report.errors.push(Diagnostic {
            code: CONTRACT_INVALID,
            severity: Severity::Error,
            path: path.to_owned(),
            place,
            message,
            help,
        });
    }

    fn expected(&self, report: &mut Report, wanted: &str) {
        let found = describe(self.node);
        self.fail(report, format!("`{}` must be {wanted}, not {found}", self.path), None);
    }

    /// A map with the keys of a shape; unknown keys are faults.
    pub fn fields(&self, shape: &Shape, report: &mut Report) -> Option<Fields<'a>> {
        let members = self.members(report)?;
        if !bugs::on(Bug::W09UnknownKeys) {
            for member in members.iter().filter(|member| !shape.knows(&member.key)) {
                self.unknown_key(member, shape, report);
            }
        }
        Some(Fields { spot: self.clone() })
    }

    fn unknown_key(&self, member: &Member, shape: &Shape, report: &mut Report) {
        let help = match nearest(&member.key, shape.all()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known keys: {}", shape.all().collect::<Vec<_>>().join(", ")),
        };
        let holder = if self.path.is_empty() { "the contract".to_owned() } else { format!("`{}`", self.path) };
        let message = format!("unknown key `{}` in {holder}", member.key);
        self.fail_at(member.key_place, &join(&self.path, &member.key), report, message, Some(help));
    }

    /// Members of a map with free keys.
    pub fn entries(&self, report: &mut Report) -> Vec<(&'a Member, Spot<'a>)> {
        let members = self.members(report).unwrap_or_default();
        members
            .iter()
            .map(|member| (member, Spot { node: &member.node, path: join(&self.path, &member.key) }))
            .collect()
    }

    fn members(&self, report: &mut Report) -> Option<&'a [Member]> {
        if let Value::Map(members) = &self.node.value {
            return Some(members);
        }
        if self.path.is_empty() {
            self.fail(report, "a contract is a map of keys", Some("start with `agent:` and `actions:`"));
        } else {
            self.expected(report, "a map");
        }
        None
    }

    /// Items of a list.
    pub fn items(&self, report: &mut Report) -> Vec<Spot<'a>> {
        let Value::List(items) = &self.node.value else {
            self.expected(report, "a list");
            return Vec::new();
        };
        let spot = |(index, node)| Spot { node, path: join(&self.path, &format!("{index}")) };
        items.iter().enumerate().map(spot).collect()
    }

    pub fn text(&self, report: &mut Report) -> Option<&'a str> {
        match &self.node.value {
            Value::Scalar(Json::Text(text)) => Some(text),
            Value::Scalar(Json::Number(_) | Json::Bool(_)) => {
                let message = format!("`{}` must be text, not {}", self.path, describe(self.node));
                self.fail(report, message, Some("put it into quotes"));
                None
            }
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => {
                self.expected(report, "text");
                None
            }
        }
    }

    /// Text that is not blank.
    pub fn some_text(&self, report: &mut Report) -> Option<&'a str> {
        let text = self.text(report)?;
        if text.trim().is_empty() {
            self.fail(report, format!("`{}` is empty", self.path), None);
            return None;
        }
        Some(text)
    }

    /// A name that reaches keys and records.
    pub fn name(&self, report: &mut Report) -> Option<String> {
        let text = self.text(report)?;
        match ids::identifier_problem(text) {
            Some(problem) => {
                self.fail(report, format!("`{}` {problem}", self.path), Some("use a short plain name"));
                None
            }
            None => Some(text.to_owned()),
        }
    }

    pub fn names(&self, report: &mut Report) -> Vec<String> {
        self.items(report).iter().filter_map(|item| item.name(report)).collect()
    }

    pub fn flag(&self, report: &mut Report) -> Option<bool> {
        if let Value::Scalar(Json::Bool(flag)) = &self.node.value {
            return Some(*flag);
        }
        self.expected(report, "`true` or `false`");
        None
    }

    /// A number, or text that holds a plain one: amounts may have more digits than a JSON number keeps.
    pub fn number(&self, report: &mut Report) -> Option<Decimal> {
        let number = match &self.node.value {
            Value::Scalar(Json::Number(number)) => Some(*number),
            Value::Scalar(Json::Text(text)) => Decimal::parse(text),
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => None,
        };
        if number.is_none() {
            self.expected(report, "a number");
        }
        number
    }

    /// A whole number from 0.
    pub fn whole(&self, report: &mut Report) -> Option<u64> {
        let number = self.number(report)?;
        let whole = number.to_i64().and_then(|whole| u64::try_from(whole).ok());
        if whole.is_none() {
            self.fail(report, format!("`{}` must be a whole number from 0, not `{number}`", self.path), None);
        }
        whole
    }

    pub fn duration(&self, report: &mut Report) -> Option<Duration> {
        const HELP: &str = "write a whole number and a unit: `250ms`, `30s`, `5m`, `24h`, `7d`";
        let found = match &self.node.value {
            Value::Scalar(Json::Text(text)) => Duration::parse(text),
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => None,
        };
        if found.is_none() {
            let message = format!("`{}` must be a length of time, not {}", self.path, describe(self.node));
            self.fail(report, message, Some(HELP));
        }
        found
    }

    pub fn template(&self, report: &mut Report) -> Option<Template> {
        let text = self.text(report)?;
        self.template_from(text, report)
    }

    pub fn template_from(&self, text: &str, report: &mut Report) -> Option<Template> {
        match Template::parse(text) {
            Ok(template) => Some(template),
            Err(problem) => {
                self.fail(report, format!("the key `{text}` {problem}"), Some("write params in braces: `order:{id}`"));
                None
            }
        }
    }

    /// One of a fixed set of words.
    pub fn word<T>(&self, words: &[&str], from_word: fn(&str) -> Option<T>, report: &mut Report) -> Option<T> {
        let text = self.text(report)?;
        let value = from_word(text);
        if value.is_none() {
            let help = match nearest(text, words.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of {}", words.join(", ")),
            };
            self.fail(report, format!("`{}` cannot be `{text}`", self.path), Some(&help));
        }
        value
    }
}

impl<'a> Fields<'a> {
    /// The value of a key, if it is there.
    pub fn get(&self, key: &str) -> Option<Spot<'a>> {
        let node = self.spot.node.get(key)?;
        Some(Spot { node, path: join(&self.spot.path, key) })
    }

    /// The value of a key that must be there.
    pub fn require(&self, key: &str, report: &mut Report) -> Option<Spot<'a>> {
        let found = self.get(key);
        if found.is_none() {
            let holder =
                if self.spot.path.is_empty() { "the contract".to_owned() } else { format!("`{}`", self.spot.path) };
            self.spot.fail(report, format!("{holder} has no `{key}`"), Some(&format!("add `{key}:`")));
        }
        found
    }
}

/// A path one key longer.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn describe(node: &Node) -> String {
    match &node.value {
        Value::Scalar(Json::Text(text)) => {
            let shown: String = text.chars().take(40).collect();
            format!("`{shown}`")
        }
        Value::Scalar(scalar @ (Json::Number(_) | Json::Bool(_))) => format!("`{}`", scalar.to_canonical()),
        Value::Scalar(scalar) => scalar.kind().to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
    }
}

/// The place of the value at a path, or of the nearest value above it that is written down.
pub(super) fn place_of(root: &Node, path: &str) -> Place {
    let mut node = root;
    let mut place = root.place;
    let mut rest = path;
    while !rest.is_empty() {
        let Some((key_place, child, behind)) = step(node, rest) else { break };
        place = if behind.is_empty() { key_place } else { child.place };
        node = child;
        rest = behind;
    }
    place
}

/// The deepest value on a path, and the rest of the path that leads nowhere.
pub(super) fn deepest<'n, 'p>(root: &'n Node, path: &'p str) -> (&'n Node, &'p str) {
    let (mut node, mut rest) = (root, path);
    while !rest.is_empty() {
        let Some((_, child, behind)) = step(node, rest) else { break };
        (node, rest) = (child, behind);
    }
    (node, rest)
}

/// Keys may contain dots, so the longest key that begins the path is taken.
fn step<'n, 'p>(node: &'n Node, path: &'p str) -> Option<(Place, &'n Node, &'p str)> {
    let behind = |key: &str| {
        let rest = path.strip_prefix(key)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
    };
    match &node.value {
        Value::Map(members) => members
            .iter()
            .filter_map(|member| Some((member, behind(&member.key)?)))
            .min_by_key(|(_, rest)| rest.len())
            .map(|(member, rest)| (member.key_place, &member.node, rest)),
        Value::List(items) => {
            items.iter().enumerate().find_map(|(index, item)| Some((item.place, item, behind(&index.to_string())?)))
        }
        Value::Scalar(_) => None,
    }
}
