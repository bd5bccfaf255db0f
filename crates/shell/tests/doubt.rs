//! Rows about what may not be there: functions, variables, files and folders that only perhaps are what the text says.

use shell::{View, classify};

/// Each command asks at least for this class.
#[track_caller]
fn check(at_least: &str, commands: &[&str]) {
    for command in commands {
        let answer = classify(command, &View::default());
        let rank =
            |name: &str| ["read", "write", "unknown", "destructive", "catastrophic"].iter().position(|it| *it == name);
        assert!(rank(answer.class.name()) >= rank(at_least), "{command}\n{answer:#?}");
    }
}

/// None of them does more than write inside of the workspace.
#[track_caller]
fn check_free(commands: &[&str]) {
    for command in commands {
        let answer = classify(command, &View::default());
        let inside = |path: &shell::Path| path.as_str().starts_with("/home/user/project");
        assert!(matches!(answer.class.name(), "read" | "write"), "{command}\n{answer:#?}");
        assert!(answer.writes.iter().all(inside), "{command}\n{answer:#?}");
    }
}

#[test]
fn a_file_that_stays_open_holds_whatever_is_written_later() {
    check(
        "unknown",
        &[
            "exec 3>x.sh; echo 'rm -rf src' >&3; sh x.sh",
            "exec > x.sh; echo 'rm -rf src'; sh x.sh",
            "exec 3>>x.sh; printf 'rm -rf src' >&3; exec 3>&-; bash ./x.sh",
            "gnuplot -e 'system(\"rm -rf src\")'",
            "guile -c '(system \"rm -rf src\")'",
            "elixir -e 'System.cmd(\"rm\", [\"-rf\", \"src\"])'",
            "groovy -e '\"rm -rf src\".execute()'",
        ],
    );
    check_free(&["exec 2>err.log; make", "exec 3>out.txt; echo hi >&3; cat out.txt"]);
}

#[test]
fn a_function_that_may_not_be_there_may_be_a_program() {
    check(
        "catastrophic",
        &[
            "false && rm() { :; }; rm -rf /",
            "[ -f x ] || rm() { :; }; rm -rf /",
            "if [ -f x ]; then rm() { :; }; fi; rm -rf /",
            "if [ -f x ]; then :; else rm() { :; }; fi; rm -rf /",
            "case $1 in a) rm() { :; };; esac; rm -rf /",
            "for x in *; do rm() { :; }; done; rm -rf /",
            "while read x; do rm() { :; }; done; rm -rf /",
            "f() { return; rm() { :; }; }; f; rm -rf /",
            "trap 'rm() { :; }' USR1; rm -rf /",
            // Taken back, perhaps.
            "rm() { :; }; [ -f x ] && unset -f rm; rm -rf /",
            "rm() { :; }; [ -f x ] || unset -f rm; rm -rf /",
            "rm() { :; }; unset rm; rm -rf /",
            "rm() { :; }; [ -f x ] && readonly -f rm; unset -f rm; rm -rf /",
            // Either does harm.
            "[ -f x ] && ls() { rm -rf /; }; ls",
            "f() { :; }; while read x; do f; f() { rm -rf /; }; done",
            // Who asks for a program gets no function, and nor does who starts another shell.
            "rm() { :; }; command rm -rf /",
            "rm() { :; }; env rm -rf /",
            "rm() { :; }; exec rm -rf /",
            "rm() { :; }; timeout 5 rm -rf /",
            "rm() { :; }; sh -c 'rm -rf /'",
            "rm() { :; }; bash <<< 'rm -rf /'",
            "rm() { :; }; export -f rm; sh -c 'rm -rf /'",
            "rm() { :; }; export -f rm; export -nf rm; bash -c 'rm -rf /'",
            "rm() { :; }; echo / | xargs rm -rf",
            "rm() { :; }; find / -exec rm -rf {} +",
            // Built-ins that some shells find first, and aliases that most shells do not follow.
            "eval() { :; }; eval 'rm -rf /'",
            "alias rm=:; rm -rf /",
            "alias rm='rm -i'\nrm -rf /",
            "alias ls='rm -rf /'\nls",
        ],
    );
    check("destructive", &["[ -f x ] && git() { :; }; git push -f", "git() { :; }; sh -c 'git push -f'"]);
    check_free(&[
        "rm() { :; }; rm -rf /",
        "rm() { :; }; (rm -rf /)",
        "rm() { :; }; x=$(rm -rf /); rm -rf / | cat",
        "if [ -f x ]; then rm() { :; }; else rm() { echo; }; fi; rm -rf /",
        "rm() { :; }; export -f rm; bash -c 'rm -rf /'",
        "log() { echo \"$@\"; }; if make; then log ok; else log bad; fi",
        "f() { echo hi; }; export -f f; ls | xargs -I{} bash -c 'f {}'",
        "f() { cargo test; }; time f",
        "f() { echo $1; }; for x in a b; do f $x; done; f c",
    ]);
}

