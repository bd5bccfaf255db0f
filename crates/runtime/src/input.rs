//! What a caller may send: a proposal, or one in an envelope that its agent signed.

use kernel::finding::{Finding, Gate};
use kernel::proposal::{Malformed, Proposal};
use kernel::reasons::Reason;
use kernel::statement::Proof;
use ledger::envelope::Envelope;
use std::sync::Arc;
use values::json::Json;

/// What only an envelope has.
const MARK: &[u8] = b"\"payloadType\"";

/// Reads a proposal, with its proof if it came in an envelope. Signatures are checked here, before anything is locked.
pub fn read_input(bytes: &[u8]) -> Result<(Proposal, Option<Arc<Proof>>), Malformed> {
    read_line(bytes, 1)
}

/// Reads one line of a longer input. Its number, from 1, is named where the line cannot be read.
pub fn read_line(bytes: &[u8], number: u64) -> Result<(Proposal, Option<Arc<Proof>>), Malformed> {
    // Most input is no envelope, and reading JSON twice costs as much as judging it.
    let marked = bytes.windows(MARK.len()).any(|window| window == MARK);
    let json = if marked { Json::parse(bytes).ok().filter(Envelope::is_meant) } else { None };
    let Some(json) = json else { return Ok((Proposal::parse_line(bytes, number)?, None)) };
    let envelope = Envelope::from_json(&json).map_err(|problem| {
        let finding = Finding::reject(Gate::Shape, Reason::ParamInvalid).field("envelope");
        Malformed { id: None, agent: None, findings: vec![finding.with("problem", format!("is malformed: {problem}"))] }
    })?;
    let (proof, proposal) = Proof::open(envelope);
    Ok((proposal?, Some(Arc::new(proof))))
}
