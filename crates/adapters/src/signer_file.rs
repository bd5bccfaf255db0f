//! A signer in a folder of its own, apart from the store: private keys, the keyring, and what was signed last.
//!
//! ```text
//! keyring            the public keys, from which size to which
//! KEYID.key          a private key, readable by its owner only
//! signed             what was stated last; it is there from the first key on, so that a lost one is noticed
//! last               the hash of the last entry that was signed
//! checkpoint         the newest one, for whoever wants to copy it
//! checkpoints/SIZE   checkpoints that were published on request
//! keyring.next       the keyring of a log that is about to follow this one
//! earlier/N/         the keyring and checkpoints of a log that a discontinuity ended
//! ```

mod published;

pub use published::Published;

use crate::durable_file::{private_folder, random_seed, remove_leftovers, replace};
use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::keyring::Keyring;
use ledger::keys::{KeyId, NoteSigner, VerifierKey};
use ledger::merkle::TreeHash;
use ledger::note::Note;
use ledger::publish::{History, may_sign};
use runtime::crash::around;
use runtime::ports::signer::{Signer, SignerFault, Stated};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first line of `signed`.
const FORMAT: &str = "writkeeper/signer/v1";

/// The keyring of a log that is about to follow.
const NEXT_KEYRING: &str = "keyring.next";

/// The hash of the last entry that was signed.
const LAST_ENTRY: &str = "last";

/// Largest file that is read here.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A signer whose keys lie in files.
pub struct FileSigner {
    folder: PathBuf,
    keyring: Keyring,
    secrets: Vec<NoteSigner>,
    stated: Stated,
    from: u64,
    /// Held as long as the signer lives: two of them could sign two histories.
    _lock: File,
}

impl FileSigner {
    /// Whether there is a signer in a folder. The keyring is made last: without one nothing was ever signed, unless
    /// `signed` says otherwise, and then the keyring was lost.
    pub fn is_at(folder: &Path) -> bool {
        let stated = std::fs::read_to_string(folder.join("signed")).ok();
        let has_stated = stated.is_some_and(|text| !matches!(parse_signed(&text), Some((_, Stated::Nothing))));
        folder.join("keyring").exists() || has_stated
    }

    /// Makes a new log with its first key.
    pub fn create(folder: &Path, origin: &str) -> Result<FileSigner, SignerFault> {
        private_folder(folder).map_err(|error| unavailable(folder, error))?;
        let lock = lock(folder)?;
        if FileSigner::is_at(folder) {
            return Err(SignerFault::Unavailable(format!("`{}` holds the keys of a log already", folder.display())));
        }
        let secret = fresh_key(origin)?;
        let keyring =
            Keyring::new(secret.verifier()).map_err(|problem| SignerFault::Unavailable(problem.to_string()))?;
        let (folder, secrets, stated) = (folder.to_path_buf(), vec![secret], Stated::Nothing);
        let signer = FileSigner { folder, keyring, secrets, stated, from: 0, _lock: lock };
        signer.keep_secrets()?;
        signer.keep_stated(&Stated::Nothing)?;
        signer.keep_keyring(&signer.keyring)?;
        Ok(signer)
    }

    /// Makes a log that follows others whose keys are lost; what is known of them is kept as of any log that ended.
    pub fn create_after(
        folder: &Path,
        declared: &Discontinuity,
        from: u64,
        ended: &[(u64, Keyring)],
    ) -> Result<FileSigner, SignerFault> {
        private_folder(folder).map_err(|error| unavailable(folder, error))?;
        let lock = lock(folder)?;
        if FileSigner::is_at(folder) {
            return Err(SignerFault::Unavailable(format!("`{}` holds the keys of a log already", folder.display())));
        }
        for (number, (start, keyring)) in ended.iter().enumerate() {
            let place = earlier_place(folder, number)?;
            write(&place.join("from"), start.to_string().as_bytes(), 0o600)?;
            write(&place.join("keyring"), keyring.to_string().as_bytes(), 0o644)?;
        }
        let secret = fresh_key(declared.origin())?;
        let keyring =
            Keyring::new(secret.verifier()).map_err(|problem| SignerFault::Unavailable(problem.to_string()))?;
        let (folder, secrets, stated) = (folder.to_path_buf(), vec![secret], Stated::Declared(declared.clone()));
        let next = FileSigner { folder, keyring, secrets, stated, from, _lock: lock };
        next.put_in_force()?;
        Ok(next)
    }

