//! Disguises of single words: quotes, escapes, options, paths, white space.

use super::Dice;

/// The command with every word written in some other way.
pub(super) fn written(command: &str, dice: &mut Dice) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let word = if at == 0 { program(word, dice) } else { argument(&words, word, dice) };
        out.push(word);
    }
    joined(&out, dice)
}

fn joined(words: &[String], dice: &mut Dice) -> String {
    let safe = words.iter().all(|word| !word.contains(['\'', '"', '\\', '$', '{', ',', '`', '~', '*', ' ']));
    match dice.below(12) {
        0 if safe => format!("{{{}}}", words.join(",")),
        1 => words.join("${IFS}"),
        2 if names_end(words) => words.join("$IFS"),
        3 => words.join("\t"),
        4 => words.join(" \\\n  "),
        5 => format!("  {}  ", words.join("    ")),
        6 => format!("{} # cleanup", words.join(" ")),
        _ => words.join(" "),
    }
}

/// `$IFS` followed by a letter would be another variable.
fn names_end(words: &[String]) -> bool {
    words.iter().skip(1).all(|word| !word.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn program(name: &str, dice: &mut Dice) -> String {
    match dice.below(5) {
        0 => quoted(name, dice),
        1 => {
            let directory = dice
                .pick(&["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/bin/../bin/", "//bin/"])
                .copied()
                .unwrap_or("/bin/");
            format!("{directory}{name}")
        }
        2 => format!("\\{name}"),
        _ => name.to_owned(),
    }
}

fn argument(all: &[&str], word: &str, dice: &mut Dice) -> String {
    let plain = match word {
        "-rf" => dice
            .pick(&[
                "-rf",
                "-fr",
                "-r -f",
                "-f -r",
                "--recursive --force",
                "--force --recursive",
                "-Rf",
                "-rfv",
                "--recur --force",
                "-r --force",
                "-rf --",
                "--no-preserve-root -rf",
                "-rf --no-preserve-root",
                "-vrf",
                "-rfi",
            ])
            .copied()
            .unwrap_or(word)
            .to_owned(),
        "-R" => dice.pick(&["-R", "--recursive", "-Rv", "-vR", "--recursiv"]).copied().unwrap_or(word).to_owned(),
        "/" => dice
            .pick(&["/", "//", "/.", "/./", "/../", "/etc/..", "/usr/../", "/*", "/tmp/../", "///"])
            .copied()
            .unwrap_or(word)
            .to_owned(),
        "~" => dice
            .pick(&[
                "~",
                "~/",
                "$HOME",
                "\"$HOME\"",
                "${HOME}",
                "$HOME/",
                "~/.",
                "\"${HOME}/\"",
                "$HOME/.",
                "~/../user",
                "~/*",
                "\"$HOME\"/*",
            ])
            .copied()
            .unwrap_or(word)
            .to_owned(),
        "/etc" => dice
            .pick(&[
                "/etc",
                "/etc/",
                "//etc",
                "/etc/.",
                "/usr/../etc",
                "/et?",
                "/e[t]c",
                "/./etc",
                "'/etc'",
                "\"/etc\"",
            ])
            .copied()
            .unwrap_or(word)
            .to_owned(),
        other => other.to_owned(),
    };
    // `find / -delete` takes its path literally, and words with wildcards or variables must stay open.
    let open = plain.contains(['*', '?', '[', '$', '~', '"', '\'', ' '])
        || (all.first() == Some(&"find") && plain.starts_with('-'));
    if open || dice.below(3) > 0 { plain } else { quoted(&plain, dice) }
}

/// A word that means itself, written with quotes and escapes.
pub(super) fn quoted(word: &str, dice: &mut Dice) -> String {
    let middle = word.char_indices().nth(1).map_or(word.len(), |(at, _)| at);
    let (head, tail) = word.split_at(middle);
    match dice.below(10) {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => format!("{head}''{tail}"),
        3 => format!("{head}\"\"{tail}"),
        4 => format!("{head}'{tail}'"),
        5 => format!("$'{}'", word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
        6 => format!("$'{}'", word.bytes().map(|byte| format!("\\{byte:03o}")).collect::<String>()),
        7 if !tail.is_empty() => format!("{head}\\{tail}"),
        8 => format!("\"{head}\"'{tail}'"),
        _ => format!("$'{word}'"),
    }
}
