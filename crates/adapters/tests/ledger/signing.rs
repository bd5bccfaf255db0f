//! The signer: never below what was stated, never beside it, never without remembering.

use crate::site::{Desk, Folder, exported};
use adapters::signer_file::FileSigner;
use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::publish::SignRefusal;
use runtime::ports::signer::{Signer, SignerFault};
use runtime::ports::store::{Store, StoreFault};
use runtime::seal::{Seal, SealFault, append_declaration, demand_whole, receipts, tiles};
use runtime::sealing::Sealing;
use runtime::verify::LineAudit;
use std::os::unix::fs::PermissionsExt;
use values::bugs::{self, Bug};

fn created(folder: &Folder) -> FileSigner {
    FileSigner::create(&folder.join("keys"), "log.example/default/0").unwrap()
}

fn sealed(desk: &Desk, signer: &mut FileSigner) -> Result<Checkpoint, SealFault> {
    let note = Seal::of(signer.from()).checkpoint(desk.reader().as_mut(), signer)?;
    Ok(Checkpoint::parse(note.text()).unwrap())
}

fn audited(bytes: &[u8]) -> Result<ledger::audit::Audited, ledger::audit::Damage> {
    let mut audit = LineAudit::Start;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        audit = audit.line(line)?;
    }
    audit.finish()
}

#[test]
fn a_log_grows_and_is_never_signed_below_or_beside() {
    let (folder, desk) = (Folder::new(), Desk::new());
    let mut signer = created(&folder);
    for size in [2, 5, 255, 256, 257, 600] {
        desk.fill(size);
        assert_eq!(sealed(&desk, &mut signer).unwrap().size(), size);
    }
    drop(signer);
    // The store comes back from a backup: smaller at first, then as large with another history.
    let restored = Desk::new();
    let mut signer = FileSigner::open(&folder.join("keys")).unwrap();
    restored.fill(500);
    let refused = |refusal| Err(SealFault::Signer(SignerFault::Refused(refusal)));
    assert_eq!(sealed(&restored, &mut signer), refused(SignRefusal::Below { published: 600, next: 500 }));
    restored.fill(600);
    assert_eq!(sealed(&restored, &mut signer), refused(SignRefusal::Beside { size: 600 }));
    restored.fill(700);
    let grown = sealed(&restored, &mut signer);
    assert!(matches!(grown, Err(SealFault::Signer(SignerFault::Refused(SignRefusal::NotContinued(_))))), "{grown:?}");
    desk.fill(700);
    assert_eq!(sealed(&desk, &mut signer).unwrap().size(), 700);
}

#[test]
fn one_sealer_over_many_batches_signs_the_same_as_one_that_reads_everything() {
    let (folder, desk) = (Folder::new(), Desk::new());
    let mut signer = created(&folder);
    let mut seal = Seal::of(0);
    for size in (2..700).step_by(37) {
        desk.fill(size);
        let note = seal.checkpoint(desk.reader().as_mut(), &mut signer).unwrap();
        assert_eq!(sealed(&desk, &mut signer).unwrap(), Checkpoint::parse(note.text()).unwrap());
    }
}

