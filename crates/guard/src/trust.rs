//! What the files of a person say about the trust of a host in our hooks.

use super::place;
use super::wiring;
use crate::hooks::Host;
use crate::hooks::trust::{Grant, Place, Standing};
use crate::whole_file::text_or_nothing;
use std::path::{Path, PathBuf};
use values::bugs::{self, Bug};

/// The files, as they were read.
#[derive(Debug)]
pub struct TrustFiles {
    host: Host,
    workspace: PathBuf,
    is_of_user: bool,
    settings: PathBuf,
    text: String,
    paths: Vec<PathBuf>,
    texts: Vec<String>,
}

impl TrustFiles {
    /// For hooks in a file of a host.
    pub fn of(host: Host, workspace: &Path, is_of_user: bool, settings: &Path) -> TrustFiles {
        let names = host.trust.iter().flat_map(|trust| trust.files);
        let home = place::home().unwrap_or_default();
        let paths: Vec<PathBuf> = names.map(|name| host.file_of_person(&home, name, wiring::variable)).collect();
        let texts = paths.iter().map(|path| text_or_nothing(path)).collect();
        let (text, settings) = (text_or_nothing(settings), settings.to_path_buf());
        TrustFiles { host, workspace: workspace.to_path_buf(), is_of_user, settings, text, paths, texts }
    }

    /// The same files, read again.
    pub fn again(&self) -> TrustFiles {
        TrustFiles::of(self.host, &self.workspace, self.is_of_user, &self.settings)
    }

    /// Where they lie.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Whether the host would run our hooks.
    pub fn standing(&self) -> Standing {
        if bugs::on(Bug::TrustAssumed) {
            return Standing::Given;
        }
        self.host.trust.as_ref().map_or(Standing::Needless, |trust| (trust.standing)(&self.place()))
    }

    /// What the files say once our hooks are trusted.
    pub fn with_place(&self, grant: Grant) -> Result<Vec<String>, String> {
        grant(&self.place())
    }

    fn place(&self) -> Place<'_> {
        Place {
            workspace: &self.workspace,
            is_of_user: self.is_of_user,
            settings: &self.settings,
            text: &self.text,
            files: &self.texts,
        }
    }
}
