//! Exports of a ledger, line by line: whole ones are accepted for what they are, and each single thing that is wrong is
//! named with its place.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use ledger::audit::{Audit, Damage};
use ledger::bundle::ENTRY_BYTES_MAX;
use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::export::{
    CHECKPOINTS_MAX, Exported, Header, LOGS_MAX, LogHead, body_line, entry_line, read_body_line, read_entry_line,
    read_tile_line, tile_line,
};
use ledger::keyring::Keyring;
use ledger::keys::NoteSigner;
use ledger::merkle::{Frontier, TreeHash};
use ledger::note::Note;
use std::fmt::Write as _;
use values::sealed::Sealed;

const SALT: [u8; 16] = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\xf0\xe1\xd2\xc3\xb4\xa5\x96\x87";
const TILE: usize = 256;

/// A leaf and its body.
type Entry = (String, Option<String>);

/// An export as it will be written.
#[derive(Clone)]
struct Export {
    logs: Vec<LogHead>,
    size: u64,
    entries: Vec<Entry>,
    /// The hashes of its tiles, where they are not those of its leaves.
    hashed: Option<Vec<Entry>>,
}

fn signer(log: usize) -> NoteSigner {
    NoteSigner::new(&format!("log.example/{log}"), &[log as u8 + 1; 32]).unwrap()
}

/// The entry of a second.
fn entry(second: usize) -> Entry {
    let body = format!("{{\"second\":{second}}}");
    let at = format!("2026-01-01T00:{:02}:{:02}Z", second / 60, second % 60);
    (format!("{{\"at\":\"{at}\",\"body\":\"{}\"}}", Sealed::digest(&SALT, &body)), Some(body))
}

fn head(log: usize, leaves: &[Entry]) -> Checkpoint {
    let mut frontier = Frontier::default();
    for (leaf, _) in leaves {
        frontier.append(TreeHash::of_leaf(leaf.as_bytes())).unwrap();
    }
    Checkpoint::new(&format!("log.example/{log}"), leaves.len() as u64, frontier.root()).unwrap()
}

fn signed(log: usize, leaves: &[Entry]) -> Note {
    Note::sign(&head(log, leaves).to_string(), &[&signer(log)]).unwrap()
}

/// A log with checkpoints over the first so many of its entries.
fn log(number: usize, from: u64, entries: &[Entry], sizes: &[usize]) -> LogHead {
    let checkpoints = sizes.iter().map(|size| signed(number, &entries[..*size])).collect();
    LogHead { keyring: Keyring::new(signer(number).verifier()).unwrap(), from, checkpoints }
}

/// One log over two tiles, with two entries that nobody signed.
fn one() -> Export {
    let entries: Vec<Entry> = (0..TILE + 4).map(entry).collect();
    let logs = vec![log(0, 0, &entries, &[2, TILE, TILE + 2])];
    Export { logs, size: entries.len() as u64, entries, hashed: None }
}

/// A log of which three of five signed entries are left, and the one that follows it.
fn two() -> Export {
    let before: Vec<Entry> = (0..5).map(entry).collect();
    let mut entries = before[..3].to_vec();
    entries.push(declaration(&head(0, &before), &head(0, &before[..3])));
    entries.extend((5..8).map(entry));
    let logs = vec![log(0, 0, &before, &[2, 5]), log(1, 3, &entries[3..], &[1, 4])];
    Export { logs, size: entries.len() as u64, entries, hashed: None }
}

fn declaration(published: &Checkpoint, kept: &Checkpoint) -> Entry {
    let declared = Discontinuity::declare("default", "log.example/1", published, kept, "disk").unwrap();
    let text = String::from_utf8(declared.entry()).unwrap();
    (text.clone(), Some(text))
}

