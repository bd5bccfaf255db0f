//! What a call would do, as facts a contract can judge. Nothing is run and nothing is decided.

use super::disk::Disk;
use super::fetch_target::{self, FetchTarget};
use super::package_install;
use super::path_expansion;
use super::place::{self, Guard};
use super::protected_files::{Overlap, ProtectedFiles};
use super::push_target;
use crate::command_line::CommandLine;
use crate::hooks::tools::{self, Kind, Tool};
use crate::hooks::{self, Call, Host};
use crate::session::session_name;
use shell::{Capability, Class, Classification, Links, View, classify};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use values::bugs::{self, Bug};
use values::ids::Digest;
use values::json::{Json, Object};

/// Shell settings under which a wildcard matches names that begin with a dot. Without them it does not, so wildcards in
/// ordinary commands do not mean the guard's folder.
const HIDING: [&str; 2] = ["dotglob", "GLOBIGNORE"];

/// Longest text that enters a proposal as it is; longer ones enter as digest and length.
pub const TEXT_BYTES_MAX: usize = 8 * 1024;

/// Most of an input that enters a proposal; a larger one enters as digest and length.
const INPUT_BYTES_MAX: usize = 96 * 1024;

/// Paths, commands and reasons a proposal names; the counts of what is left out are not needed to judge.
const LIST_MAX: usize = 48;

/// Texts of an unknown tool's input that are looked at as paths.
const TEXTS_MAX: usize = 256;

/// Why the reader of commands stops before the end of one.
const LIMITS: &[&str] = &["TOO_LARGE", "TOO_MANY", "TOO_DEEP"];

/// Entries of a folder, and of the folders in it, that are looked at for secrets before it is read as a whole.
const SWEPT_MAX: usize = 512;

/// Folders by which a home is known.
const HOLDING: &[&str] = &[".ssh", ".aws", ".gnupg", ".kube", ".azure", ".config/gcloud", ".password-store"];

/// Everything known about a call before it is judged.
#[derive(Clone, Debug)]
pub struct CallFacts {
    /// The action a proposal names.
    pub action: &'static str,
    /// How much harm it can do.
    pub class: Class,
    /// What else it can do.
    pub can: BTreeSet<&'static str>,
    /// Paths that are read.
    pub reads: Vec<String>,
    /// Paths that are written.
    pub writes: Vec<String>,
    /// Paths outside the workspace.
    pub outside: Vec<String>,
    /// Paths and commands that touch the guard.
    pub guarded: Vec<String>,
    /// Written folders that hold the guard.
    pub shadowed: Vec<String>,
    /// Written paths that cannot be known before the call.
    pub unclear: Vec<String>,
    /// The commands after quotes and wrappers are gone.
    pub argv: Vec<String>,
    /// What in the command reaches other machines: programs, variables that say how (`NAME=`), connections.
    pub programs: BTreeSet<String>,
    /// The server of an MCP tool.
    pub server: String,
    /// Why, in sentences.
    pub why: Vec<String>,
    /// Where the agent may write.
    pub workspace: PathBuf,
    /// Digests of the files that the call would run.
    pub contents: Vec<String>,
    /// What is compared with leases beside the written paths: what programs may write, whole trees, and what stands
    /// before a part that is not known.
    compared: Vec<String>,
}

