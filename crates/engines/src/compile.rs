//! A contract with everything in it compiled: schemas, expressions, policies, and the keys of state each action needs.

use crate::cel::Impossible;
use crate::fault::{CompileFault, only_place};
use crate::later::{LaterExpression, LaterSchema};
use crate::{cedar, cel, declared, schema};
use contract::source::{Diagnostic, Place, Severity};
use kernel::contract::{Action, Contract, Rule, Series, Watch};
use kernel::evaluator::{
    Compiled, CompiledAction, ExpressionEvaluator, PolicyEvaluator, Reads, Recorded, SchemaEvaluator,
};
use kernel::nearest::suggestion;
use kernel::plan::Plan;
use kernel::template::Template;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;

/// Compiles a contract, or says everything that stands in the way, action by action.
pub fn compile(contract: Contract) -> Result<Compiled, Vec<Diagnostic>> {
    let plain = |problem: Problem| problem.diagnostic;
    compile_noting(contract, &mut Vec::new()).map_err(|problems| problems.into_iter().map(plain).collect())
}

/// A diagnostic without a place, and the text it is about with the bytes that are wrong in it, where they are known.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) diagnostic: Diagnostic,
    pub(crate) text: Option<(String, Option<Range<usize>>)>,
}

/// Compiles a contract and notes what may go wrong with it.
pub(crate) fn compile_noting(contract: Contract, warnings: &mut Vec<Problem>) -> Result<Compiled, Vec<Problem>> {
    let digest = contract.digest();
    compile_when(contract, digest, When::Now, warnings)
}

/// Compiles a contract that has been compiled before, each part when it is first asked for.
pub(crate) fn compile_later(contract: Contract, digest: Digest) -> Result<Compiled, Vec<Problem>> {
    compile_when(contract, digest, When::Asked, &mut Vec::new())
}

/// When the parts of an action are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    Now,
    Asked,
}

fn compile_when(
    contract: Contract,
    digest: Digest,
    when: When,
    warnings: &mut Vec<Problem>,
) -> Result<Compiled, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut actions = BTreeMap::new();
    for (name, action) in &contract.actions {
        let path = format!("actions.{name}");
        let compiler = ActionCompiler { path, action, when, problems: &mut problems, warnings };
        let watched = watched(&contract, name, action);
        let compiled = compiler.compile(Plan::of(&contract, name, action), &watched);
        actions.extend(compiled.map(|compiled| (name.clone(), compiled)));
    }
    let policies = compiled_policies(&contract, &mut actions, &mut problems);
    if policies.is_some() && when == When::Now {
        doubtful_policies(&contract, &mut problems, warnings);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Compiled { digest, contract, actions, policies, recorded: Recorded::default() })
}

/// The monitors that judge an action by an expression.
fn watched<'a>(contract: &'a Contract, name: &str, action: &Action) -> Vec<(&'a String, &'a str)> {
    let looks = |watch: &Watch| if watch.actions.is_empty() { !action.reads } else { watch.actions.contains(name) };
    let when = |(monitor, watch): (&'a String, &'a Watch)| match &watch.series {
        Series::When(when) if looks(watch) => Some((monitor, when.as_str())),
        Series::When(_)
        | Series::Param(_)
        | Series::Margin { .. }
        | Series::Rejected
        | Series::Escalated
        | Series::Failed => None,
    };
    contract.watch.iter().filter_map(when).collect()
}

fn compiled_policies(
    contract: &Contract,
    actions: &mut BTreeMap<String, CompiledAction>,
    problems: &mut Vec<Problem>,
) -> Option<Box<dyn PolicyEvaluator>> {
    let text = contract.policies.as_deref()?;
    match cedar::compile(text, &contract.actions) {
        Ok(policies) => {
            for (name, action) in actions {
                action.state_keys.extend(policies.state_keys(name));
            }
            Some(Box::new(policies))
        }
        Err(fault) => {
            problems.push(problem("policies", fault, Some(text)));
            None
        }
    }
}

/// A policy that can only err is no policy: every decision would be refused with `POLICY_ERROR`.
fn doubtful_policies(contract: &Contract, problems: &mut Vec<Problem>, warnings: &mut Vec<Problem>) {
    let Some(text) = contract.policies.as_deref() else { return };
    let doubts = cedar::check(text, contract);
    problems.extend(doubts.errors.into_iter().map(|fault| problem("policies", fault, Some(text))));
    warnings.extend(doubts.warnings.into_iter().map(|fault| {
        let mut warning = problem("policies", fault, Some(text));
        warning.diagnostic.code = "POLICY_MAY_ERR";
        warning.diagnostic.severity = Severity::Warning;
        warning
    }));
}

struct ActionCompiler<'a> {
    path: String,
    action: &'a Action,
    when: When,
    problems: &'a mut Vec<Problem>,
    warnings: &'a mut Vec<Problem>,
}

