//! The file of endpoints: who is told of what.

use crate::error::Error;
use crate::notices::{NoticeKind, QuestionTold};
use std::collections::BTreeSet;
use values::ids::{Digest, identifier_problem};
use values::json::{Json, Object};

/// Most endpoints in a file; each has a thread.
pub const ENDPOINTS_MAX: usize = 32;

/// Longest address.
const URL_BYTES_MAX: usize = 2_048;

/// Most groups of an endpoint.
const GROUPS_MAX: usize = 64;

/// Someone who is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    url: String,
    host: String,
    by_tls: bool,
    events: BTreeSet<NoticeKind>,
    groups: BTreeSet<String>,
}

impl Endpoint {
    /// The whole address. Parts of it may be secret: tell people the host instead.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The host, with its port where one is written.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is reached by https.
    pub fn by_tls(&self) -> bool {
        self.by_tls
    }

    /// The name under which it is remembered how far the endpoint has heard.
    pub fn name(&self) -> String {
        Digest::of(self.url.as_bytes()).to_string().chars().take(32).collect()
    }

    /// Whether the endpoint hears of this kind.
    pub fn hears_of(&self, told: &QuestionTold) -> bool {
        self.events.is_empty() || self.events.contains(&told.kind)
    }

    /// Whether it is told of everybody's questions.
    pub fn is_for_all(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether it is told of questions to these groups.
    pub fn is_for(&self, groups: &[String]) -> bool {
        self.is_for_all() || groups.iter().any(|group| self.groups.contains(group))
    }
}

/// Reads a file of endpoints.
///
/// ```
/// let text = "webhooks:\n  - url: https://desk.example/hook\n    events: [asked, reminded]\n    groups: [desk]\n";
/// let endpoints = writkeeper::webhooks::read(text)?;
/// assert_eq!(endpoints.first().map(|endpoint| endpoint.host()), Some("desk.example"));
/// # Ok::<(), writkeeper::Error>(())
/// ```
pub fn read(text: &str) -> Result<Vec<Endpoint>, Error> {
    let node = engines::yaml::parse(text).map_err(|fault| Error::Invalid(fault.to_string()))?;
    let json = node.to_json();
    let members = json.as_object().ok_or_else(expected)?;
    let listed = members.get("webhooks").and_then(Json::as_list).filter(|_| members.len() == 1).ok_or_else(expected)?;
    if listed.is_empty() || listed.len() > ENDPOINTS_MAX {
        return Err(Error::Invalid(format!("`webhooks` lists {} endpoints; 1 to {ENDPOINTS_MAX} are", listed.len())));
    }
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for (place, entry) in listed.iter().enumerate() {
        let invalid = |problem: String| Error::Invalid(format!("`webhooks.{place}`: {problem}"));
        let endpoint = read_endpoint(entry.as_object().ok_or_else(expected)?).map_err(invalid)?;
        if endpoints.iter().any(|known| known.url == endpoint.url) {
            return Err(invalid("another entry has the same `url`; put both into one".to_owned()));
        }
        endpoints.push(endpoint);
    }
    Ok(endpoints)
}

fn expected() -> Error {
    let example = "`webhooks: [{ url: \"https://…\", events: [asked], groups: [desk] }]`";
    Error::Invalid(format!("a file of webhooks is a list of endpoints: {example}"))
}

/// The error completes "`webhooks.0`: …". It repeats nothing of an address.
fn read_endpoint(members: &Object) -> Result<Endpoint, String> {
    if let Some(unknown) = members.keys().find(|key| !["url", "events", "groups"].contains(&key.as_str())) {
        return Err(format!("unknown key `{unknown}`; known keys: url, events, groups"));
    }
    let url = members.get("url").and_then(Json::as_text).ok_or("`url` is missing")?;
    let (host, by_tls) = host_of(url)?;
    let mut events = BTreeSet::new();
    for word in texts(members, "events")? {
        let kind = NoticeKind::from_word(&word).ok_or_else(|| {
            let known = NoticeKind::ALL.map(NoticeKind::word).join(", ");
            format!("`{word}` is no event; known events: {known}")
        })?;
        events.insert(kind);
    }
    let groups: BTreeSet<String> = texts(members, "groups")?.into_iter().collect();
    if groups.len() > GROUPS_MAX {
        return Err(format!("more than {GROUPS_MAX} groups"));
    }
    if let Some((group, problem)) = groups.iter().find_map(|group| Some((group, identifier_problem(group)?))) {
        return Err(format!("`{group}` is no group: it {problem}"));
    }
    Ok(Endpoint { url: url.to_owned(), host: host.to_owned(), by_tls, events, groups })
}

/// A list of texts, which may be left out.
fn texts(members: &Object, key: &str) -> Result<Vec<String>, String> {
    let Some(value) = members.get(key) else { return Ok(Vec::new()) };
    let listed = value.as_list().filter(|listed| !listed.is_empty());
    let read = listed.and_then(|listed| listed.iter().map(|text| text.as_text().map(str::to_owned)).collect());
    read.ok_or_else(|| format!("`{key}` is a list of names with at least one entry, or is left out"))
}

/// The host of an address, and whether it is reached by TLS.
fn host_of(url: &str) -> Result<(&str, bool), String> {
    let plain = url.len() <= URL_BYTES_MAX && url.bytes().all(|byte| byte.is_ascii_graphic());
    let (by_tls, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => {
            return Err("`url` starts with https://, or with http:// for addresses of the inside".to_owned());
        }
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let is_host = |character: char| character.is_ascii_alphanumeric() || "-._~:[]".contains(character);
    if !plain || host.is_empty() || !host.chars().all(is_host) || path.contains('#') {
        return Err("`url` is no address of a host: no user, no fragment, plain ASCII".to_owned());
    }
    Ok((host, by_tls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_or_refused_with_the_reason() {
        let check = |text: &str, expected: Result<usize, &str>| match (read(text), expected) {
            (Ok(read), Ok(count)) => assert_eq!(read.len(), count, "{text}"),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{text}: {error}"),
            (read, expected) => panic!("{text}: {read:?} where {expected:?} is expected"),
        };
        let one = |entry: &str| format!("webhooks: [{{ {entry} }}]");
        check(&one("url: 'https://a.example/h', events: [asked, expired], groups: [desk]"), Ok(1));
        check(&one("url: 'http://[::1]:8080'"), Ok(1));
        check("webhooks: []", Err("0 endpoints"));
        check("hooks: []", Err("is a list of endpoints"));
        check(&one("events: [asked]"), Err("`url` is missing"));
        check(&one("url: 'ftp://a.example'"), Err("https://"));
        check(&one("url: 'https://user:word@a.example'"), Err("no user"));
        check(&one("url: 'https://'"), Err("no address"));
        check(&one("url: 'https://a.example/é'"), Err("plain ASCII"));
        check(&one("url: 'https://a.example', events: [opened]"), Err("known events: asked"));
        check(&one("url: 'https://a.example', events: []"), Err("at least one entry"));
        check(&one("url: 'https://a.example', groups: ['']"), Err("is no group"));
        check(&one("url: 'https://a.example', secret: x"), Err("unknown key `secret`"));
        check("webhooks: [{ url: 'https://a.example' }, { url: 'https://a.example' }]", Err("same `url`"));
    }

    #[test]
    fn an_error_tells_nothing_of_an_address() {
        let error = read("webhooks: [{ url: 'https://a.example/SECRET#x' }]").unwrap_err();
        assert!(!error.to_string().contains("SECRET"), "{error}");
    }
}
