//! Intents as a store keeps them: what says nothing is left out.

use super::{decimal_json, instant_json, instant_of, optional_text, text_of, texts_of, whole_of};
use crate::intent::{
    BudgetDraw, Evidence, IntentFacts, IntentRow, IntentState, KeptIntent, Observed, Order, Running, hold_json,
    read_hold,
};
use values::decimal::Decimal;
use values::json::{Json, Members, Object};

/// Appends what a store keeps.
pub(super) fn write(row: &IntentRow, text: &mut String) {
    let facts = &row.facts;
    Members::object(text, |members| {
        members.whole("accepted_at", row.accepted_at.micros());
        members.text("agent", facts.agent());
        members.text("effect_key", facts.effect_key());
        members.text("flow", facts.flow());
        members.list("holds", facts.holds(), |hold, text| hold_json(hold).write_canonical(text));
        members.text("proposal", facts.proposal());
        if let Some(running) = &row.running {
            members.json("running", &running_json(running));
        }
        members.text("state", row.state.word());
        members.list("taken", facts.taken(), |taken, text| {
            let BudgetDraw { agent, budget, amount } = taken;
            Json::List(vec![Json::text(agent.as_str()), Json::text(budget.as_str()), decimal_json(*amount)])
                .write_canonical(text);
        });
        members.whole("valid_until", facts.valid_until().micros());
    });
}

pub(super) fn from_json(json: &Json) -> Option<IntentRow> {
    let taken = |item: &Json| {
        let [agent, budget, amount] = item.as_list()? else { return None };
        Some(BudgetDraw {
            agent: agent.as_text()?.to_owned(),
            budget: budget.as_text()?.to_owned(),
            amount: Decimal::parse(amount.as_text()?)?,
        })
    };
    let kept = KeptIntent {
        agent: text_of(json, "agent")?,
        flow: text_of(json, "flow")?,
        proposal: text_of(json, "proposal")?,
        effect_key: text_of(json, "effect_key")?,
        valid_until: instant_of(json, "valid_until")?,
        holds: json.get("holds")?.as_list()?.iter().map(read_hold).collect::<Option<_>>()?,
        taken: json.get("taken")?.as_list()?.iter().map(taken).collect::<Option<_>>()?,
    };
    let running = match json.get("running") {
        None => None,
        Some(json) => Some(Box::new(running(json)?)),
    };
    Some(IntentRow {
        running,
        state: IntentState::from_word(json.get("state")?.as_text()?)?,
        accepted_at: instant_of(json, "accepted_at")?,
        facts: IntentFacts::Kept(Box::new(kept)),
    })
}

fn running_json(running: &Running) -> Json {
    let mut members = Object::new();
    let mut put = |key: &str, value: Json| members.insert(key.to_owned(), value);
    put("order", running.order.to_json());
    if !running.secrets.is_empty() {
        put("secrets", Json::Object(running.secrets.clone()));
    }
    for (key, is_so) in [("approved", running.approved), ("by_host", running.by_host), ("signed", running.signed)] {
        if is_so {
            put(key, Json::Bool(true));
        }
    }
    for (key, names) in [("above", &running.above), ("approvers", &running.approvers), ("watched", &running.watched)] {
        if !names.is_empty() {
            put(key, Json::texts(names.iter().map(String::as_str)));
        }
    }
    for (key, count) in [("quorum", running.quorum), ("epoch", running.epoch), ("doubts", running.doubts)] {
        if count > 0 {
            put(key, Json::from(count));
        }
    }
    if !running.owner.is_empty() {
        put("owner", Json::text(running.owner.as_str()));
    }
    let instants = [
        ("lease_until", running.lease_until),
        ("first_sent", running.first_sent),
        ("retry_at", running.retry_at),
        ("retry_until", running.retry_until),
        ("answered_at", running.answered_at),
        ("over_at", running.over_at),
    ];
    for (key, at) in instants {
        if let Some(at) = at {
            put(key, instant_json(at));
        }
    }
    if !running.evidence.is_empty() {
        put("evidence", Json::List(running.evidence.iter().map(evidence_json).collect()));
    }
    let names = [("question", &running.question), ("undoes", &running.undoes), ("undone_by", &running.undone_by)];
    for (key, name) in names {
        if let Some(name) = name {
            put(key, Json::text(name.as_str()));
        }
    }
    Json::Object(members)
}

fn evidence_json(evidence: &Evidence) -> Json {
    let observed = Json::text(evidence.observed.word());
    Json::List(vec![Json::from(evidence.epoch), observed, instant_json(evidence.at)])
}

fn evidence(json: &Json) -> Option<Evidence> {
    let [epoch, observed, at] = json.as_list()? else { return None };
    Some(Evidence {
        epoch: u64::try_from(epoch.as_number()?.to_i64()?).ok()?,
        observed: Observed::from_word(observed.as_text()?)?,
        at: values::time::Instant::from_micros(at.as_number()?.to_i64()?),
    })
}