    /// Opens the signer in a folder. A missing file is a reason to stop, never to start anew.
    pub fn open(folder: &Path) -> Result<FileSigner, SignerFault> {
        FileSigner::locked(folder, lock(folder)?)
    }

    /// The same, or nothing while another process holds it.
    pub fn open_if_free(folder: &Path) -> Result<Option<FileSigner>, SignerFault> {
        let (path, file) = lock_file(folder)?;
        match file.try_lock() {
            Ok(()) => FileSigner::locked(folder, file).map(Some),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unavailable(&path, error)),
        }
    }

    fn locked(folder: &Path, lock: File) -> Result<FileSigner, SignerFault> {
        // Whoever died while writing left a part of a file, perhaps of a private key. Nobody else writes here now.
        remove_leftovers(folder);
        let damaged = |name: &str, problem: &str| {
            SignerFault::Unavailable(format!("`{}` {problem}", folder.join(name).display()))
        };
        let keyring = || {
            let keyring = Keyring::parse(&read(&folder.join("keyring"))?);
            keyring.map_err(|problem| damaged("keyring", &problem.to_string()))
        };
        let (from, stated) = parse_signed(&read(&folder.join("signed"))?)
            .ok_or_else(|| damaged("signed", "cannot be read: what was signed last is not known"))?;
        let kept = keyring();
        let is_next = |declared: &Discontinuity| kept.as_ref().map_or(true, |kept| declared.origin() != kept.origin());
        let keyring = match &stated {
            Stated::Declared(declared) if is_next(declared) => {
                put_next_keyring_in_force(folder)?;
                keyring()?
            }
            Stated::Declared(_) | Stated::Nothing | Stated::Signed(_) => kept?,
        };
        let mut secrets = Vec::new();
        for period in keyring.periods().iter().filter(|period| period.last.is_none()) {
            secrets.push(secret(folder, &period.key)?);
        }
        Ok(FileSigner { folder: folder.to_path_buf(), keyring, secrets, stated, from, _lock: lock })
    }

    /// Lets a new key sign beside those in use, from the next size on.
    pub fn introduce_key(&mut self) -> Result<VerifierKey, SignerFault> {
        let key = fresh_key(self.keyring.origin())?;
        let last = match &self.stated {
            Stated::Signed(note) => Checkpoint::parse(note.text()).ok(),
            Stated::Nothing | Stated::Declared(_) => None,
        };
        let Some(last) = last else {
            return Err(SignerFault::Unavailable(
                "sign a checkpoint with the first key before another joins".to_owned(),
            ));
        };
        let mut keyring = self.keyring.clone();
        let refused = |problem: ledger::keyring::KeyringProblem| SignerFault::Unavailable(problem.to_string());
        keyring.introduce(key.verifier(), &last).map_err(refused)?;
        let verifier = key.verifier();
        self.secrets.push(key);
        self.keep_secrets()?;
        self.keep_keyring(&keyring)?;
        self.keyring = keyring;
        Ok(verifier)
    }

    /// Ends a key at the last checkpoint, which it must have signed beside one that stays.
    pub fn retire_key(&mut self, id: KeyId) -> Result<(), SignerFault> {
        let Stated::Signed(note) = &self.stated else {
            return Err(SignerFault::Unavailable("nothing was signed yet".to_owned()));
        };
        let mut keyring = self.keyring.clone();
        keyring.retire(id, note).map_err(|problem| SignerFault::Unavailable(problem.to_string()))?;
        self.keep_keyring(&keyring)?;
        self.keyring = keyring;
        self.secrets.retain(|secret| secret.verifier().id() != id);
        Ok(())
    }

    /// Ends this log and starts another one, whose first entry is the declaration at this index of the ledger.
    ///
    /// Until `signed` is replaced, the old log is in force, and all of this can be done again. From then on the new one
    /// is, and whoever opens the folder next finishes it.
    pub fn follow(self, declared: &Discontinuity, from: u64) -> Result<FileSigner, SignerFault> {
        let place = earlier_place(&self.folder, self.earlier().len())?;
        let checkpoints = place.join("checkpoints");
        write(&place.join("from"), self.from.to_string().as_bytes(), 0o600)?;
        for note in self.published()? {
            let size = Checkpoint::parse(note.text()).map_or(0, |checkpoint| checkpoint.size());
            write(&checkpoints.join(size.to_string()), note.to_string().as_bytes(), 0o644)?;
        }
        write(&place.join("signed"), read(&self.folder.join("signed"))?.as_bytes(), 0o600)?;
        write(&place.join("keyring"), self.keyring.to_string().as_bytes(), 0o644)?;
        let secret = fresh_key(declared.origin())?;
        let keyring =
            Keyring::new(secret.verifier()).map_err(|problem| SignerFault::Unavailable(problem.to_string()))?;
        let (secrets, stated) = (vec![secret], Stated::Declared(declared.clone()));
        let next = FileSigner { keyring, secrets, stated, from, ..self };
        next.put_in_force()?;
        Ok(next)
    }

    /// Until `signed` is replaced, what was in force before still is.
    fn put_in_force(&self) -> Result<(), SignerFault> {
        self.keep_secrets()?;
        write(&self.folder.join(NEXT_KEYRING), self.keyring.to_string().as_bytes(), 0o644)?;
        self.keep_stated(&self.stated)?;
        put_next_keyring_in_force(&self.folder)
    }

    /// Remembers the last entry that was signed, so that one look shows whether a ledger still has it.
    pub fn remember_last(&self, hash: TreeHash) -> Result<(), SignerFault> {
        let entries = self.from.saturating_add(self.stated.size());
        let text = format!("{entries} {} {hash}\n", self.keyring.origin());
        write(&self.folder.join(LAST_ENTRY), text.as_bytes(), 0o600)
    }

    /// Lays the last checkpoint where people and other programs find it.
    pub fn lay_out(&self) -> Result<(), SignerFault> {
        let Stated::Signed(note) = &self.stated else { return Ok(()) };
        write(&self.folder.join("checkpoint"), note.to_string().as_bytes(), 0o644)
    }

    /// Keeps the last checkpoint where exports find it.
    pub fn publish(&self) -> Result<(), SignerFault> {
        let Stated::Signed(note) = &self.stated else { return Ok(()) };
        self.lay_out()?;
        let folder = self.folder.join("checkpoints");
        private_folder(&folder).map_err(|error| unavailable(&folder, error))?;
        write(&folder.join(self.stated.size().to_string()), note.to_string().as_bytes(), 0o644)
    }

    /// Published checkpoints, the smallest first. Those of a log that ended may still lie there.
    pub fn published(&self) -> Result<Vec<Note>, SignerFault> {
        let mut notes = published_in(&self.folder)?;
        notes.retain(|note| Checkpoint::parse(note.text()).is_ok_and(|own| own.origin() == self.keyring.origin()));
        Ok(notes)
    }

    /// Logs that ended: where they started, their keys and checkpoints, the oldest first.
    pub fn earlier_logs(&self) -> Result<Vec<(u64, Keyring, Vec<Note>)>, SignerFault> {
        let mut logs = Vec::new();
        for folder in self.earlier() {
            let keyring = Keyring::parse(&read(&folder.join("keyring"))?);
            let keyring = keyring.map_err(|problem| SignerFault::Unavailable(problem.to_string()))?;
            let from = read(&folder.join("from"))?.trim().parse().unwrap_or(0);
            logs.push((from, keyring, published_in(&folder)?));
        }
        Ok(logs)
    }

    /// The private keys in use, for what else is signed in the name of this log.
    pub fn secrets(&self) -> &[NoteSigner] {
        &self.secrets
    }

    /// Folders of logs that ended. What a discontinuation that died wrote about the log in force is none of them.
    fn earlier(&self) -> Vec<PathBuf> {
        let all = (0..).map(|number: u32| self.folder.join("earlier").join(number.to_string()));
        let is_of_this_log = |path: &Path| {
            let keyring = read(path).ok().and_then(|text| Keyring::parse(&text).ok());
            keyring.is_some_and(|keyring| keyring.origin() == self.keyring.origin())
        };
        let has_ended = |folder: &PathBuf| {
            let keyring = folder.join("keyring");
            keyring.exists() && !is_of_this_log(&keyring)
        };
        all.take_while(has_ended).collect()
    }

    fn keep_secrets(&self) -> Result<(), SignerFault> {
        for secret in &self.secrets {
            let path = self.folder.join(format!("{}.key", secret.verifier().id()));
            if !path.exists() {
                write(&path, format!("{}\n", secret.to_secret_text()).as_bytes(), 0o600)?;
            }
        }
        Ok(())
    }

    fn keep_keyring(&self, keyring: &Keyring) -> Result<(), SignerFault> {
        around("keys.keep", || write(&self.folder.join("keyring"), keyring.to_string().as_bytes(), 0o644))
    }

    fn keep_stated(&self, stated: &Stated) -> Result<(), SignerFault> {
        let said = match stated {
            Stated::Nothing => "nothing\n".to_owned(),
            Stated::Signed(note) => format!("signed\n{note}"),
            Stated::Declared(declared) => format!("declared\n{}", String::from_utf8_lossy(&declared.entry())),
        };
        write(&self.folder.join("signed"), format!("{FORMAT}\nfrom {}\n{said}", self.from).as_bytes(), 0o600)
    }
}