#[test]
fn words_that_may_be_missing_are_left_out_as_well() {
    check(
        "catastrophic",
        &[
            "[ -f a ] && X=echo; $X rm -rf /",
            "[ -f a ] && X=--help; rm -rf / $X",
            "[ -f a ] && X=echo; f() { $1 rm -rf /; }; f \"$X\"",
            "[ -f a ] && X=echo; sh -c \"$X rm -rf /\"",
            "[ -f a ] && set -- echo; $1 rm -rf /",
            // Other shells do not see what is not exported.
            "X=echo; sh -c '$X rm -rf /'",
            "X=echo; bash <<< '$X rm -rf /'",
            "X=echo; echo '$X rm -rf /' > s; sh s",
            "export X=echo; export -n X; sh -c '$X rm -rf /'",
            "[ -f a ] && export X=echo; sh -c '$X rm -rf /'",
            "$([ -f a ] && echo echo) rm -rf /",
            "$(if [ -f a ]; then echo echo; fi) rm -rf /",
            "X=$([ -f a ] && echo echo); $X rm -rf /",
            "rm -rf $([ -f a ] && echo /)",
            "rm -rf $([ -f a ] && echo x || echo /)",
        ],
    );
    check("destructive", &["[ -f a ] && X=--dry-run; git clean -fdx $X"]);
    check(
        "unknown",
        &["{ [ -f a ] && printf 'echo '; echo 'rm -rf /'; } | sh", "$(test -f v && echo echo || echo rm) -rf /"],
    );
    check_free(&[
        "export X=echo; sh -c '$X rm -rf /'",
        "X=echo; export X; sh -c '$X rm -rf /'",
        "X=echo sh -c '$X rm -rf /'",
        "env X=echo sh -c '$X rm -rf /'",
        "X=echo; $X rm -rf /; (eval '$X rm -rf /')",
        "export D=build; bash -c 'mkdir -p $D/x'",
        "[ -n \"$V\" ] && ARGS=-v; pytest $ARGS",
        "if [ -z \"$D\" ]; then D=build; fi; mkdir -p \"$D\"",
        "cargo build $([ \"$CI\" ] && echo --release)",
        "D=$(cd src && pwd); touch $D/x",
        "for f in src/*.py; do n=$(basename $f .py); echo $n; done",
    ]);
}

#[test]
fn what_is_written_from_doubtful_values_is_doubtful() {
    check(
        "unknown",
        &[
            "X=ls; [ -f a ] && X='rm -rf /'; echo \"$X\" > s.sh; sh s.sh",
            "X=ls; [ -f a ] && X='rm -rf /'; printf '%s\\n' \"$X\" | tee s.sh; sh s.sh",
            "[ -f a ] && X=echo; echo \"$X rm -rf /\" > s.sh; sh s.sh",
            "[ -f a ] && X=echo; echo $X rm -rf / > s.sh; sh s.sh",
            "[ -f a ] && X=echo; cat > s <<EOF\n$X rm -rf /\nEOF\nsh s",
            "[ -f a ] && X=echo; Y=\"$X rm -rf /\"; echo \"$Y\" > s; . ./s",
            "echo ls > x; [ -f a ] && echo 'rm -rf /' > x; sh x",
            "echo ls > x; if [ -f a ]; then echo 'rm -rf /' > x; fi; sh x",
            "echo 'rm -rf /' > x; [ -f a ] && cp /bin/true x; ./x",
            "echo 'rm -rf ~' > x; find . -name nope -exec sh -c 'echo ls > x' \\; ; sh x",
        ],
    );
    check_free(&[
        "X=ls; echo \"$X\" > s.sh; sh s.sh",
        "X=1; [ -f a ] && X=2; echo \"$X\" > version.txt; cat version.txt",
        "echo 'cargo test' > x; [ -f a ] && chmod +x x; sh x",
    ]);
}

#[test]
fn what_other_shells_write_stays() {
    check(
        "catastrophic",
        &[
            "sh -c 'echo \"rm -rf ~\" > x'; sh x",
            "bash <<< 'echo \"rm -rf ~\" > x'; sh x",
            "(echo 'rm -rf ~' > x); sh x",
            "echo 'rm -rf ~' > x | cat; sh x",
            "Y=$(echo 'rm -rf ~' > x); sh x",
            "cat <(echo 'rm -rf ~' > x); sh x",
            "echo a > >(cat; echo 'rm -rf ~' > x); sh x",
            "echo 'rm -rf ~' > x & sh x",
            "coproc { echo 'rm -rf ~' > x; }; sh x",
            "(sleep 1; sh x) & echo 'rm -rf ~' > x",
            "f() { (sleep 1; sh x) & }; f; echo 'rm -rf ~' > x",
            "echo 'rm -rf ~' > x; echo ls | tee -a x; sh x",
            "find . -exec sh -c 'echo \"rm -rf ~\" > x' \\; ; sh x",
            "ls | xargs sh -c 'echo \"rm -rf ~\" > x'; sh x",
            "sh -c 'cp /bin/rm x'; ./x -rf /",
            "(cp /bin/rm x); ./x -rf /",
            "[ -f a ] || cp /bin/rm x; ./x -rf /",
        ],
    );
    check(
        "unknown",
        &[
            "echo 'rm -rf ~' > x & wait; echo ls > x; sh x",
            "echo 'rm -rf ~' | tee >(cat > x); sh x",
            "echo ls > x; echo 'rm -rf ~' > x & sh x",
        ],
    );
    check_free(&[
        "(echo 'cargo test' > x); sh x",
        "sh -c 'echo ls > x'; sh x",
        "cargo test & cargo build & wait",
        "npm start & sleep 2; curl localhost:3000 > out.txt; kill %1",
        "(cd src && python3 gen.py > data.json); python3 use.py",
    ]);
}

#[test]
fn above_a_folder_that_is_not_known_nothing_is() {
    for command in [
        "cd \"$UNKNOWN\"; touch ../home/user/project/x",
        "cd \"$UNKNOWN\" && echo x > ../../home/user/project/src/a",
        "cd src/$X; touch ../x",
        "touch src/$X/../x",
        "pushd $X; cd ../home/user/project; touch x",
        "for d in $(ls); do (cd $d && touch ../x); done",
    ] {
        let answer = classify(command, &View::default());
        let unknown = |path: &shell::Path| path.as_str().contains('<');
        assert!(answer.writes.iter().any(unknown), "{command}\n{:#?}", answer.writes);
    }
    check_free(&["cd src && touch ../x", "cd src/a && cd .. && touch ../x", "touch src/../x"]);
}
