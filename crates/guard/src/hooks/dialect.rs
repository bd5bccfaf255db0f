//! What a host speaks: everything this crate knows about one host, as data and two pure functions.

use super::tools::Kind;
use super::trust::Trust;
use super::{Call, Event, HookOutput, Reply};
use serde_json::Value;
use shell::HostFiles;
use std::path::{Path, PathBuf};
use values::json::Json;

/// A host whose hooks are understood.
pub type Host = &'static Dialect;

/// Everything that is known about one host. Paths without a leading `/` are relative to a workspace and to a home.
pub struct Dialect {
    /// The word on the command line; also the name of the agent and of its contract.
    pub word: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The same in a list of hosts.
    pub short_title: &'static str,
    /// Where our hooks are written.
    pub settings: Settings,
    /// The moments that are wired, by the host's names.
    pub moments: &'static [(&'static str, Event)],
    /// What the host demands before it runs hooks; `None` where it demands nothing.
    pub trust: Option<Trust>,
    /// Flags and variables at its start with which the host runs no hooks of ours, as far as this was seen.
    pub skipped_by: &'static [&'static str],
    /// A variable that names the host's folder of a person, and the folder below a home that it stands for.
    pub home_variable: Option<(&'static str, &'static str)>,
    /// How a person or a program can stop the host from running hooks.
    pub off_switch: Option<OffSwitch>,
    /// What no tool may change, and where logins lie.
    pub files: HostFiles,
    /// Single files that the host reads: each may be a link to where a person keeps it, or have a second name.
    pub configuration: &'static [&'static str],
    /// Folders among its files in which the host lets agents write plans and notes.
    pub scratch: &'static [&'static str],
    /// Its tools, by what they do.
    pub tools: &'static [(Kind, &'static [&'static str])],
    /// Whether the agent can type into a program that runs, with a tool for which no hook is called.
    pub types_into_programs: bool,
    /// Whether `exit 2` with a text on standard error blocks a call. Other hosts read an object on standard output.
    pub blocks_by_exit: bool,
    /// Reads what the host sent; the error says what is wrong with it.
    pub read: fn(Event, &Json) -> Result<Call, String>,
    /// Writes what the host reads. The text is the host's own name of the moment, where it was readable.
    pub write: fn(Event, &str, &Reply) -> HookOutput,
    /// What the host sends before it runs a command; wired hooks are tried out with it.
    pub payload: fn(&ShellCall<'_>) -> Value,
}

impl Dialect {
    /// A file of a person, by its name below a home: where the host's own variable says, else in the home.
    pub fn file_of_person(&self, home: &Path, name: &str, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let moved = self.home_variable.and_then(|(named, folder)| {
            let rest = Path::new(name).strip_prefix(folder).ok()?;
            Some(variable(named).filter(|folder| folder.is_absolute())?.join(rest))
        });
        moved.unwrap_or_else(|| home.join(name))
    }
}

/// The file that holds hooks.
pub struct Settings {
    /// The file, in a workspace.
    pub file: &'static str,
    /// The file of a person, in a home.
    pub file_at_home: &'static str,
    /// How hooks are written in it.
    pub form: Form,
}

/// How hooks are written in a settings file.
pub enum Form {
    /// An object whose member `hooks` holds a list of entries for each moment.
    Json {
        /// The member `version` of the file, where the host wants one.
        version: Option<u32>,
        /// One entry of a list.
        entry: fn(&HookEntry<'_>) -> Value,
    },
    /// Tables `[[hooks.MOMENT]]`, kept between two comments, and a switch among `[features]`.
    Toml,
}

/// What an entry of ours says.
pub struct HookEntry<'a> {
    /// The host's name of the moment.
    pub moment: &'a str,
    /// The command line.
    pub command: String,
    /// How long the host waits.
    pub seconds: u32,
    /// Whether the call must not run if the command line itself dies.
    pub fails_closed: bool,
}

/// A switch that stops a host from running hooks.
pub struct OffSwitch {
    /// Files that can hold it.
    pub files: &'static [&'static str],
    /// Whether the text of such a file switches hooks off, or ours alone.
    pub is_off: fn(&str) -> bool,
}

/// A command that a host is about to run.
#[derive(Clone, Copy, Debug)]
pub struct ShellCall<'a> {
    /// The command.
    pub command: &'a str,
    /// Where it would run.
    pub cwd: &'a str,
    /// The host's session.
    pub session: &'a str,
    /// The host's id of the call.
    pub id: &'a str,
}

/// Hosts are told apart by their words.
impl PartialEq for Dialect {
    fn eq(&self, other: &Dialect) -> bool {
        self.word == other.word
    }
}