impl Signer for FileSigner {
    fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    fn from(&self) -> u64 {
        self.from
    }

    fn stated(&self) -> &Stated {
        &self.stated
    }

    fn sign(&mut self, next: Checkpoint, proof: &[TreeHash]) -> Result<Note, SignerFault> {
        let last = match &self.stated {
            Stated::Signed(note) => Some(Checkpoint::parse(note.text()).map_err(|problem| {
                SignerFault::Unavailable(format!("what was signed last cannot be read: {problem}"))
            })?),
            Stated::Nothing | Stated::Declared(_) => None,
        };
        let history = match (&self.stated, &last) {
            (Stated::Declared(declared), _) => History::Discontinued { declared, inclusion: proof },
            (_, Some(last)) => History::Published { last, growth: proof },
            (Stated::Nothing | Stated::Signed(_), None) => History::Fresh,
        };
        let size = next.size();
        let permit = may_sign(history, next).map_err(SignerFault::Refused)?;
        let valid: Vec<VerifierKey> = self.keyring.valid_at(size).cloned().collect();
        let signers: Vec<&NoteSigner> =
            self.secrets.iter().filter(|secret| valid.contains(&secret.verifier())).collect();
        let note = permit.sign(&self.keyring, &signers).map_err(SignerFault::Refused)?;
        let stated = Stated::Signed(note.clone());
        // Durable first: a signature that left without being remembered could be followed by another history.
        if stated != self.stated {
            self.keep_stated(&stated)?;
            self.stated = stated;
        }
        Ok(note)
    }
}

