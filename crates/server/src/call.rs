//! A request on its way to what it asks for, and what is answered.

use crate::identity::Caller;
use crate::problem::Problem;
use crate::site::Site;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use std::sync::Arc;
use values::json::{Bounds, Json, Object, Problem as Refused};
use values::time::Duration;
use writkeeper::Keeper;

/// The media type of everything that is JSON.
pub const JSON: &str = "application/json";

/// A request that was let in.
pub struct Call {
    /// What all share.
    pub site: Arc<Site>,
    /// Who asks.
    pub caller: Caller,
    /// The named parts of the path.
    pub path: Vec<(String, String)>,
    /// What stands behind the question mark; only names and values that the table knows.
    pub query: Vec<(String, String)>,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Call {
    /// The tenant's part of the store.
    pub fn keeper(&self) -> &Keeper {
        &self.caller.tenant.keeper
    }

    /// A named part of the path.
    pub fn part(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A value behind the question mark.
    pub fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A whole number behind the question mark; that it is one was checked.
    pub fn whole(&self, name: &str) -> Option<u64> {
        self.asked(name)?.parse().ok()
    }

    /// A length of time behind the question mark; that it is one was checked.
    pub fn span(&self, name: &str) -> Option<std::time::Duration> {
        let micros = Duration::parse(self.asked(name)?)?.micros();
        Some(std::time::Duration::from_micros(micros.unsigned_abs()))
    }

    /// The body as an object with these members and no others.
    pub fn members(&self, known: &[&str]) -> Result<Object, Problem> {
        let json = strict(&self.body)?;
        let Json::Object(members) = json else {
            return Err(Problem::unreadable(format!("the body is {}, not an object", json.kind())));
        };
        match members.keys().find(|member| !known.contains(&member.as_str())) {
            None => Ok(members),
            Some(other) => {
                let other = kernel::finding::shown(&Json::text(other.as_str()));
                Err(Problem::unreadable(format!("`{other}` is no member here; known are {}", known.join(", "))))
            }
        }
    }
}

/// Strict JSON. What is no JSON at all cannot be read (400); what only our stricter rules refuse is invalid (422).
pub fn strict(bytes: &[u8]) -> Result<Json, Problem> {
    Json::parse_within(bytes, &Bounds::FILE).map_err(|refusal| {
        let said = format!("the body is not strict JSON: {refusal}");
        match refusal.problem {
            Refused::NotUtf8
            | Refused::ByteOrderMark
            | Refused::Unexpected { .. }
            | Refused::Truncated
            | Refused::TrailingData => Problem::unreadable(said),
            Refused::TooLong { .. }
            | Refused::TooDeep { .. }
            | Refused::TooManyNodes { .. }
            | Refused::KeyTooLong { .. }
            | Refused::DuplicateKey { .. }
            | Refused::NumberNotExact
            | Refused::LoneSurrogate
            | Refused::Nul => Problem::invalid(said),
        }
    })
}

/// A text that must be there.
pub fn text(members: &Object, name: &str) -> Result<String, Problem> {
    match members.get(name) {
        Some(Json::Text(text)) => Ok(text.clone()),
        Some(other) => Err(Problem::invalid(format!("`{name}` is {}, not text", other.kind()))),
        None => Err(Problem::invalid(format!("`{name}` is missing"))),
    }
}

/// A text that may be missing.
pub fn text_if_any(members: &Object, name: &str) -> Result<Option<String>, Problem> {
    match members.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(_) => text(members, name).map(Some),
    }
}

/// A whole number that may be missing.
pub fn whole_if_any(members: &Object, name: &str) -> Result<Option<u64>, Problem> {
    match members.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(json) => {
            let number = json.as_number().filter(|number| number.is_integer()).and_then(|number| number.to_i64());
            let number = number.and_then(|number| u64::try_from(number).ok());
            number.map(Some).ok_or_else(|| Problem::invalid(format!("`{name}` is not a whole number")))
        }
    }
}

/// A yes or no that may be missing.
pub fn flag(members: &Object, name: &str) -> Result<bool, Problem> {
    match members.get(name) {
        None | Some(Json::Null) => Ok(false),
        Some(json) => json.as_bool().ok_or_else(|| Problem::invalid(format!("`{name}` is not true or false"))),
    }
}

/// A list of texts that may be missing.
pub fn texts_if_any(members: &Object, name: &str) -> Result<Option<Vec<String>>, Problem> {
    match members.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(json) => {
            let texts =
                json.as_list().and_then(|items| items.iter().map(|item| item.as_text().map(str::to_owned)).collect());
            texts.map(Some).ok_or_else(|| Problem::invalid(format!("`{name}` is not a list of texts")))
        }
    }
}

/// A length of time such as `30s` that may be missing.
pub fn span_if_any(members: &Object, name: &str) -> Result<Option<Duration>, Problem> {
    let Some(said) = text_if_any(members, name)? else { return Ok(None) };
    let span = Duration::parse(&said).filter(|span| span.micros() > 0);
    span.map(Some).ok_or_else(|| Problem::invalid(format!("`{name}` is no length of time such as 30s or 24h")))
}

/// What is answered.
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The media type.
    pub media: &'static str,
    /// Other headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: Body,
}

impl Reply {
    /// JSON as it stands.
    pub fn json(json: &Json) -> Reply {
        Reply::bytes(JSON, json.to_canonical().into_bytes())
    }

    /// Bytes of some kind.
    pub fn bytes(media: &'static str, body: impl Into<Bytes>) -> Reply {
        Reply { status: StatusCode::OK, media, headers: Vec::new(), body: Body::from(body.into()) }
    }

    /// Something new came of it.
    #[must_use]
    pub fn created(self) -> Reply {
        Reply { status: StatusCode::CREATED, ..self }
    }

    /// With another header.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Reply {
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    /// As it goes out.
    pub fn into_response(self) -> Response {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media));
        headers.extend(self.headers);
        // Answers hold what only their caller may see.
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

impl Problem {
    /// As it goes out.
    pub fn into_response(self) -> Response {
        let mut reply = Reply::bytes(crate::problem::PROBLEM, self.to_json().to_canonical().into_bytes());
        reply.status = self.status;
        if let Some(seconds) = self.retry_after {
            reply = reply.with(header::RETRY_AFTER, &seconds.to_string());
        }
        if let Some(allow) = &self.allow {
            reply = reply.with(header::ALLOW, allow);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            reply = reply.with(header::WWW_AUTHENTICATE, "Bearer");
        }
        reply.into_response()
    }
}
