//! Disguises of whole commands: wrappers, interpreters, encodings, variables, control flow.

use super::Dice;

/// One more layer around the text.
pub(super) fn shaped(text: &str, plain: bool, dice: &mut Dice) -> String {
    match dice.below(6) {
        0 if plain && is_simple(text) => wrapped(text, dice),
        1 => interpreted(text, dice),
        2 => encoded(text, dice),
        3 => stored(text, plain, dice),
        4 => controlled(text, dice),
        _ => surrounded(text, dice),
    }
}

/// One simple command on one line: a wrapper can stand before it.
fn is_simple(text: &str) -> bool {
    !text.contains(['\n', ';', '|', '&', '(', '<', '>', '=', '#'])
        && !text.trim_start().starts_with(['{', '!'])
        && !["if ", "for ", "while ", "case ", "eval ", "until ", "trap "]
            .iter()
            .any(|word| text.trim_start().starts_with(word))
}

fn wrapped(text: &str, dice: &mut Dice) -> String {
    const WRAPPERS: &[&str] = &[
        "env",
        "sudo",
        "sudo -E",
        "sudo -u root",
        "sudo -n --",
        "doas",
        "nice",
        "nice -n 10",
        "nohup",
        "time",
        "timeout 5",
        "timeout -s KILL 10s",
        "stdbuf -oL",
        "setsid",
        "command",
        "exec",
        "builtin command",
        "env -i",
        "env A=1 B=2",
        "env -u PATH",
        "busybox",
        "ionice -c 3",
        "chrt -i 0",
        "taskset 1",
        "unshare -r",
        "sudo env X=1",
        "nice nohup",
        "command env",
        "strace -f",
        "sudo timeout 3",
        "X=1 env",
        "A=b",
        "find . -maxdepth 0 -exec",
        "flock /tmp/l",
        "chroot /",
        "nsenter -t 1 -m",
        "systemd-run",
        "runuser -u root --",
        "xargs",
    ];
    let wrapper = dice.pick(WRAPPERS).copied().unwrap_or("env");
    // A builtin, an assignment or a prefix of its own cannot stand behind a program.
    let text = text.trim();
    match wrapper {
        "find . -maxdepth 0 -exec" => format!("{wrapper} {text} \\;"),
        "xargs" => format!("echo | xargs {text}"),
        "busybox" if !text.starts_with("rm") && !text.starts_with("dd") && !text.starts_with("ch") => {
            format!("env {text}")
        }
        wrapper => format!("{wrapper} {text}"),
    }
}

/// A text inside single quotes.
pub(super) fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn literal(text: &str) -> String {
    let escaped: String = text
        .chars()
        .flat_map(|c| match c {
            '\\' => vec!['\\', '\\'],
            '"' => vec!['\\', '"'],
            '\n' => vec!['\\', 'n'],
            '\t' => vec!['\\', 't'],
            '$' => vec!['\\', 'x', '2', '4'],
            '`' => vec!['\\', 'x', '6', '0'],
            other => vec![other],
        })
        .collect();
    format!("\"{escaped}\"")
}

fn interpreted(text: &str, dice: &mut Dice) -> String {
    let one = single(text);
    let code = literal(text);
    match dice.below(24) {
        0 => format!("bash -c {one}"),
        1 => format!("sh -c {one}"),
        2 => format!("/bin/sh -ec {one}"),
        3 => format!("eval {one}"),
        4 => format!("echo {one} | sh"),
        5 => format!("printf '%s\\n' {one} | bash"),
        6 => format!("bash <<< {one}"),
        7 => {
            let tag = tag(dice);
            format!("bash <<'{tag}'\n{text}\n{tag}")
        }
        8 => format!("bash <(echo {one})"),
        9 => format!("source <(echo {one})"),
        10 => format!("python3 -c {}", single(&format!("import os; os.system({code})"))),
        11 => format!("python3 -c {}", single(&format!("import subprocess; subprocess.run({code}, shell=True)"))),
        12 => format!("perl -e {}", single(&format!("system({code})"))),
        13 => format!("ruby -e {}", single(&format!("system {code}"))),
        14 => format!("node -e {}", single(&format!("require('child_process').execSync({code})"))),
        15 => format!("awk {}", single(&format!("BEGIN{{system({code})}}"))),
        16 => format!("su -c {one}"),
        17 => format!("ssh localhost {one}"),
        18 => format!("xargs -I{{}} sh -c {one} <<< x"),
        19 => format!("find . -maxdepth 0 -exec sh -c {one} \\;"),
        20 => format!("zsh -c {one}"),
        21 => format!("dash -c {one}"),
        22 => {
            let tag = tag(dice);
            format!("cat <<'{tag}' | sh\n{text}\n{tag}")
        }
        _ => format!("env -S {}", single(&format!("bash -c {}", double(text)))),
    }
}

/// A tag of its own for each here-document: they nest.
fn tag(dice: &mut Dice) -> String {
    format!("END{}", dice.below(1_000_000))
}

