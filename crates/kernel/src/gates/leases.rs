//! Leases: what the action writes must not lie in a region that somebody else holds.

use crate::facts::{Facts, LeasesFact};
use crate::finding::{Finding, Findings, Gate};
use crate::lease::book::{HOLDERS_SHOWN_MAX, LeaseBook, Verdict};
use crate::lease::region::Region;
use crate::lease::{Lease, Mode, Party, Request, TTL_MIN};
use crate::reasons::Reason;
use values::bugs::{self, Bug};
use values::json::Json;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let Some(param) = facts.request.action().and_then(|action| action.rules.leases.as_deref()) else { return };
    if facts.refused.contains(param) || bugs::on(Bug::LeasesIgnored) {
        return;
    }
    let book = match &facts.leases {
        LeasesFact::None => return,
        LeasesFact::Damaged => {
            let finding = Finding::reject(Gate::Leases, Reason::LeaseLost).field(param).with("fence", "unknown");
            findings.push(finding.with("holder", "anybody").with("problem", "the book of leases cannot be read"));
            return;
        }
        LeasesFact::Book(book) => book,
    };
    for path in paths(facts.request.param(param)) {
        match Region::from_text(path) {
            Ok(region) => findings_of(facts, book, (path, region), param, findings),
            // Where it lies is not known, so it may lie in what somebody holds.
            Err(_) => {
                let other = book.leases().find(|lease| !lease.is_expired(facts.at) && !is_own(facts, lease));
                if let Some(lease) = other {
                    findings
                        .push(told(Finding::escalate(Gate::Leases, Reason::RegionLeased), lease, path).field(param));
                }
            }
        }
    }
}

/// A path, or a list of them.
fn paths(value: Option<&Json>) -> Vec<&str> {
    match value {
        Some(Json::Text(path)) => vec![path.as_str()],
        Some(Json::List(paths)) => paths.iter().filter_map(Json::as_text).collect(),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) | None => Vec::new(),
    }
}

/// A lease of the session, by its flow or by its name, or of the agent as a whole.
fn is_own(facts: &Facts<'_>, lease: &Lease) -> bool {
    let holder = lease.holder.as_str();
    [Some(facts.flow_id), facts.flow_name, Some(facts.request.proposal.agent.as_str())].contains(&Some(holder))
}

/// A path is named as the agent wrote it; the region it lies in is written without case.
fn findings_of(
    facts: &Facts<'_>,
    book: &LeaseBook,
    (path, region): (&str, Region),
    param: &str,
    findings: &mut Findings,
) {
    let Ok(holder) = Party::parse(facts.flow_id) else { return };
    // Writing disturbs those who share a region as much as the one who has it alone.
    let Ok(request) = Request::new(holder, Mode::Exclusive, [region.clone()], TTL_MIN) else { return };
    let Verdict::Held { by, more } = book.decide(&request, facts.at) else { return };
    let named: Vec<&Lease> = match more {
        false => by.iter().filter_map(|fence| book.lease(*fence)).collect(),
        // Only some are named, and those may all be the agent's own.
        true => {
            let overlaps = |lease: &&Lease| lease.regions.iter().any(|held| held.overlaps(&region));
            book.leases().filter(|lease| !lease.is_expired(facts.at)).filter(overlaps).collect()
        }
    };
    for lease in named.into_iter().filter(|lease| !is_own(facts, lease)).take(HOLDERS_SHOWN_MAX) {
        let finding = told(Finding::reject(Gate::Leases, Reason::RegionLeased), lease, path);
        findings.push(finding.field(param));
    }
}

fn told(finding: Finding, lease: &Lease, region: &str) -> Finding {
    finding
        .with("region", region)
        .with("holder", lease.holder.as_str())
        .with("fence", lease.fence.to_string())
        .with("until", lease.expires_at.to_string())
        .with("others", "")
}
