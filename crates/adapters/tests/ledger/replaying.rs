//! Replay of an export: the same bytes, from memory or from a file, and a difference is damage with its index.

use crate::site::{Desk, Folder, exported};
use adapters::signer_file::FileSigner;
use adapters::spilled_rows::SpilledRows;
use kernel::agent::Actor;
use kernel::change::Act;
use kernel::intent::IntentEvent;
use ledger::audit::{Damage, Place};
use ledger::export::Exported;
use runtime::ports::store::StoredRecord;
use runtime::replay::rows::{MemoryRows, Rows};
use runtime::verify::{Completeness, Verify};
use values::sealed::Sealed;

fn verified(records: &[StoredRecord], rows: Box<dyn Rows>) -> Result<Completeness, Damage> {
    let mut verify = Verify::new(rows).unwrap();
    for record in records {
        let body = record.body.as_ref().map(|(body, salt)| (body.as_str(), *salt));
        if let Some(damage) = verify.entry(&Exported { leaf: &record.leaf, body }).unwrap() {
            return Err(damage);
        }
    }
    Ok(verify.finish().unwrap())
}

fn records(desk: &Desk) -> Vec<StoredRecord> {
    desk.reader().records(0, 100_000).unwrap()
}

#[test]
fn decisions_are_made_again_wherever_rows_are_kept() {
    let desk = Desk::new();
    desk.fill(400);
    let records = records(&desk);
    let in_memory = verified(&records, Box::new(MemoryRows::default())).unwrap();
    assert_eq!((in_memory.replayed.same, in_memory.replayed.decisions), (400, 398));
    assert!(in_memory.is_complete(), "{in_memory:?}");
    for most in [16, 100] {
        assert_eq!(verified(&records, Box::new(SpilledRows::holding(most))).unwrap(), in_memory, "{most} rows held");
    }
}

#[test]
fn a_verdict_that_was_changed_together_with_its_digest_is_found_by_deciding_again() {
    let desk = Desk::new();
    desk.fill(60);
    let mut records = records(&desk);
    let index = 14;
    let (body, salt) = records[index].body.clone().unwrap();
    assert!(body.contains(r#""verdict":"REJECT""#), "{body}");
    let forged = body.replace(r#""verdict":"REJECT""#, r#""verdict":"ACCEPT""#);
    let digest = Sealed::digest(&salt, &forged);
    let leaf = records[index].leaf.replace(&Sealed::digest(&salt, &body).to_string(), &digest.to_string());
    assert_ne!(leaf, records[index].leaf);
    records[index] = StoredRecord { index: index as u64, leaf, body: Some((forged, salt)) };
    let damage = verified(&records, Box::new(MemoryRows::default())).unwrap_err();
    assert_eq!(damage.place, Place::Entry(index as u64));
}

#[test]
fn what_is_left_open_is_named() {
    let mut desk = Desk::new();
    desk.fill(4);
    let operator = || Actor::Operator("ann".to_owned());
    let settle = |intent: &str, event| Act::Settle { intent: intent.to_owned(), event, result: None };
    let accepted = desk.propose(100).wait();
    let intent = accepted.answer.intent.unwrap().id().to_owned();
    assert!(desk.runtime.change(operator(), settle(&intent, IntentEvent::Doubt)).wait().at.is_some());
    assert!(desk.runtime.change(operator(), settle("nobody-accepted-this", IntentEvent::Succeed)).wait().at.is_some());
    runtime::ports::store::Store::erase(&mut desk.store, 3, 4).unwrap();
    let found = verified(&records(&desk), Box::new(MemoryRows::default())).unwrap();
    assert!(!found.is_complete());
    assert_eq!((found.in_doubt, found.never_accepted, found.gone, found.replayed.erased), (1, 1, 1, 1), "{found:?}");
}

#[test]
fn an_export_of_no_decisions_is_an_export() {
    let (desk, folder) = (Desk::new(), Folder::new());
    let mut signer = FileSigner::create(&folder.join("keys"), "log.example/few/0").unwrap();
    assert!(exported(&desk, &mut signer).starts_with(b"{\"format\":\"writkeeper.export/v1\""));
}
