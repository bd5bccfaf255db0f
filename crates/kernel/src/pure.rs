//! A pure run: proposals in, answers out, one world in memory. The same input gives the same bytes.

use crate::apply::apply;
use crate::command::{Command, MintedIds, RefusedInput, Submission};
use crate::context::Context;
use crate::evaluator::Compiled;
use crate::outcome::{Answer, Done, Outcome, Verdict};
use crate::proposal::{Malformed, Proposal};
use crate::request::Provenance;
use crate::world::World;
use std::sync::Arc;
use values::ids::{Digest, TENANT_DEFAULT};
use values::time::Instant;

/// Adds what validators and judges outside say about a proposal.
pub type Advise<'a> = dyn FnMut(Submission) -> Submission + 'a;

/// One run over any number of proposals; what is accepted adds up.
#[derive(Debug)]
pub struct PureRun {
    tenant: Arc<str>,
    contract: Arc<Compiled>,
    world: World,
    at: Option<Instant>,
    trust_provenance: bool,
}

impl PureRun {
    /// Starts in the world of a context.
    ///
    /// `at` is the instant of every line; without it a line's `created_at` is, else 2026-01-01T00:00:00Z.
    pub fn new(contract: Arc<Compiled>, context: Context, at: Option<Instant>, trust_provenance: bool) -> PureRun {
        let tenant: Arc<str> = Arc::from(TENANT_DEFAULT);
        let world = context.into_world(&tenant, &contract.contract.agent);
        PureRun { tenant, contract, world, at, trust_provenance }
    }

    /// The contract that proposals are judged under.
    pub fn contract(&self) -> &Compiled {
        &self.contract
    }

    /// The world as it is now.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Judges one line; its number, from 1, and its bytes seed the ids. A line that cannot be read is named by its number.
    pub fn judge(&mut self, line_number: u64, line: &[u8]) -> Done {
        self.judge_advised(line_number, line, &mut |submission| submission)
    }

    /// Judges one line; `advise` adds what validators and judges outside say.
    pub fn judge_advised(&mut self, line_number: u64, line: &[u8], advise: &mut Advise<'_>) -> Done {
        let digest = Digest::of_parts(&[&line_number.to_be_bytes(), line]);
        match Proposal::parse_line(line, line_number) {
            Ok(proposal) => self.submit(proposal, digest, advise),
            Err(malformed) => self.refuse(malformed, line, line_number),
        }
    }

    /// Judges a proposal that was read already; the digest seeds its ids.
    pub fn submit(&mut self, proposal: Proposal, digest: Digest, advise: &mut Advise<'_>) -> Done {
        let at = self.at.or(proposal.created_at).unwrap_or(Instant::PURE_DEFAULT);
        let provenance = Provenance::of(&proposal, self.trust_provenance);
        let minted = |kind: &[u8]| Digest::of_parts(&[kind, digest.bytes()]).to_uuid_text();
        let ids = MintedIds {
            proposal: minted(b"proposal"),
            flow: minted(b"flow"),
            intent: minted(b"intent"),
            escalation: minted(b"escalation"),
        };
        let submission = Submission::new(self.tenant.clone(), proposal, self.contract.clone(), provenance, ids);
        self.apply(&Command::Submit(Arc::new(advise(submission))), at)
    }

    fn refuse(&mut self, malformed: Malformed, line: &[u8], line_number: u64) -> Done {
        let refused = RefusedInput {
            tenant: self.tenant.clone(),
            malformed,
            digest: Digest::of(line),
            id: format!("line-{line_number}"),
        };
        let at = self.at.unwrap_or(Instant::PURE_DEFAULT);
        self.apply(&Command::Refuse(Box::new(refused)), at)
    }

    fn apply(&mut self, command: &Command, at: Instant) -> Done {
        match apply(&mut self.world, command, at) {
            Outcome::Done(done) => *done,
            // A complete world needs nothing, and its registry names no contracts; should it ask, nothing may pass.
            Outcome::Need(_) | Outcome::Prepare => Done {
                answer: Answer {
                    id: String::new(),
                    verdict: Verdict::Reject,
                    findings: Arc::from([]),
                    intent: None,
                    question: None,
                },
                event: None,
                records: Vec::new(),
            },
        }
    }
}
