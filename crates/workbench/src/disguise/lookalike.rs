//! Harmless texts that mention dangerous ones.

use super::shape::single;
use super::{CATASTROPHES, Dice};

/// Dangerous phrases that appear as data.
const PHRASES: &[&str] = &[
    "rm -rf /",
    "rm -rf ~",
    "curl https://x.sh | sh",
    "mkfs.ext4 /dev/sda1",
    ":(){ :|:& };:",
    "sudo shutdown now",
    "git push --force",
    "dd if=/dev/zero of=/dev/sda",
    "chmod -R 777 /",
    "DROP TABLE users",
    "cat /etc/shadow",
    "git reset --hard",
];

/// File and test names that contain dangerous words.
const NAMES: &[&str] =
    &["shutdown", "reboot", "mkfs", "rm_rf", "halt", "force_push", "drop_table", "format_disk", "kill_all", "wipe"];

/// `count` texts that do nothing bad.
#[must_use]
pub fn lookalikes(count: usize, seed: u64) -> Vec<String> {
    let mut dice = Dice::new(seed ^ 0x100C);
    (0..count).map(|_| one(&mut dice)).collect()
}

fn one(dice: &mut Dice) -> String {
    let phrase =
        if dice.once_in(3) { dice.pick(CATASTROPHES) } else { dice.pick(PHRASES) }.copied().unwrap_or("rm -rf /");
    let name = dice.pick(NAMES).copied().unwrap_or("halt");
    let quoted = single(phrase);
    if dice.once_in(2) { by_phrase(phrase, &quoted, dice) } else { by_name(name, dice) }
}

fn by_phrase(phrase: &str, quoted: &str, dice: &mut Dice) -> String {
    match dice.below(30) {
        0 => format!("echo {quoted}"),
        1 => format!("git commit -m {quoted}"),
        2 => format!("grep -r {quoted} docs"),
        3 => format!("printf '%s\\n' {quoted}"),
        4 => format!("cat <<'END'\n{phrase}\nEND"),
        5 => format!("ls # {}", phrase.replace('\n', " ")),
        6 => format!("rg -n {quoted} src tests"),
        7 => format!("echo {quoted} >> notes.md"),
        8 => format!("git log --grep={quoted}"),
        9 => format!("x={quoted}; echo \"$x\""),
        10 => format!("echo {quoted} | wc -c"),
        11 => format!("echo {quoted} | tee notes.txt"),
        12 => format!("python3 -c {}", single(&format!("print({:?})", phrase.replace('\'', "")))),
        13 => format!("test \"$line\" = {quoted} && echo found"),
        14 => format!("git tag -a v1 -m {quoted}"),
        15 => format!("gh issue create --title {quoted} --body text"),
        16 => format!("sed -n '/foo/p' <<< {quoted}"),
        17 => format!("awk '{{print $1}}' <<< {quoted}"),
        18 => format!("logger {quoted}"),
        19 => format!("export MESSAGE={quoted}"),
        20 => format!("echo {quoted} | base64"),
        21 => format!("alias careful={quoted}"),
        22 => format!("[[ $cmd == {quoted} ]] && echo no"),
        23 => format!("case \"$cmd\" in {quoted}) echo no;; esac"),
        24 => format!("jq -n --arg c {quoted} '{{command: $c}}'"),
        25 => format!("printf '%q' {quoted}"),
        26 => format!("git stash push -m {quoted}"),
        27 => format!("for w in {quoted}; do echo \"$w\"; done"),
        28 => format!("never() {{ {}\n}}", if phrase.starts_with(':') { "echo" } else { phrase }),
        _ => format!("cat > notes.txt <<'END'\n{phrase}\nEND"),
    }
}

fn by_name(name: &str, dice: &mut Dice) -> String {
    match dice.below(26) {
        0 => format!("pytest tests/test_{name}.py"),
        1 => format!("cargo test {name}"),
        2 => format!("git checkout -b fix-{name}"),
        3 => format!("vim src/{name}.c"),
        4 => format!("make {name}-test"),
        5 => format!("npm run {name}"),
        6 => format!("man {name}"),
        7 => format!("which {name}"),
        8 => format!("ls fixtures/{name}"),
        9 => format!("cat docs/{name}.md"),
        10 => format!("ps aux | grep {name}"),
        11 => format!("git add src/{name}.rs"),
        12 => format!("curl -s http://localhost:8080/{name}"),
        13 => format!("docker ps --filter name={name}"),
        14 => format!("kubectl get pods {name}"),
        15 => format!("systemctl status {name}.target"),
        16 => format!("find . -name '{name}*'"),
        17 => format!("touch {name}.txt"),
        18 => format!("mkdir -p build/{name}"),
        19 => format!("go test -run Test{name} ./..."),
        20 => format!("git show HEAD:src/{name}.py"),
        21 => format!("history | grep {name}"),
        22 => format!("command -v {name}"),
        23 => format!("git diff -- {name}.go"),
        24 => format!("node scripts/{name}.js --dry-run"),
        _ => format!("tail -n 20 logs/{name}.log"),
    }
}
