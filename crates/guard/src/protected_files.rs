//! What no tool of an agent may change: hook configuration, contracts, store and the binary itself.
//!
//! Paths are compared by component after links were followed, without case, and by inode, so that a second name of a
//! file is the file.

use super::daemon::DaemonFolder;
use super::place::{self, Guard};
use super::wiring;
use crate::command_line::CommandLine;
use crate::hooks::{HOSTS, Host};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The largest compiled pattern; one that needs more counts as a match.
const PATTERN_BYTES_MAX: usize = 64 * 1024;

/// How a path and the files of the guard overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// Not at all.
    Nowhere,
    /// It is a file or folder of the guard, or lies in one.
    Within,
    /// A folder of the guard lies below it.
    Above,
}

/// Everything that is protected.
#[derive(Debug)]
pub struct ProtectedFiles {
    entries: Vec<Vec<String>>,
    program: &'static CommandLine,
    /// The hosts whose files are protected.
    hosts: &'static [Host],
    /// The workspace and the home. Paths below them are put together on demand: most calls need none.
    bases: Vec<PathBuf>,
    /// Single files elsewhere whose second names are looked for.
    files: Vec<PathBuf>,
    /// This program.
    binary: Option<PathBuf>,
    /// The process that answers hooks, if one does.
    daemon: Option<u32>,
}

impl ProtectedFiles {
    /// What an installation on this machine consists of.
    pub fn of(guard: Option<&Guard>, workspace: &Path, program: &'static CommandLine) -> ProtectedFiles {
        ProtectedFiles::of_hosts(&HOSTS, guard, workspace, program)
    }

    fn of_hosts(
        hosts: &'static [Host],
        guard: Option<&Guard>,
        workspace: &Path,
        program: &'static CommandLine,
    ) -> ProtectedFiles {
        let bases = std::iter::once(workspace.to_path_buf()).chain(place::home().map(|home| place::canonical(&home)));
        let bases: Vec<PathBuf> = bases.collect();
        let mut protected = ProtectedFiles {
            entries: Vec::new(),
            program,
            hosts,
            bases: Vec::new(),
            files: Vec::new(),
            binary: None,
            daemon: None,
        };
        for base in &bases {
            let mut below = Below::of(base);
            protected.protect_in(&mut below, Path::new(place::FOLDER));
            for name in hosts.iter().flat_map(|host| host.files.names.iter().chain(host.files.paths)) {
                protected.protect_in(&mut below, Path::new(name));
            }
            for name in hosts.iter().flat_map(|host| host.configuration).map(Path::new) {
                if below.is_link(name) {
                    protected.protect(&base.join(name));
                }
            }
        }
        for folder in hosts.iter().filter_map(|host| wiring::variable(host.home_variable?.0)) {
            protected.protect(&folder);
        }
        protected.bases = bases;
        if let Some(guard) = guard {
            protected.protect(&guard.folder);
            protected.files.push(guard.store());
            protected.daemon = DaemonFolder::of(guard).holder().map(|holder| holder.process);
            protected.files.extend(hosts.iter().map(|host| guard.contract(host)));
        }
        if let Ok(binary) = std::env::current_exe() {
            protected.protect(&binary);
            protected.files.push(binary.clone());
            protected.binary = Some(place::canonical(&binary));
        }
        protected
    }

    /// Protects a path below a folder that is free of links. Most of these paths are no links either, or do not exist.
    fn protect_in(&mut self, below: &mut Below<'_>, name: &'static Path) {
        let path = below.base.join(name);
        if parts(name).any(|part| below.is_link(part)) {
            return self.protect(&path);
        }
        self.entries.push(components(&path));
    }

    /// The path itself, and where it leads if it is a link.
    fn protect(&mut self, path: &Path) {
        self.entries.push(components(path));
        let real = place::destination(path);
        if real != path {
            self.entries.push(components(&real));
        }
    }

    /// Whether writing to a resolved path changes the guard. A wildcard overlaps with everything that it can mean.
    pub fn overlap(&self, path: &str) -> Overlap {
        let parts = components(Path::new(path));
        if self.entries.iter().any(|root| covers(root, &parts)) && !self.is_scratch(path) {
            return Overlap::Within;
        }
        if self.is_second_name(Path::new(path)) {
            return Overlap::Within;
        }
        let above = self.entries.iter().any(|entry| covers(&parts, entry));
        if above { Overlap::Above } else { Overlap::Nowhere }
    }

