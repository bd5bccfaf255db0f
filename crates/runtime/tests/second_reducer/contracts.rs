//! The contracts of these tests: as text for the engines, and once more by hand for the second reducer.

/// Microseconds in a second.
pub const SECOND: i64 = 1_000_000;

/// What `lead` works under.
const LEAD: &str = r#"
agent: lead
proposal: { ttl: { default: 30s, max: 5m }, retries: 3, spend: { tokens: 20, steps: 7 } }
budgets:
  - { count: true, max: 9, per: 1h }
resources:
  desk: { kind: slots, capacity: 2 }
  pool: { kind: stock, capacity: 25 }
actions:
  pay:
    once: "pay:{order}"
    params: { order: text, amount: number }
    limits: { amount: { max: 40 } }
    allow: amount <= 10
    ask: amount <= 20
    budgets:
      - { sum: amount, max: 30, per: 1h }
    reserves:
      - { resource: pool, amount: amount }
      - { resource: desk, amount: 1 }
    run: POST http://127.0.0.1:9911/pay
  note:
    params: { order: text }
    budgets:
      - { count: true, max: 4, per: 10m }
  look: { reads: true }
escalation:
  budget: { max: 3, per: 1h }
  approvers: [desk]
  quorum: 1
  timeout: { after: 15m, then: ABORT }
  on_exhausted: PASSIVE
  valid_after: 2m
"#;

/// Amounts that creep up need a person from then on.
const WATCH: &str = "watch: { size: { mean: params.amount, max: 2, over: 3, then: ESCALATION_ONLY } }\n";

/// Every contract by the name these tests give it.
pub const NAMES: [&str; 7] = ["lead-1", "lead-2", "lead-3", "lead-odd", "junior-1", "junior-wide", "nobody"];

/// The text of a contract.
pub fn text(name: &str) -> String {
    let tighter = || LEAD.replace("amount: { max: 40 }", "amount: { max: 15 }").replace("max: 30, per", "max: 20, per");
    let junior = || {
        let named = LEAD.replace("agent: lead", "agent: junior\nparent: lead\ngroup: floor\ndrift: { risk: exact }");
        let aged = named.replace("retries: 3,", "retries: 3, context_max_age: 10m,");
        aged.replace("quorum: 1", "quorum: 2").replace("max: 30, per", "max: 25, per")
    };
    match name {
        "lead-1" => LEAD.to_owned(),
        "lead-2" => {
            let keyed = "run: { http: \"POST http://127.0.0.1:9911/pay\", class: keyed, timeout: 5s }";
            let tighter = tighter().replace("amount <= 10", "amount <= 4").replace("amount <= 20", "amount <= 11");
            let tighter = tighter.replace("  valid_after: 2m", "  valid_after: 2m\n  signed: true");
            tighter.replace("run: POST http://127.0.0.1:9911/pay", keyed) + WATCH + "group: desk\n"
        }
        // A candidate for `lead-1`: it watches what that does not.
        "lead-3" => LEAD.replace("amount <= 10", "amount <= 6").replace("max: 30, per", "max: 22, per") + WATCH,
        // A resource nobody knows, before one that others declare otherwise.
        "lead-odd" => {
            let odd = LEAD.replace("resources:", "resources:\n  attic: { kind: slots, capacity: 1 }");
            odd.replace("capacity: 25", "capacity: 26")
        }
        "junior-1" => junior(),
        "junior-wide" => junior().replace("amount: { max: 40 }", "amount: { max: 100 }"),
        _ => r#"{"agent": "nobody", "actions": {"nothing": {"reads": true}}}"#.to_owned(),
    }
}

/// A contract as the second reducer knows it.
#[derive(Clone, Debug)]
pub struct Rules {
    pub agent: &'static str,
    pub parent: Option<&'static str>,
    /// Whose kill switch stops its agent.
    pub group: Option<&'static str>,
    pub has_actions: bool,
    pub limit: i64,
    pub allow: i64,
    pub ask: i64,
    pub pay_max: i64,
    pub needs_snapshot: bool,
    pub quorum: usize,
    /// Name, whether it is stock, capacity.
    pub resources: Vec<(&'static str, bool, i64)>,
    pub spends: bool,
    /// Whether paying may be repeated without a person.
    pub keyed: bool,
    /// Whether only signed answers count.
    pub signed: bool,
    /// Whether amounts are watched.
    pub watched: bool,
}

/// What all contracts say alike.
pub const RETRIES: usize = 3;
pub const TOKENS_MAX: u64 = 20;
pub const STEPS_MAX: usize = 7;
pub const TTL: i64 = 30 * SECOND;
pub const VALID_AFTER: i64 = 120 * SECOND;
pub const TTL_MAX: i64 = 300 * SECOND;
pub const AGE_MAX: i64 = 600 * SECOND;
pub const QUESTIONS_MAX: usize = 3;
pub const HOUR: i64 = 3_600 * SECOND;
pub const ANSWER_WITHIN: i64 = 900 * SECOND;
pub const APPROVERS: &str = "desk";
pub const ALL_MAX: i64 = 9;
pub const MEAN_MAX: i64 = 2;
pub const MEAN_OVER: usize = 3;
pub const NOTES_MAX: i64 = 4;

/// The contract of a name, written down by hand.
pub fn rules(name: &str) -> Rules {
    let lead = Rules {
        agent: "lead",
        parent: None,
        group: None,
        has_actions: true,
        limit: 40,
        allow: 10,
        ask: 20,
        pay_max: 30,
        needs_snapshot: false,
        quorum: 1,
        resources: vec![("desk", false, 2), ("pool", true, 25)],
        spends: true,
        keyed: false,
        signed: false,
        watched: false,
    };
    let junior = Rules {
        agent: "junior",
        parent: Some("lead"),
        group: Some("floor"),
        pay_max: 25,
        needs_snapshot: true,
        quorum: 2,
        ..lead.clone()
    };
    match name {
        "lead-1" => lead,
        "lead-2" => Rules {
            limit: 15,
            allow: 4,
            ask: 11,
            pay_max: 20,
            keyed: true,
            signed: true,
            watched: true,
            group: Some("desk"),
            ..lead
        },
        "lead-3" => Rules { allow: 6, pay_max: 22, watched: true, ..lead },
        "lead-odd" => Rules { resources: vec![("attic", false, 1), ("desk", false, 2), ("pool", true, 26)], ..lead },
        "junior-1" => junior,
        "junior-wide" => Rules { limit: 100, ..junior },
        _ => Rules { agent: "nobody", has_actions: false, spends: false, resources: Vec::new(), ..lead },
    }
}

/// Whether a child's contract lies inside its parent's: no limit, budget or capacity is larger.
pub fn is_inside(child: &str, parent: &str) -> bool {
    matches!((child, parent), ("junior-1", "lead-1" | "lead-odd"))
}
