//! Rows about files on disk that a command would run, apply or unpack, seen through a made-up disk.

use shell::{Content, Links, Member, View, classify};
use std::collections::BTreeMap;

const HERE: &str = "/home/user/project";

#[derive(Default)]
struct Disk {
    files: BTreeMap<String, String>,
    archives: BTreeMap<String, Vec<Member>>,
    unseen: Vec<&'static str>,
    is_settled: bool,
}

impl Links for Disk {
    fn target(&self, _path: &str) -> Option<String> {
        None
    }

    fn exists(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.archives.contains_key(path) || self.unseen.contains(&path)
    }

    fn text(&self, path: &str) -> Content<String> {
        if self.unseen.contains(&path) {
            return Content::Unseen;
        }
        self.files.get(path).map_or(Content::Missing, |text| Content::Seen(text.clone()))
    }

    fn members(&self, path: &str) -> Content<Vec<Member>> {
        if self.unseen.contains(&path) {
            return Content::Unseen;
        }
        self.archives.get(path).map_or(Content::Missing, |members| Content::Seen(members.clone()))
    }

    fn is_settled(&self, _path: &str) -> bool {
        self.is_settled
    }
}

fn disk(files: &[(&str, &str)]) -> Disk {
    let files = files.iter().map(|(name, text)| (format!("{HERE}/{name}"), (*text).to_owned())).collect();
    Disk { files, ..Disk::default() }
}

#[track_caller]
fn check_in(disk: &Disk, command: &str, class: &str) -> shell::Classification {
    let answer = classify(command, &View { links: Some(disk), ..View::default() });
    assert_eq!(answer.class.name(), class, "{command}\n{answer:#?}");
    answer
}

#[track_caller]
fn check(files: &[(&str, &str)], command: &str, class: &str) {
    check_in(&disk(files), command, class);
}

#[test]
fn a_script_is_judged_as_if_it_were_typed() {
    for command in [
        "bash x.sh",
        "sh -x x.sh",
        "bash ./x.sh a b",
        "./x.sh",
        "source x.sh",
        ". ./x.sh",
        "env bash x.sh",
        "bash --rcfile x.sh",
        "cd sub/..; bash x.sh",
        "chmod +x x.sh && ./x.sh",
    ] {
        check(&[("x.sh", "#!/bin/sh\nrm -rf /\n")], command, "catastrophic");
        check(&[("x.sh", "set -e\necho building\nmkdir -p out\ncargo build --release\n")], command, "write");
        check(&[("x.sh", "git reset --hard\n")], command, "destructive");
        check(&[("x.sh", "eval \"$PAYLOAD\"\n$PROGRAM x\n")], command, "unknown");
    }
    check(&[("x.sh", "rm -rf \"$1\"\n")], "bash x.sh /", "catastrophic");
    check(&[("x.sh", "bash y.sh\n"), ("y.sh", "rm -rf /\n")], "bash x.sh", "catastrophic");
    check(&[("x.sh", "bash x.sh; exec \"$0\"\necho again\n")], "bash x.sh", "write");
    check(&[("x.sh", "#!/usr/bin/env python3\nimport shutil\nshutil.rmtree('/')\n")], "./x.sh", "catastrophic");
}

#[test]
fn ordinary_scripts_stay_free() {
    let build = "#!/usr/bin/env bash\nset -euo pipefail\ncd \"$(dirname \"$0\")/..\"\n\
        mkdir -p dist\nfor f in src/*.ts; do echo \"$f\"; done\nif [ \"${CI:-}\" = true ]; then npm ci; fi\n\
        npm run build\ncp -r public dist/\nVERSION=$(git describe --tags)\necho \"$VERSION\" > dist/version\n";
    let root =
        "ROOT=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")/..\" && pwd)\"\ncd \"$ROOT\"\ncargo test\ntouch done.txt\n";
    for text in [build, root] {
        let answer = check_in(&disk(&[("scripts/build.sh", text)]), "bash scripts/build.sh", "write");
        let outside = |path: &&shell::Path| !path.as_str().starts_with(HERE);
        let paths: Vec<_> = answer.writes.iter().chain(&answer.may_write).filter(outside).collect();
        assert!(paths.is_empty(), "{paths:?}");
    }
}

