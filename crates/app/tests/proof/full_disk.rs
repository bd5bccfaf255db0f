//! A disk without room for keys, checkpoints, tiles and receipts: nothing is half there, and it is not the caller's fault.

use crate::desk::{Desk, text};
use std::process::{Command, Stdio};

#[test]
fn a_full_disk_is_said_to_be_one_and_leaves_no_part_of_a_key() {
    let desk = Desk::decided(3);
    std::fs::create_dir(desk.path("small")).unwrap();
    let run = |arguments: &str| format!("{} {arguments}", env!("CARGO_BIN_EXE_writkeeper"));
    // A mount that only this process sees; the first part leaves no room at all, the second little.
    let script = [
        "mount -t tmpfs -o size=64k none small || exit 77".to_owned(),
        "dd if=/dev/zero of=small/fill bs=4k 2>/dev/null; mkdir small/keys".to_owned(),
        format!("{}; echo first $?", run("ledger keys new --store none.db --keys small/keys")),
        "ls -A small/keys | sed 's/^/left /'".to_owned(),
        format!("{}; echo tiles $?", run("ledger tiles --store s.db --out small/tiles")),
        format!("{}; echo receipt $?", run("ledger receipt 2 --store s.db --out small/r.receipt")),
        format!("{}; echo export $?", run("ledger export --store s.db --out small/l.export")),
        "find small -name '*part*' -o -name '.*[0-9]' | sed 's/^/left /'".to_owned(),
        format!("rm small/fill; {}; echo again $?", run("ledger keys new --store none.db --keys small/keys")),
    ];
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script.join("\n")])
        .current_dir(desk.path("."))
        .env_remove("WRITKEEPER_KEYS")
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else { return println!("missing: unshare, of the package util-linux") };
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    if output.status.code() == Some(77) || said.is_empty() {
        return println!("skipped: no mount is possible here: {errors}");
    }
    for line in ["first 75", "tiles 75", "receipt 75", "export 75", "again 0"] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}{errors}");
    }
    let left: Vec<&str> = said.lines().filter(|line| line.starts_with("left ") && *line != "left lock").collect();
    assert!(left.is_empty(), "{left:?}");
}
