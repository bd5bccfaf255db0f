//! Any bytes are answered, twice the same, without panic; the engine watches time and memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shell::{View, classify};

fuzz_target!(
    init: {
        // The engine aborts on every panic. Those of the grammar are caught by design and answered `unknown`;
        // any other panic is a fault.
        std::panic::set_hook(Box::new(|information| {
            if !information.location().is_some_and(|location| location.file().contains("brush-parser")) {
                eprintln!("{information}");
                std::process::abort();
            }
        }));
    },
    |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let view = View::default();
        let first = classify(&text, &view);
        assert_eq!(first, classify(&text, &view));
        for reason in &first.reasons {
            assert!(reason.span.start <= reason.span.end);
        }
    }
);