impl Eq for Dialect {}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.word)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::{HOSTS, host_files, nested, read, write};
    use super::*;
    use std::collections::BTreeMap;

    /// A host that nobody has: what all lists make of it shows that a dialect is its constant and its line.
    pub(crate) const MADE_UP: Dialect = Dialect {
        word: "made-up",
        title: "Made-up Agent",
        short_title: "Made-up",
        settings: Settings {
            file: ".made-up/hooks.json",
            file_at_home: ".made-up/hooks.json",
            form: Form::Json { version: Some(3), entry: |entry| serde_json::json!({ "run": entry.command }) },
        },
        moments: &[("before", Event::PreTool), ("after", Event::PostTool)],
        trust: None,
        skipped_by: &[],
        home_variable: None,
        off_switch: Some(OffSwitch { files: &[".made-up/hooks.json", ".made-up/local"], is_off: |text| text == "off" }),
        files: HostFiles {
            names: &[".made-up"],
            paths: &[".config/made-up"],
            system: &["/etc/made-up/"],
            logins: &[".config/made-up/login", ".made-up-keys/"],
        },
        configuration: &[".made-up/hooks.json", ".made-up/local"],
        scratch: &[".made-up/notes"],
        tools: &[(Kind::Shell, &["terminal"])],
        types_into_programs: false,
        blocks_by_exit: false,
        read: nested::read,
        write: |event, _, reply| nested::write(event, reply, true),
        payload: |call| nested::payload(call, "Bash"),
    };

    #[test]
    fn every_host_understands_itself() {
        for host in HOSTS.into_iter().chain([&MADE_UP]) {
            let call = ShellCall { command: "ls -l", cwd: "/w", session: "s", id: "i" };
            let sent = Json::parse((host.payload)(&call).to_string().as_bytes()).unwrap();
            let call = read(host, Event::PreTool, &sent).unwrap();
            assert_eq!((call.session.as_str(), call.cwd.as_str()), ("s", "/w"), "{host:?}");
            assert_eq!(call.tool, crate::hooks::tools::Tool::Shell { command: "ls -l".to_owned() }, "{host:?}");
            assert!(write(host, Event::PreTool, &call.moment, &Reply::Deny("no".to_owned())).stdout.contains("no"));
            let events = |event| host.moments.iter().filter(|(_, wired)| *wired == event).count();
            assert!(events(Event::PreTool) >= 1, "{host:?} is asked before a tool runs");
        }
    }

    #[test]
    fn files_that_steer_a_host_are_protected() {
        for host in HOSTS.into_iter().chain([&MADE_UP]) {
            let steering = host.off_switch.iter().flat_map(|switch| switch.files).chain([&host.settings.file]);
            let steering = steering.chain([&host.settings.file_at_home]);
            let steering = steering.chain(host.trust.iter().flat_map(|trust| trust.files));
            for file in steering {
                assert!(host.configuration.contains(file), "{host:?}: {file} may be a link");
            }
            let is_below = |path: &str, folder: &str| {
                path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            };
            for file in host.configuration.iter().chain(host.scratch) {
                let mut roots = host.files.names.iter().chain(host.files.paths);
                assert!(roots.any(|root| is_below(file, root)), "{host:?}: {file} lies in none of its folders");
            }
        }
    }

    #[test]
    fn the_reader_of_commands_knows_the_files_of_hosts() {
        let secret = |path: &str, hosts: &[HostFiles]| {
            shell::is_secret(path, &shell::View { hosts, ..shell::View::new("/w", "/home/user") })
        };
        for host in HOSTS.into_iter().chain([&MADE_UP]) {
            let hosts = [host.files];
            for login in host.files.logins {
                let path = format!("/home/user/{}", login.trim_end_matches('/'));
                assert!(secret(&path, &hosts), "{host:?} {login}");
                assert!(!secret(&path, &[]), "{host:?} {login}");
            }
            for name in host.files.names {
                let view = shell::View { hosts: &hosts, ..shell::View::new("/w", "/home/user") };
                let answer = shell::classify(&format!("echo x > {name}"), &view);
                assert!(answer.capabilities.contains(&shell::Capability::GuardTampering), "{host:?} {name}");
            }
        }
        assert_eq!(host_files().len(), HOSTS.len());
    }

    #[test]
    fn words_and_tools_mean_one_thing() {
        let mut kinds = BTreeMap::new();
        for host in HOSTS {
            assert_eq!(HOSTS.into_iter().filter(|other| other.word == host.word).count(), 1, "{host:?}");
            for (kind, name) in host.tools.iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind, name))) {
                assert_eq!(kinds.insert(name, kind).unwrap_or(kind), kind, "{host:?}: {name}");
            }
        }
    }
}
