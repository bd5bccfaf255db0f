//! What a host demands before it runs hooks. A hook that is written and not trusted does not run, and no host says so.

use serde_json::{Value, json};
use std::path::Path;

/// What a host demands of a person.
pub struct Trust {
    /// The files of the person that say what is trusted, below a home.
    pub files: &'static [&'static str],
    /// Whether the host would run our hooks.
    pub standing: fn(&Place<'_>) -> Standing,
    /// What a person does in the host itself.
    pub step: &'static str,
    /// The files as they are once the person trusts our hooks; `None` where only the host can write it down.
    pub granted: Option<Grant>,
}

/// The files that say what is trusted, with our hooks among it; the error says why they cannot be changed.
pub type Grant = fn(&Place<'_>) -> Result<Vec<String>, String>;

/// Hooks of ours, and what the files of the host say about them.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Where the agent works.
    pub workspace: &'a Path,
    /// Whether the hooks are a person's own and not of the workspace.
    pub is_of_user: bool,
    /// The file that holds the hooks.
    pub settings: &'a Path,
    /// What it says.
    pub text: &'a str,
    /// What [`Trust::files`] say; empty where there is none.
    pub files: &'a [String],
}

impl Place<'_> {
    /// One of the files.
    pub fn file(&self, index: usize) -> &str {
        self.files.get(index).map_or("", String::as_str)
    }
}

/// Whether a host would run our hooks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Nobody has to trust them.
    Needless,
    /// A person trusted them.
    Given,
    /// Nobody trusted them yet, or what was trusted has changed since.
    Missing(String),
    /// The host does not let others read it.
    Unreadable(String),
}

/// Whether a trusted folder is the workspace or holds it.
pub fn holds_folder(folder: &str, workspace: &Path) -> bool {
    let folder = Path::new(folder);
    folder.is_absolute() && workspace.starts_with(folder)
}

/// Gemini CLI's list of folders, which Qwen Code shares, and its switch. The person's own hooks run everywhere.
pub fn in_folder_list(place: &Place<'_>, is_demanded_unsaid: bool) -> Standing {
    let settings: Value = serde_json::from_str(place.file(1)).unwrap_or_default();
    let switch = settings.pointer("/security/folderTrust/enabled").and_then(Value::as_bool);
    if place.is_of_user || !switch.unwrap_or(is_demanded_unsaid) {
        return Standing::Needless;
    }
    let folders: Value = serde_json::from_str(place.file(0)).unwrap_or_default();
    let rules = folders.as_object().into_iter().flatten().filter_map(|(path, word)| {
        let path = Path::new(path);
        match word.as_str()? {
            "TRUST_FOLDER" => Some((path, true)),
            "TRUST_PARENT" => Some((path.parent()?, true)),
            "DO_NOT_TRUST" => Some((path, false)),
            _ => None,
        }
    });
    // The nearest folder counts; of two that are as near, the one that is not trusted.
    let near = rules.filter(|(path, _)| path.is_absolute() && place.workspace.starts_with(path));
    match near.max_by_key(|(path, is_trusted)| (path.components().count(), !is_trusted)) {
        Some((_, true)) => Standing::Given,
        Some((_, false)) => Standing::Missing("the folder is marked as not to be trusted".to_owned()),
        None => Standing::Missing("the folder is not trusted, and its hooks do not run".to_owned()),
    }
}

