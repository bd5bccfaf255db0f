//! One witness per property, in the order of the schema.

use crate::witness::{Shows, Witness, line};

/// Every witness.
pub fn all() -> Vec<Witness> {
    let parts = [
        contract(),
        inert(),
        watch(),
        proposal(),
        action(),
        advised(),
        watched(),
        limit(),
        performed(),
        amendable(),
        escalation(),
        tests(),
    ];
    let mut all: Vec<Witness> = parts.into_iter().flatten().collect();
    all.extend(cases());
    all
}

const FIFTY: &str = r#""params":{"amount":50}"#;
const SEEN: &str = r#"{"state":{"price":100},"snapshots":{"seen":{"at":"2026-01-01T00:00:00Z","data":{"price":98}}}}"#;

fn whole(property: &'static str, contract: &str, lines: &[&str]) -> Witness {
    let lines = lines.iter().map(|members| line(members)).collect();
    Witness { property, contract: contract.to_owned(), shows: Shows::Run { lines, context: "{}" } }
}

/// A contract with one action and something written at its top.
fn top(property: &'static str, written: &str, lines: &[&str]) -> Witness {
    whole(property, &at_top(written), lines)
}

/// A contract with one action and something written in it.
fn pay(property: &'static str, written: &str, lines: &[&str]) -> Witness {
    whole(property, &in_pay(written), lines)
}

fn at_top(written: &str) -> String {
    format!("agent: bot\n{written}\nactions: {{ pay: {{ params: {{ amount: number, fee: optional number }} }} }}\n")
}

fn in_pay(written: &str) -> String {
    format!(
        "agent: bot\nresources: {{ pool: {{ kind: stock, capacity: 60 }}, fund: {{ kind: stock, capacity: 40 }} }}\n\
         actions:\n  pay:\n    params: {{ amount: number, fee: optional number, note: optional text }}\n    {written}\n"
    )
}