impl ActionCompiler<'_> {
    fn compile(mut self, plan: Plan, watched: &[(&String, &str)]) -> Option<CompiledAction> {
        let action = self.action;
        let mut state_keys = BTreeSet::new();
        let schema = self.schema(&action.params);
        let refuse = self.rules("refuse", &action.refuse, &mut state_keys);
        let ask = self.rules(action.ask.path(), action.ask.rules(), &mut state_keys);
        let allow = action.allow.as_ref().and_then(|text| self.expression("allow", text, &mut state_keys));
        let watch = self.watched(watched, &mut state_keys);
        self.state_limits(&mut state_keys);
        state_keys.extend(plan.drift.iter().map(|drift| drift.key.clone()));
        let (performed, undone) = (Recorded::default(), Recorded::default());
        Some(CompiledAction { schema: schema?, refuse, allow, ask, watch, state_keys, plan, performed, undone })
    }

    fn watched(
        &mut self,
        watched: &[(&String, &str)],
        state_keys: &mut BTreeSet<Template>,
    ) -> BTreeMap<String, Box<dyn ExpressionEvaluator>> {
        // What is wrong with it is said where it is written: under `watch`.
        let path = std::mem::take(&mut self.path);
        let mut compiled = BTreeMap::new();
        for (name, when) in watched {
            self.path = format!("watch.{name}");
            compiled.extend(self.expression("when", when, state_keys).map(|when| ((*name).clone(), when)));
        }
        self.path = path;
        compiled
    }

    fn schema(&mut self, params: &Arc<Json>) -> Option<Box<dyn SchemaEvaluator>> {
        if self.when == When::Asked {
            return Some(Box::new(LaterSchema::of(params.clone())));
        }
        match schema::compile(params) {
            Ok(schema) => Some(Box::new(schema)),
            Err(fault) => self.refuse("params", fault, None),
        }
    }

    fn rules(
        &mut self,
        key: &str,
        rules: &[Rule],
        state_keys: &mut BTreeSet<Template>,
    ) -> Vec<Box<dyn ExpressionEvaluator>> {
        let mut compiled = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            compiled.extend(self.expression(&format!("{key}.{index}.when"), &rule.when, state_keys));
        }
        compiled
    }

    fn expression(
        &mut self,
        key: &str,
        text: &str,
        state_keys: &mut BTreeSet<Template>,
    ) -> Option<Box<dyn ExpressionEvaluator>> {
        // Which state is looked at has to be known beforehand, and no expression looks at any without naming it.
        if self.when == When::Asked
            && let Some(named) = cel::state_keys::named(text)
        {
            state_keys.extend(named);
            return Some(Box::new(LaterExpression::of(text)));
        }
        let compiled = if self.when == When::Asked { cel::compile_known(text) } else { cel::compile(text) };
        let expression = match compiled {
            Ok(expression) => expression,
            Err(fault) => return self.refuse(key, self.with_param_hint(fault), Some(text)),
        };
        if let Some(fault) = self.unreadable(expression.reads(), text) {
            return self.refuse(key, fault, Some(text));
        }
        if self.when == When::Now {
            match cel::impossible(&expression, text, &self.action.params) {
                Some(Impossible::Unevaluable(fault)) => return self.refuse(key, fault, Some(text)),
                Some(Impossible::Constant(fault)) => {
                    let mut warning = problem(&format!("{}.{key}", self.path), fault, Some(text));
                    warning.diagnostic.code = "SAME_FOR_EVERYTHING";
                    warning.diagnostic.severity = Severity::Warning;
                    self.warnings.push(warning);
                }
                None => {}
            }
        }
        state_keys.extend(expression.reads().state.iter().cloned());
        Some(Box::new(expression))
    }

    fn state_limits(&mut self, state_keys: &mut BTreeSet<Template>) {
        for (param, limit) in &self.action.limits {
            let Some(matched) = &limit.state else { continue };
            match self.undeclared(matched.key.params()) {
                Some((_, problem)) => {
                    let problem = format!("state key `{}`: {problem}", matched.key);
                    self.refuse::<()>(&format!("limits.{param}.state"), CompileFault::whole(problem), None);
                }
                None => {
                    state_keys.insert(matched.key.clone());
                }
            }
        }
    }

    /// A param that can never be there makes every judgement a fault: the contract is wrong, not the agent.
    fn unreadable(&self, reads: &Reads, text: &str) -> Option<CompileFault> {
        if let Some((param, problem)) = self.undeclared(reads.params.iter().map(String::as_str)) {
            return Some(CompileFault { problem, help: None, span: only_place(text, "params.", param) });
        }
        reads.state.iter().find_map(|key| {
            let (_, problem) = self.undeclared(key.params())?;
            let problem = format!("state key `{key}`: {problem}");
            Some(CompileFault { problem, help: None, span: only_place(text, "", key.as_str()) })
        })
    }

    /// The first param that is not declared, and what to say about it.
    fn undeclared<'p>(&self, mut params: impl Iterator<Item = &'p str>) -> Option<(&'p str, String)> {
        let schema = &self.action.params;
        let param = params.find(|param| declared::missing(schema, param))?;
        Some((param, format!("there is no param `{param}`{}", suggestion(param, declared::names(schema)))))
    }

    /// A bare name may be a mistyped param, which only the action knows.
    fn with_param_hint(&self, mut fault: CompileFault) -> CompileFault {
        let unknown = fault.problem.strip_prefix('`').and_then(|rest| rest.split_once("` is not known"));
        if let Some((name, _)) = unknown {
            // A declared param has been named already: "write `params.amount`".
            let others = declared::names(&self.action.params).filter(|declared| *declared != name);
            let hint =
                if declared::missing(&self.action.params, name) { suggestion(name, others) } else { String::new() };
            // The param of this action is the better guess than a word every expression knows.
            if let (false, Some(other)) = (hint.is_empty(), fault.problem.find("; did you mean")) {
                fault.problem.truncate(other);
            }
            fault.problem.push_str(&hint);
        }
        fault
    }

    fn refuse<T>(&mut self, key: &str, fault: CompileFault, text: Option<&str>) -> Option<T> {
        self.problems.push(problem(&format!("{}.{key}", self.path), fault, text));
        None
    }
}

