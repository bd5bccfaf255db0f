//! Sealing in the background, and what interrupts it: signers that fail, readers with gaps, logs that begin empty.

use crate::site::{Desk, Folder};
use adapters::signer_file::FileSigner;
use kernel::contract::Impact;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::keyring::Keyring;
use ledger::merkle::TreeHash;
use ledger::note::Note;
use ledger::publish::SignRefusal;
use runtime::ports::signer::{Signer, SignerFault, Stated};
use runtime::ports::store::{Place, Reader, StoreFault, StoredRecord};
use runtime::seal::{Seal, SealFault, append_declaration, demand_whole, tiles};
use runtime::sealing::{Sealing, Turn};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use values::time::Instant;

const LOG: &str = "log.example/default/0";
const WAIT: Duration = Duration::from_secs(60);

/// Runs dry once.
struct Failing {
    signer: FileSigner,
    fails: bool,
}

impl Signer for Failing {
    fn keyring(&self) -> &Keyring {
        self.signer.keyring()
    }

    fn from(&self) -> u64 {
        self.signer.from()
    }

    fn stated(&self) -> &Stated {
        self.signer.stated()
    }

    fn sign(&mut self, next: Checkpoint, proof: &[TreeHash]) -> Result<Note, SignerFault> {
        if std::mem::take(&mut self.fails) {
            return Err(SignerFault::NoRoom("no room".to_owned()));
        }
        self.signer.sign(next, proof)
    }
}

#[test]
fn a_signature_that_failed_is_made_at_the_next_turn() {
    let (folder, desk) = (Folder::new(), Desk::new());
    let signer = FileSigner::create(&folder.join("keys"), LOG).unwrap();
    let mut signer = Failing { signer, fails: false };
    let mut seal = Seal::of(0);
    let mut size = 2;
    for step in [3, 1, 7, 250, 13] {
        for fails in [false, true] {
            size += step;
            desk.fill(size);
            signer.fails = fails;
            let first = seal.checkpoint(desk.reader().as_mut(), &mut signer);
            assert_eq!(first.is_err(), fails, "{first:?}");
            // The tree was read further than what was signed; more has come since.
            size += 1;
            desk.fill(size);
            let note = seal.checkpoint(desk.reader().as_mut(), &mut signer).unwrap();
            assert_eq!((seal.size(), Checkpoint::parse(note.text()).unwrap().size()), (size, size));
        }
    }
}

/// Entries by themselves, as they are or with something wrong with them.
struct Rows {
    records: Vec<StoredRecord>,
    size: u64,
}

impl Reader for Rows {
    fn get(&mut self, _: &Entity) -> Result<Option<Row>, StoreFault> {
        Ok(None)
    }

    fn scan(&mut self, _: Kind, _: Option<&str>, _: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        Ok(Vec::new())
    }

    fn due(&mut self, _: Kind, _: Instant, _: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        Ok(Vec::new())
    }

    fn open_questions(&mut self, _: Impact, _: Place<'_>, _: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        Ok(Vec::new())
    }

    fn questions_of(&mut self, _: &str, _: Option<&str>, _: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        Ok(Vec::new())
    }

    fn due_questions_of(&mut self, _: &str, _: Instant, _: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        Ok(Vec::new())
    }

    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        Ok(self.records.iter().skip(from as usize).take(limit).cloned().collect())
    }

    fn size(&mut self) -> Result<u64, StoreFault> {
        Ok(self.size)
    }
}

fn rows(count: u64) -> Rows {
    let record = |index: u64| StoredRecord { index, leaf: format!("leaf {index}"), body: None };
    Rows { records: (0..count).map(record).collect(), size: count }
}

#[test]
fn a_log_may_begin_empty_and_a_gap_is_never_signed() {
    let folder = Folder::new();
    let mut signer = FileSigner::create(&folder.join("keys"), LOG).unwrap();
    let mut seal = Seal::of(0);
    for size in [0, 0, 1, 4, 4] {
        let note = seal.checkpoint(&mut rows(size), &mut signer).unwrap();
        assert_eq!(Checkpoint::parse(note.text()).unwrap().size(), size);
    }
    let corrupt = |found: Result<Note, SealFault>| {
        assert!(
            matches!(&found, Err(SealFault::Store(StoreFault::Corrupt(problem))) if problem.contains("gap")),
            "{found:?}"
        )
    };
    for broken in [
        // Fewer than it says, one twice, one with the number of another.
        Rows { size: 7, ..rows(6) },
        Rows {
            records: {
                let mut records = rows(6).records;
                records.insert(5, records[4].clone());
                records
            },
            size: 7,
        },
        Rows {
            records: {
                let mut records = rows(7).records;
                records[5].index = 9;
                records
            },
            size: 7,
        },
    ] {
        let mut broken = broken;
        corrupt(Seal::of(0).checkpoint(&mut broken, &mut signer));
        assert!(tiles(&mut broken, 0, 7, &mut |_| Ok(())).is_err());
    }
    assert_eq!(signer.stated().size(), 4);
    let unwritten = tiles(&mut rows(3), 0, 3, &mut |_| Err("full".to_owned()));
    assert_eq!(unwritten, Err(SealFault::Store(StoreFault::Unavailable("full".to_owned()))), "it may pass");
}

