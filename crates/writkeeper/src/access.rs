//! Who may come in: keys of the service, tokens of agents, and tenants. Each is told once and kept only as a hash.

mod tenants;
mod text;

pub use tenants::TENANTS_MAX;
pub use text::{Bearer, token};

use crate::error::Error;
use crate::keeper::{Keeper, carried_out};
use crate::overlap;
use kernel::agent::Actor;
use kernel::api_key::{ApiKey, KEYS, KeyRole, is_reserved};
use kernel::attention::ATTENTION;
use kernel::change::{Act, Write};
use kernel::escalation::PEOPLE;
use kernel::finding::{Finding, Gate};
use kernel::person::Person;
use kernel::reasons::Reason;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use std::collections::{BTreeMap, BTreeSet};
use values::ids::{Digest, folded, identifier_problem};
use values::json::Json;
use values::time::Instant;

/// Rows of state read at once.
const PAGE: usize = 256;

/// The state that names the key of the first admin.
const FIRST_ADMIN: &str = "service/first-admin";

/// Whether a name of state says who may come in, who someone is, or what people and the service are bound by: of those who
/// write state only an admin writes there.
pub fn is_for_admins(key: &str) -> bool {
    is_reserved(key) || [ATTENTION, SERVICE].iter().any(|prefix| key.starts_with(prefix))
}

/// What a service keeps of itself.
const SERVICE: &str = "service/";

/// A key that somebody asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewKey {
    /// What it may do.
    pub role: KeyRole,
    /// Whose it is.
    pub name: String,
    /// The groups that its person is in; nothing leaves those that are known.
    pub groups: Option<BTreeSet<String>>,
    /// Not after this.
    pub expires: Option<Instant>,
    /// Whether the proposals of its agent may say where values come from.
    pub provenance: bool,
}

/// A key that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MadeKey {
    /// What it is called.
    pub id: String,
    /// What its owner shows; told only now.
    pub key: String,
}

/// A key as those see it who look after keys.
pub type KnownKey = (String, ApiKey);

impl Keeper {
    /// Makes a key. A person's groups are written down in the same change.
    pub fn new_key(&self, by: &Actor, wanted: &NewKey) -> Result<MadeKey, Error> {
        let (made, writes) = self.prepared_key(by, wanted)?;
        self.merge(by, writes)?;
        Ok(made)
    }

    /// A key, and what has to be written so that it counts.
    fn prepared_key(&self, by: &Actor, wanted: &NewKey) -> Result<(MadeKey, Vec<Write>), Error> {
        demand_name("name", &wanted.name)?;
        wanted.groups.iter().flatten().try_for_each(|group| demand_name("groups", group))?;
        if wanted.provenance && wanted.role != KeyRole::Agent {
            return Err(Error::Usage("only the key of an agent can state provenance".to_owned()));
        }
        match wanted.role {
            KeyRole::Agent => overlap::demand_apart(self.runtime(), &wanted.name)?,
            KeyRole::Executor => demand_worker(&wanted.name)?,
            KeyRole::Operator | KeyRole::Approver | KeyRole::Auditor | KeyRole::Admin => {}
        }
        let (id, text) = text::new_key(self.runtime().tenant());
        let key = ApiKey {
            role: wanted.role,
            name: wanted.name.clone(),
            groups: wanted.groups.clone().unwrap_or_default(),
            hash: Digest::of(&text),
            created_by: by.text(),
            expires: wanted.expires,
            revoked: false,
            provenance: wanted.provenance,
        };
        let mut writes = vec![Write { key: format!("{KEYS}{id}"), value: key.to_json(), expect: Some(0) }];
        if let (KeyRole::Approver, Some(groups)) = (wanted.role, &wanted.groups) {
            let known = self.person(&wanted.name)?.unwrap_or_default();
            writes.push(Write::person(&wanted.name, &Person { groups: groups.clone(), ..known }));
        }
        Ok((MadeKey { id, key: text }, writes))
    }

    /// A key by its id.
    pub fn key(&self, id: &str) -> Result<Option<ApiKey>, Error> {
        if !ApiKey::is_id(id) {
            return Ok(None);
        }
        Ok(self.state(&format!("{KEYS}{id}"))?.and_then(|(json, _)| ApiKey::from_json(&json)))
    }

    /// Every key, in the order of their ids; those that are revoked too. A server shows them to an admin only.
    pub fn keys(&self) -> Result<Vec<KnownKey>, Error> {
        let people = self.states_under(PEOPLE)?.into_iter();
        let people: BTreeMap<String, Person> =
            people.filter_map(|(name, json)| Some((name, Person::from_json(&json)?))).collect();
        let rows = self.states_under(KEYS)?.into_iter();
        let key = |(id, json): (String, Json)| match ApiKey::from_json(&json) {
            Some(mut key) => {
                // Groups are the person's, whichever key or verb changed them last.
                if let (KeyRole::Approver, Some(person)) = (key.role, people.get(&*folded(&key.name))) {
                    key.groups.clone_from(&person.groups);
                }
                Ok((id, key))
            }
            None => {
                let hidden = Finding::reject(Gate::Authority, Reason::NotAuthorized).with("actor", "the caller");
                Err(Error::Refused(vec![hidden.with("what", "see keys; an admin may")]))
            }
        };
        rows.map(key).collect()
    }