/// The last step of a discontinuation.
fn put_next_keyring_in_force(folder: &Path) -> Result<(), SignerFault> {
    let (next, keyring) = (folder.join(NEXT_KEYRING), folder.join("keyring"));
    around("signer.move", || std::fs::rename(&next, &keyring)).map_err(|error| unavailable(&next, error))
}

fn parse_signed(text: &str) -> Option<(u64, Stated)> {
    let rest = text.strip_prefix(FORMAT)?.strip_prefix("\nfrom ")?;
    let (from, rest) = rest.split_once('\n')?;
    let (word, rest) = rest.split_once('\n')?;
    let stated = match word {
        "nothing" if rest.is_empty() => Stated::Nothing,
        "signed" => Stated::Signed(Note::parse(rest.as_bytes()).ok()?),
        "declared" => Stated::Declared(Discontinuity::parse(rest.as_bytes()).ok()?),
        _ => return None,
    };
    Some((from.parse().ok()?, stated))
}

/// The keys of logs that ended, the oldest first.
fn earlier_rings(folder: &Path) -> Result<Vec<Keyring>, SignerFault> {
    let mut rings = Vec::new();
    for number in 0.. {
        let path = folder.join("earlier").join(number.to_string()).join("keyring");
        if !path.exists() {
            break;
        }
        let ring = Keyring::parse(&read(&path)?);
        rings.push(ring.map_err(|problem| SignerFault::Unavailable(format!("`{}`: {problem}", path.display())))?);
    }
    Ok(rings)
}