#[test]
fn programs_in_other_languages_count_by_their_harm() {
    for (command, text, class) in [
        ("python3 x.py", "import shutil\nshutil.rmtree('/')\n", "catastrophic"),
        ("python3 x.py", "import os\nos.system('rm -rf ~')\n", "catastrophic"),
        ("node x.py", "require('child_process').execSync('rm -rf /')\n", "catastrophic"),
        ("perl x.py", "system(\"rm -rf /\");\n", "catastrophic"),
        ("python3 x.py", "import subprocess, sys\nsubprocess.run(sys.argv[1], shell=True)\n", "unknown"),
        ("python3 x.py", "import sys\nprint(sum(int(a) for a in sys.argv[1:]))\n", "write"),
        ("python3 x.py", "import json\nwith open(PATH, 'w') as f:\n    json.dump({}, f)\n", "write"),
        ("python3 x.py", "import requests\nprint(requests.get(URL).text)\n", "write"),
    ] {
        check(&[("x.py", text)], command, class);
    }
    let answer =
        check_in(&disk(&[("x.py", "import requests\nprint(requests.get(URL).text)\n")]), "python3 x.py", "write");
    assert!(answer.talkers.is_empty(), "{answer:#?}");
    let answer =
        check_in(&disk(&[("x.py", "open('.claude/settings.json', 'w').write('{}')\n")]), "python3 x.py", "write");
    assert!(answer.writes.iter().any(|path| path.as_str().ends_with(".claude/settings.json")), "{answer:#?}");
}

#[test]
fn doubts_count_until_they_are_settled() {
    let rows = [("bash x.sh", "eval \"$A\"\n"), ("python3 x.sh", "import os\nos.system(A)\n"), (". x.sh", "$A\n")];
    for (command, text) in rows {
        let mut disk = disk(&[("x.sh", text)]);
        check_in(&disk, command, "unknown");
        disk.is_settled = true;
        check_in(&disk, command, "write");
        disk.is_settled = false;
        disk.unseen.push("/home/user/project/x.sh");
        check_in(&disk, command, "unknown");
    }
    let mut disk = disk(&[("x.sh", "rm -rf /\n")]);
    disk.is_settled = true;
    check_in(&disk, "bash x.sh", "catastrophic");
    // What was compiled is no text.
    disk.unseen.push("/home/user/project/x.sh");
    disk.is_settled = false;
    check_in(&disk, "./x.sh", "write");
}

#[test]
fn a_makefile_is_judged_by_the_targets_that_are_made() {
    let text = "BUILD := build\nall: lib\n\tcargo build\nlib:\n\t@echo lib > $(BUILD)/lib\nclean:\n\trm -rf $(BUILD) $(OUT)/x\n\
        wipe: \n\trm -rf /\nagain:\n\t$(MAKE) wipe\ninstall:\n\tcp x $(DESTDIR)$(PREFIX)/bin/x\n%.o: %.c\n\t$(CC) -c $<\n";
    for (command, class) in [
        ("make", "write"),
        ("make all", "write"),
        ("make clean", "write"),
        ("make install", "write"),
        ("make -j4 lib", "write"),
        ("make wipe", "catastrophic"),
        ("make again", "catastrophic"),
        ("make all wipe", "catastrophic"),
    ] {
        check(&[("Makefile", text)], command, class);
    }
    check(&[("x.mk", "all:\n\trm -rf ~\n")], "make -f x.mk", "catastrophic");
    check(&[("Makefile", "X := $(shell rm -rf /)\nall:\n\techo\n")], "make", "catastrophic");
    check(&[("sub/Makefile", "all: ; rm -rf /\n")], "make -C sub", "catastrophic");
    let text = "home := \"/\"\ndefault: build\nbuild:\n    cargo build\nwipe arg:\n    @rm -rf {{home}}\n";
    check(&[("justfile", text)], "just", "write");
    check(&[("justfile", text)], "just wipe x", "catastrophic");
}

#[track_caller]
fn writes(disk: &Disk, command: &str, expected: &str, is_written: bool) {
    let answer = classify(command, &View { links: Some(disk), ..View::default() });
    let found = answer.writes.iter().any(|path| path.as_str() == expected);
    assert_eq!(found, is_written, "{command}\n{answer:#?}");
}