/// Looks at a call.
pub fn of(call: &Call, guard: Option<&Guard>, program: &'static CommandLine, host: Host) -> CallFacts {
    let cwd = place::canonical(Path::new(&call.cwd));
    let workspace = guard.map_or_else(|| cwd.clone(), |guard| guard.workspace(&cwd));
    let home = place::home().map_or_else(|| "/root".to_owned(), |home| home.to_string_lossy().into_owned());
    let folders = if matches!(call.tool, Tool::Shell { .. }) { tools::folders(&call.input) } else { Vec::new() };
    let cwd = folders.first().map_or_else(|| cwd.clone(), |folder| place::canonical(&cwd.join(folder)));
    let cwd = cwd.to_string_lossy().into_owned();
    let disk = Disk::of(guard.map(|guard| (guard, session_name(host, &call.session))));
    let view = View {
        cwd: &cwd,
        home: &home,
        links: Some(&disk as &dyn Links).filter(|_| !bugs::on(Bug::FilesUnread)),
        hosts: hooks::host_files(),
        is_typed_into: host.types_into_programs && !bugs::on(Bug::TypingFree),
    };
    let mut facts = CallFacts {
        action: action(&call.tool),
        class: Class::Read,
        can: BTreeSet::new(),
        reads: Vec::new(),
        writes: Vec::new(),
        outside: Vec::new(),
        guarded: Vec::new(),
        shadowed: Vec::new(),
        unclear: Vec::new(),
        argv: Vec::new(),
        programs: BTreeSet::new(),
        server: String::new(),
        why: Vec::new(),
        workspace: workspace.clone(),
        contents: Vec::new(),
        compared: Vec::new(),
    };
    let protected = ProtectedFiles::of(guard, &workspace, program);
    facts.look(call, &view, &protected);
    if folders.len() > 1 {
        facts.unclear.push(format!("the folder it runs in: {}", folders.join(" or ")));
    }
    facts.place(&protected);
    for (path, digest) in disk.seen() {
        // An approval is one for this content.
        facts.reads.push(short(&format!("{path} {digest}")));
        facts.contents.push(digest);
    }
    facts
}

/// Whether secrets lie in a folder or in one of its folders.
fn holds_secrets(folder: &Path, view: &View<'_>) -> bool {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (mut looked, mut waiting) = (0, vec![folder.to_path_buf()]);
    for depth in 0..2 {
        let mut below = Vec::new();
        for path in waiting.iter().flat_map(|folder| entries(folder)) {
            looked += 1;
            if looked > SWEPT_MAX || shell::is_secret(&path.to_string_lossy(), view) {
                return looked <= SWEPT_MAX;
            }
            if depth == 0 && path.is_dir() {
                below.push(path);
            }
        }
        waiting = below;
    }
    false
}

fn action(tool: &Tool) -> &'static str {
    match tool {
        Tool::Shell { .. } => "tool.shell",
        Tool::Write { .. } => "tool.write",
        Tool::Read { .. } => "tool.read",
        Tool::Fetch => "tool.fetch",
        Tool::Mcp { .. } => "tool.mcp",
        Tool::Internal => "tool.internal",
        Tool::Other | Tool::Nothing => "tool.other",
    }
}

impl CallFacts {
    /// Whether the call is proven to change nothing and to reveal no secret.
    pub fn is_harmless(&self) -> bool {
        self.is_proven_read() || self.action == "tool.internal" && self.guarded.is_empty()
    }

    /// Whether the call only reads. Tools that act inside the host do not count as reads.
    pub fn is_proven_read(&self) -> bool {
        self.action == "tool.read" && self.class == Class::Read && self.can.is_empty() && self.guarded.is_empty()
    }

    /// The same call while the guard itself is not as it was installed: what changes something touches the guard then.
    pub fn amid_tampering(&self, differences: &[String], settled_by: &str) -> CallFacts {
        let mut facts = self.clone();
        facts.guarded.extend(differences.iter().map(|difference| short(difference)));
        let sentence = format!("{}; a person settles it with {settled_by}", differences.join("; "));
        facts.why.insert(0, short(&sentence));
        facts
    }

