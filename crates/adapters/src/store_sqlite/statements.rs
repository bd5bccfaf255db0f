//! The statements of each kind, written once.

use kernel::stored::Kind;

/// Statements over the table of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statements {
    /// The body at a key.
    pub(super) get: &'static str,
    /// Whether anything stands in a range of keys.
    pub(super) any: &'static str,
    /// Puts a body at a key.
    pub(super) put: &'static str,
    /// Keys and bodies from a key on, up to another.
    pub(super) scan: &'static str,
    /// Keys and bodies of a tenant by what is due soonest, where the kind has anything due.
    pub(super) due: Option<&'static str>,
}

macro_rules! plain {
    ($table:literal) => {
        Some(Statements {
            get: concat!("SELECT body FROM ", $table, " WHERE key = ?1"),
            any: concat!("SELECT 1 FROM ", $table, " WHERE key BETWEEN ?1 AND ?2 LIMIT 1"),
            put: concat!(
                "INSERT INTO ",
                $table,
                "(key, body) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET body = excluded.body"
            ),
            scan: concat!("SELECT key, body FROM ", $table, " WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3"),
            due: None,
        })
    };
}

macro_rules! due {
    ($table:literal) => {
        Some(Statements {
            get: concat!("SELECT body FROM ", $table, " WHERE key = ?1"),
            any: concat!("SELECT 1 FROM ", $table, " WHERE key BETWEEN ?1 AND ?2 LIMIT 1"),
            // The index of the record that made it stays: there its first words are found.
            put: concat!(
                "INSERT INTO ",
                $table,
                "(key, body, tenant, due, idx) VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(key) DO UPDATE SET body = \
                 excluded.body, due = excluded.due"
            ),
            scan: concat!("SELECT key, body FROM ", $table, " WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3"),
            due: Some(concat!(
                "SELECT key, body FROM ",
                $table,
                " WHERE tenant = ?1 AND due IS NOT NULL AND due <= ?2 ORDER BY due, key LIMIT ?3"
            )),
        })
    };
}

/// Open questions of an impact, oldest first, behind a place.
pub(super) const OPEN_QUESTIONS: &str = "SELECT key, body FROM escalation WHERE tenant = ?1 AND body ->> '$.impact' = ?2 \
                                         AND due IS NOT NULL AND (body ->> '$.asked_at', key) > (?3, ?4) \
                                         ORDER BY body ->> '$.asked_at', key LIMIT ?5";

/// Questions of an agent by their keys, from one on.
pub(super) const QUESTIONS_OF: &str = "SELECT key, body FROM escalation WHERE tenant = ?1 AND body ->> '$.agent' = ?2 \
                                       AND key >= ?3 ORDER BY key LIMIT ?4";

/// Questions of an agent by what is due soonest.
pub(super) const DUE_QUESTIONS_OF: &str = "SELECT key, body FROM escalation WHERE tenant = ?1 \
                                           AND body ->> '$.agent' = ?2 AND due IS NOT NULL AND due <= ?3 \
                                           ORDER BY due, key LIMIT ?4";

/// The statements of a kind; stored answers have none of this form.
pub(super) fn of(kind: Kind) -> Option<Statements> {
    match kind {
        Kind::Tenant => plain!("tenant"),
        Kind::Agent => plain!("agent"),
        Kind::Contract => plain!("contract"),
        Kind::Flow => plain!("flow"),
        Kind::Escalation => due!("escalation"),
        Kind::Asked => plain!("asked"),
        Kind::Intent => due!("intent"),
        Kind::Effect => plain!("effect"),
        Kind::Resource => plain!("resource"),
        Kind::Budget => plain!("budget"),
        Kind::Monitor => plain!("monitor"),
        Kind::State => plain!("state"),
        Kind::Session => plain!("session"),
        Kind::Snapshot => plain!("snapshot"),
        Kind::Idempotency => None,
    }
}
