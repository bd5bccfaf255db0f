//! Names the slowest files of a folder: `slowest FOLDER`.

use std::time::Instant;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "fuzz/corpus/classify".to_owned());
    let view = shell::View::default();
    let mut times = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        let start = Instant::now();
        std::hint::black_box(shell::classify(&text, &view));
        times.push((start.elapsed(), path));
    }
    times.sort();
    for (time, path) in times.iter().rev().take(5) {
        println!("{time:?} {}", path.display());
    }
    Ok(())
}
