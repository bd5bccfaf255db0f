//! Times ordinary commands and hostile 64 KiB texts on one core.

use std::hint::black_box;
use std::time::Instant;

const ORDINARY: &[&str] = &[
    "ls -la src",
    "git status --short",
    "cargo test -p kernel -- --nocapture",
    "grep -rn 'fn main' src | head -5",
    "npm run build && npm test",
    "cat Cargo.toml | sed -n '1,20p'",
    "find . -name '*.rs' -not -path './target/*' | xargs wc -l",
    "git commit -m 'fix: bounds'",
    "python3 -m pytest -q tests",
    "docker compose up -d",
    "mkdir -p out && cp -r src out/",
    "echo \"$HOME\" > /tmp/x",
    "for f in *.txt; do echo \"$f\"; done",
    "curl -s https://example.com/api | jq .name",
    "rm -rf build",
];

fn hostile() -> Vec<(&'static str, String)> {
    const SIZE: usize = 64 * 1024;
    let fill = |unit: &str| unit.repeat(SIZE / unit.len());
    let nested = |open: &str, close: &str| {
        let count = SIZE / (open.len() + close.len());
        format!("{}{}", open.repeat(count), close.repeat(count))
    };
    vec![
        ("words", fill("a ")),
        ("commands", fill("a;")),
        ("commands below the bound", "rm x;".repeat(4000)),
        ("pipes", fill("a|")),
        ("substitutions", nested("$(", ")")),
        ("substitutions in a row", fill("$(a) ")),
        ("quotes", fill("'a'\"b\"")),
        ("open quotes", fill("'")),
        ("back-quotes", fill("`a` ")),
        ("parameters", fill("${a:-b}")),
        ("nested parameters", nested("${a:-", "}")),
        ("braces", nested("{a,", "}")),
        ("braces in a row", fill("{a,b}")),
        ("here-documents", fill("<<A ")),
        ("redirections", fill(">a ")),
        ("assignments", fill("a=b ")),
        ("growing value", format!("a=x;{}echo $a", "a=$a$a;".repeat(4000))),
        ("functions", fill("f(){ f;};f;")),
        ("nested if", nested("if a;then ", " fi;")),
        ("wildcards", fill("*a")),
        ("line ends", fill("\n")),
        ("backslashes", fill("\\\n")),
        ("ansi quotes", fill("$'\\x41'")),
        ("base64 layers", format!("echo {} | base64 -d | sh", "QUFB".repeat(16000))),
        ("one long word", fill("a")),
        ("unicode", fill("é“")),
        ("for loops", format!("{}rm -rf $a{}", "for a in 1 2 3 4 5 6 7 8; do ".repeat(8), "; done".repeat(8))),
        ("xargs", format!("echo {} | xargs rm", "a ".repeat(30000))),
        ("case", fill("case a in b) c;; esac;")),
        ("eval", format!("eval '{}'", "eval a;".repeat(4000))),
        ("code", format!("python3 -c '{}'", "os.system(\"a\");".repeat(4000))),
    ]
}

fn main() {
    let view = shell::View::default();
    let start = Instant::now();
    let mut count = 0u128;
    while start.elapsed().as_millis() < 2000 {
        for command in ORDINARY {
            black_box(shell::classify(command, &view));
            count += 1;
        }
    }
    println!("ordinary commands per second: {}", count * 1_000_000 / start.elapsed().as_micros().max(1));
    for (name, text) in hostile() {
        let text = text.get(..text.len().min(64 * 1024)).unwrap_or(&text);
        let start = Instant::now();
        let answer = shell::classify(text, &view);
        println!(
            "{:>8.2} ms  {:<14} {name} ({} bytes)",
            start.elapsed().as_secs_f64() * 1000.0,
            answer.class.name(),
            text.len()
        );
    }
}
