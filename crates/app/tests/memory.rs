//! The static binary's own copying and comparing of memory, beside the C library's.
#![cfg(target_arch = "x86_64")]

use std::path::Path;
use std::process::Command;

#[test]
fn memory_is_copied_and_compared_as_the_c_library_does() {
    let folder = tempfile::tempdir().unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("memory");
    let program = folder.path().join("rows");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fno-builtin", "-DNAME(name)=our_##name"];
    let built = Command::new(compiler)
        .args(flags)
        .args([sources.join("memory.c"), sources.join("rows.c")])
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    let compared: u64 = said.trim().parse().unwrap();
    assert!(compared > 600_000, "{compared} results were compared");
    println!("{compared} results compared");
}
