//! Cedar policies: `forbid`s over the proposal. An implicit `permit(principal, action, resource);` stands before them.
//!
//! The principal is `Agent::"<id>"`, the action `Action::"<name>"`, the resource `Tenant::"default"`. The context holds
//! `params`, `state` (by key template as written), `agent.id`, `agent.role`, `action` and `confidence`, and of these
//! only what the policies read. A number that the schema declares `integer`, at any depth, is a Long; every other number
//! is a decimal, also in state and where nothing is declared. Null is absent. Whatever cannot be evaluated is an error, and errors reject.

mod check;
mod context;
mod decimal;
mod infer;
mod known;
mod plan;
mod room;
mod types;
mod walk;
mod wording;

#[cfg(test)]
mod tests;

pub use crate::fault::CompileFault;
use cedar_policy::{
    Authorizer, Decision, Effect, Entities, EntityId, EntityTypeName, EntityUid, EvaluationError, Policy, PolicyId,
    PolicySet, Request, Response,
};
pub use check::{Doubts, check};
use kernel::contract::Action;
use kernel::evaluator::{PolicyAnswer, PolicyEvaluator, Reads, Scope};
use kernel::template::Template;
use miette::Diagnostic;
use plan::Plan;
use room::with_room;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

/// Longest policy text.
const SOURCE_BYTES_MAX: usize = 64 * 1024;

/// Cannot collide: policies of a text are called `policy0`, `policy1`, ….
const PERMIT_ID: &str = "the implicit permit";

/// The compiled policies of a contract.
pub struct Policies {
    authorizer: Authorizer,
    entities: Entities,
    agent_type: EntityTypeName,
    tenant: EntityUid,
    /// What applies to each action; none where no policy does.
    plans: BTreeMap<String, Option<Plan>>,
    /// What a finding calls a policy: its `@id`, else its position.
    names: BTreeMap<String, String>,
    reads: Reads,
}

/// Compiles policies for the actions of a contract.
pub fn compile(text: &str, actions: &BTreeMap<String, Action>) -> Result<Policies, CompileFault> {
    if text.len() > SOURCE_BYTES_MAX {
        return Err(CompileFault::whole(format!("is longer than {SOURCE_BYTES_MAX} bytes")));
    }
    with_room(|| compile_here(text, actions))
}

fn compile_here(text: &str, actions: &BTreeMap<String, Action>) -> Result<Policies, CompileFault> {
    let set: PolicySet = text.parse().map_err(|errors| syntax_fault(&errors))?;
    if set.num_of_templates() > 0 {
        return Err(CompileFault::whole("templates (`?principal`, `?resource`) cannot be filled in here"));
    }
    let policies = in_order(&set, text);
    for (policy, written, begins) in &policies {
        refuse_permit(policy, *begins..*begins + written.lines().next().unwrap_or_default().len())?;
    }
    let (plans, reads) = plan::plans(&policies, actions)?;
    let names = policies.iter().map(|(policy, ..)| (policy.id().to_string(), name(policy))).collect();
    let agent_type: EntityTypeName = parsed("Agent")?;
    let tenant = EntityUid::from_type_name_and_id(parsed("Tenant")?, EntityId::new("default"));
    let (authorizer, entities) = (Authorizer::new(), Entities::empty());
    Ok(Policies { authorizer, entities, agent_type, tenant, plans, names, reads })
}

/// By position, because the set itself keeps no order; with the text of each and where it begins.
fn in_order<'t>(set: &PolicySet, text: &'t str) -> Vec<(Policy, &'t str, usize)> {
    let written = |policy: &Policy| {
        let parsed = set.as_ref().policies().find(|parsed| parsed.id().to_string() == policy.id().to_string());
        let span = parsed.and_then(|parsed| parsed.loc()).map(wording::span)?;
        Some((text.get(span.clone())?, span.start))
    };
    let mut policies: Vec<(Policy, &str, usize)> = set
        .policies()
        .map(|policy| {
            let (written, begins) = written(policy).unwrap_or((text, 0));
            (policy.clone(), written, begins)
        })
        .collect();
    policies.sort_by_key(|(.., begins)| *begins);
    policies
}

fn refuse_permit(policy: &Policy, first_line: Range<usize>) -> Result<(), CompileFault> {
    match policy.effect() {
        Effect::Forbid => Ok(()),
        Effect::Permit => Err(CompileFault::at(
            first_line,
            format!(
                "`{}` is a permit; everything the contract allows is permitted already, so write what is forbidden",
                name(policy)
            ),
        )),
    }
}

