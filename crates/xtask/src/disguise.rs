//! Disguises of one dangerous command, and look-alikes that are harmless, from a seed.

use anyhow::{Context, Result, bail};
use shell::Class;

/// `disguise --seed N [--count N] [COMMAND]`: prints each disguise with its class; fails if one is missed.
pub fn run(options: &[&str]) -> Result<bool> {
    let (seed, count, command) = read_options(options)?;
    let view = shell::View::default();
    let mut missed = 0;
    for disguise in shell::disguise::disguises(command, count, seed) {
        let class = shell::classify(&disguise, &view).class;
        missed += usize::from(class != Class::Catastrophic);
        println!("{}", serde_json::json!({ "command": disguise, "class": class.name() }));
    }
    println!("disguise: {count} of `{command}` with seed {seed}, {missed} missed");
    Ok(missed == 0)
}

fn read_options<'a>(options: &[&'a str]) -> Result<(u64, usize, &'a str)> {
    let (mut seed, mut count, mut command) = (1, 200, "rm -rf /");
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        match *option {
            "--seed" => {
                seed = rest.next().context("`--seed` needs a number")?.parse().context("`--seed` needs a number")?
            }
            "--count" => {
                count = rest.next().context("`--count` needs a number")?.parse().context("`--count` needs a number")?
            }
            text if text.starts_with("--") => bail!("disguise takes --seed N, --count N and a command"),
            text => command = text,
        }
    }
    Ok((seed, count, command))
}
