//! What one call writes and the next one runs, and programs that wait for what a host types.

use crate::site::{Site, Told, told};
use serde_json::{Value, json};

fn put(site: &Site, name: &str, content: impl AsRef<[u8]>) {
    // The host's own tool writes it: that call is free.
    std::fs::write(site.workspace().join(name), content).unwrap();
}

#[track_caller]
fn refused(site: &Site, command: &str, reason: &str) {
    match site.shell(command) {
        Told::Blocked(why) => assert!(why.contains(reason), "{command}: {why}"),
        other @ (Told::Asks(_) | Told::Runs) => panic!("{command}: {other:?}"),
    }
}

/// An archive with one entry, as `tar` writes it.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[156] = b'0';
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header.extend(content);
    header.resize(header.len().div_ceil(512) * 512 + 1024, 0);
    header
}

/// An archive with one entry, as `zip` stores it.
fn zip(name: &str) -> Vec<u8> {
    let length = u16::try_from(name.len()).unwrap().to_le_bytes();
    let local = [b"PK\x03\x04".as_slice(), &[0; 22], &length, &[0; 2], name.as_bytes()].concat();
    let entry = [b"PK\x01\x02".as_slice(), &[0; 24], &length, &[0; 16], name.as_bytes()].concat();
    let (size, at) = (u32::try_from(entry.len()).unwrap(), u32::try_from(local.len()).unwrap());
    let end = [b"PK\x05\x06".as_slice(), &[0; 4], &[1, 0, 1, 0], &size.to_le_bytes(), &at.to_le_bytes(), &[0; 2]];
    [local, entry, end.concat()].concat()
}

#[test]
fn a_script_that_was_just_written_is_read_before_it_runs() {
    let site = Site::guarding_real_work(&["claude-code"]);
    put(&site, "x.sh", "rm -rf /\n");
    for command in ["bash x.sh", "sh -x ./x.sh", ". ./x.sh", "chmod +x x.sh && ./x.sh"] {
        refused(&site, command, "CATASTROPHIC");
    }
    put(&site, "Makefile", "all:\n\trm -rf /\n");
    refused(&site, "make", "CATASTROPHIC");
    put(&site, "Makefile", "all:\n\techo {} > .claude/settings.json\n");
    refused(&site, "make", "GUARD_TAMPERING");
    put(&site, "x.py", "open('.claude/settings.json', 'w').write('{}')\n");
    refused(&site, "python3 x.py", "GUARD_TAMPERING");
    put(
        &site,
        "x.sh",
        "#!/bin/bash\nset -e\ncd \"$(dirname \"$0\")\"\ncargo build\nnpm test\nmkdir -p out && cp src/a.py out/\necho [--help] | tr '[:upper:]' '[:lower:]'\n",
    );
    put(&site, "Makefile", "all: src/a.py\n\tcargo build\n\tpython3 src/a.py > out.txt\nclean:\n\trm -rf $(OUT)\n");
    for command in
        ["bash x.sh", "./x.sh", ". ./x.sh", "make", "make clean", "python3 src/a.py", "cargo test", "npm test"]
    {
        assert_eq!(site.shell(command), Told::Runs, "{command}");
    }
}

#[test]
fn patches_and_archives_are_judged_by_what_they_would_write() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let patch = |path: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-print(1)\n+print(2)\n");
    put(&site, "evil.patch", patch(".claude/settings.json"));
    put(&site, "good.patch", patch("src/a.py"));
    put(&site, "evil.tar", tar(".claude/settings.json", b"{}"));
    put(&site, "good.tar", tar("src/b.py", b"1"));
    put(&site, "evil.zip", zip(".writkeeper/contract.yaml"));
    put(&site, "good.zip", zip("src/c.py"));
    put(&site, "x.tgz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03");
    for command in [
        "git apply evil.patch",
        "patch -p1 -i evil.patch",
        "patch -p1 < evil.patch",
        "git am evil.patch",
        "tar xf evil.tar",
        "tar -x -C . -f evil.tar",
        "unzip -o evil.zip",
    ] {
        refused(&site, command, "GUARD_TAMPERING");
    }
    for command in ["git apply good.patch", "patch -p1 < good.patch", "tar xf good.tar", "unzip good.zip"] {
        assert_eq!(site.shell(command), Told::Runs, "{command}");
    }
    assert!(matches!(site.shell("tar xzf x.tgz"), Told::Asks(_)));
}

/// One event of Claude Code about a command.
fn event(site: &Site, event: &str, command: &str, id: &str) -> Told {
    let moment = if event == "pre-tool" { "PreToolUse" } else { "PostToolUse" };
    let payload = json!({
        "session_id": "s1", "transcript_path": "/dev/null", "cwd": site.workspace(), "permission_mode": "default",
        "hook_event_name": moment, "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": id,
        "tool_response": { "stdout": id },
    });
    told("claude-code", &site.run(&["hook", event, "--host", "claude-code"], &payload.to_string()))
}

#[test]
fn what_a_person_let_run_is_not_asked_about_again() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let run = "bash x.sh";
    let asks = |id: &str| matches!(event(&site, "pre-tool", run, id), Told::Asks(_));
    put(&site, "x.sh", "eval \"$A\"\n");
    assert!(asks("1"));
    // Nobody said yes.
    assert!(asks("2"));
    event(&site, "post-tool", run, "2");
    assert!(!asks("3"));
    put(&site, "x.sh", "eval \"$B\"\n");
    assert!(asks("4"));
    // What is harmless runs, and settles nothing.
    put(&site, "x.sh", "echo\n");
    assert!(!asks("5"));
    event(&site, "post-tool", run, "5");
    put(&site, "x.sh", "eval \"$B\"\n");
    assert!(asks("6"));
}

#[test]
fn a_program_that_waits_is_asked_about_where_the_host_can_type() {
    let site = Site::guarding_real_work(&["claude-code", "codex"]);
    let codex =
        |command: &str| told("codex", &site.call("codex", "PreToolUse", &site.payload("codex", "pre-tool", command)));
    for command in ["bash", "sh", "python3", "python3 -i", "node", "sqlite3", "ssh host", "env bash -l"] {
        let told = codex(command);
        assert!(
            matches!(&told, Told::Blocked(why) if why.contains("EFFECT_UNKNOWN") || why.contains("STRANGERS")),
            "{command}: {told:?}"
        );
    }
    for command in ["bash -lc ls", "python3 src/a.py", "npm test", "cat", "echo 1 | python3 -c 'print(1)'"] {
        assert_eq!(codex(command), Told::Runs, "{command}");
    }
    // Nobody types into it here.
    for command in ["bash", "python3", "node"] {
        assert_eq!(site.shell(command), Told::Runs, "{command}");
    }
    let typed: Value = serde_json::from_str(&site.payload("codex", "pre-tool", "x")).unwrap();
    let mut typed = typed;
    typed["tool_name"] = json!("write_stdin");
    typed["tool_input"] = json!({ "session_id": 1, "chars": "rm -rf /\n" });
    assert!(matches!(told("codex", &site.call("codex", "PreToolUse", &typed.to_string())), Told::Blocked(_)));
}