fn problem(path: &str, fault: CompileFault, text: Option<&str>) -> Problem {
    let diagnostic = Diagnostic {
        code: "CONTRACT_INVALID",
        severity: Severity::Error,
        path: path.to_owned(),
        // Compiled contracts carry no places; whoever read the file knows where the path stands in it.
        place: Place::default(),
        message: fault.problem,
        help: fault.help,
    };
    Problem { diagnostic, text: text.map(|text| (text.to_owned(), fault.span)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{action, contract};
    use kernel::contract::DriftKey;
    use kernel::contract::{Ask, Limit, StateMatch, Tolerance};

    const PARAMS: &str = r#"{"type": "object", "additionalProperties": false, "properties": {
        "order_id": {"type": "string"}, "amount": {"type": "number"}}}"#;

    fn rule(when: &str) -> Rule {
        Rule { when: when.to_owned(), reason: "BECAUSE".to_owned() }
    }

    fn template(text: &str) -> Template {
        Template::parse(text).unwrap()
    }

    /// The state keys of `refund`, or the diagnostics.
    fn check(change: impl FnOnce(&mut Contract, &mut Action), expected: &str) {
        let mut refund = action(PARAMS);
        let mut whole = contract();
        change(&mut whole, &mut refund);
        whole.actions.insert("refund".to_owned(), refund);
        let found = match compile(whole) {
            Ok(compiled) => {
                let keys = compiled.actions["refund"].state_keys.iter().map(Template::to_string);
                keys.collect::<Vec<_>>().join(", ")
            }
            Err(problems) => {
                let lines = problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message));
                lines.collect::<Vec<_>>().join("; ")
            }
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn state_keys_are_everything_the_judgement_may_look_at() {
        check(
            |contract, refund| {
                let exact = Tolerance::Exact;
                contract.drift = ["drift/{order_id}", "other/{account}"]
                    .map(|key| DriftKey { key: template(key), tolerance: exact })
                    .into();
                contract.policies =
                    Some("forbid(principal, action, resource) when { context.state.policy == 1 };".to_owned());
                refund.refuse = vec![rule("state.refuse > 1")];
                refund.allow = Some("state['allow/{order_id}'] > params.amount".to_owned());
                refund.ask = Ask::Zone(vec![rule("has(state.ask)")]);
                let state = Some(StateMatch { key: template("limit/{order_id}"), tolerance: exact });
                refund.limits.insert("amount".to_owned(), Limit { state, ..Limit::default() });
            },
            "allow/{order_id}, ask, drift/{order_id}, limit/{order_id}, policy, refuse",
        );
    }

    #[test]
    fn every_mistake_is_reported_with_its_path() {
        check(
            |contract, refund| {
                contract.policies = Some("forbid".to_owned());
                refund.refuse = vec![rule("params.amount > 1"), rule("params.amont > 1")];
                refund.allow = Some("amount > 1".to_owned());
                refund.ask = Ask::Triggers(vec![rule("state['a/{order}'] > 1")]);
                let state = Some(StateMatch { key: template("limit/{nope}"), tolerance: Tolerance::Exact });
                refund.limits.insert("amount".to_owned(), Limit { state, ..Limit::default() });
            },
            "actions.refund.refuse.1.when: there is no param `amont`; did you mean `amount`?; \
             actions.refund.ask.0.when: state key `a/{order}`: there is no param `order`; \
             actions.refund.allow: `amount` is not known; if it is a param write `params.amount`; \
             actions.refund.limits.amount.state: state key `limit/{nope}`: there is no param `nope`; \
             policies: unexpected end of input",
        );
        check(
            |_, refund| refund.allow = Some("params.amount <= \"25\"".to_owned()),
            "actions.refund.allow: `params.amount` is a number and `\"25\"` is text: they have no order, so this can never \
             be evaluated",
        );
        check(|_, refund| refund.allow = Some("params.order_id == 25".to_owned()), "");
        check(
            |_, refund| refund.params = Json::object([("propertys", Json::Null)]).into(),
            "actions.refund.params: `propertys` is not a keyword of JSON Schema 2020-12; did you mean `properties`?",
        );
    }
}