/// The list with the workspace in it, and the settings as they are.
pub fn with_folder_in_list(place: &Place<'_>) -> Result<Vec<String>, String> {
    let text = if place.file(0).trim().is_empty() { "{}" } else { place.file(0) };
    let mut folders: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let list = folders.as_object_mut().ok_or("it is not an object")?;
    list.insert(place.workspace.to_string_lossy().into_owned(), json!("TRUST_FOLDER"));
    Ok(vec![format!("{folders:#}\n"), place.file(1).to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::tests::PROGRAM;
    use crate::hooks::{HOSTS, host};
    use crate::wiring::{Source, wired};

    fn settings(word: &str) -> String {
        let source =
            Source { binary: "/b/keeper".into(), guard: "/w/.keeper".into(), observe: false, program: &PROGRAM };
        wired(host(word).unwrap(), "", Some(&source)).unwrap()
    }

    #[track_caller]
    fn check(word: &str, is_of_user: bool, files: &[&str], expected: &str) {
        let (text, files) = (settings(word), files.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let place = Place {
            workspace: Path::new("/w/code"),
            is_of_user,
            settings: Path::new("/w/code/hooks"),
            text: &text,
            files: &files,
        };
        let standing = match (host(word).unwrap().trust.as_ref().unwrap().standing)(&place) {
            Standing::Needless => "needless",
            Standing::Given => "given",
            Standing::Missing(_) => "missing",
            Standing::Unreadable(_) => "unreadable",
        };
        assert_eq!(standing, expected, "{word} {files:?}");
    }

    #[test]
    fn each_host_is_believed_by_its_own_files() {
        let strict = r#"{"security":{"folderTrust":{"enabled":true}}}"#;
        let loose = r#"{"security":{"folderTrust":{"enabled":false}}}"#;
        for (word, user, files, expected) in [
            ("gemini", false, &["", ""][..], "missing"),
            ("gemini", true, &["", ""], "needless"),
            ("gemini", false, &["", loose], "needless"),
            ("gemini", false, &[r#"{"/w/code":"TRUST_FOLDER"}"#, ""], "given"),
            ("gemini", false, &[r#"{"/w":"TRUST_FOLDER"}"#, ""], "given"),
            ("gemini", false, &[r#"{"/w/other":"TRUST_PARENT"}"#, ""], "given"),
            ("gemini", false, &[r#"{"/w/co":"TRUST_FOLDER"}"#, ""], "missing"),
            ("gemini", false, &[r#"{"/w":"TRUST_FOLDER","/w/code":"DO_NOT_TRUST"}"#, ""], "missing"),
            ("gemini", false, &[r#"{"/w":"DO_NOT_TRUST","/w/code":"TRUST_FOLDER"}"#, ""], "given"),
            ("gemini", false, &["{", ""], "missing"),
            ("qwen", false, &["", ""], "needless"),
            ("qwen", false, &["", strict], "missing"),
            ("qwen", false, &[r#"{"/w/code":"TRUST_FOLDER"}"#, strict], "given"),
            ("copilot", false, &[""], "missing"),
            ("copilot", true, &[""], "needless"),
            ("copilot", false, &[r#"{"trustedFolders":["/w/code"]}"#], "given"),
            ("copilot", false, &[r#"{"trusted_folders":["/w"]}"#], "given"),
            ("copilot", false, &["// managed\n{\"trustedFolders\":[\"/w\"]}"], "given"),
            ("copilot", false, &[r#"{"trustedFolders":["/w/co", "code", ""]}"#], "missing"),
            ("codex", false, &[""], "missing"),
            ("codex", true, &[""], "missing"),
            ("codex", false, &["[projects.\"/w/code\"]\ntrust_level = \"trusted\"\n"], "missing"),
            ("codex", false, &["{"], "missing"),
            ("cursor", false, &[], "unreadable"),
            ("cursor", true, &[], "needless"),
        ] {
            check(word, user, files, expected);
        }
    }

    #[test]
    fn what_is_granted_is_given_and_keeps_the_rest() {
        for host in HOSTS {
            let Some((trust, grant)) = host.trust.as_ref().and_then(|trust| Some((trust, trust.granted?))) else {
                continue;
            };
            let before: &[&str] = match host.word {
                "codex" => &["", "model = \"m\" # mine\n[projects.\"/w/code\"]\ntrust_level = \"untrusted\"\n"],
                "copilot" => {
                    &["", "// managed\n{\"trustedFolders\":[\"/x\"],\"model\":\"m\"}", "{\"trusted_folders\":[]}"]
                }
                _ => &["", "{\"/x\":\"DO_NOT_TRUST\",\"model\":\"m\"}"],
            };
            for old in before {
                let text = settings(host.word);
                let strict = r#"{"security":{"folderTrust":{"enabled":true}}}"#.to_owned();
                let files = [(*old).to_owned(), strict];
                let place = Place {
                    workspace: Path::new("/w/code"),
                    is_of_user: false,
                    settings: Path::new("/w/code/hooks"),
                    text: &text,
                    files: &files,
                };
                assert!(matches!((trust.standing)(&place), Standing::Missing(_)), "{host:?} {old}");
                let granted = grant(&place).unwrap();
                assert_eq!(granted.len(), trust.files.len(), "{host:?}");
                let place = Place { files: &granted, ..place };
                assert_eq!((trust.standing)(&place), Standing::Given, "{host:?} {granted:?}");
                let kept = granted.first().unwrap();
                assert!(!old.contains("\"m\"") || kept.contains("\"m\""), "{kept}");
                assert!(!old.contains("// managed") || kept.starts_with("// managed\n"), "{kept}");
                assert!(!old.contains("# mine") || kept.contains("# mine"), "{kept}");
            }
        }
    }
}