#[test]
fn a_patch_is_judged_by_the_files_it_names() {
    let evil = "diff --git a/.claude/settings.json b/.claude/settings.json\n--- a/.claude/settings.json\n+++ b/.claude/settings.json\n@@ -1 +1 @@\n-{}\n+{ }\n";
    let plain = evil.replace(".claude/settings.json", "src/a.rs");
    let renamed = "diff --git a/x b/.claude/settings.json\nsimilarity index 100%\nrename from x\nrename to .claude/settings.json\n";
    let quoted = "--- /dev/null\n+++ \"b/.cl\\141ude/settings.json\"\n@@ -0,0 +1 @@\n+{}\n";
    let link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+.claude\ndiff --git a/l/settings.json b/l/settings.json\n--- a/l/settings.json\n+++ b/l/settings.json\n@@ -1 +1 @@\n-{}\n+{ }\n";
    let target = format!("{HERE}/.claude/settings.json");
    for text in [evil, renamed, quoted, link] {
        let disk = disk(&[("p.patch", text)]);
        for command in ["git apply p.patch", "git apply --index -p1 p.patch", "git am p.patch", "git apply < p.patch"] {
            writes(&disk, command, &target, true);
        }
    }
    let disk = disk(&[("p.patch", evil), ("q.patch", &plain)]);
    for command in [
        "patch -p1 -i p.patch",
        "patch -i p.patch",
        "patch x p.patch",
        "(cd src && git apply -p1 --directory=.. ../p.patch)",
    ] {
        writes(&disk, command, &target, true);
    }
    for command in [
        "git apply q.patch",
        "git am q.patch",
        "patch -p1 -i q.patch",
        "patch -p1 < q.patch",
        "git diff | git apply -R",
        "git apply --check p.patch",
    ] {
        let answer = classify(command, &View { links: Some(&disk), ..View::default() });
        assert!(
            answer.class.name() < "x" && answer.capabilities.iter().all(|kind| kind.name() != "guard-tampering"),
            "{command}\n{answer:#?}"
        );
        assert!(answer.class <= shell::Class::Write, "{command}\n{answer:#?}");
    }
    check_in(&disk, "base64 -d x | git apply", "unknown");
    check_in(&disk, &format!("git apply <<'E'\n{plain}E"), "write");
}

#[test]
fn an_archive_is_judged_by_its_entries() {
    let member = |name: &str| Member { name: name.to_owned(), link: None };
    let mut disk = Disk::default();
    let ends =
        [("good.tar", vec![member("src/a.rs")]), ("evil.tar", vec![member("a"), member(".claude/settings.json")])];
    for (name, members) in ends {
        disk.archives.insert(format!("{HERE}/{name}"), members);
    }
    let through = vec![Member { name: "l".to_owned(), link: Some(".claude".to_owned()) }, member("l/settings.json")];
    disk.archives.insert(format!("{HERE}/link.tar"), through);
    disk.archives.insert(format!("{HERE}/up.tar"), vec![member("../../x")]);
    disk.unseen.push("/home/user/project/a.tgz");
    let target = format!("{HERE}/.claude/settings.json");
    for command in [
        "tar xf evil.tar",
        "tar -xvf evil.tar",
        "unzip evil.tar",
        "unzip -o evil.tar -d .",
        "tar xf link.tar",
        "tar x < evil.tar",
        "bsdtar -xf evil.tar",
    ] {
        writes(&disk, command, &target, true);
    }
    writes(&disk, "tar xf evil.tar -C sub", &target, false);
    writes(&disk, "tar xf up.tar", "/home/x", true);
    for command in ["tar xf good.tar", "unzip good.tar", "git archive HEAD | tar x -C out", "tar tf a.tgz"] {
        let answer = classify(command, &View { links: Some(&disk), ..View::default() });
        assert!(answer.class <= shell::Class::Write, "{command}\n{answer:#?}");
    }
    for command in [
        "tar xzf a.tgz",
        "unzip a.tgz",
        "base64 -d x > y.tar && tar xf y.tar",
        "base64 -d x | tar x",
        "cpio -i < a.tgz",
    ] {
        check_in(&disk, command, "unknown");
    }
}

#[test]
fn what_takes_things_away_is_no_plain_write() {
    for (command, class) in [
        ("mv src /tmp/x", "destructive"),
        ("mv a.rs b.rs /tmp", "destructive"),
        ("mv src lib", "write"),
        ("mv /tmp/a /tmp/b", "write"),
        ("mv /tmp/a src/a", "write"),
        ("git tag -d v1", "destructive"),
        ("git tag v1", "write"),
        ("git remote remove origin", "destructive"),
        ("git remote rm origin", "destructive"),
        ("git remote add fork https://x.io/a.git", "write"),
        ("ln -sf /dev/null /etc/systemd/x.conf", "destructive"),
        ("ln -sf /dev/null /etc/passwd", "catastrophic"),
        ("ln -s ../a b", "write"),
    ] {
        check_in(&Disk::default(), command, class);
    }
    writes(&Disk::default(), "git diff --output=src/x", &format!("{HERE}/src/x"), true);
    writes(&Disk::default(), "git log -p --output=../x", "/home/user/x", true);
}
