//! What changes in the registry tell.

use crate::agent::{AgentRow, AgentStatus};
use crate::canary::Share;
use crate::consequence::text_or_null;
use crate::stored::{nullable, text_of, texts_of};
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

/// An agent as answers show it. Tokens are never shown, not even hashed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentStanding {
    pub agent: String,
    pub status: AgentStatus,
    /// Why it stands no better.
    pub because: Option<String>,
    /// The contract in force.
    pub contract: Option<Digest>,
    /// The candidate that a share of its flows is under.
    pub canary: Option<(Digest, Share)>,
    /// The contract it came with.
    pub offered: Option<Digest>,
    /// Monitors that start anew because what they did was lifted.
    pub restarted: Vec<String>,
}

impl AgentStanding {
    pub(crate) fn of(agent: &str, row: &AgentRow) -> AgentStanding {
        AgentStanding {
            agent: agent.to_owned(),
            status: row.status(),
            because: row.because().map(str::to_owned),
            contract: row.contract,
            canary: row.canary.as_ref().map(|canary| (canary.contract, canary.share)),
            offered: row.offered,
            restarted: Vec::new(),
        }
    }

    pub(super) fn to_json(&self) -> Json {
        let digest = |digest: Option<Digest>| Json::from(digest.map(|digest| digest.to_string()));
        let restarted = (!self.restarted.is_empty())
            .then(|| ("monitors_restarted", Json::texts(self.restarted.iter().map(String::as_str))));
        let canary = self.canary.map(|(contract, share)| {
            let share = ("share", Json::text(share.to_string()));
            ("canary", Json::object([("contract", Json::text(contract.to_string())), share]))
        });
        let members = [
            ("agent", Json::text(self.agent.as_str())),
            ("status", Json::text(self.status.word())),
            ("because", Json::from(self.because.clone())),
            ("contract", digest(self.contract)),
            ("offered", digest(self.offered)),
        ];
        Json::Object(
            members.into_iter().chain(canary).chain(restarted).map(|(key, value)| (key.to_owned(), value)).collect(),
        )
    }

    pub(super) fn read(json: &Json) -> Option<AgentStanding> {
        let digest = |key: &str| match nullable(json, key)? {
            Some(digest) => Digest::parse(digest.as_text()?).map(Some),
            None => Some(None),
        };
        Some(AgentStanding {
            agent: text_of(json, "agent")?,
            status: AgentStatus::from_word(json.get("status")?.as_text()?)?,
            because: text_or_null(json, "because")?,
            contract: digest("contract")?,
            canary: match json.get("canary") {
                Some(canary) => Some((
                    Digest::parse(canary.get("contract")?.as_text()?)?,
                    Share::parse(canary.get("share")?.as_text()?)?,
                )),
                None => None,
            },
            offered: digest("offered")?,
            restarted: json
                .get("monitors_restarted")
                .map_or(Some(Vec::new()), |_| texts_of(json, "monitors_restarted"))?,
        })
    }
}

/// A bound that changed for a while.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AmendedLimit {
    pub agent: String,
    pub action: String,
    pub param: String,
    pub before: LimitBounds,
    pub after: LimitBounds,
    pub because: String,
    pub expires: Instant,
}

/// The bounds of a param; what is absent is unbounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LimitBounds {
    pub min: Option<Decimal>,
    pub max: Option<Decimal>,
}

impl AmendedLimit {
    pub(super) fn to_json(&self) -> Json {
        Json::object([
            ("agent", Json::text(self.agent.as_str())),
            ("action", Json::text(self.action.as_str())),
            ("param", Json::text(self.param.as_str())),
            ("before", self.before.to_json()),
            ("after", self.after.to_json()),
            ("because", Json::text(self.because.as_str())),
            ("expires", Json::text(self.expires.to_string())),
        ])
    }

    pub(super) fn read(json: &Json) -> Option<AmendedLimit> {
        Some(AmendedLimit {
            agent: text_of(json, "agent")?,
            action: text_of(json, "action")?,
            param: text_of(json, "param")?,
            before: LimitBounds::read(json.get("before")?)?,
            after: LimitBounds::read(json.get("after")?)?,
            because: text_of(json, "because")?,
            expires: Instant::parse(json.get("expires")?.as_text()?)?,
        })
    }
}

impl LimitBounds {
    fn to_json(self) -> Json {
        let bound = |bound: Option<Decimal>| Json::from(bound.map(|bound| bound.to_string()));
        Json::object([("min", bound(self.min)), ("max", bound(self.max))])
    }

    fn read(json: &Json) -> Option<LimitBounds> {
        let bound = |key: &str| match text_or_null(json, key)? {
            Some(text) => Decimal::parse(&text).map(Some),
            None => Some(None),
        };
        Some(LimitBounds { min: bound("min")?, max: bound("max")? })
    }
}
