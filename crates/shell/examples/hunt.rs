//! Looks for disguises that are missed and look-alikes that are flagged, over many seeds.
//!
//! `hunt [FIRST_SEED] [SEEDS]`; needs the feature `disguise`.

use std::collections::BTreeMap;

fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let first = arguments.first().copied().unwrap_or(1000);
    let seeds = arguments.get(1).copied().unwrap_or(20);
    let view = shell::View::default();
    let (mut total, mut worst) = (0usize, 0usize);
    let mut missed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for seed in first..first + seeds {
        for command in shell::disguise::CATASTROPHES {
            for text in shell::disguise::disguises(command, 200, seed) {
                total += 1;
                let answer = shell::classify(&text, &view);
                if answer.class != shell::Class::Catastrophic {
                    missed.entry(answer.class.name()).or_default().push(text);
                }
            }
        }
        let flagged: Vec<String> = shell::disguise::lookalikes(200, seed)
            .into_iter()
            .filter(|text| shell::classify(text, &view).class > shell::Class::Write)
            .collect();
        worst = worst.max(flagged.len());
        for text in flagged {
            missed.entry("look-alike").or_default().push(text);
        }
    }
    println!("disguises {total}, worst look-alikes flagged per seed {worst}");
    for (class, texts) in missed {
        println!("{class}: {}", texts.len());
        for text in texts.iter().take(12) {
            println!("    {text:?}");
        }
    }
}