    /// The command line of this program.
    pub fn program(&self) -> &'static CommandLine {
        self.program
    }

    /// Whether a folder holds this program, so that a copy of one is a copy of the other.
    pub fn holds_binary(&self, folder: &str) -> bool {
        self.binary.as_ref().is_some_and(|binary| binary.starts_with(folder))
    }

    /// Whether a file is a copy of this program: the same length, and the same bytes at some offsets.
    pub fn is_copy_of_binary(&self, path: &str) -> bool {
        let Some(binary) = &self.binary else { return false };
        let length = |path: &Path| {
            let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
            found.map(|found| found.len()).filter(|length| *length > 0)
        };
        let (path, Some(long)) = (Path::new(path), length(binary)) else { return false };
        length(path) == Some(long)
            && [long / 4, long / 2, long / 4 * 3].into_iter().all(|at| {
                let there = sample(binary, at);
                there.is_some() && there == sample(path, at)
            })
    }

    /// Whether hosts let agents write here. A wildcard that merely could mean such a folder does not count.
    pub fn is_scratch(&self, path: &str) -> bool {
        let parts = components(Path::new(path));
        self.below_bases(|host| host.scratch).any(|root| parts.starts_with(&components(&root)))
    }

    /// The process of the guard that a command ends or stops: by its number, by its name or a pattern that can mean it,
    /// or with everything else.
    pub fn signalled(&self, words: &[String]) -> Option<String> {
        let (program, arguments) = words.split_first()?;
        let program = base(program);
        let plain = || arguments.iter().filter(|word| !word.starts_with("--"));
        let by_name = |word: &str| !word.is_empty() && can_find(word, self.program.program, &self.command_lines());
        let meets = match program {
            "kill" | "skill" | "tgkill" | "renice" | "strace" | "gdb" => {
                let own = self.daemon.map(|process| process.to_string());
                // As the first argument `-1` is a signal, behind it everybody.
                let everybody = plain().skip(1).any(|word| word == "-1");
                everybody
                    || plain().any(|word| {
                        own.as_deref() == Some(word.trim_start_matches('-')) || word.contains(self.program.program)
                    })
            }
            "killall5" => true,
            "pkill" | "killall" | "systemctl" | "launchctl" => {
                plain().filter(|word| !word.starts_with('-')).any(|word| by_name(word))
                    || is_everybody_of(program, arguments)
            }
            // By a port other processes are meant: this one listens to none.
            "fuser" => {
                let is_port = |word: &&String| {
                    let port = word.split('/').next().unwrap_or_default();
                    port.parse::<u16>().is_ok() || matches!(port, "tcp" | "udp")
                };
                arguments.iter().any(|word| word.starts_with("-k") || word == "--kill")
                    && !arguments.iter().filter(|word| !word.starts_with('-')).all(|word| is_port(&word))
            }
            _ => false,
        };
        meets.then(|| words.join(" "))
    }

    /// The search for the guard's process in a command that also ends processes: `kill $(pgrep …)`.
    pub fn searched_and_signalled(&self, commands: &[Vec<String>]) -> Option<String> {
        let program = |words: &[String]| words.first().map(|word| base(word).to_owned()).unwrap_or_default();
        let ends = |words: &Vec<String>| match program(words).as_str() {
            "kill" | "skill" => true,
            "xargs" | "parallel" => words.iter().any(|word| matches!(base(word), "kill" | "skill")),
            _ => false,
        };
        if !commands.iter().any(ends) {
            return None;
        }
        let lines = self.command_lines();
        let finds = |words: &&Vec<String>| {
            let mut named = words.iter().skip(1).filter(|word| !word.starts_with('-'));
            match program(words).as_str() {
                "pgrep" | "pidof" => named.any(|word| !word.is_empty() && can_find(word, self.program.program, &lines)),
                "grep" | "egrep" | "rg" | "awk" | "sed" => named.any(|word| word.contains(self.program.program)),
                _ => false,
            }
        };
        commands.iter().find(finds).map(|words| words.join(" "))
    }

    /// The texts by which the process that answers hooks is found.
    fn command_lines(&self) -> Vec<String> {
        let binary = std::env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let running = self.daemon.and_then(|process| std::fs::read(format!("/proc/{process}/cmdline")).ok());
        let running = running.map(|line| String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned());
        let CommandLine { program, daemon_pattern, .. } = self.program;
        let mut lines =
            vec![(*program).to_owned(), format!("{program} {daemon_pattern}"), format!("{binary} {daemon_pattern}")];
        lines.extend(running);
        lines
    }

    fn is_second_name(&self, path: &Path) -> bool {
        let identity = |path: &Path| {
            let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
            Some((found.dev(), found.ino()))
        };
        let Some(own) = identity(path) else { return false };
        self.files.iter().any(|file| identity(file) == Some(own))
            || self.below_bases(|host| host.configuration).any(|file| identity(&file) == Some(own))
    }

    /// Paths of all hosts, in the workspace and in the home.
    fn below_bases(&self, names: fn(Host) -> &'static [&'static str]) -> impl Iterator<Item = PathBuf> {
        let names = move |base| self.hosts.iter().flat_map(move |host| names(host)).map(move |name| (base, name));
        self.bases.iter().flat_map(names).map(|(base, name)| base.join(name))
    }
}