#[test]
fn a_log_without_its_own_declaration_is_not_whole() {
    let (folder, desk) = (Folder::new(), Desk::new());
    let mut signer = FileSigner::create(&folder.join("keys"), LOG).unwrap();
    desk.fill(5);
    let note = Seal::of(0).checkpoint(desk.reader().as_mut(), &mut signer).unwrap();
    let published = Checkpoint::parse(note.text()).unwrap();
    let declared =
        Discontinuity::declare("default", "log.example/default/1", &published, &published, "stolen").unwrap();
    let from = append_declaration(&mut desk.store.clone(), &declared).unwrap();
    let signer = signer.follow(&declared, from).unwrap();
    assert_eq!(demand_whole(&signer, &[], from + 1), Ok(()));
    let lost = Err(SealFault::Signer(SignerFault::Refused(SignRefusal::Below { published: 1, next: 0 })));
    for committed in [0, from - 1, from] {
        assert_eq!(demand_whole(&signer, &[], committed), lost, "{committed}");
    }
}

/// A turn that does what it is told, and says that it was taken.
fn told(mut outcomes: VecDeque<Result<bool, SealFault>>, taken: Sender<usize>) -> Turn {
    Box::new(move || {
        let outcome = outcomes.pop_front().unwrap_or(Ok(false));
        let _ = taken.send(outcomes.len());
        outcome
    })
}

fn heard(told: Sender<String>) -> runtime::sealing::Hearer {
    Box::new(move |fault| {
        let _ = told.send(fault.to_string());
    })
}

fn said(told: &Receiver<String>) -> Vec<String> {
    told.try_iter().collect()
}

#[test]
fn what_may_pass_is_tried_again_and_a_refusal_ends_it() {
    let store = SealFault::Store;
    let passing = [
        store(StoreFault::Unavailable("a".to_owned())),
        store(StoreFault::Conflict("b".to_owned())),
        store(StoreFault::Ambiguous("c".to_owned())),
        SealFault::Signer(SignerFault::Unavailable("d".to_owned())),
        SealFault::Signer(SignerFault::NoRoom("e".to_owned())),
    ];
    let lasting = [
        store(StoreFault::Refused("f".to_owned())),
        store(StoreFault::Corrupt("g".to_owned())),
        SealFault::Signer(SignerFault::Refused(SignRefusal::Extensions)),
        SealFault::NoEntry(1),
    ];
    for fault in passing {
        let (taken, turns) = channel();
        let (tells, ears) = channel();
        // Three times the same, once well, once again the same: said twice.
        let fails = || Err(fault.clone());
        let outcomes = VecDeque::from([fails(), fails(), fails(), Ok(true), fails(), Ok(true), Ok(true)]);
        let sealing = Sealing::beside(told(outcomes, taken), Duration::ZERO, heard(tells)).unwrap();
        while turns.recv_timeout(WAIT).unwrap() > 0 {}
        assert_eq!(sealing.stop(), Ok(3), "{fault}");
        assert_eq!(said(&ears), [fault.to_string(), fault.to_string()]);
    }
    for fault in lasting {
        let (taken, turns) = channel();
        let (tells, ears) = channel();
        let outcomes = VecDeque::from([Ok(true), Err(fault.clone()), Ok(true)]);
        let sealing = Sealing::beside(told(outcomes, taken), Duration::ZERO, heard(tells)).unwrap();
        let left: Vec<usize> = turns.iter().collect();
        assert_eq!(left, [2, 1], "nothing is tried after {fault}");
        assert_eq!((sealing.stop(), said(&ears)), (Err(fault.clone()), vec![fault.to_string()]));
    }
}

#[test]
fn a_sealer_ends_at_once_and_takes_one_more_turn() {
    let (taken, turns) = channel();
    let turn = told(VecDeque::from([Ok(false), Ok(true)]), taken);
    let sealing = Sealing::beside(turn, Duration::from_secs(3_600), Box::new(|_| {})).unwrap();
    turns.recv_timeout(WAIT).unwrap();
    // It would wait for an hour now.
    assert_eq!(sealing.stop(), Ok(1));
    assert_eq!(turns.iter().count(), 1);
    // What fails last is what is said in the end, whether it may pass or not.
    let fault = SealFault::Signer(SignerFault::NoRoom("full".to_owned()));
    let (taken, turns) = channel();
    let turn = told(VecDeque::from([Ok(false), Err(fault.clone())]), taken);
    let sealing = Sealing::beside(turn, Duration::from_secs(3_600), Box::new(|_| {})).unwrap();
    turns.recv_timeout(WAIT).unwrap();
    assert_eq!(sealing.stop(), Err(fault));
}

#[test]
fn keys_that_another_process_holds_are_left_to_it() {
    let folder = Folder::new();
    let held = FileSigner::create(&folder.join("keys"), LOG).unwrap();
    assert!(FileSigner::open_if_free(&folder.join("keys")).unwrap().is_none());
    drop(held);
    assert!(FileSigner::open_if_free(&folder.join("keys")).unwrap().is_some());
    // What a process that died left of a key is gone as soon as someone opens the folder.
    let left = folder.join("keys/.979563b0.key.4711");
    std::fs::write(&left, "half a secret").unwrap();
    drop(FileSigner::open(&folder.join("keys")).unwrap());
    assert!(!left.exists());
}