    /// Lets a key count no more.
    pub fn revoke_key(&self, by: &Actor, id: &str) -> Result<ApiKey, Error> {
        let missing = || Error::NotFound { kind: Kind::State, id: id.to_owned() };
        let key = ApiKey { revoked: true, ..self.key(id)?.ok_or_else(missing)? };
        self.merge(by, vec![Write { key: format!("{KEYS}{id}"), value: key.to_json(), expect: None }])?;
        Ok(key)
    }

    /// Makes the first key of an admin where there is none that counts.
    pub fn first_admin(&self) -> Result<Option<MadeKey>, Error> {
        let now = self.now();
        // Several services may start at the same time: whoever writes this first makes the key. It is read before the keys
        // are, so a key that is made in between counts.
        let seen = self.state(FIRST_ADMIN)?.map_or(0, |(_, version)| version);
        if self.keys()?.iter().any(|(_, key)| key.role == KeyRole::Admin && key.counts_at(now)) {
            return Ok(None);
        }
        let name = KeyRole::Admin.word().to_owned();
        let wanted = NewKey { role: KeyRole::Admin, name, groups: None, expires: None, provenance: false };
        let (made, mut writes) = self.prepared_key(&Actor::Kernel, &wanted)?;
        writes.push(Write { key: FIRST_ADMIN.to_owned(), value: Json::text(&*made.id), expect: Some(seen) });
        match self.merge(&Actor::Kernel, writes) {
            Ok(_) => Ok(Some(made)),
            Err(_) if self.state(FIRST_ADMIN)?.is_some_and(|(_, version)| version > seen) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What is known of a person.
    pub fn person(&self, name: &str) -> Result<Option<Person>, Error> {
        let row = self.state(&format!("{PEOPLE}{}", folded(name)))?;
        Ok(row.and_then(|(json, _)| Person::from_json(&json)))
    }

    /// Says which groups a person is in, if that is not known yet; a public key stays.
    pub fn ensure_groups(&self, by: &Actor, name: &str, groups: &BTreeSet<String>) -> Result<(), Error> {
        let known = self.person(name)?;
        if known.as_ref().is_some_and(|known| known.groups == *groups) || known.is_none() && groups.is_empty() {
            return Ok(());
        }
        demand_name("name", name)?;
        let person = Person { groups: groups.clone(), ..known.unwrap_or_default() };
        carried_out(self.runtime().change(by.clone(), Act::Merge(vec![Write::person(name, &person)]))).map(|_| ())
    }

    /// Every value of state whose name begins like this, by the rest of its name.
    pub(crate) fn states_under(&self, prefix: &str) -> Result<Vec<(String, Json)>, Error> {
        let (mut after, mut found) = (prefix.to_owned(), Vec::new());
        loop {
            let page = self.runtime().scan(Kind::State, Some(&after), PAGE)?;
            for (key, row) in &page {
                let name = key.entity.parts().0;
                let Some(rest) = name.strip_prefix(prefix) else { return Ok(found) };
                if let Row::State(row) = row {
                    found.push((rest.to_owned(), row.value.clone()));
                }
                name.clone_into(&mut after);
            }
            if page.len() < PAGE {
                return Ok(found);
            }
        }
    }

    /// The hash of an agent's token, while it counts.
    pub fn session_of(&self, agent: &str) -> Result<Option<Digest>, Error> {
        let row = self.runtime().read(Entity::Agent(agent.to_owned()))?;
        let Some(Row::Agent(row)) = row else { return Ok(None) };
        let now = self.now();
        Ok(row.session.filter(|session| now <= session.expires).map(|session| session.token_hash))
    }
}

/// Names are seen by people and compared by programs.
fn demand_name(field: &str, name: &str) -> Result<(), Error> {
    match identifier_problem(name) {
        None => Ok(()),
        Some(problem) => Err(Error::Usage(format!("`{field}` {problem}"))),
    }
}

/// An executor claims under its name and whatever it calls a worker behind a `/`, an agent under `agent:NAME`: a name that
/// looks like either would speak for the claims of somebody else.
fn demand_worker(name: &str) -> Result<(), Error> {
    let is_taken = name.contains('/') || matches!(Actor::parse(name), Some(Actor::Agent(_)));
    let problem = "`name` of an executor holds no `/` and does not begin with `agent:`";
    if is_taken { Err(Error::Usage(problem.to_owned())) } else { Ok(()) }
}

/// A key without its hash, for programs.
pub fn key_json(id: &str, key: &ApiKey) -> Json {
    Json::object([
        ("id", Json::text(id)),
        ("role", Json::text(key.role.word())),
        ("name", Json::text(key.name.as_str())),
        ("groups", Json::texts(key.groups.iter().map(String::as_str))),
        ("created_by", Json::text(key.created_by.as_str())),
        ("expires", Json::from(key.expires.map(|expires| expires.to_string()))),
        ("revoked", Json::Bool(key.revoked)),
        ("provenance", Json::Bool(key.provenance)),
    ])
}

/// What there is to say about a code, for programs.
pub fn reason_json(reason: Reason) -> Json {
    let entry = reason.entry();
    Json::object([
        ("code", Json::text(entry.code)),
        ("category", Json::text(entry.category.word())),
        ("sentence", Json::text(entry.sentence)),
        ("fix_agent", Json::text(entry.fix_agent)),
        ("fix_operator", Json::text(entry.fix_operator)),
    ])
}