/// What lies below a folder, each name looked at once: hosts share folders, and in one that is missing nothing is looked for.
struct Below<'a> {
    base: &'a Path,
    seen: Vec<(&'static Path, Seen)>,
}

/// What a name turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Missing,
    Link,
    Other,
}

impl<'a> Below<'a> {
    fn of(base: &'a Path) -> Below<'a> {
        Below { base, seen: Vec::new() }
    }

    fn is_link(&mut self, name: &'static Path) -> bool {
        self.look(name) == Seen::Link
    }

    fn look(&mut self, name: &'static Path) -> Seen {
        if let Some((_, seen)) = self.seen.iter().find(|(known, _)| known.as_os_str() == name.as_os_str()) {
            return *seen;
        }
        let folder = name.parent().filter(|folder| !folder.as_os_str().is_empty());
        let seen = match folder.map(|folder| self.look(folder)) {
            Some(Seen::Missing) => Seen::Missing,
            Some(Seen::Link | Seen::Other) | None => match self.base.join(name).symlink_metadata() {
                Ok(found) if found.is_symlink() => Seen::Link,
                Ok(_) => Seen::Other,
                // What may not be looked at may be there.
                Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => Seen::Missing,
                Err(_) => Seen::Other,
            },
        };
        self.seen.push((name, seen));
        seen
    }
}

/// A name, and every folder on the way to it.
fn parts(name: &'static Path) -> impl Iterator<Item = &'static Path> {
    name.ancestors().filter(|part| !part.as_os_str().is_empty())
}

fn sample(path: &Path, at: u64) -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; 4096];
    let count = std::fs::File::open(path).ok()?.read_at(&mut bytes, at).ok()?;
    bytes.truncate(count);
    Some(bytes)
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether all processes of a user are meant: `pkill -u root` names no program.
fn is_everybody_of(program: &str, arguments: &[String]) -> bool {
    const WHOSE: [&str; 4] = ["-u", "-U", "--uid", "--euid"];
    let mut words = arguments.iter().map(String::as_str);
    let (mut whose, mut named) = (false, false);
    while let Some(word) = words.next() {
        if WHOSE.contains(&word) {
            whose = true;
            words.next();
        } else if WHOSE.iter().any(|option| word.starts_with(option)) {
            whose = true;
        } else if !word.starts_with('-') {
            named = true;
        }
    }
    matches!(program, "pkill" | "killall") && whose && !named
}

/// Whether a pattern finds one of the texts, by itself or with a wildcard's meaning. What cannot be read as a pattern, or
/// is not known before the call, can mean anything.
fn can_find(pattern: &str, program: &str, lines: &[String]) -> bool {
    if pattern.contains(['<', '$']) && !pattern.ends_with('$') {
        return true;
    }
    let read = regex::RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_BYTES_MAX).build();
    let Ok(read) = read else { return true };
    let wild = is_wild(pattern) && lines.iter().any(|line| can_mean(&pattern.to_lowercase(), line));
    wild || pattern.to_lowercase().contains(program) || lines.iter().any(|line| read.is_match(line))
}

/// Lower case, because on some file systems case does not count.
fn components(path: &Path) -> Vec<String> {
    let text = path.to_string_lossy().to_lowercase();
    text.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
}

/// Whether `inner` is `outer` or lies below it; either side may hold wildcards.
fn covers(outer: &[String], inner: &[String]) -> bool {
    outer.len() <= inner.len() && outer.iter().zip(inner).all(|(left, right)| same(left, right))
}

fn same(left: &str, right: &str) -> bool {
    left == right || is_wild(left) && can_mean(left, right) || is_wild(right) && can_mean(right, left)
}

