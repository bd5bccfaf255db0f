//! The tests a contract carries: each row judged in a fresh world.

use crate::tests::{Expect, Row, Tests};
use kernel::advice::{self, Needed};
use kernel::command::Submission;
use kernel::context::Context;
use kernel::evaluator::Compiled;
use kernel::outcome::Answer;
use kernel::proposal::Proposal;
use kernel::pure::{Advise, PureRun};
use kernel::snapshot::Snapshot;
use std::sync::Arc;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Instant;

/// Name of the snapshot a row spells out.
const INLINE: &str = "row";

/// How one row went.
#[derive(Clone, PartialEq, Debug)]
pub struct Rehearsed {
    /// The row's name.
    pub name: String,
    /// What it expected.
    pub expect: Expect,
    /// What was answered, or why the row could not be judged.
    pub result: Result<Answer, String>,
}

impl Rehearsed {
    /// Whether the answer is what the row expected: the verdict, and every code it names.
    pub fn passed(&self) -> bool {
        let Ok(answer) = &self.result else { return false };
        let reasons = answer.reasons();
        let named = self.expect.codes.iter().all(|code| reasons.contains(&code.as_str()));
        answer.verdict.word() == self.expect.verdict && named
    }
}

/// Judges every row; `advise` asks those validators and judges whose answer the row does not give.
pub fn rehearse(contract: &Arc<Compiled>, tests: &Tests, advise: &mut Advise<'_>) -> Vec<Rehearsed> {
    let mut one = |row: &Row| Rehearsed {
        name: row.name.clone(),
        expect: row.expect.clone(),
        result: judge(contract, &row.case, advise),
    };
    tests.rows.iter().map(&mut one).collect()
}

fn judge(contract: &Arc<Compiled>, case: &Json, advise: &mut Advise<'_>) -> Result<Answer, String> {
    let members = case.as_object().ok_or("the row is not a map")?;
    let at = match members.get("at") {
        None => Instant::PURE_DEFAULT,
        Some(value) => value.as_text().and_then(Instant::parse).ok_or("`at` is not an RFC 3339 time with an offset")?,
    };
    let context = context(members, at)?;
    let mut run = PureRun::new(contract.clone(), context, Some(at), true);
    let before = members.get("before").and_then(Json::as_list).unwrap_or_default();
    for (index, earlier) in before.iter().enumerate() {
        let members = earlier.as_object().ok_or("a case in `before` is not a map")?;
        submit(&mut run, contract, members, index, advise)?;
    }
    submit(&mut run, contract, members, before.len(), advise)
}

fn submit(
    run: &mut PureRun,
    contract: &Compiled,
    members: &Object,
    index: usize,
    advise: &mut Advise<'_>,
) -> Result<Answer, String> {
    let mut proposal = members.clone();
    proposal.retain(|key, _| kernel::proposal::FIELDS.contains(&key.as_str()));
    proposal.entry("agent".to_owned()).or_insert_with(|| Json::text(contract.contract.agent.as_str()));
    proposal.entry("params".to_owned()).or_insert_with(|| Json::Object(Object::new()));
    if let Some(Json::Object(_)) = proposal.get("snapshot") {
        proposal.insert("snapshot".to_owned(), Json::text(INLINE));
    }
    let seed = Digest::of_parts(&[b"row", &index.to_be_bytes()]);
    match Proposal::from_json(Json::Object(proposal)) {
        Ok(proposal) => {
            let mut given = |submission: Submission| advise(with_given(submission, members.get("advice")));
            Ok(run.submit(proposal, seed, &mut given).answer)
        }
        Err(malformed) => {
            let sentences: Vec<String> = malformed.findings.iter().map(kernel::finding::Finding::message).collect();
            Err(sentences.join("; "))
        }
    }
}

/// What the row says in place of validators and judges.
fn with_given(submission: Submission, said: Option<&Json>) -> Submission {
    let Some(said) = said else { return submission };
    let given = |needed: Needed<'_>| Some(advice::rehearsed(&needed, said.get(needed.name)?));
    let given = advice::needed(&submission).into_iter().filter_map(given).collect();
    submission.advised(given)
}

fn context(members: &Object, at: Instant) -> Result<Context, String> {
    let mut context = Context::default();
    if let Some(state) = members.get("state") {
        context.state = state.as_object().ok_or("`state` is not a map")?.clone();
    }
    if let Some(Json::Object(state)) = members.get("snapshot") {
        let snapshot =
            Snapshot { at, source: "test".to_owned(), flow: None, state: state.clone(), session: Object::new() };
        context.snapshots.insert(INLINE.to_owned(), snapshot);
    }
    Ok(context)
}