impl Export {
    fn lines(&self) -> Vec<Vec<u8>> {
        let header = Header { logs: self.logs.clone(), size: self.size };
        let mut text = header.to_lines();
        let mut start = 0;
        for number in 0..self.logs.len() {
            let end = self.logs.get(number + 1).map_or(self.entries.len(), |next| next.from as usize);
            while start < end {
                let run = start..end.min(start + TILE);
                let hashed = &self.hashed.as_ref().unwrap_or(&self.entries)[run.clone()];
                let hashes: Vec<TreeHash> = hashed.iter().map(|(leaf, _)| TreeHash::of_leaf(leaf.as_bytes())).collect();
                text += &tile_line(start as u64, &hashes);
                for (index, (leaf, body)) in run.clone().zip(&self.entries[run.clone()]) {
                    let body = body.as_ref().map(|body| (body.as_str(), SALT));
                    text += &entry_line(index as u64, &Exported { leaf, body });
                }
                start = run.end;
            }
        }
        text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect()
    }

    /// As it is written, with another entry at a place.
    fn with(mut self, index: usize, entry: Entry) -> Export {
        self.entries[index] = entry;
        self
    }

    #[track_caller]
    fn check(&self, expected: &str) {
        check_lines(&self.lines(), expected);
    }
}

fn audited(lines: &[Vec<u8>]) -> Result<String, Damage> {
    let mut audit = Audit::begin(Header::read(&lines[0], &lines[1])?)?;
    let mut logs = String::new();
    for line in &lines[2..] {
        match audit.wants_hashes() {
            Some(count) => audit.hashes(read_tile_line(line, audit.next(), usize::from(count))?),
            None => {
                write!(logs, "{}", audit.log()).unwrap();
                audit.entry(&read_entry_line(line, audit.next())?)?;
            }
        }
    }
    let all = audit.finish()?;
    assert_eq!((audit.wants_hashes(), audit.log() + 1), (None, audit.header().logs.len()), "nothing comes any more");
    assert_eq!(audit.header().size, all.entries);
    assert_eq!(logs.len() as u64, all.entries);
    let last = all.last.map_or(0, |last| last.size());
    let second = logs.bytes().filter(|log| *log == b'1').count();
    let (entries, checkpoints) = (all.entries, all.checkpoints);
    Ok(format!(
        "{entries}, {second} in the second, {} erased, {checkpoints} up to {last}, {} not",
        all.erased, all.unsigned
    ))
}

#[track_caller]
fn check_lines(lines: &[Vec<u8>], expected: &str) {
    let said = audited(lines).unwrap_or_else(|damage| damage.to_string());
    assert_eq!(said, expected);
}

#[test]
fn whole_exports_are_accepted_for_what_they_are() {
    one().check("260, 0 in the second, 0 erased, 3 up to 258, 2 not");
    let erased = one().entries[7].0.clone();
    one().with(7, (erased, None)).check("260, 0 in the second, 1 erased, 3 up to 258, 2 not");
    two().check("7, 4 in the second, 0 erased, 3 up to 4, 0 not");
    let mut tile = one();
    tile.entries.truncate(TILE);
    tile.size = TILE as u64;
    tile.logs = vec![log(0, 0, &tile.entries, &[TILE])];
    tile.check("256, 0 in the second, 0 erased, 1 up to 256, 0 not");
    let nothing = Export { logs: vec![log(0, 0, &[], &[])], size: 0, entries: Vec::new(), hashed: None };
    nothing.check("0, 0 in the second, 0 erased, 0 up to 0, 0 not");
    // Nothing was lost and the old log merely ends; nothing but the declaration follows.
    let mut ended = two();
    let before = ended.entries[..3].to_vec();
    ended.entries.truncate(4);
    ended.entries[3] = declaration(&head(0, &before), &head(0, &before));
    ended.size = 4;
    ended.logs = vec![log(0, 0, &before, &[3]), log(1, 3, &ended.entries[3..], &[])];
    ended.check("4, 1 in the second, 0 erased, 1 up to 0, 1 not");
}

