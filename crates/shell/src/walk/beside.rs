//! Commands that run beside their shell: they meet what is written after they began.

use super::{Job, Walker};
use crate::answer::Span;
use brush_parser::ast;

/// Commands beside the shell that are looked at once more.
const JOBS_MAX: usize = 16;

impl Walker<'_> {
    /// A command begins that nobody waits for.
    pub(super) fn begin(&mut self, list: &ast::AndOrList) {
        if self.jobs.len() < JOBS_MAX {
            self.jobs.push(Job { list: list.clone(), state: self.state.clone(), origin: self.origin });
        } else {
            self.more_jobs = true;
        }
    }

    /// At the end: what they do with the files as they are by then.
    pub(super) fn late(&mut self) {
        let jobs = std::mem::take(&mut self.jobs);
        let written = self.state.files.keys().any(|path| !path.starts_with("/dev/"));
        if std::mem::take(&mut self.more_jobs) && written {
            self.report.unknown("TOO_MANY", "more commands beside each other than are followed", Span::default());
        }
        let (last, origin) = (self.state.clone(), self.origin);
        let listed = self.report.listed();
        for job in jobs.into_iter().filter(|job| job.state.files != last.files) {
            self.state = job.state;
            self.state.files.clone_from(&last.files);
            self.state.programs.clone_from(&last.programs);
            self.origin = job.origin;
            self.and_or(&job.list, crate::stream::Stream::Opaque);
        }
        self.report.unlist_repeated(listed);
        (self.state, self.origin) = (last, origin);
        self.jobs.clear();
        self.more_jobs = false;
    }
}