fn contract() -> Vec<Witness> {
    let look = "agent: bot\nactions: { pay: { params: { amount: number } }«, look: { reads: true }¦» }";
    let pools = "agent: bot\n«resources: { pool: { kind: stock, capacity: 9 } }¦»\nactions:\n  \
                 pay: { params: { amount: number }, reserves: [ { resource: pool, amount: amount } ] }";
    let forbid = "policies: |\n  forbid(principal, action, resource) when { context.params.amount.greaterThan(decimal(\"9.0\")) };";
    let asked = at_top("proposal: { confidence: { escalate_below: 1 } }\n«escalation: { quorum: 2 }¦»");
    let approved = at_top("proposal: { confidence: { escalate_below: 1 } }\n«approvers: [ desk ]¦»");
    let unsure = r#""params":{"amount":50},"confidence":0.5"#;
    vec![
        Witness { shows: Shows::Refusal, ..top("contract.writkeeper", "writkeeper: contract/v«1¦2»", &[]) },
        top("contract.id", "id: «one¦two»", &[FIFTY]),
        top("contract.version", "version: 1.0.«0¦1»", &[FIFTY]),
        whole("contract.agent", "agent: «bot¦other»\nactions: { pay: { params: { amount: number } } }", &[FIFTY]),
        top("contract.role", "role: «EXECUTOR¦MONITOR»", &[FIFTY]),
        top("contract.mission", "mission: «to pay¦to refund»", &[FIFTY]),
        top("contract.mode", "mode: «enforce¦observe»", &[FIFTY]),
        top("contract.proposal", "«proposal: { retries: 0 }¦»", &[FIFTY]),
        top("contract.budgets", "«budgets: [ { count: true, max: 1, per: 1h } ]¦»", &[FIFTY, FIFTY]),
        top("contract.budget", "«budget: { count: true, max: 1, per: 1h }¦»", &[FIFTY, FIFTY]),
        top("contract.drift", "«drift: { price: exact }¦»", &[FIFTY]),
        Witness { shows: Shows::Refusal, ..whole("contract.resources", pools, &[]) },
        whole("contract.actions", look, &[r#""action":"look","params":{}"#]),
        whole("contract.escalation", &asked, &[unsure]),
        whole("contract.approvers", &approved, &[unsure]),
        Witness { shows: Shows::Registration, ..top("contract.parent", "«parent: boss¦»", &[]) },
        Witness { shows: Shows::Group, ..top("contract.group", "«group: desk¦»", &[]) },
        top("contract.policies", &format!("«{forbid}¦»"), &[FIFTY]),
        top("budget.sum", "budget: { sum: «amount¦fee», max: 60, per: 1h }", &[r#""params":{"amount":100,"fee":1}"#]),
        top("budget.count", "budget: { «count: true¦sum: amount», max: 60, per: 1h }", &[FIFTY, FIFTY]),
        top("budget.max", "budget: { count: true, max: «1¦2», per: 1h }", &[FIFTY, FIFTY]),
        top(
            "budget.per",
            "budget: { count: true, max: 1, per: «1h¦2h» }",
            &[
                r#""params":{"amount":50},"created_at":"2026-01-01T00:00:00Z""#,
                r#""params":{"amount":50},"created_at":"2026-01-01T01:30:00Z""#,
            ],
        ),
        top(
            "tolerance.percent",
            "drift: { price: { percent: «1¦3» } }",
            &[r#""params":{"amount":5},"snapshot":"seen""#],
        )
        .context(SEEN),
        top(
            "tolerance.absolute",
            "drift: { price: { absolute: «1¦2» } }",
            &[r#""params":{"amount":5},"snapshot":"seen""#],
        )
        .context(SEEN),
    ]
}

fn watch() -> Vec<Witness> {
    let written = "watch: { «size: { mean: params.amount, max: 10, over: 1 }¦» }";
    vec![top("contract.watch", written, &[FIFTY, r#""params":{"amount":51}"#])]
}

fn inert() -> Vec<Witness> {
    let row = |property, key, written: &str| {
        let seen = Box::new(Shows::Run { lines: vec![line(FIFTY)], context: "{}" });
        Witness { shows: Shows::Inert { key, seen }, ..top(property, written, &[]) }
    };
    vec![
        row("contract.priority", "priority", "«priority: 3¦»"),
        row("contract.wake_when", "wake_when", "«wake_when: \"true\"¦»"),
        row("contract.monitors", "monitors", "«monitors: [ { id: watch, kind: rate } ]¦»"),
    ]
}

fn proposal() -> Vec<Witness> {
    let confident = r#""params":{"amount":50},"confidence":0.5"#;
    let short = r#""params":{"amount":50},"valid_until":"2026-01-01T00:00:20Z""#;
    let later = r#""params":{"amount":50},"snapshot":"seen","created_at":"2026-01-01T00:01:00Z""#;
    let wrong = r#""params":{},"flow":"f""#;
    let right = r#""params":{"amount":50},"flow":"f","tokens":7"#;
    let again = r#""params":{"amount":51},"flow":"f","tokens":7"#;
    vec![
        top("proposal.confidence", "proposal: { «confidence: { reject_below: 0.9 }¦» }", &[confident]),
        top("proposal.ttl", "proposal: { «ttl: { max: 10s }¦» }", &[short]),
        top("proposal.context_max_age", "proposal: { context_max_age: «30s¦90s» }", &[later]).context(SEEN),
        top("proposal.retries", "proposal: { retries: «1¦2» }", &[wrong, right]),
        top("proposal.spend", "proposal: { «spend: { steps: 1 }¦» }", &[right, again]),
        top("confidence.reject_below", "proposal: { confidence: { reject_below: «0.5¦0.6» } }", &[confident]),
        top("confidence.escalate_below", "proposal: { confidence: { escalate_below: «0.5¦0.6» } }", &[confident]),
        top("ttl.default", "proposal: { ttl: { default: «10s¦20s» } }", &[FIFTY]),
        top("ttl.max", "proposal: { ttl: { default: 5s, max: «10s¦20s» } }", &[short]),
        top("spend.tokens", "proposal: { spend: { tokens: «13¦14» } }", &[right, again]),
        top("spend.steps", "proposal: { spend: { steps: «1¦2» } }", &[right, again]),
    ]
}

fn action() -> Vec<Witness> {
    let told = r#""params":{"amount":50},"provenance":{"amount":"tool"}"#;
    let params = "agent: bot\nactions: { pay: { «params: { amount: number }¦» } }";
    vec![
        pay("action.once", "«once: \"pay:{amount}\"¦»", &[FIFTY, FIFTY]),
        whole("action.params", params, &[FIFTY]),
        pay("action.limits", "«limits: { amount: { max: 9 } }¦»", &[FIFTY]),
        pay("action.refuse", "«refuse: amount > 9¦»", &[FIFTY]),
        pay("action.allow", "«allow: amount <= 9¦»", &[FIFTY]),
        pay("action.ask", "«ask: [ { when: amount > 9 } ]¦»", &[FIFTY]),
        // Inside `allow` a trigger asks and a zone does not.
        pay("action.ask", "allow: amount < 60\n    ask: «[ { when: amount > 9 } ]¦amount > 9»", &[FIFTY]),
        pay("ask_zone.zone", "allow: amount < 9\n    ask: { zone: «amount < 60¦amount < 40» }", &[FIFTY]),
        pay("action.budgets", "«budgets: [ { sum: amount, max: 60, per: 1h } ]¦»", &[FIFTY, FIFTY]),
        pay("action.budget", "«budget: { sum: amount, max: 60, per: 1h }¦»", &[FIFTY, FIFTY]),
        pay("action.reserves", "«reserves: [ { resource: pool, amount: amount } ]¦»", &[FIFTY, FIFTY]),
        pay("action.from", "«from: { amount: user }¦»", &[told]),
        pay("action.impact", "impact: «LOW¦HIGH»", &[FIFTY]),
        pay("action.reads", "reads: «true¦false»", &[FIFTY]),
        pay("action.run", "«run: host¦»", &[FIFTY]),
        pay("action.undo", "«undo: NOOP¦»", &[FIFTY]),
        pay("rule.when", "refuse: [ { when: amount > «9¦99» } ]", &[FIFTY]),
        pay("rule.reason", "refuse: [ { when: amount > 9, reason: TOO_«MUCH¦MANY» } ]", &[FIFTY]),
        pay("reserve.resource", "reserves: [ { resource: «pool¦fund», amount: amount } ]", &[FIFTY]),
        pay("reserve.amount", "reserves: [ { resource: pool, amount: «amount¦1» } ]", &[FIFTY, FIFTY]),
        resource("resource.kind", "kind: «stock¦slots», capacity: 60"),
        resource("resource.capacity", "kind: stock, capacity: «60¦40»"),
        resource("resource.unit", "kind: stock, capacity: 60«, unit: EUR¦»"),
    ]
}

fn resource(property: &'static str, pool: &str) -> Witness {
    let contract = format!(
        "agent: bot\nresources: {{ pool: {{ {pool} }} }}\nactions:\n  \
         pay: {{ params: {{ amount: number }}, reserves: [ {{ resource: pool, amount: amount }} ] }}\n"
    );
    whole(property, &contract, &[FIFTY])
}

/// A contract whose action asks a plug-in.
fn asking(key: &str, plugin: &str) -> String {
    format!(
        "agent: bot\n{key}: {{ check: {plugin} }}\n\
         actions: {{ pay: {{ params: {{ amount: number }}, {key}: [ check ] }} }}\n"
    )
}

fn advised() -> Vec<Witness> {
    let row = |property, plugin: &str| whole(property, &asking("validators", plugin), &[FIFTY]);
    let said = |property, contract: String, advice: &str| {
        let tests =
            format!("tests: {{ rows: [ {{ action: pay, params: {{ amount: 5 }}, {advice}, expect: ACCEPT }} ] }}");
        Witness { property, contract: contract + &tests + "\n", shows: Shows::Rehearsal }
    };
    let named = |key: &str, plugin: &str| {
        format!(
            "agent: bot\n{key}: {{ check: [ a ], second: {plugin} }}\n\
             actions: {{ pay: {{ params: {{ amount: number }}, {key}: [ second ] }} }}\n"
        )
    };
    let judged =
        "agent: bot\njudges: { tone: [ a ] }\nactions: { pay: { params: { amount: number }«, judges: [ tone ]¦» } }\n";
    vec![
        row("plugin.command", "{ command: [ check, «--now¦--later» ] }"),
        row("plugin.url", "{ url: https://«a¦b».example/ }"),
        row("plugin.function", "{ function: «a¦b» }"),
        row("plugin.timeout", "{ command: [ check ], timeout: «1s¦2s» }"),
        row("plugin.env", "{ command: [ check ], env: [ «HOME¦LANG» ] }"),
        row("plugin.required", "{ command: [ check ], required: «true¦false» }"),
        said(
            "plugin.escalate_below",
            asking("judges", "{ command: [ check ], escalate_below: 0.«5¦4» }"),
            "advice: { check: 0.45 }",
        ),
        whole("contract.validators", &named("validators", "«[ b ]¦https://b.example»"), &[FIFTY]),
        said(
            "contract.judges",
            asking("judges", "«[ a ]¦{ command: [ a ], escalate_below: 0.5 }»"),
            "advice: { check: 0.4 }",
        ),
        pay_asked("action.validators"),
        said("action.judges", judged.to_owned(), "advice: { tone: escalate }"),
    ]
}

/// How a run is watched through the hooks of a host.
fn watched() -> Vec<Witness> {
    let set = |property, written: &str| Witness { shows: Shows::Watching, ..top(property, written, &[]) };
    let detector =
        |property, name: &str, written: &str| set(property, &format!("detectors: {{ {name}: {{ {written} }} }}"));
    let witness = |property, written: &str| Witness {
        shows: Shows::Hosts,
        ..top(property, &format!("witnesses: {{ seen: {{ {written} }} }}"), &[])
    };
    let enforced = |property, written: &str| set(property, &format!("enforcement: {{ {written} }}"));
    let rated = |property, written: &str| enforced(property, &format!("confidence: {{ {written} }}"));
    // A policy outside of its own bounds is refused, so bounds never change a rung that was read.
    let bounded = |property, written: &str| Witness { shows: Shows::Refusal, ..rated(property, written) };
    // A rung of the contract's own is reached by a handler outside alone.
    let outside = |property, written: &str| {
        set(property, &format!("handlers: {{ pager: [ page ] }}\nenforcement: {{ handler: pager, {written} }}"))
    };
    let rung = |property, written: &str| outside(property, &format!("rungs: {{ HUSH: {{ {written} }} }}"));
    let by_hosts = |property, written: &str| Witness { shows: Shows::Hosts, ..top(property, written, &[]) };
    let book = r#"{"state":{"leases/book":{"last":"1","leases":[{"fence":"1","holder":"other","mode":"exclusive","regions":["/ws"],"ttl_us":60000000,"acquired":1767225600000000,"expires":1767225660000000}]}}}"#;
    let mut rows = vec![
        pay("action.leases", "«leases: note¦»", &[r#""params":{"amount":50,"note":"/ws/a.rs"}"#]).context(book),
        set("contract.detectors", "«detectors: { stall: { repeat: 2 } }¦»"),
        set("contract.enforcement", "«enforcement: { handler: observe }¦»"),
        by_hosts("contract.handlers", "handlers: { desk: [ «page¦call» ] }\nenforcement: { handler: desk }"),
        by_hosts("contract.witnesses", "«witnesses: { seen: { git: true, expect: { clean: true } } }¦»"),
        witness("witness.command", "command: [ test, -e, «a¦b» ], expect: { exit: 0 }"),
        witness("witness.git", "«git: true¦http: https://a.example», expect: { clean: true }"),
        witness("witness.http", "http: https://«a¦b».example/, expect: { status: 200 }"),
        witness("witness.expect", "git: true, expect: { clean: «true¦false» }"),
        witness("witness.timeout", "git: true, expect: { clean: true }, timeout: «1s¦2s»"),
        outside("enforcement.rungs", "«rungs: { HUSH: { rank: 5, runs: true } }¦»"),
        outside("enforcement.binding", "binding: [ «WARN¦BLOCK» ]"),
        enforced("enforcement.handler", "handler: «observe¦obey»"),
        enforced("enforcement.confidence", "«confidence: { low: BLOCK }¦»"),
        rated("rungs_by_confidence.high", "«high: WARN¦»"),
        rated("rungs_by_confidence.low", "low: «BLOCK¦WARN»"),
        rated("rungs_by_confidence.none", "none: «WARN¦OBSERVE»"),
        bounded("rungs_by_confidence.floor", "low: WARN, floor: «WARN¦BLOCK»"),
        bounded("rungs_by_confidence.ceiling", "high: DEFER, ceiling: «DEFER¦BLOCK»"),
        rung("rung.rank", "rank: «5¦15», runs: true"),
        rung("rung.summary", "rank: 5, runs: true, summary: «one¦two»"),
        rung("rung.runs", "rank: 15, runs: «true¦false»"),
        rung("rung.answers", "rank: 15, runs: false, answers: «true¦false»"),
    ];
    for (property, name, written) in [
        ("stall.repeat", "stall", "repeat: «2¦3»"),
        ("stall.stall", "stall", "stall: «6¦7»"),
        ("stall.ignore_tools", "stall", "ignore_tools: [ «sleep¦wait» ]"),
        ("noop_streak.max", "noop_streak", "max: «3¦4»"),
        ("breaker.max_consecutive", "breaker", "max_consecutive: «3¦4»"),
        ("breaker.max_total", "breaker", "max_total: «30¦40»"),
        ("productivity.min_steps", "productivity", "min_steps: «3¦4»"),
        ("productivity.floor", "productivity", "floor: «1¦2»"),
        ("efficiency.min_tokens", "efficiency", "floor: 1, min_tokens: «3¦4»"),
        ("efficiency.floor", "efficiency", "min_tokens: 1, floor: 0.«1¦2»"),
        ("precursor.requires", "precursor", "requires: { edit: [ «read¦list» ] }"),
        ("precursor.aliases", "precursor", "requires: { edit: [ read ] }, aliases: { read: [ «cat¦head» ] }"),
        ("dangling_intent.enabled", "dangling_intent", "enabled: «true¦false»"),
        ("dangling_intent.on_stop", "dangling_intent", "on_stop: «WARN¦BLOCK»"),
        ("breaker.on_trip", "breaker", "on_trip: «NONE¦HUMAN»"),
        ("liveness.grace", "liveness", "grace: «5m¦10m»"),
        ("liveness.spin", "liveness", "grace: 1m, spin: «5m¦10m»"),
        ("scope.tree", "scope", "tree: [ «src¦docs» ]"),
        ("scope.tolerance", "scope", "tree: [ src ], tolerance: «0¦1»"),
        ("scope.shared", "scope", "tree: [ src ], shared: «true¦false»"),
    ] {
        rows.push(detector(property, name, written));
    }
    for (property, name, written) in [
        ("detectors.stall", "stall", "repeat: 2"),
        ("detectors.noop_streak", "noop_streak", "max: 3"),
        ("detectors.breaker", "breaker", "max_total: 9"),
        ("detectors.productivity", "productivity", "floor: 1"),
        ("detectors.efficiency", "efficiency", "min_tokens: 1, floor: 0.5"),
        ("detectors.precursor", "precursor", "requires: { edit: [ read ] }"),
        ("detectors.dangling_intent", "dangling_intent", "enabled: false"),
        ("detectors.liveness", "liveness", "grace: 5m"),
        ("detectors.scope", "scope", "tree: [ docs ]"),
    ] {
        rows.push(set(property, &format!("detectors: {{ «{name}: {{ {written} }}¦» }}")));
    }
    rows
}

fn pay_asked(property: &'static str) -> Witness {
    let contract = "agent: bot\nvalidators: { check: [ a ] }\n\
                    actions: { pay: { params: { amount: number }«, validators: [ check ]¦» } }\n";
    whole(property, contract, &[FIFTY])
}

fn limit() -> Vec<Witness> {
    let open = "agent: bot\nactions:\n  pay:\n    params: { type: object, properties: { amount: {} } }\n    \
                limits: { amount: { max: 60«, unit: EUR¦» } }";
    let negative = r#""params":{"amount":-5}"#;
    let note = r#""params":{"amount":5,"note":"a threat"}"#;
    let price = r#"{"state":{"price":50,"cost":51}}"#;
    vec![
        pay("limit.min", "limits: { amount: { min: «50¦51» } }", &[FIFTY]),
        pay("limit.max", "limits: { amount: { max: «50¦49» } }", &[FIFTY]),
        whole("limit.unit", open, &[r#""params":{"amount":{"value":50,"unit":"USD"}}"#]),
        pay("limit.signed", "limits: { amount: { max: 9, signed: «true¦false» } }", &[negative]),
        pay("limit.allowed", "limits: { amount: { allowed: [ 5, «50¦60» ] } }", &[FIFTY]),
        pay("limit.denied", "limits: { note: { denied: [ «a threat¦a promise» ] } }", &[note]),
        pay("limit.match", "limits: { note: { denied: [ threat ], match: «exact¦substring» } }", &[note]),
        pay(
            "limit.script",
            "limits: { note: { «script: single¦» } }",
            &["\"params\":{\"amount\":5,\"note\":\"\u{0440}aypal\"}"],
        ),
        pay(
            "limit.denied",
            "limits: { note: { denied: [ «paypal¦payee» ] } }",
            &["\"params\":{\"amount\":5,\"note\":\"\u{0440}aypal\"}"],
        ),
        pay("limit.state", "limits: { amount: { «state: cost¦» } }", &[FIFTY]).context(price),
        pay("state_match.key", "limits: { amount: { state: { key: «price¦cost» } } }", &[FIFTY]).context(price),
        pay(
            "state_match.tolerance",
            "limits: { amount: { state: { key: cost«, tolerance: { absolute: 1 }¦» } } }",
            &[FIFTY],
        )
        .context(price),
    ]
}

fn performed() -> Vec<Witness> {
    let http = "http: POST https://pay.example/refunds";
    vec![
        pay("run.http", "run: { http: «POST¦PUT» https://pay.example/refunds }", &[FIFTY]),
        pay("run.command", "run: { command: [ pay, «--now¦--later» ] }", &[FIFTY]),
        pay("run.function", "run: { function: «pay¦refund» }", &[FIFTY]),
        pay("run.host", "run: { «host: true¦function: pay» }", &[FIFTY]),
        pay("run.class", &format!("run: {{ {http}, class: «keyed¦opaque» }}"), &[FIFTY]),
        pay("run.timeout", &format!("run: {{ {http}, timeout: «5s¦6s» }}"), &[FIFTY]),
        pay("run.headers", &format!("run: {{ {http}, headers: {{ X-Team: «a¦b» }} }}"), &[FIFTY]),
        pay("undo.kind", "undo: { kind: «NOOP¦ALERT_HUMAN» }", &[FIFTY]),
        pay("undo.http", &format!("undo: {{ kind: REVERT, {http}/«1¦2» }}"), &[FIFTY]),
        pay("undo.within", &format!("undo: {{ kind: REVERT, {http}, within: «1h¦2h» }}"), &[FIFTY]),
    ]
}

fn amendable() -> Vec<Witness> {
    let row = |property, amendable: &str, min, max, hours| {
        let written = format!("limits: {{ amount: {{ min: 5, max: 50 }} }}\n    {amendable}");
        Witness { property, contract: in_pay(&written), shows: Shows::Amendment(min, max, hours) }
    };
    let max = "max: { floor: 10, ceiling: 80 }";
    let ttl = format!("amendable: {{ amount: {{ {max}, ttl: «1h¦8h» }} }}");
    let whole = format!("«amendable: {{ amount: {{ {max}, ttl: 1h }} }}¦»");
    let of_min = format!("amendable: {{ amount: {{ {max}, «min: {{ floor: 1, ceiling: 9 }},¦» ttl: 1h }} }}");
    let of_max = format!("amendable: {{ amount: {{ min: {{ floor: 1, ceiling: 9 }}, «{max},¦» ttl: 1h }} }}");
    vec![
        row("action.amendable", &whole, None, Some(70), None),
        row("amendable.min", &of_min, Some(7), None, None),
        row("amendable.max", &of_max, None, Some(70), None),
        row("amendable.ttl", &ttl, None, Some(70), Some(2)),
        row(
            "amend_bounds.floor",
            "amendable: { amount: { max: { floor: «10¦20», ceiling: 80 }, ttl: 1h } }",
            None,
            Some(15),
            None,
        ),
        row(
            "amend_bounds.ceiling",
            "amendable: { amount: { max: { floor: 10, ceiling: «80¦60» }, ttl: 1h } }",
            None,
            Some(70),
            None,
        ),
    ]
}

fn escalation() -> Vec<Witness> {
    let unsure = r#""params":{"amount":50},"confidence":0.5"#;
    let row = |property, written: &str, lines: &[&str]| {
        let asks = "proposal: { confidence: { escalate_below: 1 } }";
        top(property, &format!("{asks}\nescalation: {{ {written} }}"), lines)
    };
    let hour = [
        r#""params":{"amount":50},"confidence":0.5,"created_at":"2026-01-01T00:00:00Z""#,
        r#""params":{"amount":50},"confidence":0.5,"created_at":"2026-01-01T01:30:00Z""#,
    ];
    let sure = r#""params":{"amount":50},"confidence":1"#;
    let ladder = |step: &str| format!("timeout: {{ {step} }}");
    let then =
        Witness { shows: Shows::Refusal, ..row("escalation_timeout.then", &ladder("then: «ABORT¦ACCEPT»"), &[]) };
    vec![
        row("escalation.budget", "«budget: { max: 0 }¦»", &[unsure]),
        row("escalation.approvers", "approvers: [ «desk¦board» ]", &[unsure]),
        row("escalation.quorum", "quorum: «1¦2»", &[unsure]),
        row("escalation.timeout", "«timeout: { after: 1h }¦»", &[unsure]),
        row("escalation.on_exhausted", "budget: { max: 0 }, on_exhausted: «PASSIVE¦ABORT»", &[unsure, sure]),
        row("escalation.valid_after", "valid_after: «15m¦1h»", &[unsure]),
        row("escalation.signed", "signed: «true¦false»", &[unsure]),
        row("escalation_budget.max", "budget: { max: «0¦1» }", &[unsure]),
        row("escalation_budget.per", "budget: { max: 1, per: «1h¦2h» }", &hour),
        row("escalation_timeout.remind", &ladder("remind: «1m¦2m»"), &[unsure]),
        row("escalation_timeout.reroute", &ladder("reroute: «1m¦2m», to: boss"), &[unsure]),
        row("escalation_timeout.to", &ladder("reroute: 1m, to: «boss¦owner»"), &[unsure]),
        row("escalation_timeout.after", &ladder("after: «20m¦30m»"), &[unsure]),
        then,
    ]
}

fn rehearsed(property: &'static str, top: &str, tests: &str) -> Witness {
    let contract = format!("{}{tests}\n", at_top(top));
    Witness { property, contract, shows: Shows::Rehearsal }
}

fn tests() -> Vec<Witness> {
    let row = "{ action: pay, params: { amount: 5 }, expect: ACCEPT }";
    let before = "budget: { count: true, max: 1, per: 1h }";
    let given = "given: { action: pay, params: { amount: 5 } }";
    vec![
        rehearsed("contract.tests", "", &format!("«tests: {{ rows: [ {row} ] }}¦»")),
        rehearsed(
            "tests.given",
            "",
            "tests: { «given: { params: { amount: 5 } },¦» rows: [ { action: pay, expect: ACCEPT } ] }",
        ),
        rehearsed("tests.rows", "", &format!("tests: {{ rows: [ {row}«, {row}¦» ] }}")),
        rehearsed("test_row.name", "", &format!("tests: {{ {given}, rows: [ {{ name: «a¦b», expect: ACCEPT }} ] }}")),
        rehearsed("test_row.expect", "", &format!("tests: {{ {given}, rows: [ {{ expect: «ACCEPT¦REJECT» }} ] }}")),
        rehearsed(
            "test_row.before",
            before,
            &format!("tests: {{ {given}, rows: [ {{ «before: [ {{}} ],¦» expect: ACCEPT }} ] }}"),
        ),
    ]
}

/// Keys of a case act in `given` as they do in a row.
fn cases() -> Vec<Witness> {
    let five = "action: pay, params: { amount: 5 }";
    let price = "action: pay, params: { amount: 5 }, state: { price: 5 }";
    let in_flow = "action: pay, params: { amount: 5 }, flow: f";
    let unsure = "proposal: { confidence: { reject_below: 0.5 } }";
    let guarded = "policies: |\n  forbid(principal, action, resource) when { context.state.price.greaterThan(decimal(\"5.0\")) };";
    let rows: [(&'static str, &'static str, &str, &str, &str, &str); 16] = [
        ("test_case.action", "test_row.action", "", "params: { amount: 5 }", "action: «pay¦fly»", ""),
        ("test_case.params", "test_row.params", "", "action: pay", "params: { amount: «5¦-5» }", ""),
        ("test_case.confidence", "test_row.confidence", unsure, five, "confidence: 0.«4¦5»", ""),
        ("test_case.provenance", "test_row.provenance", "", five, "provenance: { amount: «user¦tool» }", ""),
        ("test_case.state", "test_row.state", guarded, five, "state: { price: «5¦6» }", ""),
        ("test_case.snapshot", "test_row.snapshot", "drift: { price: exact }", price, "snapshot: { price: «5¦6» }", ""),
        ("test_case.justification", "test_row.justification", "", five, "justification: «because¦7»", ""),
        (
            "test_case.flow",
            "test_row.flow",
            "proposal: { retries: 1 }",
            five,
            "flow: «f¦g»",
            "flow: f, params: { amount: -5 }",
        ),
        ("test_case.step", "test_row.step", "", in_flow, "step: \"«1¦2»\"", "step: \"1\""),
        ("test_case.agent", "test_row.agent", "", five, "agent: «bot¦other»", ""),
        ("test_case.at", "test_row.at", "", five, "at: 2026-01-0«1¦2»T00:00:00Z", ""),
        ("test_case.created_at", "test_row.created_at", "", five, "created_at: 2026-01-0«1¦2»T00:00:00Z", ""),
        ("test_case.valid_until", "test_row.valid_until", "", five, "valid_until: 202«6¦5»-01-01T00:00:00Z", ""),
        (
            "test_case.idempotency_key",
            "test_row.idempotency_key",
            "",
            in_flow,
            "idempotency_key: «a¦b»",
            "idempotency_key: a",
        ),
        ("test_case.advice", "test_row.advice", "", five, "advice: { check: «pass¦reject» }", ""),
        ("test_case.tokens", "test_row.tokens", "proposal: { spend: { tokens: 10 } }", five, "tokens: «10¦11»", ""),
    ];
    let both = rows.into_iter().flat_map(|(in_given, in_row, top, base, difference, earlier)| {
        let before = if earlier.is_empty() { String::new() } else { format!("before: [ {{ {earlier} }} ], ") };
        let given = format!("tests: {{ given: {{ {base}, {difference} }}, rows: [ {{ {before}expect: ACCEPT }} ] }}");
        let row = format!("tests: {{ given: {{ {base} }}, rows: [ {{ {difference}, {before}expect: ACCEPT }} ] }}");
        [(in_given, given), (in_row, row)].map(|(property, tests)| match in_given {
            "test_case.provenance" => {
                let contract = in_pay("from: { amount: user }") + &tests + "\n";
                Witness { property, contract, shows: Shows::Rehearsal }
            }
            "test_case.advice" => {
                let contract = asking("validators", "[ check ]") + &tests + "\n";
                Witness { property, contract, shows: Shows::Rehearsal }
            }
            _ => rehearsed(property, top, &tests),
        })
    });
    both.collect()
}