#[test]
fn every_entry_is_the_one_that_was_recorded() {
    let leaf = |text: &str| (text.to_owned(), Some(String::new()));
    let second = |second: usize| entry(second);
    let other = (entry(9).0, entry(8).1);
    one().with(9, other).check("entry 9: its body does not have the digest that its leaf states");
    one().with(9, leaf("{")).check("entry 9: its leaf is not JSON");
    one().with(9, leaf("{}")).check("entry 9: its leaf has no instant");
    one().with(9, second(7)).check("entry 9: it is older than the one before it");
    let hashed = Some(one().entries);
    Export { hashed, ..one().with(9, second(10)) }
        .check("entry 9: its leaf does not have the hash that stands in its tile");
    let long = format!("{{\"at\":\"2026-01-01T00:00:09Z\",\"long\":\"{}\"}}", "x".repeat(ENTRY_BYTES_MAX));
    one().with(9, leaf(&long)).check("entry 9: its leaf is longer than an entry may be");
    let (short, _) = entry(9);
    let padded = short.replacen('{', &format!("{{\"a\":\"{}\",", "x".repeat(ENTRY_BYTES_MAX - short.len() - 7)), 1);
    assert_eq!(padded.len(), ENTRY_BYTES_MAX);
    one().with(9, (padded, None)).check("entries below 256: they do not lead to the root that was signed");
    // Entries of one batch have one instant, and what nobody signed yet may be anything.
    one().with(259, second(258)).check("260, 0 in the second, 0 erased, 3 up to 258, 2 not");
}

#[test]
fn entries_lead_to_every_root_that_was_signed() {
    one().with(1, entry(0)).check("entries below 2: they do not lead to the root that was signed");
    one().with(9, entry(8)).check("entries below 256: they do not lead to the root that was signed");
    one().with(257, entry(256)).check("entries below 258: they do not lead to the root that was signed");
    let lines = one().lines();
    check_lines(&lines[..lines.len() - 3], "entry 257: it is missing: 260 entries were exported");
    let mut short = one();
    short.entries.truncate(257);
    short.size = 257;
    short.check("entry 257: it is missing: 258 entries were signed");
    let mut lines = one().lines();
    lines.push(entry_line(260, &Exported { leaf: "{}", body: None }).into_bytes());
    check_lines(&lines, "entry 260: it stands behind the last one");
}

#[test]
fn checkpoints_are_signed_and_in_order() {
    let mut foreign = one();
    foreign.logs[0].checkpoints = vec![signed(1, &foreign.entries[..2])];
    foreign.check("checkpoint 2: no signature is of a known key");
    let mut twice = one();
    twice.logs = vec![log(0, 0, &twice.entries, &[2, 2])];
    twice.check("checkpoint 2: checkpoints are not in order");
    let mut back = one();
    back.logs = vec![log(0, 0, &back.entries, &[3, 2])];
    back.check("checkpoint 2: checkpoints are not in order");
    let mut rotated = one();
    let second = NoteSigner::new("log.example/0", &[9; 32]).unwrap();
    rotated.logs[0].keyring.introduce(second.verifier(), &head(0, &rotated.entries[..2])).unwrap();
    rotated.check(&format!("checkpoint 256: the key {} has to sign and did not", second.verifier().id()));
}