/// Whether a component is a pattern.
pub fn is_wild(part: &str) -> bool {
    // By bytes: every call compares dozens of names.
    part.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Whether a pattern can mean a name. A pattern matches a leading dot only if it begins with one.
fn can_mean(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with(['.', '[']) {
        return false;
    }
    // `.[dev]` asks for extras of a package, and as a wildcard it means one letter of three.
    if has_plain_brackets(pattern) {
        return shell::wildcard_matches(pattern, name);
    }
    if let Some(pattern) = with_one_bracket(pattern) {
        return matches(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>());
    }
    // Whatever follows another bracket is not looked at: rather one question too many.
    let pattern = pattern.split('[').next().map_or_else(String::new, |known| {
        if known.len() == pattern.len() { known.to_owned() } else { format!("{known}*") }
    });
    matches(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
}

/// A pattern whose only bracket is closed or stands for itself, as usage texts have them (`[--help]`, `[default`): whatever a
/// closed one holds, it means one letter.
fn with_one_bracket(pattern: &str) -> Option<String> {
    let (known, behind) = pattern.split_once('[')?;
    if known.contains(']') || pattern.contains(['\\', '(']) || behind.contains('[') && behind.contains(']') {
        return None;
    }
    match behind.split_once(']') {
        None => Some(pattern.to_owned()),
        Some((inside, rest)) => {
            let is_closed = !inside.is_empty() && inside != "!" && inside != "^" && !rest.contains(']');
            is_closed.then(|| format!("{known}?{rest}"))
        }
    }
}

/// Whether brackets hold letters and nothing that shells read in several ways: no classes, ranges, negations.
fn has_plain_brackets(pattern: &str) -> bool {
    let mut parts = pattern.split('[');
    let before = parts.next().unwrap_or_default();
    let plain = |part: &str| {
        part.split_once(']').is_some_and(|(letters, rest)| {
            !letters.is_empty()
                && !rest.contains([']', '('])
                && letters.chars().all(|c| c.is_ascii_alphanumeric() || c == ',')
        })
    };
    !pattern.contains('\\') && !before.contains([']', '(']) && pattern.contains('[') && parts.all(plain)
}

fn matches(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => matches(rest, name) || name.split_first().is_some_and(|(_, n)| matches(pattern, n)),
        (Some(('?', rest)), Some((_, name))) => matches(rest, name),
        (Some((letter, rest)), Some((first, name))) => letter == first && matches(rest, name),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::tests::PROGRAM;
    use crate::hooks::dialect::tests::MADE_UP;

    #[track_caller]
    fn check(path: &str, expected: Overlap) {
        let guard = Guard::at(Path::new("/w/app/.writkeeper"));
        let protected = ProtectedFiles::of(Some(&guard), Path::new("/w/app"), &PROGRAM);
        assert_eq!(protected.overlap(path), expected, "{path}");
    }

    #[test]
    fn the_guard_is_met_under_any_spelling() {
        check("/w/app/.claude/settings.json", Overlap::Within);
        check("/w/app/.CLAUDE/Settings.json", Overlap::Within);
        check("/w/app/.claude", Overlap::Within);
        check("/w/app/.writkeeper/guard.db-wal", Overlap::Within);
        check("/w/app/.c*/settings.json", Overlap::Within);
        check("/w/app/.claude/*", Overlap::Within);
        check("/w/app/.[c]laude/settings.json", Overlap::Within);
        check("/w/app/.[dev]", Overlap::Nowhere);
        check("/w/app/.[test,cl]", Overlap::Nowhere);
        check("/w/app/.[cd]laude", Overlap::Within);
        check("/w/app/.[c]*", Overlap::Within);
        check("/w/app/.[!d]laude", Overlap::Within);
        check("/w/app/.[a-d]laude", Overlap::Within);
        check("/w/app/.[[:alpha:]]laude", Overlap::Within);
        check("/w/app", Overlap::Above);
        check("/w", Overlap::Above);
        check("/w/app/*", Overlap::Nowhere);
        check("/w/app/.github/hooks/x.json", Overlap::Within);
        check("/w/app/.github/copilot/settings.local.json", Overlap::Within);
        check("/w/app/.github/workflows/ci.yml", Overlap::Nowhere);
        check("/w/app/.github/workflows/ci.yml", Overlap::Nowhere);
        check("/w/app/.claude/plans/a.md", Overlap::Nowhere);
        check("/w/app/src/main.rs", Overlap::Nowhere);
        check("/w/app/claude/settings.json", Overlap::Nowhere);
        check("/w/app2/.claude/settings.json", Overlap::Nowhere);
    }

    #[test]
    fn files_of_every_host_are_met_under_every_name() {
        for host in HOSTS.into_iter().chain([&MADE_UP]) {
            let hosts: &'static [Host] = if *host == MADE_UP { &[&MADE_UP] } else { &HOSTS };
            let folder = tempfile::tempdir().unwrap();
            let base = folder.path().canonicalize().unwrap();
            let (workspace, elsewhere) = (base.join("ws"), base.join("elsewhere"));
            std::fs::create_dir_all(&elsewhere).unwrap();
            for (number, name) in host.configuration.iter().enumerate() {
                let (file, kept) = (workspace.join(name), elsewhere.join(number.to_string()));
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                let depth = Path::new(name).components().count();
                let target = format!("{}elsewhere/new/{number}", "../".repeat(depth));
                std::os::unix::fs::symlink(target, &file).unwrap();
                let meets = |path: &Path| {
                    ProtectedFiles::of_hosts(hosts, None, &workspace, &PROGRAM).overlap(&path.to_string_lossy())
                        == Overlap::Within
                };
                assert!(meets(&elsewhere.join("new").join(number.to_string())), "{host:?}: what {name} will lead to");
                std::fs::remove_file(&file).unwrap();
                std::fs::write(&kept, "{}").unwrap();
                std::os::unix::fs::symlink(&kept, &file).unwrap();
                assert!(meets(&file), "{host:?} {name}");
                assert!(meets(&kept), "{host:?}: what {name} leads to");
                std::fs::remove_file(&file).unwrap();
                assert!(!meets(&kept), "{host:?} {name}");
                std::fs::hard_link(&kept, &file).unwrap();
                assert!(meets(&kept), "{host:?}: a second name of {name}");
                std::fs::remove_file(&file).unwrap();
            }
            for name in host.scratch {
                let protected = ProtectedFiles::of_hosts(hosts, None, &workspace, &PROGRAM);
                assert_eq!(
                    protected.overlap(&workspace.join(name).join("a").to_string_lossy()),
                    Overlap::Nowhere,
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn the_daemon_is_met_by_whoever_looks_for_it_to_end_it() {
        let protected = ProtectedFiles::of(None, Path::new("/w/app"), &PROGRAM);
        let met = |line: &str| {
            let words = |part: &str| part.trim().split(' ').map(str::to_owned).collect::<Vec<String>>();
            protected.searched_and_signalled(&line.split(';').map(words).collect::<Vec<_>>()).is_some()
        };
        for line in [
            "pgrep keeper; kill <pgrep>",
            "pidof /opt/keeper; kill -9 <x>",
            "pgrep -f stay; xargs kill",
            "ps aux; grep keeper; xargs /bin/kill -9",
        ] {
            assert!(met(line), "{line}");
        }
        for line in ["pgrep keeper", "grep keeper README.md", "lsof -t -i:3000; kill <x>", "pgrep node; kill <x>"] {
            assert!(!met(line), "{line}");
        }
    }

    #[test]
    fn a_bracket_means_one_letter_or_itself() {
        for pattern in ["[.]claude", ".[!x]laude", ".c[k-m]aude", "[!x]claude", ".[]x]*", ".[[:alpha:]]*", ".cl[a-b]*"]
        {
            assert!(can_mean(pattern, ".claude"), "{pattern}");
        }
        for pattern in ["[--help]", "[grep_options]", "[-f]", "[[", "[", "[default", "[=DIR]", "[^a]", ".claude[-x]"] {
            assert!(!can_mean(pattern, ".claude"), "{pattern}");
        }
    }

    #[test]
    fn the_daemon_is_met_by_number_name_and_pattern() {
        let mut protected = ProtectedFiles::of(None, Path::new("/w/app"), &PROGRAM);
        protected.daemon = Some(4711);
        let met = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            protected.signalled(&words).is_some()
        };
        for line in [
            "kill 4711",
            "kill -9 4711",
            "kill -STOP 1 4711",
            "kill -TERM -4711",
            "kill -9 -1",
            "/usr/bin/pkill keeper",
            "pkill -f stay.*in",
            "killall -s STOP keeper",
            "pkill keep",
            "pkill -f stay",
            "pkill -u root",
            "pkill -9 -U0",
            "killall --uid root",
            "killall5 -9",
            "pkill -f k.*r",
            "pkill -x k[a-z]+r",
            "pkill -f (",
            "pkill .",
            "systemctl --user stop keeper.service",
            "fuser -k .",
        ] {
            assert!(met(line), "{line}");
        }
        for line in [
            "kill 4712",
            "fuser -k 3000/tcp",
            "fuser -k -n tcp 8080",
            "kill -1 4712",
            "pkill -f server.js",
            "pkill -P 4242",
            "pkill -USR1 node",
            "pkill -u somebody node",
            "pkill -f vite.*5173",
            "pkill -f ^node$",
            "systemctl restart nginx.service",
            "killall -9 python3.11",
            "kill %1",
            "pkill node",
            "killall -9 python3",
            "systemctl status nginx",
        ] {
            assert!(!met(line), "{line}");
        }
    }
}
