//! Rows about ways to run a command, or to lose a file, that look like something else.

use shell::{View, classify};

#[track_caller]
fn check(class: &str, commands: &[&str]) {
    for command in commands {
        let answer = classify(command, &View::default());
        assert_eq!(answer.class.name(), class, "{command}\n{answer:#?}");
    }
}

/// Each command is told to be able to do this.
#[track_caller]
fn check_can(capability: &str, commands: &[&str]) {
    for command in commands {
        let answer = classify(command, &View::default());
        assert!(answer.capabilities.iter().any(|it| it.name() == capability), "{command}\n{answer:#?}");
    }
}

#[test]
fn a_quoted_document_inside_of_quotes_is_the_value_that_bash_hands_on() {
    check(
        "write",
        &[
            "git commit -m \"$(cat <<'EOF'\nfix: it's x\nEOF\n)\"",
            "git commit -m \"$(cat <<\"EOF\"\nfix: it's x\n\nEOF\n  )\"",
            "git commit -m \"$(cat <<\\EOF\nfix: it's x\nEOF\n)\"",
            "git commit -m \"$(cat <<'EOF'\nit's\n)\"; rm -rf /\nEOF\n)\"",
            "git commit -m \"$(cat <<'EOF'\nit's EOF here, $(rm -rf /) `rm -rf /`\n EOF\nEOF\n)\" && git status",
            "git add . && git commit -m \"$(cat <<'E'\nit's\nE\n)\" && git tag -m \"$(cat <<'E'\nit's\nE\n)\" v1",
            "gh pr create --title \"It's\" --body \"$(cat <<'EOF'\nit's\nEOF\n)\"",
        ],
    );
    check(
        "catastrophic",
        &[
            "bash -c \"$(cat <<'EOF'\nrm -rf / # it's\nEOF\n)\"",
            "bash -c \"$(cat <<'EOF'\necho \"it's\"; rm -rf /\nEOF\n)\"",
            "eval \"$(cat <<'EOF'\necho \"it's\"; rm -rf /\nEOF\n)\"",
            "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\"; rm -rf /",
            "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)$(rm -rf /)\"",
            "git commit -m \"$(cat <<'EOF'\nit's\nEOF\nrm -rf /\n)\"",
            "git commit -m \"$(cat <<EOF\nit's $(rm -rf /)\nEOF\n)\"",
            // What `cat` means is judged as ever.
            "alias cat=sh\ngit commit -m \"$(cat <<'EOF'\nrm -rf / # it's\nEOF\n)\"",
            "function cat if true; then sh; fi\ngit commit -m \"$(cat <<'EOF'\nrm -rf / # it's\nEOF\n)\"",
        ],
    );
    check("unknown", &["git commit -m \"$(cat <<'EOF'\r\nit's\r\nEOF\r\n)\""]);
}

#[test]
fn the_program_time_writes_a_file() {
    let commands = [
        "time -o .claude/settings.json ls",
        "time --output=.claude/settings.json ls",
        "time -a -o .claude/settings.json ls",
        "time -ao .claude/settings.json ls | cat",
        "time -p -o .claude/settings.json ls",
        "sh -c \"time -o .claude/settings.json ls\"",
        "X=-o; time $X .claude/settings.json ls",
    ];
    check_can("guard-tampering", &commands);
    check("read", &["time ls", "time -p ls", "time -p ls | cat"]);
    check("catastrophic", &["time -o x rm -rf /", "time -x rm -rf /"]);
}

#[test]
fn texts_that_tools_run() {
    check(
        "catastrophic",
        &[
            "hyperfine ls 'rm -rf /'",
            "hyperfine --prepare 'rm -rf /' ls",
            "hyperfine -s 'rm -rf /' ls",
            "hyperfine --cleanup='rm -rf /' ls",
            "hyperfine --conclude 'rm -rf /' ls",
            "hyperfine -L c 'rm -rf /,ls' '{c}'",
            "npx concurrently ls 'rm -rf /'",
            "concurrently -n a,b ls 'rm -rf /'",
            "dc -e '!rm -rf /'",
            "echo '!rm -rf /' | dc",
            "expect -c 'exec rm -rf /'",
            "less '+!rm -rf /' f",
            "fzf --preview 'rm -rf /'",
            "bat --pager='rm -rf /' f",
            "rg --pre 'rm -rf /' x",
        ],
    );
    check(
        "unknown",
        &[
            "rg --pre sh x",
            "rg --hostname-bin=sh x",
            "bat --pager ./x f",
            "ag --pager=./x f",
            "ack --pager ./x f",
            "expect -c 'spawn sh'",
            "less +!ls f",
            "less '+|$sh' f",
            "fzf --bind 'enter:execute(cat {})'",
            "fzf --bind=ctrl-r:reload:ls",
            "hyperfine --shell ./x ls",
            "dc -e '!ls'",
        ],
    );
    check("read", &["dc -e '1 2 + p'", "less +G f", "bat --pager=less f", "fzf --preview 'cat {}'", "fzf -q x"]);
    check("read", &["hyperfine -P n 1 8 'ls {n}'"]);
    check("write", &["hyperfine -w 3 'cargo build'", "concurrently 'npm run a' npm:b"]);
}

#[test]
fn settings_of_cargo_that_run_programs() {
    check(
        "unknown",
        &[
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=./x cargo test",
            "CARGO_TARGET_WASM32_WASIP1_LINKER=./x cargo build",
            "CARGO_BUILD_RUSTC=./x cargo build",
            "CARGO_BUILD_RUSTC_WRAPPER=./x cargo build",
            "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER=./x cargo build",
            "CARGO_BUILD_RUSTDOC=./x cargo doc",
            "CARGO_BUILD_RUSTC_WRAPPER=sh cargo build",
            "cargo --config 'target.x.runner=\"./x\"' test",
            "cargo test --config=build.rustc-wrapper='\"./x\"'",
            "cargo --config x.toml test",
        ],
    );
    check("destructive", &["CARGO_TARGET_A_RUNNER='rm -rf src' cargo test"]);
    check(
        "write",
        &[
            "cargo --config net.offline=true test",
            "cargo run -- --config x.toml",
            "RUSTC_WRAPPER=sccache cargo build",
            "CARGO_TARGET_A_LINKER=clang cargo build",
        ],
    );
}

#[test]
fn trees_that_go_by_other_names() {
    check("catastrophic", &["rimraf /", "npx rimraf '/*'", "npx del-cli ~", "trash /"]);
    check("destructive", &["rimraf src", "npx rimraf src", "npx del-cli src", "trash src", "npx trash-cli src"]);
    check("destructive", &["pytest --basetemp=src", "pytest --basetemp src", "python -m pytest --basetemp=src"]);
    check("write", &["pytest --basetemp=/tmp/x"]);
    check_can("credentials", &["getent shadow", "getent gshadow root"]);
    check("read", &["getent passwd"]);
}

#[test]
fn where_later_pushes_go() {
    let stored = [
        "git config remote.origin.pushurl https://x.example",
        "git config --add remote.origin.url https://x.example",
        "git remote set-url origin https://x.example",
        "git remote set-url --push origin https://x.example",
        "git remote add x https://x.example",
    ];
    check_can("network", &stored);
    for command in stored {
        let talkers = classify(command, &View::default()).talkers;
        assert!(talkers.iter().any(|name| name == "push to an address"), "{command}");
    }
    check_can("persistence", &["git config url.https://x.example.pushInsteadOf https://y.example"]);
    check("read", &["git remote -v", "git remote get-url origin", "git config --get remote.origin.url"]);
}