    fn look(&mut self, call: &Call, view: &View<'_>, protected: &ProtectedFiles) {
        match &call.tool {
            Tool::Shell { command } => {
                let answer = classify(command, view);
                self.take(&answer);
                self.take_argv(&answer, view, protected);
                self.take_handed(&answer, protected);
                self.take_wildcards(view);
                self.take_sweeps(answer.sweeps.iter().map(shell::Path::as_str), view);
                if let Some(setting) = HIDING.iter().find(|setting| command.contains(**setting)) {
                    self.guarded.push(format!("{setting}, which lets `*` mean hidden files of the guard"));
                }
                self.take_limits(&answer);
                if tools::is_patch(command) {
                    self.take_paths(&tools::patched(command), true, view);
                }
                let only_reads = self.class == Class::Read && self.can.is_empty();
                if only_reads && self.guarded.is_empty() && self.outside.is_empty() {
                    self.action = "tool.read";
                }
            }
            Tool::Write { paths } => {
                self.class = Class::Write;
                self.take_paths(paths, true, view);
            }
            Tool::Read { paths } => {
                self.take_paths(paths, false, view);
                if tools::kind(&call.name) == Some(Kind::Search) {
                    let found: Vec<shell::Path> = paths.iter().map(|path| shell::Path::resolve(path, view)).collect();
                    self.take_sweeps(found.iter().map(shell::Path::as_str), view);
                }
                // `**/x` means `x` too.
                let here = paths.iter().filter(|path| path.contains("**/")).map(|path| path.replace("**/", ""));
                self.reads.extend(here.map(|path| shell::Path::resolve(&path, view).as_str().to_owned()));
                self.take_wildcards(view);
                // Reads pass without a question, so a read outside the workspace is judged as a command.
                if !self.outside.is_empty() {
                    self.action = "tool.shell";
                }
            }
            Tool::Fetch => {
                self.can.insert(Capability::Network.name());
                // Asking a search engine about an address is not going there.
                if !call.name.to_ascii_lowercase().contains("search") {
                    self.take_address(&call.input, view);
                }
            }
            Tool::Mcp { server } => {
                self.server.clone_from(server);
                self.take_unknown(&call.input, view, protected);
                self.why.push(format!("no rule of the contract names `{}` of server `{server}`", call.name));
            }
            Tool::Other => {
                self.take_unknown(&call.input, view, protected);
                self.why.push(format!("no rule of the contract names the tool `{}`", call.name));
                // A shell whose input holds no command that could be read.
                if tools::kind(&call.name) == Some(Kind::Shell) {
                    self.can.insert("unread");
                }
            }
            Tool::Internal | Tool::Nothing => {}
        }
    }

    fn take(&mut self, answer: &Classification) {
        self.class = self.class.max(answer.class);
        self.can.extend(answer.capabilities.iter().map(|capability| capability.name()));
        self.reads.extend(answer.reads.iter().map(|path| path.as_str().to_owned()));
        self.writes.extend(answer.writes.iter().map(|path| path.as_str().to_owned()));
        self.why.extend(answer.reasons.iter().map(|reason| reason.sentence.clone()));
        // The classifier knows files of guards anywhere, not only those installed here.
        if answer.capabilities.contains(&Capability::GuardTampering) {
            let named = answer.reasons.iter().map(|reason| reason.sentence.as_str());
            let named = named.filter(|sentence| sentence.contains("guard")).map(str::to_owned);
            self.why.extend(named);
        }
    }

    /// Files on disk that a wildcard means. One that begins with `*` is not asked for secrets: it means all there is.
    fn take_wildcards(&mut self, view: &View<'_>) {
        let inside = |path: &str| Path::new(path).starts_with(&self.workspace);
        let meant = |path: &&String| {
            let all = path.rsplit('/').next().is_none_or(|last| last.starts_with(['*', '<', '$']));
            !all || !inside(path)
        };
        let found: Vec<String> =
            self.reads.iter().filter(meant).flat_map(|path| path_expansion::of(path).found).collect();
        if let Some(secret) = found.iter().find(|path| shell::is_secret(path, view)) {
            self.can.insert(Capability::Credentials.name());
            self.why.push(format!("`{secret}` holds secrets or says who is who"));
        }
    }