fn running(json: &Json) -> Option<Running> {
    let names = |key: &str| json.get(key).map_or(Some(Vec::new()), |_| texts_of(json, key));
    let count = |key: &str| json.get(key).map_or(Some(0), |_| whole_of(json, key));
    let instant = |key: &str| json.get(key).map_or(Some(None), |_| instant_of(json, key).map(Some));
    let evidence = match json.get("evidence") {
        None => Vec::new(),
        Some(list) => list.as_list()?.iter().map(evidence).collect::<Option<_>>()?,
    };
    Some(Running {
        order: Order::from_json(json.get("order")?)?,
        secrets: json.get("secrets").map_or(Some(Object::new()), |secrets| secrets.as_object().cloned())?,
        approved: json.get("approved").is_some(),
        signed: json.get("signed").is_some(),
        by_host: json.get("by_host").is_some(),
        above: names("above")?,
        watched: names("watched")?,
        approvers: names("approvers")?,
        quorum: count("quorum")?,
        epoch: count("epoch")?,
        owner: optional_text(json, "owner").unwrap_or_default(),
        lease_until: instant("lease_until")?,
        doubts: count("doubts")?,
        first_sent: instant("first_sent")?,
        retry_at: instant("retry_at")?,
        retry_until: instant("retry_until")?,
        answered_at: instant("answered_at")?,
        evidence,
        question: optional_text(json, "question"),
        undoes: optional_text(json, "undoes"),
        undone_by: optional_text(json, "undone_by"),
        over_at: instant("over_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ResourceKind;
    use crate::intent::Hold;
    use crate::testing::order;
    use values::time::Instant;

    const AT: Instant = Instant::from_micros(1_000_000);

    fn row(running: Option<Running>) -> IntentRow {
        let kept = KeptIntent {
            agent: "bot".to_owned(),
            flow: "f".to_owned(),
            proposal: "p".to_owned(),
            effect_key: "pay:1".to_owned(),
            valid_until: Instant::from_micros(2_000_000),
            holds: vec![Hold {
                resource: "pool".to_owned(),
                amount: Decimal::from(4),
                kind: ResourceKind::Stock,
                unit: Some("EUR".to_owned()),
            }],
            taken: vec![BudgetDraw { agent: "boss".to_owned(), budget: "day".to_owned(), amount: Decimal::from(3) }],
        };
        let running = running.map(Box::new);
        let facts = IntentFacts::Kept(Box::new(kept));
        IntentRow { state: IntentState::InDoubt, accepted_at: AT, facts, running }
    }

    /// What is kept of how it is performed, and that everything is read back.
    #[track_caller]
    fn check(running: Option<Running>, expected: &str) {
        let row = row(running);
        let mut text = String::new();
        write(&row, &mut text);
        let start = r#"{"accepted_at":1000000,"agent":"bot","effect_key":"pay:1","flow":"f","holds":[{"amount":4,"kind":"stock","resource":"pool","unit":"EUR"}],"proposal":"p","#;
        let end = r#""state":"IN_DOUBT","taken":[["boss","day","3"]],"valid_until":2000000}"#;
        assert_eq!(text, format!("{start}{expected}{end}"));
        let json = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(from_json(&json), Some(row));
    }

    #[test]
    fn what_says_nothing_is_left_out_and_everything_else_is_kept() {
        check(None, "");
        let new = || Running::new(order());
        let written = order().to_canonical();
        check(Some(new()), &format!(r#""running":{{"order":{written},"quorum":1}},"#));
        check(Some(Running { quorum: 0, ..new() }), &format!(r#""running":{{"order":{written}}},"#));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let at = |seconds: i64| Some(Instant::from_micros(seconds));
        let full = Running {
            order: order(),
            secrets: Object::from([("pin".to_owned(), Json::text("1234"))]),
            approved: true,
            signed: true,
            by_host: true,
            above: names(&["boss"]),
            watched: names(&["m"]),
            approvers: names(&["desk", "till"]),
            quorum: 2,
            epoch: 3,
            owner: "w".to_owned(),
            lease_until: at(4),
            doubts: 5,
            first_sent: at(6),
            retry_at: at(7),
            retry_until: at(8),
            answered_at: at(10),
            evidence: vec![Evidence { epoch: 1, observed: Observed::Unknown, at: AT }],
            question: Some("q".to_owned()),
            undoes: Some("u".to_owned()),
            undone_by: Some("v".to_owned()),
            over_at: at(9),
        };
        let text = [
            r#""running":{"above":["boss"],"answered_at":10,"approved":true,"approvers":["desk","till"],"by_host":true,"doubts":5,"epoch":3,"#,
            r#""evidence":[[1,"UNKNOWN",1000000]],"first_sent":6,"lease_until":4,"order":ORDER,"#,
            r#""over_at":9,"owner":"w","#,
            r#""question":"q","quorum":2,"retry_at":7,"retry_until":8,"secrets":{"pin":"1234"},"signed":true,"#,
            r#""undoes":"u","undone_by":"v","watched":["m"]},"#,
        ];
        check(Some(full), &text.concat().replace("ORDER", &written));
    }

    #[test]
    fn what_cannot_be_read_is_damage() {
        let mut text = String::new();
        write(&row(Some(Running::new(order()))), &mut text);
        for (right, wrong) in [
            ("IN_DOUBT", "IN_DREAD"),
            (r#""class":"opaque""#, r#""class":"opak""#),
            (r#""kind":"stock""#, r#""kind":"socks""#),
            (r#"["boss","day","3"]"#, r#"["boss","3"]"#),
            (r#""quorum":1"#, r#""quorum":-1"#),
            (r#""quorum":1"#, r#""evidence":[[1,"NOTHING",0]]"#),
        ] {
            let damaged = text.replace(right, wrong);
            assert_ne!(damaged, text, "{right}");
            assert_eq!(from_json(&Json::parse(damaged.as_bytes()).unwrap()), None, "{wrong}");
        }
    }
}
