//! Shadows: a candidate contract that is judged beside the one in force and has no effect.
//!
//! State names it, so that the ledger says who started it and why. Its verdicts are not stored: they are a function of the
//! records, computed when someone looks, with budgets, windows and effect keys of the candidate's own.

use values::json::Json;
use values::time::Instant;

/// Where state keeps them, by agent; only operators write it.
pub const SHADOWS: &str = "shadows/";

/// A candidate beside the contract of an agent.
#[derive(Clone, PartialEq, Debug)]
pub struct Shadow {
    /// In its full form.
    pub contract: Json,
    /// From when on.
    pub since: Instant,
    /// Why.
    pub because: String,
}

impl Shadow {
    /// As state keeps it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("contract", self.contract.clone()),
            ("since", Json::text(self.since.to_string())),
            ("because", Json::text(self.because.as_str())),
        ])
    }

    /// Reads it back; `None` if it is something else, and for a shadow that was stopped.
    pub fn from_json(json: &Json) -> Option<Shadow> {
        let contract = json.get("contract")?;
        contract.as_object()?;
        let since = Instant::parse(json.get("since")?.as_text()?)?;
        let because = json.get("because")?.as_text().filter(|because| !because.is_empty())?.to_owned();
        Some(Shadow { contract: contract.clone(), since, because })
    }

    /// What state keeps of a shadow that was stopped: why.
    pub fn stopped(because: &str) -> Json {
        Json::object([("stopped", Json::text(because))])
    }

    /// Whether state may say this about the shadow of an agent.
    pub(crate) fn is_stated(agent: &str, json: &Json) -> bool {
        let of_agent = |shadow: &Shadow| shadow.contract.get("agent").and_then(Json::as_text) == Some(agent);
        let stopped = json.get("stopped").and_then(Json::as_text).is_some_and(|because| !because.is_empty());
        stopped || Shadow::from_json(json).as_ref().is_some_and(of_agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shadow_is_of_its_agent_and_says_why() {
        let contract = Json::object([("agent", Json::text("bot"))]);
        let shadow = Shadow { contract, since: Instant::PURE_DEFAULT, because: "tighter".to_owned() };
        assert_eq!(Shadow::from_json(&shadow.to_json()), Some(shadow.clone()));
        assert!(Shadow::is_stated("bot", &shadow.to_json()));
        assert!(!Shadow::is_stated("eve", &shadow.to_json()));
        assert!(!Shadow::is_stated("bot", &Shadow { because: String::new(), ..shadow }.to_json()));
        assert!(Shadow::is_stated("bot", &Shadow::stopped("seen enough")));
        assert!(!Shadow::is_stated("bot", &Shadow::stopped("")) && !Shadow::is_stated("bot", &Json::Null));
        assert_eq!(Shadow::from_json(&Shadow::stopped("seen enough")), None);
    }
}