fn name(policy: &Policy) -> String {
    policy.annotation("id").map_or_else(|| policy.id().to_string(), str::to_owned)
}

fn parsed(type_name: &str) -> Result<EntityTypeName, CompileFault> {
    type_name.parse().map_err(|_| CompileFault::whole(format!("`{type_name}` is not a type name")))
}

fn syntax_fault(errors: &cedar_policy::ParseErrors) -> CompileFault {
    let Some(first) = errors.iter().next() else { return CompileFault::whole("is not a policy") };
    let label = first.labels().and_then(|mut labels| labels.next());
    let span = label.map(|label| label.offset()..label.offset() + label.len());
    CompileFault { problem: first.to_string(), help: None, span }
}

/// The policies of one action together with the implicit permit.
fn set_of(policies: &[&Policy]) -> Result<PolicySet, CompileFault> {
    let refused = |problem: String| CompileFault::whole(problem);
    let permit = Policy::parse(Some(PolicyId::new(PERMIT_ID)), "permit(principal, action, resource);")
        .map_err(|errors| refused(errors.to_string()))?;
    let mut set = PolicySet::new();
    for policy in policies.iter().copied().chain([&permit]) {
        set.add(policy.clone()).map_err(|error| refused(error.to_string()))?;
    }
    Ok(set)
}

/// What went wrong, without the operands: a param may be a secret.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds name types, attributes and functions only")]
fn without_values(error: &EvaluationError) -> String {
    match error {
        EvaluationError::IntegerOverflow(_) => "a whole number leaves the 64-bit range".to_owned(),
        EvaluationError::FailedExtensionFunctionExecution(_) => {
            "a function such as `decimal` or `ip` cannot read its argument".to_owned()
        }
        EvaluationError::NonValue(_) => "the condition has no value".to_owned(),
        other => other.to_string(),
    }
}

impl Policies {
    /// The keys of state that the policies of an action look at.
    pub fn state_keys(&self, action: &str) -> BTreeSet<Template> {
        self.plans.get(action).and_then(Option::as_ref).map(|plan| plan.reads.state.clone()).unwrap_or_default()
    }

    fn answer(&self, response: &Response) -> PolicyAnswer {
        let mut errors: Vec<String> = response.diagnostics().errors().map(|error| self.error(error)).collect();
        errors.sort();
        // A forbid that could not be evaluated might have forbidden: that is never a permit.
        if let Some(first) = errors.into_iter().next() {
            return PolicyAnswer::Error(first);
        }
        match response.decision() {
            Decision::Allow => PolicyAnswer::Permit,
            Decision::Deny => {
                let mut ids: Vec<String> =
                    response.diagnostics().reason().map(|id| self.name_of(id.as_ref())).collect();
                ids.sort();
                PolicyAnswer::Forbid(ids)
            }
        }
    }

    fn error(&self, error: &cedar_policy::AuthorizationError) -> String {
        match error {
            cedar_policy::AuthorizationError::PolicyEvaluationError(error) => {
                format!("policy `{}`: {}", self.name_of(error.policy_id().as_ref()), without_values(error.inner()))
            }
        }
    }

    fn name_of(&self, id: &str) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| id.to_owned())
    }
}

impl PolicyEvaluator for Policies {
    fn judge(&self, scope: &Scope<'_>) -> PolicyAnswer {
        match self.plans.get(scope.action) {
            Some(Some(plan)) => with_room(|| self.judge_by(plan, scope)),
            Some(None) => PolicyAnswer::Permit,
            None => PolicyAnswer::Error(format!("action `{}` is not in the contract", scope.action)),
        }
    }

    fn reads(&self) -> &Reads {
        &self.reads
    }
}

impl Policies {
    fn judge_by(&self, plan: &Plan, scope: &Scope<'_>) -> PolicyAnswer {
        let context = match context::build(plan, scope) {
            Ok(context) => context,
            Err(problem) => return PolicyAnswer::Error(problem),
        };
        let principal = EntityUid::from_type_name_and_id(self.agent_type.clone(), EntityId::new(scope.agent.id));
        match Request::new(principal, plan.action.clone(), self.tenant.clone(), context, None) {
            Ok(request) => self.answer(&self.authorizer.is_authorized(&request, &plan.policies, &self.entities)),
            Err(error) => PolicyAnswer::Error(error.to_string()),
        }
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Policies").field("names", &self.names).field("reads", &self.reads).finish()
    }
}
