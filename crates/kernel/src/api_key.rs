//! Keys of the service and its tenants, as state keeps them: who may come in, and as what.
//!
//! They are rows of state under reserved names, so that each change of them is recorded, replayed and proved like any
//! other. A key itself is never kept, only its hash.

use crate::contract::words;
use crate::escalation::PEOPLE;
use std::collections::BTreeSet;
use values::ids::{Digest, identifier_problem};
use values::json::{Json, Object};
use values::time::Instant;

/// Where state keeps keys; only operators and the kernel write it.
pub const KEYS: &str = "keys/";

/// Where the state of the tenant `default` keeps which tenants there are.
pub const TENANTS: &str = "tenants/";

/// Letters of the longest name of a tenant.
const TENANT_NAME_MAX: usize = 32;

/// Letters of the longest id of a key.
const KEY_ID_MAX: usize = 32;

words! {
    /// What a key may do; the table of routes says what that is.
    KeyRole {
        /// Proposes in the name of one agent.
        Agent = "agent",
        /// Performs what was accepted.
        Executor = "executor",
        /// Runs the agents.
        Operator = "operator",
        /// Answers questions as a person.
        Approver = "approver",
        /// Reads everything.
        Auditor = "auditor",
        /// Runs the service: keys, tenants, people, and all that an operator does.
        Admin = "admin",
    }
}

/// A key as state keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiKey {
    /// What it may do.
    pub role: KeyRole,
    /// Whose it is: the agent, the person, the worker.
    pub name: String,
    /// The groups that its person is in.
    pub groups: BTreeSet<String>,
    /// SHA-256 of the whole text of the key.
    pub hash: Digest,
    /// Who made it.
    pub created_by: String,
    /// Not after this.
    pub expires: Option<Instant>,
    /// Whether it counts no more.
    pub revoked: bool,
    /// Whether what its proposals say about where values come from counts: the key of an adapter that states it.
    pub provenance: bool,
}

impl ApiKey {
    /// Whether a text can be the id of a key.
    pub fn is_id(text: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        (1..=KEY_ID_MAX).contains(&text.len()) && text.bytes().all(fits)
    }

    /// Whether it counts at an instant.
    pub fn counts_at(&self, at: Instant) -> bool {
        !self.revoked && self.expires.is_none_or(|expires| at <= expires)
    }

    /// Reads what [`ApiKey::to_json`] wrote, and nothing else.
    pub fn from_json(json: &Json) -> Option<ApiKey> {
        const MEMBERS: [&str; 8] = ["role", "name", "groups", "hash", "created_by", "expires", "revoked", "provenance"];
        let members = json.as_object()?;
        if members.keys().any(|member| !MEMBERS.contains(&member.as_str())) {
            return None;
        }
        let named = |json: &Json| json.as_text().filter(|text| identifier_problem(text).is_none()).map(str::to_owned);
        let flag = |member: &str| match members.get(member) {
            None => Some(false),
            // Absent says no; there is one way to write each key.
            Some(json) => json.as_bool().filter(|is_so| *is_so),
        };
        Some(ApiKey {
            role: KeyRole::from_word(members.get("role")?.as_text()?)?,
            name: named(members.get("name")?)?,
            groups: members.get("groups")?.as_list()?.iter().map(named).collect::<Option<_>>()?,
            hash: Digest::parse(members.get("hash")?.as_text()?)?,
            created_by: members.get("created_by")?.as_text()?.to_owned(),
            expires: match members.get("expires") {
                None => None,
                Some(expires) => Some(Instant::parse(expires.as_text()?)?),
            },
            revoked: flag("revoked")?,
            provenance: flag("provenance")?,
        })
    }

