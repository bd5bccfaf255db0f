//! Parts of a contract that are compiled when they are first asked for: a process that judges one call needs few of them.
//!
//! Only for contracts that were compiled as a whole before. Should a part not compile after all, it judges nothing.

use crate::cel::{self, Expression};
use crate::schema::{self, Schema, plain};
use kernel::evaluator::{
    ExpressionEvaluator, ExpressionFault, Reads, SchemaEvaluator, SchemaFault, SchemaFaultKind, Scope,
};
use std::sync::{Arc, OnceLock};
use values::json::{Json, Object};

/// An expression that is compiled when it is first asked for.
#[derive(Debug)]
pub(crate) struct LaterExpression {
    text: String,
    compiled: OnceLock<Result<Expression, String>>,
    nothing: Reads,
}

impl LaterExpression {
    pub(crate) fn of(text: &str) -> LaterExpression {
        LaterExpression { text: text.to_owned(), compiled: OnceLock::new(), nothing: Reads::default() }
    }

    fn compiled(&self) -> &Result<Expression, String> {
        self.compiled.get_or_init(|| cel::compile_known(&self.text).map_err(|fault| fault.problem))
    }
}

impl ExpressionEvaluator for LaterExpression {
    fn holds(&self, scope: &Scope<'_>) -> Result<bool, ExpressionFault> {
        match self.compiled() {
            Ok(expression) => expression.holds(scope),
            Err(problem) => Err(ExpressionFault { problem: format!("`{}` does not compile: {problem}", self.text) }),
        }
    }

    fn reads(&self) -> &Reads {
        self.compiled().as_ref().map_or(&self.nothing, Expression::reads)
    }
}

/// A schema that is compiled when it is first asked for.
#[derive(Debug)]
pub(crate) struct LaterSchema {
    source: Arc<Json>,
    compiled: OnceLock<Result<Schema, String>>,
}

impl LaterSchema {
    pub(crate) fn of(source: Arc<Json>) -> LaterSchema {
        LaterSchema { source, compiled: OnceLock::new() }
    }
}

impl SchemaEvaluator for LaterSchema {
    fn faults(&self, params: &Object) -> Vec<SchemaFault> {
        if plain::conforms(&self.source, params) {
            return Vec::new();
        }
        match self.compiled.get_or_init(|| schema::compile(&self.source).map_err(|fault| fault.problem)) {
            Ok(schema) => schema.faults(params),
            Err(problem) => {
                let problem = format!("cannot be judged, the schema does not compile: {problem}");
                vec![SchemaFault { field: String::new(), kind: SchemaFaultKind::Invalid, problem }]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{load, load_known};
    use kernel::contract::Role;
    use kernel::evaluator::AgentView;

    #[test]
    fn a_part_that_does_not_compile_judges_nothing() {
        let scope = Scope {
            params: &Object::default(),
            state: &Default::default(),
            agent: AgentView { id: "a", role: Role::Executor },
            action: "x",
            confidence: None,
        };
        let broken = LaterExpression::of("true ||");
        assert!(broken.holds(&scope).is_err());
        assert!(broken.reads().params.is_empty());
        let schema = LaterSchema::of(Arc::new(Json::object([("propertys", Json::Null)])));
        assert_eq!(schema.faults(&Object::default()).len(), 1);
    }

    #[test]
    fn a_known_contract_is_the_same_contract() {
        for contract::Template { name, text, .. } in contract::TEMPLATES {
            let whole = load(text).unwrap().compiled;
            let known = load_known(whole.contract.to_json(), whole.digest).unwrap();
            assert_eq!(known.contract.digest(), whole.digest, "{name}");
            for (action, compiled) in &whole.actions {
                assert_eq!(known.actions[action].state_keys, compiled.state_keys, "{name} {action}");
                let reads = |rules: &[Box<dyn ExpressionEvaluator>]| -> Vec<Reads> {
                    rules.iter().map(|rule| rule.reads().clone()).collect()
                };
                assert_eq!(reads(&known.actions[action].refuse), reads(&compiled.refuse), "{name} {action}");
                assert_eq!(reads(&known.actions[action].ask), reads(&compiled.ask), "{name} {action}");
            }
        }
    }
}
