//! Switches that stop a host from running hooks. No hook of ours runs then, so only the installer and a person who asks can
//! notice.

use super::place;
use crate::hooks::Host;
use crate::whole_file::text_or_nothing;
use std::path::{Path, PathBuf};

/// The files in which hooks of a host are switched off, in a workspace and in a home.
pub fn set_in(host: Host, workspace: &Path) -> Vec<PathBuf> {
    let Some(switch) = &host.off_switch else { return Vec::new() };
    let bases = std::iter::once(workspace.to_path_buf()).chain(place::home());
    let paths = bases.flat_map(|base| switch.files.iter().map(move |name| base.join(name)));
    paths.filter(|path| (switch.is_off)(&text_or_nothing(path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::HOSTS;
    use crate::hooks::dialect::tests::MADE_UP;

    #[test]
    fn a_switch_is_found_in_every_file_that_can_hold_it() {
        let off = [
            ("claude-code", r#"{"disableAllHooks": true}"#),
            ("codex", "[features]\nhooks = false\n"),
            ("gemini", r#"{"hooksConfig": {"enabled": false}}"#),
            ("qwen", r#"{"disableAllHooks": true}"#),
            ("copilot", r#"{"disableAllHooks": true}"#),
            ("made-up", "off"),
        ];
        for host in HOSTS.into_iter().chain([&MADE_UP]) {
            let Some(switch) = &host.off_switch else { continue };
            let (_, text) = off.iter().find(|(word, _)| *word == host.word).unwrap();
            for name in switch.files {
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join(name);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(&file, "{}").unwrap();
                assert!(!set_in(host, folder.path()).contains(&file), "{host:?} {name}");
                std::fs::write(&file, text).unwrap();
                assert!(set_in(host, folder.path()).contains(&file), "{host:?} {name}");
            }
        }
    }
}