    /// As state keeps it.
    pub fn to_json(&self) -> Json {
        let mut members = Object::from_iter([
            ("role".to_owned(), Json::text(self.role.word())),
            ("name".to_owned(), Json::text(self.name.as_str())),
            ("groups".to_owned(), Json::texts(self.groups.iter().map(String::as_str))),
            ("hash".to_owned(), Json::text(self.hash.to_string())),
            ("created_by".to_owned(), Json::text(self.created_by.as_str())),
        ]);
        members.extend(self.expires.map(|expires| ("expires".to_owned(), Json::text(expires.to_string()))));
        members.extend(self.revoked.then(|| ("revoked".to_owned(), Json::Bool(true))));
        members.extend(self.provenance.then(|| ("provenance".to_owned(), Json::Bool(true))));
        Json::Object(members)
    }
}

words! {
    /// Whether a tenant's keys open anything.
    TenantState {
        /// They do.
        Open = "OPEN",
        /// Nothing is decided for it.
        Closed = "CLOSED",
    }
}

impl TenantState {
    /// Reads what [`TenantState::to_json`] wrote, and nothing else.
    pub fn from_json(json: &Json) -> Option<TenantState> {
        let members = json.as_object().filter(|members| members.len() == 1)?;
        TenantState::from_word(members.get("state")?.as_text()?)
    }

    /// As state keeps it.
    pub fn to_json(self) -> Json {
        Json::object([("state", Json::text(self.word()))])
    }
}

/// Whether a text can name a tenant: it stands in keys, in addresses and in the names of files.
pub fn is_tenant_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=TENANT_NAME_MAX).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('-')
}

/// Whether a key of state says who may come in, who someone is, or what exists: no agent writes or freezes it.
pub fn is_reserved(key: &str) -> bool {
    [KEYS, TENANTS, PEOPLE].iter().any(|prefix| key.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ApiKey {
        ApiKey {
            role: KeyRole::Approver,
            name: "ann".to_owned(),
            groups: ["desk".to_owned()].into(),
            hash: Digest::of("secret"),
            created_by: "operator:root".to_owned(),
            expires: None,
            revoked: false,
            provenance: false,
        }
    }

    #[test]
    fn a_key_is_read_back_in_every_form() {
        let check = |key: ApiKey| assert_eq!(ApiKey::from_json(&key.to_json()), Some(key));
        check(key());
        check(ApiKey { revoked: true, expires: Some(Instant::PURE_DEFAULT), ..key() });
        check(ApiKey { provenance: true, role: KeyRole::Agent, groups: BTreeSet::new(), ..key() });
    }

    #[test]
    fn what_is_no_key_is_not_read() {
        let check = |member: &str, value: Json| {
            let Json::Object(mut members) = key().to_json() else { panic!("a key is an object") };
            members.insert(member.to_owned(), value);
            assert_eq!(ApiKey::from_json(&Json::Object(members)), None, "{member}");
        };
        check("role", Json::text("root"));
        check("name", Json::text("a\u{200b}nn"));
        check("hash", Json::text("short"));
        check("groups", Json::text("desk"));
        check("revoked", Json::Bool(false));
        check("expires", Json::text("tomorrow"));
        check("more", Json::Null);
    }

    #[test]
    fn a_revoked_or_expired_key_counts_no_more() {
        let at = Instant::PURE_DEFAULT;
        let check = |key: ApiKey, expected: bool| assert_eq!(key.counts_at(at), expected, "{key:?}");
        check(key(), true);
        check(ApiKey { revoked: true, ..key() }, false);
        check(ApiKey { expires: Some(at), ..key() }, true);
        check(ApiKey { expires: Some(at.minus(values::time::Duration::from_micros(1))), ..key() }, false);
    }

    #[test]
    fn names_of_tenants_fit_everywhere() {
        for (text, expected) in
            [("acme", true), ("a-1", true), ("", false), ("A", false), ("a.b", false), ("-a", false)]
        {
            assert_eq!(is_tenant_name(text), expected, "{text}");
        }
        assert!(!is_tenant_name(&"a".repeat(33)) && ApiKey::is_id("0af3") && !ApiKey::is_id("a/b"));
    }
}
