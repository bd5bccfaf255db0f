//! Shape: the params against their schema, and what must be a number is one.

use crate::evaluator::SchemaFaultKind;
use crate::finding::{Finding, Findings, Gate};
use crate::reasons::Reason;
use crate::request::{ActionFacts, Number, Provenance, Request};
use crate::template::RenderFault;
use std::collections::BTreeSet;
use values::bugs::{self, Bug};
use values::ids::naming_problem;
use values::json::Json;

pub(super) fn judge(request: &Request<'_>, findings: &mut Findings) {
    if *request.provenance == Provenance::ClaimedByAgent {
        findings.push(Finding::reject(Gate::Shape, Reason::ProvenanceClaimed).field("provenance"));
    }
    let Some(action) = request.action() else { return };
    let mut refused = BTreeSet::new();
    for fault in action.compiled.schema.faults(&request.proposal.params) {
        let finding = match fault.kind {
            SchemaFaultKind::Missing if bugs::on(Bug::W09MissingPasses) => continue,
            SchemaFaultKind::Missing => missing(request, &fault.field),
            // The engine may quote the value; a secret one must not be quoted.
            SchemaFaultKind::Invalid if action.is_secret(&fault.field) => {
                invalid(&fault.field, "does not fit its schema".to_owned())
            }
            SchemaFaultKind::Invalid => invalid(&fault.field, fault.problem),
        };
        refused.insert(fault.field);
        findings.push(finding);
    }
    judge_numbers(request, &action, &refused, findings);
    judge_once(request, &action, &refused, findings);
}

fn judge_numbers(request: &Request<'_>, action: &ActionFacts<'_>, refused: &BTreeSet<String>, findings: &mut Findings) {
    for name in &action.compiled.plan.numeric {
        if refused.contains(name) {
            continue;
        }
        match request.number(name) {
            Number::Is(..) => {}
            Number::Missing if bugs::on(Bug::W09MissingPasses) => {}
            Number::Missing => findings.push(missing(request, name)),
            Number::Not(problem) => findings.push(invalid(name, problem.to_owned())),
        }
    }
}

/// The params that name the effect must be there and plain.
fn judge_once(request: &Request<'_>, action: &ActionFacts<'_>, refused: &BTreeSet<String>, findings: &mut Findings) {
    let Some(once) = action.rules.once.as_ref().filter(|once| !once.params().any(|param| refused.contains(param)))
    else {
        return;
    };
    for name in once.params() {
        let text = request.param(name).and_then(Json::as_text);
        // Two names that look the same must not name two effects.
        if let Some(problem) = text.and_then(naming_problem) {
            findings.push(invalid(name, format!("is part of the effect key and {problem}")));
        }
    }
    match once.render(&request.proposal.params) {
        Ok(_) => {}
        Err(RenderFault::Missing(name)) => findings.push(missing(request, &name)),
        Err(RenderFault::NotScalar(name)) => {
            findings
                .push(invalid(&name, "is part of the effect key and must be text, a number or a boolean".to_owned()));
        }
        Err(RenderFault::TooLong) => {
            findings.push(invalid("", "yield an effect key longer than 1,024 bytes".to_owned()))
        }
    }
}

fn missing(request: &Request<'_>, field: &str) -> Finding {
    let null = request.proposal.params.contains_key(field);
    let problem = if null { ": it is null" } else { "" };
    Finding::reject(Gate::Shape, Reason::ParamMissing).field(field).with("problem", problem)
}

fn invalid(field: &str, problem: String) -> Finding {
    let field = if field.is_empty() { "params" } else { field };
    Finding::reject(Gate::Shape, Reason::ParamInvalid).field(field).with("problem", problem)
}

#[cfg(test)]
mod tests {
    use crate::testing::case;

    #[test]
    fn what_a_limit_needs_is_mandatory() {
        case().params("{}").check("REJECT PARAM_MISSING");
        case().params(r#"{"amount":null}"#).check("REJECT PARAM_MISSING");
        case().params(r#"{"amount":[5]}"#).check("REJECT PARAM_INVALID");
    }

    #[test]
    fn what_names_the_effect_is_mandatory() {
        let check = |params: &str, expected: &str| case().once("pay:{payee}").params(params).check(expected);
        check(r#"{"amount":5,"payee":"x"}"#, "ACCEPT");
        check(r#"{"amount":5}"#, "REJECT PARAM_MISSING");
        check(r#"{"amount":5,"payee":["x"]}"#, "REJECT PARAM_INVALID");
        for variant in ["x ", " x", "x\\n", "x\\u200b", "e\\u0301", ""] {
            check(&format!(r#"{{"amount":5,"payee":"{variant}"}}"#), "REJECT PARAM_INVALID");
        }
    }
}
