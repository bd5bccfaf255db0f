//! Reading where nothing can be written: a copy on a medium, a backup, somebody else's folder.
#![cfg(unix)]

use crate::folder::Folder;
use crate::roles::{self, open, sealed};
use runtime::ports::store::{BatchId, Store, one_step};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Who may write nothing here.
const NOBODY: u32 = 65_534;

fn append(store: &mut dyn Store, batch: u128) {
    store.transact(BatchId(batch), Vec::new(), &mut one_step(|_, _| vec![sealed("kept")])).unwrap();
}

fn set(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Nothing in the folder can be changed by whoever looks; given back when dropped, so that it can be removed.
struct Fixed<'a>(&'a Path);

impl<'a> Fixed<'a> {
    fn new(folder: &'a Path) -> Fixed<'a> {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.ends_with("program") {
                set(&path, 0o444);
            }
        }
        set(folder, 0o555);
        Fixed(folder)
    }
}

impl Drop for Fixed<'_> {
    fn drop(&mut self) {
        set(self.0, 0o755);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What another process says that looks at the store. Root may write everywhere, so it looks as somebody who may not.
fn looked(program: &Path, store: &Path) -> String {
    let mut command = Command::new(program);
    command.args(["roles::played_by_another_process", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(roles::ROLE, "look").env(roles::PLACE, store).current_dir("/");
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().find_map(|line| line.strip_prefix("looked: ")).unwrap_or(&said).to_owned()
}

/// A folder that others can look into, and this program in it: where it was built they may not.
fn prepared() -> (Folder, std::path::PathBuf) {
    let folder = Folder::new();
    set(&folder.path(""), 0o755);
    let program = folder.path("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set(&program, 0o755);
    (folder, program)
}

#[test]
fn a_store_is_read_where_neither_it_nor_its_folder_can_be_written() {
    let (folder, program) = prepared();
    // Letters that mean something in a URI.
    let path = folder.path("ke%pt?#.db");
    let mut store = open(&path);
    (1..=3).for_each(|batch| append(&mut store, batch));
    drop(store);
    let root = folder.path("");
    let before = names(&root);
    let fixed = Fixed::new(&root);
    assert_eq!(looked(&program, &path), "3 records");
    drop(fixed);
    assert_eq!(names(&root), before, "looking left something behind");
}

#[test]
fn a_store_that_is_written_elsewhere_is_read_where_nothing_can_be_written() {
    let (folder, program) = prepared();
    let path = folder.path("store");
    let mut store = open(&path);
    (1..=3).for_each(|batch| append(&mut store, batch));
    let root = folder.path("");
    let fixed = Fixed::new(&root);
    // The log and its index are there because a writer has the store open.
    let said = looked(&program, &path);
    assert_eq!(said, "3 records");
    drop(fixed);
}

#[test]
fn commits_in_a_log_that_cannot_be_read_are_never_left_out() {
    let (folder, program) = prepared();
    let (path, copy) = (folder.path("store"), folder.path("copy"));
    let mut store = open(&path);
    (1..=3).for_each(|batch| append(&mut store, batch));
    // As a careless backup leaves it: the file and its log, without the index.
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(folder.path("store-wal"), folder.path("copy-wal")).unwrap();
    let root = folder.path("");
    let fixed = Fixed::new(&root);
    let said = looked(&program, &copy);
    assert!(said.contains("copy the store and its log into a folder of your own"), "{said}");
    drop(fixed);
}