/// A text inside double quotes, nothing left to expand.
fn double(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`"))
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4u32 {
            let letter = usize::try_from(bits >> (18 - 6 * place) & 63)
                .ok()
                .and_then(|at| LETTERS.get(at))
                .copied()
                .unwrap_or(b'=');
            out.push(if usize::try_from(place).unwrap_or(0) <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Of ASCII; other texts are not encoded.
fn rot13(text: &str) -> String {
    let turned = |byte: u8, first: u8| char::from((byte - first + 13) % 26 + first);
    let letter = |byte: u8| match byte {
        b'a'..=b'z' => turned(byte, b'a'),
        b'A'..=b'Z' => turned(byte, b'A'),
        other => char::from(other),
    };
    text.bytes().map(letter).collect()
}

fn encoded(text: &str, dice: &mut Dice) -> String {
    if !text.is_ascii() {
        return interpreted(text, dice);
    }
    let packed = base64(text);
    match dice.below(14) {
        0 => format!("echo {packed} | base64 -d | sh"),
        1 => format!("echo {packed} | base64 --decode | bash"),
        2 => format!("base64 -d <<< {packed} | sh"),
        3 => format!("eval \"$(echo {packed} | base64 -d)\""),
        4 => format!("bash -c \"$(base64 -d <<< {packed})\""),
        5 => format!("echo {} | xxd -r -p | sh", hex(text)),
        6 => format!("printf '{}' | sh", text.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
        7 => format!("echo -e '{}' | bash", text.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
        8 if !text.contains('\n') => format!("echo {} | rev | sh", single(&text.chars().rev().collect::<String>())),
        9 => format!("echo {} | tr 'a-zA-Z' 'n-za-mN-ZA-M' | sh", single(&rot13(text))),
        10 => format!("python3 -c \"import base64,os; os.system(base64.b64decode('{packed}').decode())\""),
        11 => format!("printf '{}' | bash", text.bytes().map(|byte| format!("\\{byte:03o}")).collect::<String>()),
        12 => format!("echo {packed} | openssl base64 -d | sh"),
        _ => format!("eval $'{}'", text.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
    }
}

fn stored(text: &str, plain: bool, dice: &mut Dice) -> String {
    let one = single(text);
    let splits = plain
        && !text.contains([
            '\'', '"', '\\', '$', '*', '{', '\n', '\t', ';', '|', '~', '?', '[', '#', '(', '&', '`', '<', '>', '=', '!',
        ]);
    let (first, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    match dice.below(16) {
        0 if splits => format!("x={one}; $x"),
        1 => format!("x={one}; eval \"$x\""),
        2 if splits => format!("x={first}; $x {rest}"),
        3 if splits => format!("a=({}); \"${{a[@]}}\"", text.trim()),
        4 if splits => format!("set -- {}; \"$@\"", text.trim()),
        5 => format!("f() {{ {text}\n}}; f"),
        6 if splits => format!("$(echo {first}) {rest}"),
        7 if splits => format!("`echo {first}` {rest}"),
        8 => format!("echo {one} > /tmp/t.sh; sh /tmp/t.sh"),
        9 => {
            let tag = tag(dice);
            format!("cat > x.sh <<'{tag}'\n{text}\n{tag}\nchmod +x x.sh && ./x.sh")
        }
        10 if splits && first.is_ascii() => {
            let (head, tail) = first.split_at(1.min(first.len()));
            format!("a={head}; b={tail}; $a$b {rest}")
        }
        11 if splits => format!("x={}; ${{x,,}} {rest}", first.to_ascii_uppercase()),
        12 if splits => format!("x=zz{first}; ${{x:2}} {rest}"),
        13 => format!("trap {one} EXIT"),
        14 if splits => format!("read -r x <<< {one}; $x"),
        _ => format!("printf -v x '%s' {one}; eval \"$x\""),
    }
}

fn controlled(text: &str, dice: &mut Dice) -> String {
    match dice.below(14) {
        0 => format!("true && {text}"),
        1 => format!("false || {text}"),
        2 => format!("({text}\n)"),
        3 => format!("{{ {text}\n}}"),
        4 => format!("if true; then {text}\nfi"),
        5 => format!("for i in 1; do {text}\ndone"),
        6 => format!("while true; do {text}\nbreak; done"),
        7 => format!("case x in x) {text}\n;; esac"),
        8 => format!("echo $({text}\n)"),
        9 => format!("x=$({text}\n)"),
        10 => format!("cat <({text}\n)"),
        11 => format!("echo \"$({text}\n)\""),
        12 => format!("until false; do {text}\nbreak; done"),
        _ => format!("[[ -n x ]] && {text}"),
    }
}

fn surrounded(text: &str, dice: &mut Dice) -> String {
    match dice.below(10) {
        0 => format!("ls\n{text}"),
        1 => format!("cd /tmp; {text}"),
        2 => format!("echo start; {text}"),
        3 => format!("# just a note\n{text}"),
        4 => format!("{text}\necho done"),
        5 => format!("git status && {text}"),
        6 => format!("sleep 1; {text}"),
        7 => format!("echo 'nothing to see' > /dev/null; {text}"),
        8 => format!("export A=1; {text}"),
        _ => format!("   \t{text}"),
    }
}
