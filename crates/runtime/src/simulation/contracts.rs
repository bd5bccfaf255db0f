//! The contracts of simulated agents: one action of each effect class.

use super::options::Options;
use kernel::evaluator::Compiled;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// One action of each class.
pub const ACTIONS: [&str; 4] = ["keyed", "fenced", "opaque", "local"];

const ACTION: &str = r#"
  CLASS:
    once: "CLASS:{order}"
    params: { order: text, amount: number }
    limits: { amount: { min: 1, max: 10 } }
    ask:
      - { when: amount >= 9, reason: LARGE }
    reserves:
      - { resource: pool, amount: amount }
      - { resource: desk, amount: 1 }
"#;

fn text(agent: &str, options: &Options) -> String {
    let group = group_of(agent);
    let mut text = format!(
        "agent: {agent}\ngroup: {group}\nproposal: {{ ttl: {{ default: {}s, max: 1h }} }}\nresources:\n  pool: {{ kind: stock, \
         capacity: {} }}\n  desk: {{ kind: slots, capacity: {} }}\nescalation: {{ approvers: [desk], budget: {{ max: 1000, per: 1h }} }}\nactions:",
        options.ttl, options.stock, options.slots
    );
    for class in ACTIONS {
        text += &ACTION.replace("CLASS", class);
        text += &match class {
            "local" => "    run: { function: record, class: local }\n".to_owned(),
            other => format!(
                "    run: {{ http: \"POST http://127.0.0.1:9911/do\", class: {other}, timeout: 5s }}\n    undo: {{ kind: \
                 REVERT, http: \"POST http://127.0.0.1:9911/undo\", within: 1h }}\n"
            ),
        };
    }
    text + &watch(options)
}

/// Groups of agents, each with a switch of its own.
pub const GROUPS: [&str; 2] = ["even", "odd"];

/// The group of an agent: two agents of three are in one.
pub fn group_of(agent: &str) -> &'static str {
    if agent.ends_with('1') { "odd" } else { "even" }
}

/// Alarms are recorded and must recompute. Where they hold nobody back, the busiest monitor only warns.
fn watch(options: &Options) -> String {
    let then = if options.suspending { "SUSPENDED" } else { "WARN" };
    format!(
        "watch:
  size: {{ mean: params.amount, max: 6, over: 10, then: {then} }}
  failing: {{ e_sr: outcome.failed, m0: 0.1, arl: 100, then: NOTIFY }}
  refused: {{ share: verdict.rejected, max: 0.4, over: 1h, then: WARN }}
  shifted: {{ adwin: params.amount, clock: 1, delta: 0.5 }}
"
    )
}

/// The contract of an agent.
pub fn of(agent: &str, options: &Options) -> Result<Arc<Compiled>, String> {
    compiled(text(agent, options))
}

/// What somebody would rather have in force: people are asked earlier, and one monitor is worded otherwise.
pub fn candidate_of(agent: &str, options: &Options) -> Result<Arc<Compiled>, String> {
    compiled(text(agent, options).replace("amount >= 9", "amount >= 8").replace("max: 6, over: 10", "max: 5, over: 8"))
}

/// Compiled once.
fn compiled(text: String) -> Result<Arc<Compiled>, String> {
    static KNOWN: OnceLock<Mutex<BTreeMap<String, Arc<Compiled>>>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(compiled) = known.get(&text) {
        return Ok(compiled.clone());
    }
    let loaded = engines::load::load(&text).map_err(|problems| format!("{problems:?}"))?;
    let compiled = Arc::new(loaded.compiled);
    known.insert(text, compiled.clone());
    Ok(compiled)
}