    /// A folder that is read with everything in it, where secrets lie in it: the home, what lies above it or above the
    /// workspace. Searching inside the workspace is free.
    fn take_sweeps<'p>(&mut self, folders: impl Iterator<Item = &'p str>, view: &View<'_>) {
        for folder in folders {
            let path = Path::new(folder);
            let above = self.workspace != path && self.workspace.starts_with(path);
            let holds = !path.starts_with(&self.workspace)
                && (HOLDING.iter().any(|name| path.join(name).exists()) || holds_secrets(path, view));
            if above || holds || Path::new(view.home).starts_with(path) {
                self.why.push(format!("`{folder}` is read with everything in it, secrets included"));
                self.outside.push(folder.to_owned());
            }
        }
    }

    /// A file tool does what a command on the same file would do.
    fn take_paths(&mut self, paths: &[String], writes: bool, view: &View<'_>) {
        for path in paths {
            let quoted = format!("'{}'", path.replace('\'', r"'\''"));
            let command = if writes { format!("echo x > {quoted}") } else { format!("cat -- {quoted}") };
            self.take(&classify(&command, view));
        }
    }

    /// What a command runs; and what it names of the guard, whatever it does with it: what one part reads of the guard,
    /// such as the number of its process, another part may use.
    fn take_argv(&mut self, answer: &Classification, view: &View<'_>, protected: &ProtectedFiles) {
        let all = [answer.argv.as_slice(), &answer.in_files].concat();
        self.programs.extend(answer.talkers.iter().filter(|program| !stays_here(program, &all)).cloned());
        // An empty list of programs never grants network access.
        if answer.talkers.is_empty() && answer.capabilities.contains(&Capability::Network) {
            self.programs.insert("?".to_owned());
        }
        self.guarded.extend(protected.searched_and_signalled(&all));
        for (path, words) in &answer.started {
            if protected.overlap(path.as_str()) == Overlap::Within || protected.is_copy_of_binary(path.as_str()) {
                self.take_own_verb(words, protected.program());
            }
        }
        if answer.class > Class::Read {
            self.take_read_guard(answer, protected);
        }
        if let Some(branch) = push_target::to_main(&all, Path::new(view.cwd)) {
            self.can.insert("main-branch");
            self.why.push(format!("it pushes to `{branch}`"));
        }
        for (at, words) in all.iter().enumerate() {
            if package_install::brings_software(words, Path::new(view.cwd), &self.workspace) {
                self.can.insert("install");
                self.why.push(format!("`{}` brings software that no lock file pins", short(&words.join(" "))));
            }
            self.take_own_command(words, protected.program());
            if let Some(named) = protected.signalled(words) {
                self.guarded.push(named);
            }
            self.argv.push(words.join(" "));
            if answer.class == Class::Read || at >= answer.argv.len() {
                continue;
            }
            for word in words.iter().skip(1) {
                let value = word.rsplit('=').next().unwrap_or(word);
                self.take_name(value, view, protected);
            }
        }
    }

    /// What programs were handed that are not known to only read, whatever they do with it: a second name for a file of
    /// the guard, made now, is a way to write to it later. And the trees they change as a whole.
    fn take_handed(&mut self, answer: &Classification, protected: &ProtectedFiles) {
        let is_guard = |path: &&str| protected.overlap(path) == Overlap::Within;
        let named = answer.named.iter().chain(&answer.trees).map(shell::Path::as_str);
        self.guarded.extend(named.filter(is_guard).map(str::to_owned));
        for path in answer.may_write.iter().map(shell::Path::as_str) {
            for path in path_expansion::of(path).found.iter().map(String::as_str).chain([path]) {
                if is_guard(&path) {
                    self.guarded.push(path.to_owned());
                }
                if is_unclear(path) {
                    self.unclear.push(path.to_owned());
                } else if self.is_outside(path, protected) {
                    self.outside.push(path.to_owned());
                }
                self.compared.push(path.to_owned());
            }
        }
        for tree in answer.trees.iter().map(shell::Path::as_str) {
            // The workspace may be a part of its repository.
            if !self.workspace.starts_with(tree) && self.is_outside(tree, protected) {
                self.outside.push(tree.to_owned());
            }
            self.compared.push(tree.to_owned());
        }
    }

    fn is_outside(&self, path: &str, protected: &ProtectedFiles) -> bool {
        !Path::new(path).starts_with(&self.workspace) && !is_scratch(path) && !protected.is_scratch(path)
    }

    /// What a command reads of the guard that does more than read: a copy of its program serves as well as the program, and
    /// a lock that is held on one of its files stops everybody.
    fn take_read_guard(&mut self, answer: &Classification, protected: &ProtectedFiles) {
        let reads = answer.reads.iter().map(shell::Path::as_str);
        self.guarded.extend(reads.filter(|path| protected.overlap(path) == Overlap::Within).map(str::to_owned));
        let folders = answer.sweeps.iter().map(shell::Path::as_str);
        self.outside.extend(folders.filter(|folder| protected.holds_binary(folder)).map(str::to_owned));
    }

    /// Our own binary in the hands of an agent, by its name or by what only it is told.
    fn take_own_command(&mut self, words: &[String], program: &CommandLine) {
        let Some((name, arguments)) = words.split_first() else { return };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if name.rsplit('/').next() == Some(program.program) || (program.is_unmistakable)(&arguments) {
            self.take_own_verb(words, program);
        }
    }

    /// An agent may look at the guard, not change what it allows.
    fn take_own_verb(&mut self, words: &[String], program: &CommandLine) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some((name, arguments)) = words.split_first() else { return };
        if !(program.only_looks)(arguments) {
            let verb = arguments.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
            self.guarded.push(format!("{name} {verb}"));
        }
    }

    /// Where a tool goes. Machines of a cloud are handed their credentials at an address that only they reach, and a page
    /// may be a file of this machine.
    fn take_address(&mut self, input: &Object, view: &View<'_>) {
        let mut texts = Vec::new();
        input.values().for_each(|value| collect_texts(value, &mut texts));
        for target in texts.into_iter().flat_map(fetch_target::targets) {
            match target {
                FetchTarget::CredentialService(host) => {
                    self.can.insert(Capability::Credentials.name());
                    self.why.push(format!("`{host}` hands out the credentials of this machine"));
                }
                FetchTarget::File(path) => self.take_paths(&[path], false, view),
            }
        }
    }

    /// An unknown tool. A member that is named like a command is read as one: the tool may be a shell by another name.
    fn take_unknown(&mut self, input: &Object, view: &View<'_>, protected: &ProtectedFiles) {
        self.class = Class::Unknown;
        if let Some(command) = tools::command(input) {
            let answer = classify(&command, view);
            self.take(&answer);
            self.take_argv(&answer, view, protected);
            self.take_handed(&answer, protected);
            self.take_limits(&answer);
        }
        self.take_texts(input, view, protected);
    }

    /// A command that was not read to its end may do anything; broken glass does not cover it.
    fn take_limits(&mut self, answer: &Classification) {
        if answer.reasons.iter().any(|reason| LIMITS.contains(&reason.code)) {
            self.can.insert("unread");
        }
    }

    /// Any text of an input may be the path a tool writes to.
    fn take_texts(&mut self, input: &Object, view: &View<'_>, protected: &ProtectedFiles) {
        let mut texts = Vec::new();
        input.values().for_each(|value| collect_texts(value, &mut texts));
        for text in texts.into_iter().take(TEXTS_MAX) {
            let looks_like_path = text.len() <= 1024 && !text.contains('\n') && !text.trim().is_empty();
            if !looks_like_path {
                continue;
            }
            let bare = text.strip_prefix("file://").unwrap_or(text);
            self.take_name(bare, view, protected);
            if bare.contains('/') || bare.starts_with(['.', '~']) {
                let quoted = bare.replace('\'', r"'\''");
                let answer = classify(&format!("cat -- '{quoted}'"), view);
                self.can.extend(answer.capabilities.iter().map(|capability| capability.name()));
                self.why.extend(answer.reasons.into_iter().map(|reason| reason.sentence));
            }
        }
    }

    fn take_name(&mut self, text: &str, view: &View<'_>, protected: &ProtectedFiles) {
        if text.is_empty() || text.len() > 1024 || text.contains('\n') {
            return;
        }
        let path = shell::Path::resolve(text, view);
        if protected.overlap(path.as_str()) == Overlap::Within {
            self.guarded.push(path.as_str().to_owned());
        }
    }

    /// Where the written paths lie.
    fn place(&mut self, protected: &ProtectedFiles) {
        let meant: Vec<String> = self.writes.iter().flat_map(|path| path_expansion::of(path).found).collect();
        self.writes.extend(meant);
        for path in &self.writes {
            match protected.overlap(path) {
                Overlap::Within => self.guarded.push(path.clone()),
                Overlap::Above => self.shadowed.push(path.clone()),
                Overlap::Nowhere => {}
            }
            if is_unclear(path) {
                self.unclear.push(path.clone());
            } else if self.is_outside(path, protected) {
                self.outside.push(path.clone());
            }
        }
        // The classifier's list of guards is longer than what is installed here; plans and notes are none.
        let scratch = !self.writes.is_empty() && self.writes.iter().all(|path| protected.is_scratch(path));
        if self.can.contains(Capability::GuardTampering.name()) && self.guarded.is_empty() && !scratch {
            self.guarded.extend(self.writes.iter().cloned());
            if self.guarded.is_empty() {
                self.guarded.push("the guard".to_owned());
            }
        }
        self.sentences();
        self.writes.append(&mut self.compared);
        let below: Vec<String> = self.writes.iter().filter_map(|path| path_expansion::of(path).below).collect();
        self.writes.extend(below);
        // The folder of temporary files is known; an unknown path would be compared with every lease.
        self.writes.retain(|path| !path.starts_with("$TMPDIR"));
        let lists = [
            &mut self.reads,
            &mut self.writes,
            &mut self.outside,
            &mut self.guarded,
            &mut self.shadowed,
            &mut self.unclear,
            &mut self.argv,
            &mut self.why,
        ];
        for list in lists {
            let mut seen = BTreeSet::new();
            list.retain(|item| seen.insert(item.clone()));
            if list.len() > LIST_MAX {
                list.truncate(LIST_MAX);
                list.push("…".to_owned());
            }
            list.iter_mut().for_each(|text| *text = short(text));
        }
    }

    fn sentences(&mut self) {
        let of = |paths: &[String], said: &str| paths.first().map(|path| format!("`{path}` {said}"));
        let outside = format!("lies outside of the workspace `{}`", self.workspace.display());
        let found = [
            of(&self.guarded, "belongs to the guard"),
            of(&self.shadowed, "holds the guard's own files"),
            of(&self.unclear, "is known only when the command runs"),
            of(&self.outside, &outside),
        ];
        self.why.splice(0..0, found.into_iter().flatten());
        if self.can.contains(Capability::Network.name()) && !self.programs.is_empty() {
            let names: Vec<&str> = self.programs.iter().map(String::as_str).collect();
            self.why.push(format!("`{}` reaches other machines", names.join("`, `")));
        }
    }

    /// The params of a proposal: what the host sent, bounded, and the facts.
    pub fn params(&self, call: &Call, host: &str, now: &str) -> Object {
        let texts = |list: &[String]| Json::texts(list.iter().map(String::as_str));
        let members = [
            ("host", Json::text(host)),
            ("session", Json::text(short(&call.session))),
            ("tool", Json::text(short(&call.name))),
            ("cwd", Json::text(short(&call.cwd))),
            ("at", Json::text(now)),
            ("input", bounded_input(&call.input)),
            ("class", Json::text(self.class.name())),
            ("can", Json::texts(self.can.iter().copied())),
            ("reads", texts(&self.reads)),
            ("writes", texts(&self.writes)),
            ("outside", texts(&self.outside)),
            ("guarded", texts(&self.guarded)),
            ("shadowed", texts(&self.shadowed)),
            ("unclear", texts(&self.unclear)),
            ("argv", texts(&self.argv)),
            ("programs", Json::texts(self.programs.iter().map(String::as_str))),
            ("server", Json::text(short(&self.server))),
            ("attended", Json::Bool(call.can_ask)),
        ];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Programs that reach other machines, and what they do without that.
const AT_HOME: &[(&str, &[&str])] = &[
    ("rustup", &["show", "which"]),
    ("terraform", &["fmt", "validate", "version"]),
    ("tofu", &["fmt", "validate", "version"]),
];

/// Whether everything that a program is told to do is done on this machine.
fn stays_here(program: &str, argv: &[Vec<String>]) -> bool {
    let Some((_, verbs)) = AT_HOME.iter().find(|(name, _)| *name == program) else { return false };
    let mut told =
        argv.iter().filter(|words| words.first().is_some_and(|first| first.rsplit('/').next() == Some(program)));
    let mut any = false;
    told.all(|words| {
        any = true;
        words.get(1).is_some_and(|verb| verbs.contains(&verb.as_str()))
    }) && any
}

fn is_unclear(path: &str) -> bool {
    path.contains(['<', '$']) && !path.starts_with("$TMPDIR")
}

fn is_scratch(path: &str) -> bool {
    let fixed = ["/tmp", "/var/tmp", "/private/tmp", "/var/folders", "/private/var/folders", "/dev/shm"];
    let own = std::env::temp_dir();
    path.starts_with("$TMPDIR")
        || fixed.iter().any(|folder| Path::new(path).starts_with(folder))
        || Path::new(path).starts_with(own)
}

fn collect_texts<'j>(value: &'j Json, found: &mut Vec<&'j str>) {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
        Json::Text(text) => found.push(text),
        Json::List(items) => items.iter().for_each(|item| collect_texts(item, found)),
        Json::Object(members) => members.values().for_each(|value| collect_texts(value, found)),
    }
}