fn published_in(folder: &Path) -> Result<Vec<Note>, SignerFault> {
    let folder = folder.join("checkpoints");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unavailable(&folder, error)),
    };
    let sizes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u64>().ok());
    let mut sizes: Vec<u64> = sizes.collect();
    sizes.sort_unstable();
    let mut notes = Vec::new();
    for size in sizes {
        let path = folder.join(size.to_string());
        let note = Note::parse(read(&path)?.as_bytes());
        notes.push(note.map_err(|problem| SignerFault::Unavailable(format!("`{}`: {problem}", path.display())))?);
    }
    Ok(notes)
}

/// A private key; one that others can read is not used.
fn secret(folder: &Path, key: &VerifierKey) -> Result<NoteSigner, SignerFault> {
    let path = folder.join(format!("{}.key", key.id()));
    let metadata = std::fs::metadata(&path).map_err(|error| unavailable(&path, error))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let problem = format!("`{}` can be read by others; run `chmod 600` on it", path.display());
        return Err(SignerFault::Unavailable(problem));
    }
    let signer = NoteSigner::parse(read(&path)?.trim_end());
    let signer = signer.ok().filter(|signer| signer.verifier() == *key);
    signer.ok_or_else(|| SignerFault::Unavailable(format!("`{}` is not the key of the keyring", path.display())))
}

fn fresh_key(origin: &str) -> Result<NoteSigner, SignerFault> {
    let seed = random_seed().map_err(|error| SignerFault::Unavailable(format!("no random bytes: {error}")))?;
    NoteSigner::new(origin, &seed).ok_or_else(|| SignerFault::Unavailable(format!("`{origin}` cannot name a log")))
}

/// The folder for a log that ended, with room for its checkpoints.
fn earlier_place(folder: &Path, number: usize) -> Result<PathBuf, SignerFault> {
    let place = folder.join("earlier").join(number.to_string());
    for folder in [&folder.join("earlier"), &place, &place.join("checkpoints")] {
        private_folder(folder).map_err(|error| unavailable(folder, error))?;
    }
    Ok(place)
}

fn lock_file(folder: &Path) -> Result<(PathBuf, File), SignerFault> {
    let path = folder.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| unwritable(&path, error))?;
    Ok((path, file))
}

fn lock(folder: &Path) -> Result<File, SignerFault> {
    let (path, file) = lock_file(folder)?;
    file.lock().map_err(|error| unavailable(&path, error))?;
    Ok(file)
}

fn read(path: &Path) -> Result<String, SignerFault> {
    let length = std::fs::metadata(path).map_err(|error| unavailable(path, error))?.len();
    if length > FILE_BYTES_MAX {
        return Err(SignerFault::Unavailable(format!("`{}` is too large", path.display())));
    }
    std::fs::read_to_string(path).map_err(|error| unavailable(path, error))
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), SignerFault> {
    replace(path, bytes, mode).map_err(|error| unwritable(path, error))
}

/// What was signed is kept beside the keys, so that no two checkpoints ever contradict each other.
fn unwritable(path: &Path, error: std::io::Error) -> SignerFault {
    if !matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) {
        return unavailable(path, error);
    }
    let problem = format!("`{}` cannot be written ({error})", path.display());
    SignerFault::Unavailable(format!(
        "{problem}: what is signed is kept beside the keys, so signing has to write there"
    ))
}

fn unavailable(path: &Path, error: std::io::Error) -> SignerFault {
    let problem = format!("`{}`: {error}", path.display());
    let is_full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    if is_full { SignerFault::NoRoom(problem) } else { SignerFault::Unavailable(problem) }
}