#[test]
fn lost_files_and_open_keys_stop_the_signer() {
    let (folder, desk) = (Folder::new(), Desk::new());
    let mut signer = created(&folder);
    sealed(&desk, &mut signer).unwrap();
    let key = signer.keyring().periods()[0].key.id();
    drop(signer);
    let path = folder.join("keys").join(format!("{key}.key"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let problem = FileSigner::open(&folder.join("keys")).err().unwrap().to_string();
    assert!(problem.contains("can be read by others"), "{problem}");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::remove_file(folder.join("keys/signed")).unwrap();
    assert!(FileSigner::open(&folder.join("keys")).is_err(), "what was signed last is not known");
    assert!(FileSigner::create(&folder.join("keys"), "log.example/default/0").is_err(), "nor may it start anew");
}

#[test]
fn keys_rotate_with_an_overlap() {
    let (folder, desk) = (Folder::new(), Desk::new());
    let mut signer = created(&folder);
    exported(&desk, &mut signer);
    let old = signer.keyring().periods()[0].key.id();
    let new = signer.introduce_key().unwrap().id();
    assert!(signer.retire_key(old).is_err(), "its successor has not signed beside it yet");
    desk.fill(300);
    audited(&exported(&desk, &mut signer)).unwrap();
    assert_eq!(signer.published().unwrap().last().unwrap().signatures().len(), 2);
    signer.retire_key(old).unwrap();
    drop(signer);
    let mut signer = FileSigner::open(&folder.join("keys")).unwrap();
    desk.fill(310);
    let audited = audited(&exported(&desk, &mut signer)).unwrap();
    assert_eq!((audited.checkpoints, audited.entries), (3, 310));
    let last = signer.published().unwrap().pop().unwrap();
    assert_eq!(last.signatures().iter().map(|line| line.id()).collect::<Vec<_>>(), [new]);
}

#[test]
fn a_declared_discontinuity_is_the_only_way_on() {
    let (folder, desk) = (Folder::new(), Desk::new());
    let mut signer = created(&folder);
    desk.fill(300);
    exported(&desk, &mut signer);
    let kept_note = signer.published().unwrap().pop().unwrap();
    let restored = Desk { store: desk.store.clone(), runtime: Desk::new().runtime };
    desk.fill(400);
    exported(&desk, &mut signer);
    drop(restored);
    // Entries 300 to 400 are lost: another store has only the first 300 rows.
    let lost = lose_tail(&desk, 300);
    assert!(sealed(&lost, &mut signer).is_err());
    let published = Checkpoint::parse(signer.published().unwrap().pop().unwrap().text()).unwrap();
    let kept = Checkpoint::parse(kept_note.text()).unwrap();
    let declared =
        Discontinuity::declare("default", "log.example/default/1", &published, &kept, "the disk died").unwrap();
    let from = append_declaration(&mut lost.store.clone(), &declared).unwrap();
    assert_eq!(from, 300);
    let mut signer = signer.follow(&declared, from).unwrap();
    let bytes = exported(&lost, &mut signer);
    let audited = audited(&bytes).unwrap();
    assert_eq!((audited.entries, audited.checkpoints), (301, 2));
    // The same export without the first log's larger checkpoint hides nothing; one with a smaller loss does.
    let lie = Discontinuity::declare("default", "log.example/default/1", &kept, &kept, "nothing happened").unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (honest, lying) = (String::from_utf8(declared.entry()).unwrap(), String::from_utf8(lie.entry()).unwrap());
    assert!(self::audited(text.replace(&honest, &lying).as_bytes()).is_err());
}

fn lose_tail(desk: &Desk, keep: u64) -> Desk {
    use runtime::memory::{ManualClock, MemoryStore};
    use runtime::ports::store::{BatchId, one_step};
    use values::sealed::Sealed;
    let at = values::time::Instant::parse("2026-03-01T09:00:00Z").unwrap();
    let mut store = MemoryStore::new(std::sync::Arc::new(ManualClock::at(at)));
    let records = desk.reader().records(0, keep as usize).unwrap();
    let sealed = |record: &runtime::ports::store::StoredRecord| {
        let (body, salt) = record.body.clone().unwrap();
        Sealed { leaf: record.leaf.clone(), body, salt }
    };
    let records: Vec<Sealed> = records.iter().map(sealed).collect();
    store.transact(BatchId(1), Vec::new(), &mut one_step(|_, _| records)).unwrap();
    let runtime = runtime::Runtime::start(Box::new(store.clone()), runtime::Options::default()).unwrap();
    Desk { store, runtime }
}

/// Seals beside the writer until nothing is left to seal; how many checkpoints that took, and the size of the last.
fn sealed_beside(desk: &Desk, folder: &Folder) -> (u64, u64) {
    let signer = FileSigner::open(&folder.join("keys")).unwrap();
    let signed = Sealing::start(desk.reader(), Box::new(signer)).unwrap().stop().unwrap();
    (signed, FileSigner::open(&folder.join("keys")).unwrap().stated().size())
}

#[test]
fn a_sealer_beside_the_writer_signs_what_is_new_and_only_that() {
    let (folder, desk) = (Folder::new(), Desk::new());
    drop(created(&folder));
    for size in [2, 3, 300] {
        desk.fill(size);
        assert_eq!(sealed_beside(&desk, &folder), (1, size));
        assert_eq!(sealed_beside(&desk, &folder), (0, size));
    }
    // The same in a log that does not start with the ledger.
    let mut signer = FileSigner::open(&folder.join("keys")).unwrap();
    exported(&desk, &mut signer);
    let published = Checkpoint::parse(signer.published().unwrap().pop().unwrap().text()).unwrap();
    let declared =
        Discontinuity::declare("default", "log.example/default/1", &published, &published, "stolen").unwrap();
    let from = append_declaration(&mut desk.store.clone(), &declared).unwrap();
    drop(signer.follow(&declared, from).unwrap());
    assert_eq!(sealed_beside(&desk, &folder), (1, 1));
    assert_eq!(sealed_beside(&desk, &folder), (0, 1));
    desk.fill(310);
    assert_eq!(sealed_beside(&desk, &folder), (1, 10));
}

#[test]
fn a_ledger_shorter_than_what_anyone_holds_is_not_whole() {
    let (folder, desk) = (Folder::new(), Desk::new());
    let mut signer = created(&folder);
    assert_eq!(demand_whole(&signer, &[], 0), Ok(()));
    desk.fill(5);
    sealed(&desk, &mut signer).unwrap();
    let seven = Checkpoint::new("log.example/default/0", 7, ledger::merkle::TreeHash::of_leaf(b"")).unwrap();
    for (published, committed, lost) in
        [(vec![], 5, None), (vec![], 4, Some((5, 4))), (vec![&seven], 7, None), (vec![&seven], 6, Some((7, 6)))]
    {
        let expected = match lost {
            Some((published, next)) => {
                Err(SealFault::Signer(SignerFault::Refused(SignRefusal::Below { published, next })))
            }
            None => Ok(()),
        };
        assert_eq!(demand_whole(&signer, &published, committed), expected, "{committed}");
    }
}

#[test]
fn why_nothing_was_sealed_is_said() {
    let away = StoreFault::Unavailable("away".to_owned());
    let below = SignerFault::Refused(SignRefusal::Below { published: 7, next: 6 });
    for (fault, expected) in [
        (SealFault::Store(away.clone()), away.to_string()),
        (SealFault::Signer(below.clone()), below.to_string()),
        (SealFault::NoEntry(9), "the sealed ledger has no entry 9".to_owned()),
    ] {
        assert_eq!(fault.to_string(), expected);
    }
}

/// A commit that is announced and then does not happen must not be in any signed tree.
fn a_lost_commit_leaves_no_trace() -> Result<(), SealFault> {
    let (folder, desk) = (Folder::new(), Desk::new());
    let mut signer = created(&folder);
    let mut seal = Seal::of(0);
    desk.fill(10);
    seal.announce(["a decision whose commit is lost".to_owned()]);
    seal.checkpoint(desk.reader().as_mut(), &mut signer)?;
    desk.fill(20);
    // After a restart: only the store and the signer know what was.
    Seal::of(0).checkpoint(desk.reader().as_mut(), &mut signer)?;
    Ok(())
}

#[test]
fn nothing_is_signed_before_it_is_committed() {
    a_lost_commit_leaves_no_trace().unwrap();
    let noticed = bugs::with(Bug::SignBeforeCommit, a_lost_commit_leaves_no_trace);
    assert!(noticed.is_err(), "signing before the commit must be noticed");
}

#[test]
fn receipts_prove_their_entries() {
    let (folder, desk) = (Folder::new(), Desk::new());
    let mut signer = created(&folder);
    desk.fill(700);
    let note = Seal::of(0).checkpoint(desk.reader().as_mut(), &mut signer).unwrap();
    let indices = [0, 1, 255, 256, 511, 699];
    let made = receipts(desk.reader().as_mut(), 0, signer.keyring(), &note, &alone(&indices)).unwrap();
    for (receipt, index) in made.iter().zip(indices) {
        assert_eq!(receipt.index(), index);
        let policy = signer.keyring().policy_at(700, Vec::new(), 0).unwrap();
        let (_, carried) = receipt.verify_carried(&policy).unwrap();
        assert_eq!(carried.leaf, desk.reader().records(index, 1).unwrap()[0].leaf);
    }
    let beyond = receipts(desk.reader().as_mut(), 0, signer.keyring(), &note, &alone(&[700]));
    assert_eq!(beyond, Err(SealFault::NoEntry(700)));
}

#[test]
fn tiles_are_a_function_of_rows() {
    let desk = Desk::new();
    desk.fill(600);
    let published = || {
        let mut all = Vec::new();
        tiles(desk.reader().as_mut(), 0, 600, &mut |tile| {
            all.push((tile.path.to_string(), tile.bytes.clone()));
            Ok(())
        })
        .unwrap();
        all
    };
    assert_eq!(published(), published());
    let names: Vec<String> = published().into_iter().map(|(name, _)| name).collect();
    let expected = [
        "tile/entries/000",
        "tile/0/000",
        "tile/entries/001",
        "tile/0/001",
        "tile/entries/002.p/88",
        "tile/0/002.p/88",
        "tile/1/000.p/2",
    ];
    assert_eq!(names, expected);
}

#[test]
fn half_a_store_is_never_erased() {
    let mut desk = Desk::new();
    desk.fill(10);
    assert_eq!(desk.store.erase(3, 5).unwrap(), 2);
    assert_eq!(desk.store.erase(3, 5).unwrap(), 0, "again there is nothing to erase");
    let bodies: Vec<bool> = desk.reader().records(0, 10).unwrap().iter().map(|record| record.body.is_some()).collect();
    assert_eq!(bodies.iter().filter(|there| !**there).count(), 2);
}

fn alone(indices: &[u64]) -> Vec<runtime::seal::Wanted> {
    indices.iter().map(|entry| runtime::seal::Wanted { entry: *entry, companions: Vec::new() }).collect()
}
