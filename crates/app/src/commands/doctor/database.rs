//! What a database that holds a store can lose, graded by its settings.

use crate::store;
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, paint, say};
use adapters::store_postgres::{Address, Settings, Tls, VERSION_TESTED};
use writkeeper::Notice;
use writkeeper::restored::KeysNotice;

/// How much something matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Grade {
    Good,
    /// Works, and somebody should know.
    Attention,
    /// What was acknowledged can be lost, or nothing works.
    Bad,
}

impl Grade {
    fn word(self) -> &'static str {
        match self {
            Grade::Good => "good",
            Grade::Attention => "attention",
            Grade::Bad => "bad",
        }
    }
}

/// What was found of one database.
pub struct Database {
    location: String,
    version: Option<String>,
    findings: Vec<(Grade, String)>,
}

/// Looks at a database.
pub fn look(location: &str) -> Database {
    let found = Address::parse(location).and_then(|address| Ok((Settings::of(&address)?, address)));
    match found {
        Err(fault) => Database::unread(location, fault.to_string()),
        Ok((settings, address)) => {
            let mut findings = graded(&settings, &address);
            // Its schema, what this role may do, and whether everything that was published is there.
            match store::looked_at(location) {
                Err(error) => findings.push((Grade::Bad, format!("{error:#}"))),
                Ok(notices) => findings.extend(notices.into_iter().map(|notice| (grade(&notice), notice.to_string()))),
            }
            Database { location: location.to_owned(), version: Some(settings.version), findings }
        }
    }
}

/// A store that has lost entries decides nothing.
fn grade(notice: &Notice) -> Grade {
    match notice {
        Notice::Keys(KeysNotice::Lost(_)) => Grade::Bad,
        Notice::Keys(KeysNotice::KeysAbsent { .. } | KeysNotice::Unreadable { .. }) | Notice::ClockAhead { .. } => {
            Grade::Attention
        }
    }
}

/// What the settings mean for what was acknowledged.
fn graded(settings: &Settings, address: &Address) -> Vec<(Grade, String)> {
    let mut findings = Vec::new();
    let mut say = |grade: Grade, words: String| findings.push((grade, words));
    if settings.fsync {
        say(Grade::Good, "a commit is on the disk before it is acknowledged (fsync = on)".to_owned());
    } else {
        say(
            Grade::Bad,
            "what was acknowledged is lost when the machine stops (fsync = off); set fsync = on".to_owned(),
        );
    }
    if !settings.full_page_writes {
        say(Grade::Bad, "a page written by half is not mended (full_page_writes = off); set it on".to_owned());
    }
    match settings.synchronous_commit.as_str() {
        "off" | "local" => say(
            Grade::Attention,
            format!(
                "synchronous_commit = {}; decisions are committed with `on` all the same",
                settings.synchronous_commit
            ),
        ),
        other => say(Grade::Good, format!("synchronous_commit = {other}")),
    }
    if settings.standbys.is_empty() {
        let words = "no commit waits for a standby: if one takes over, the last acknowledged decisions can be missing; \
                     set synchronous_standby_names where there is a standby";
        say(Grade::Attention, words.to_owned());
    } else if settings.receivers == 0 {
        let words =
            "no standby is connected: every commit waits for ever; connect one, or empty synchronous_standby_names";
        say(Grade::Bad, format!("commits wait for standbys ({}), and {words}", settings.standbys));
    } else {
        say(Grade::Good, format!("commits wait for standbys ({})", settings.standbys));
    }
    if !settings.checksums {
        say(Grade::Attention, "a page that the disk changes is not noticed by the database (data_checksums = off); `writkeeper verify` of an export notices".to_owned());
    }
    if settings.is_standby || settings.is_read_only {
        say(
            Grade::Bad,
            "nothing can be decided here: the database is a standby or read only; name the primary".to_owned(),
        );
    }
    if settings.major > VERSION_TESTED {
        say(
            Grade::Attention,
            format!("PostgreSQL {} is newer than what is tested (15 to {VERSION_TESTED})", settings.major),
        );
    }
    if !address.is_local() && *address.tls() == Tls::Disabled {
        say(Grade::Attention, "the way to the database is not encrypted; add `?sslmode=verify-full`".to_owned());
    }
    findings
}

impl Database {
    fn unread(location: &str, problem: String) -> Database {
        Database { location: location.to_owned(), version: None, findings: vec![(Grade::Bad, problem)] }
    }

    /// That did not answer in time.
    pub fn late(location: &str) -> Database {
        Database::unread(location, "the database did not answer in time".to_owned())
    }

    /// Whether nothing that was acknowledged can be lost by its own fault.
    pub fn is_well(&self) -> bool {
        self.findings.iter().all(|(grade, _)| *grade != Grade::Bad)
    }

    /// Says it.
    pub fn tell(&self) -> anyhow::Result<()> {
        let version = self.version.as_ref().map(|version| format!("PostgreSQL {version}  ")).unwrap_or_default();
        say!("database {version}{}", paint(FAINT, &self.location));
        for (grade, words) in &self.findings {
            let style = match grade {
                Grade::Good => GOOD,
                Grade::Attention => ATTENTION,
                Grade::Bad => BAD,
            };
            say!("        {} {words}", paint(style, format!("{:9}", grade.word())));
        }
        Ok(())
    }

    /// For programs.
    pub fn to_json(&self) -> serde_json::Value {
        let findings = self.findings.iter();
        let findings = findings.map(|(grade, words)| serde_json::json!({ "grade": grade.word(), "finding": words }));
        serde_json::json!({
            "store": self.location,
            "version": self.version,
            "findings": findings.collect::<Vec<_>>(),
        })
    }
}