#[test]
fn a_log_that_follows_another_says_what_was_lost() {
    let other = "entry 3: the declaration that starts this log is of another one";
    let before: Vec<Entry> = (0..5).map(entry).collect();
    let published = head(0, &before);
    let with = |declaration: Entry, sizes: &[usize]| {
        let mut export = two().with(3, declaration);
        export.logs = vec![log(0, 0, &before, sizes), log(1, 3, &export.entries[3..], &[4])];
        export
    };
    let whole = "7, 4 in the second, 0 erased, 2 up to 4, 0 not";
    with(declaration(&published, &head(0, &before[..3])), &[2]).check(whole);
    // Two of three rows belong to what was signed last; the third was written after the loss.
    with(declaration(&published, &head(0, &before[..2])), &[2]).check(whole);
    with(declaration(&published, &head(0, &before[..0])), &[2]).check(whole);
    with(declaration(&published, &head(0, &before[..1])), &[2]).check(other);
    with(declaration(&published, &head(0, &before[..4])), &[2, 4]).check(other);
    let beside = head(0, &[entry(0), entry(2)]);
    with(declaration(&published, &beside), &[2]).check(other);
    let three = [entry(0), entry(2), entry(3)];
    with(declaration(&published, &head(0, &three)), &[2]).check(other);
    // Even if that is what was signed: the rows that are left are not those.
    let mut rewritten = two().with(3, declaration(&published, &head(0, &three)));
    rewritten.logs = vec![log(0, 0, &three, &[3]), log(1, 3, &rewritten.entries[3..], &[4])];
    rewritten.check(other);
    with(declaration(&head(0, &before[..4]), &head(0, &before[..3])), &[2, 5])
        .check("entry 3: 5 entries were signed before it, and it does not say so");
    with(entry(3), &[2])
        .check("entry 3: a log starts here without a declaration: the entry does not declare a discontinuity");
    with(declaration(&head(2, &before), &head(2, &before[..3])), &[2]).check(other);
    let mut renamed = two();
    renamed.logs[1] = log(2, 3, &renamed.entries[3..], &[]);
    renamed.check(other);
    // What the old log signed and lost is not proved by what was written since; what the last one signed is.
    let mut written = two().with(1, entry(0));
    let kept = declaration(&published, &head(0, &written.entries[..3]));
    written.entries[3] = kept;
    written.logs[1] = log(1, 3, &written.entries[3..], &[4]);
    written.check("7, 4 in the second, 0 erased, 1 up to 4, 0 not");
    two().with(6, entry(6)).check("entries below 7: they do not lead to the root that was signed");
}

#[test]
fn a_header_is_read_as_it_was_written() {
    let check = |export: &Export, is_read: bool| {
        let text = Header { logs: export.logs.clone(), size: export.size }.to_lines();
        let (first, second) = text.split_at(text.find('\n').unwrap() + 1);
        let read = Header::read(first.as_bytes(), second.as_bytes());
        let damage = "header: the first line is no header of an export";
        assert_eq!(
            read.map(|read| read.logs == export.logs).map_err(|damage| damage.to_string()),
            match is_read {
                true => Ok(true),
                false => Err(damage.to_owned()),
            }
        );
    };
    let empty = |from: u64| LogHead { from, ..log(0, 0, &[], &[]) };
    let logs =
        |froms: &[u64]| Export { logs: froms.iter().map(|from| empty(*from)).collect(), entries: Vec::new(), ..two() };
    let many: Vec<u64> = (0..LOGS_MAX as u64 + 1).collect();
    for (froms, is_read) in
        [(&[0_u64, 7] as &[u64], true), (&[0, 8], false), (&[1], false), (&[], false), (&[0, 3, 3], false)]
    {
        check(&logs(froms), is_read);
    }
    check(&Export { size: 99, ..logs(&many[..LOGS_MAX]) }, true);
    check(&Export { size: 99, ..logs(&many) }, false);
    let mut notes = two();
    let note = notes.logs[0].checkpoints[0].clone();
    notes.logs[0].checkpoints = vec![note.clone(); CHECKPOINTS_MAX];
    check(&notes, true);
    notes.logs[0].checkpoints.push(note);
    check(&notes, false);
    let lines = one().lines();
    for (first, second, problem) in [
        (&lines[0][1..], lines[1].as_slice(), "the first line does not have the digest of the second"),
        (&lines[0][..9], lines[1].as_slice(), "the first line is cut off"),
        (lines[0].as_slice(), &lines[1][..64], "the digest cannot be read"),
    ] {
        assert_eq!(Header::read(first, second).unwrap_err().to_string(), format!("header: {problem}"));
    }
}