/// Digest and length of what is too long to be kept.
fn stand_in(bytes: &[u8]) -> Json {
    Json::object([("sha256", Json::text(Digest::of(bytes).to_string())), ("bytes", Json::from(bytes.len() as u64))])
}

/// A value with long texts replaced by digest and length.
pub fn bounded(value: &Json) -> Json {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        Json::Text(text) if text.len() > TEXT_BYTES_MAX => stand_in(text.as_bytes()),
        Json::Text(text) => Json::text(text.as_str()),
        Json::List(items) => Json::List(items.iter().map(bounded).collect()),
        Json::Object(members) => {
            Json::Object(members.iter().map(|(key, value)| (key.clone(), bounded(value))).collect())
        }
    }
}

fn bounded_input(input: &Object) -> Json {
    let whole = Json::Object(input.clone());
    let bounded = bounded(&whole);
    if bounded.to_canonical().len() > INPUT_BYTES_MAX { stand_in(whole.to_canonical().as_bytes()) } else { bounded }
}

/// A text that fits into a proposal; what does not is cut, because these texts only explain.
fn short(text: &str) -> String {
    const CHARS_MAX: usize = 1_000;
    if text.len() <= CHARS_MAX {
        return text.to_owned();
    }
    let kept: String = text.chars().take(CHARS_MAX).collect();
    format!("{kept}…")
}