#[test]
fn a_line_of_hashes_names_the_entry_whose_hash_is_wrong() {
    let hashes: Vec<TreeHash> = [b"a", b"b", b"c"].iter().map(|leaf| TreeHash::of_leaf(*leaf)).collect();
    let line = tile_line(256, &hashes);
    assert_eq!(read_tile_line(line.as_bytes(), 256, 3).unwrap(), hashes);
    let second = format!(" {} ", hashes[1]);
    let (cut, unread) = ("entry 256: the line of hashes cannot be read", "its hash cannot be read");
    let missing = "its hash is missing";
    for (text, first, count, expected) in [
        (line.clone(), 0, 3, cut.to_owned()),
        (line.replace("tile", "till"), 256, 3, cut.to_owned()),
        (line.replace('\t', " "), 256, 3, cut.to_owned()),
        (line.replace(&second, " - "), 256, 3, format!("entry 257: {unread}")),
        (line.replace(&second, " "), 256, 3, format!("entry 258: {missing}")),
        (line.clone(), 256, 4, format!("entry 259: {missing}")),
        (line.clone(), 256, 2, format!("entry 257: {unread}")),
        (line.clone(), 256, 1, format!("entry 256: {unread}")),
        (line.trim_end().to_owned(), 256, 3, "entry 258: the line of hashes is cut off".to_owned()),
    ] {
        let found = read_tile_line(text.as_bytes(), first, count).unwrap_err().to_string();
        assert_eq!(found.replace("entry 0:", "entry 256:"), expected, "{text}");
    }
    let mut bytes = line.clone().into_bytes();
    let place = line.find(&second).unwrap() + 2;
    bytes[place] = 0xff;
    assert_eq!(read_tile_line(&bytes, 256, 3).unwrap_err().to_string(), "entry 257: its hash is not text");
}

#[test]
fn lines_of_entries_and_bodies_are_read_as_they_were_written() {
    let entry = Exported { leaf: "{}", body: Some(("[]", SALT)) };
    let line = entry_line(7, &entry);
    assert_eq!(line, "entry\t7\t{}\t0123456789abcdeff0e1d2c3b4a59687\t[]\n");
    let erased = Exported { leaf: "{}", body: None };
    for entry in [entry, erased, Exported { leaf: "", body: Some(("-", SALT)) }] {
        assert_eq!(read_entry_line(entry_line(7, &entry).as_bytes(), 7), Ok(entry));
        assert_eq!(read_body_line(body_line(7, entry.body).as_bytes(), 7), Ok(entry.body));
    }
    let salt = "its salt cannot be read";
    for (from, to, problem) in [
        ("entry", "entree", "its line does not start as the line of an entry"),
        ("\t7\t", "\t8\t", "another entry stands in its place"),
        ("\t7\t", "\t07\t", "another entry stands in its place"),
        ("\n", "", "its line is cut off or is not text"),
        ("\n", "\t\n", "its line does not have five fields"),
        ("\t[]", "", "its line does not have five fields"),
        ("0123456789abcdeff0e1d2c3b4a59687", "-", salt),
        ("0123456789abcdeff0e1d2c3b4a59687", "0123456789ABcdeff0e1d2c3b4a59687", salt),
        ("0123456789abcdeff0e1d2c3b4a59687", "0123456789abcdeff0e1d2c3b4a596", salt),
        ("0123456789abcdeff0e1d2c3b4a59687", "0123456789abcdeff0e1d2c3b4a596870", salt),
    ] {
        let damaged = line.replacen(from, to, 1);
        let said = read_entry_line(damaged.as_bytes(), 7).unwrap_err().to_string();
        assert_eq!(said, format!("entry 7: {problem}"), "{damaged:?}");
    }
    let line = body_line(7, Some(("[]", SALT)));
    for (from, to, problem) in [
        ("7\t", "8\t", "the body of another entry stands in its place"),
        ("\n", "", "its body is cut off or is not text"),
        ("\n", "\t\n", "the line of its body does not have three fields"),
        ("[]", "-", ""),
        ("0123456789abcdeff0e1d2c3b4a59687", "-", salt),
    ] {
        let changed = line.replacen(from, to, 1);
        let said = read_body_line(changed.as_bytes(), 7).map_err(|damage| damage.to_string());
        match problem {
            // A body may be a dash; it is erased only if its salt is gone too.
            "" => assert_eq!(said, Ok(Some(("-", SALT)))),
            problem => assert_eq!(said, Err(format!("entry 7: {problem}"))),
        }
    }
}
