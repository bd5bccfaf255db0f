//! Secrets among the words of a command, and folders that are read as a whole.
//!
//! A program that is told a secret's path can read it, whatever the word is to it: an operand, the value of an option, a
//! list of names. So every program counts, but for those that are known to look at names only, or whose words are told
//! apart one by one elsewhere.

use crate::answer::{Capability, Span};
use crate::call::Options;
use crate::glob;
use crate::limits::LOOKS_MAX;
use crate::mark;
use crate::rules::Style;
use crate::sensitive::{self, Concern};
use crate::touch::pieces;
use crate::walk::{Arg, Walker};

/// Programs that look at names, or whose operands are judged each for itself.
const NAMING: &str = "ls dir vdir exa eza lsd ll la l test [ [[ stat rm unlink rmdir chmod chown chgrp touch mkdir echo \
    printf cp mv install tee basename dirname realpath readlink which type cd pushd popd export declare local readonly \
    set unset alias true false : find fd tree du trash shred truncate mktemp ssh ssh-add ssh-keygen dotenv dotenvx \
    dotenv-cli env-cmd direnv vercel openssl";

/// Programs that only hand on: what they run is judged by itself.
const HANDING: &str = "bash builtin caffeinate chronic command dash doas env eval exec gtime gtimeout ionice nice nohup \
    npx pnpx bunx setsid sh stdbuf sudo time timeout unbuffer xargs zsh watch";

/// Programs whose first operand is a text to look for, or a program; only options name files that nobody else looks at.
const SEARCHING: &str = "grep egrep fgrep zgrep ggrep rg ag ack ugrep sed gsed awk gawk mawk nawk jq yq gojq dasel fx";

/// Options of those that name a file.
const SEARCHING_FILES: &[&str] = &["-f", "--file", "--from-file", "--rawfile", "--slurpfile", "--argfile", "--include"];

/// Options whose value is handed to what is started, or left out, and not shown.
const PASSED: &[&str] =
    &["--env-file", "--env-file-if-exists", "--dotenv", "--exclude", "--ignore", "--hide", "--cacert", "--kubeconfig"];

/// Verbs of `git` that say nothing of what is in a file.
const GIT_NAMING: &str = "rm check-ignore check-attr ls-files status update-index reset restore checkout switch branch \
    clean remote fetch pull push merge rebase worktree init clone sparse-checkout";

/// Options with which `git log` shows more than names.
const GIT_SHOWING: &[&str] =
    &["-p", "-u", "-U", "-L", "-c", "-m", "--patch", "--cc", "--unified", "--diff", "--remerge"];

/// Names that a wildcard is tried against. A wildcard that begins with `*` does not meet hidden files.
const COMMON: &[&str] = &[
    ".env",
    ".env.local",
    ".env.development",
    ".env.production",
    ".env.staging",
    ".env.test",
    ".npmrc",
    ".netrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials.json",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "master.key",
];

/// Programs that read whole folders, always or with one of the options.
const SWEEPING: &[(&str, &str)] = &[
    ("grep egrep fgrep zgrep ggrep", "-r -R --recursive --dereference-recursive --directories"),
    ("cp gcp scp", "-r -R -a --recursive --archive"),
    ("diff", "-r --recursive"),
    ("rg ag ack ugrep tar bsdtar gtar zip 7z 7za 7zz rar cpio pax mksquashfs mkisofs genisoimage rsync ditto", ""),
    ("fd fdfind", "-x -X --exec --exec-batch"),
];

/// Modules of Python that read whole folders.
const SWEEPING_MODULES: &[&str] = &["zipfile", "tarfile", "zipapp", "http.server", "shutil"];

fn listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}

impl Walker<'_> {
    /// Looks for secrets among the words behind a program's name.
    pub fn secret_words(&mut self, name: &str, words: &[Arg]) {
        // A link by name is followed; a second name of the same file is not.
        let by_name = |word: &Arg| {
            word.text == "--symbolic"
                || !word.text.starts_with("--") && word.text.starts_with('-') && word.text.contains('s')
        };
        if name == "ln" && words.iter().any(by_name) {
            return;
        }
        let brings_environment = words.iter().take(4).any(|word| {
            word.text.rsplit('/').next().is_some_and(|last| last.starts_with("dotenv") || last == "env-cmd")
        });
        if listed(NAMING, name) || listed(HANDING, name) || brings_environment || name == "git" && git_names(words) {
            return;
        }
        let shows = shows_environment(name, words);
        let (searches, mut told, mut skipped) = (listed(SEARCHING, name), false, false);
        for word in words {
            let (is_file, is_skipped) = (std::mem::take(&mut told), std::mem::take(&mut skipped));
            let text = word.text.as_str();
            let (option, attached) = text.split_once('=').map_or((text, None), |(option, value)| (option, Some(value)));
            let passed = PASSED.iter().any(|passed| option.starts_with(passed)) && !shows
                || name == "zip" && option == "-x"
                || name == "git" && matches!(option, "-m" | "--message");
            if is_skipped || text.starts_with('-') && passed {
                skipped = !is_skipped && attached.is_none();
                continue;
            }
            if searches && !is_file {
                let names_file = SEARCHING_FILES.contains(&option);
                told = names_file && attached.is_none();
                if !(names_file && attached.is_some() || text.starts_with("-f") && text.len() > 2) {
                    continue;
                }
            }
            self.secret_word(word);
        }
    }

    fn secret_word(&mut self, word: &Arg) {
        for piece in pieces(&word.text).into_iter().filter(|piece| !piece.contains("://")) {
            if self.looks >= LOOKS_MAX {
                self.report.unknown("TOO_MANY", "more words than are looked up as paths", word.span);
                return;
            }
            self.looks += 1;
            let path = self.resolve(piece);
            let elsewhere: Vec<String> = self.elsewhere(piece).iter().map(|other| self.resolve(other)).collect();
            if std::iter::once(&path).chain(&elsewhere).any(|path| self.is_secret_here(path)) {
                let sentence = format!("`{}` holds secrets or says who is who", mark::shown(piece));
                self.report.can_because(Capability::Credentials, sentence, word.span);
                return;
            }
        }
    }

    /// Whether a word is a secret's path. Where the disk can be looked at, a word that is no file is a word.
    fn is_secret_here(&self, path: &str) -> bool {
        if !sensitive::is(Concern::Secret, path, &self.view) {
            return self.wildcard_meets_secret(path);
        }
        let Some(links) = self.view.links else { return true };
        !mark::is_literal(path) || !self.made.is_empty() || !self.state.stayed.is_empty() || links.exists(path)
    }

    /// Whether a wildcard can mean a secret that is there, or may be there.
    pub fn wildcard_meets_secret(&self, path: &str) -> bool {
        let Some((folder, last)) = path.rsplit_once('/').filter(|(_, last)| mark::has_wild(last)) else { return false };
        if last.starts_with(mark::STAR) {
            return sensitive::is_secret_name(&mark::as_source(last));
        }
        let is_there = |name: &str| match self.view.links {
            Some(links) if mark::is_literal(folder) && self.made.is_empty() => {
                links.exists(&format!("{folder}/{name}"))
            }
            Some(_) | None => true,
        };
        COMMON.iter().any(|name| {
            (last.starts_with('.') || !name.starts_with('.')) && glob::matches(last, name) && is_there(name)
        })
    }

    /// A path is listed: its name is told, not what it holds. Where secrets have a folder of their own, names tell enough.
    pub fn list_file(&mut self, text: &str, span: Span) {
        let path = self.resolve(text);
        let wild = mark::has_wild(&path) && !sensitive::is(Concern::Secret, &path, &self.view);
        let by_name = sensitive::is(Concern::Settings, &path, &self.view) || wild;
        if by_name && self.elsewhere(text).is_empty() && !self.state.files.contains_key(&path) {
            // A wildcard among what is read is looked up as what it can mean.
            if !wild {
                self.report.reads(&path);
            }
        } else {
            self.read_file(text, span);
        }
    }

    /// Remembers folders that a program reads with everything in them.
    pub fn swept_words(&mut self, name: &str, words: &[Arg]) {
        let all = format!("{0}{0}", mark::STAR);
        for word in words {
            let items = [mark::ITEM, mark::PICK];
            let whole = word.text.split_once(all.as_str()).map(|(folder, _)| folder);
            let below = word.text.split_once(items.as_slice()).map(|(folder, _)| folder).or(whole);
            if let Some(folder) = below.filter(|_| !listed(NAMING, name) && !listed(HANDING, name)) {
                let folder = self.resolve(if folder.is_empty() { "." } else { folder });
                self.report.sweeps(&folder);
            }
        }
        if !sweeps(name, words) {
            return self.mounted(name, words);
        }
        let here = self.state.cwd.clone();
        if here != self.view.cwd {
            self.report.sweeps(&here);
        }
        let operands: Vec<&Arg> = words.iter().filter(|word| !word.text.starts_with('-')).collect();
        // Where a copy goes is not read.
        let copies = listed("cp gcp scp rsync ditto", name)
            && !words
                .iter()
                .any(|word| word.text.starts_with("--target") || word.text.starts_with("-") && word.text.contains('t'));
        for word in operands.iter().take(operands.len().saturating_sub(usize::from(copies))) {
            let path = self.resolve(&word.text);
            // What lies below where the command runs needs no second look.
            let inside = path.strip_prefix(self.view.cwd).is_some_and(|rest| rest.starts_with('/'));
            if !inside {
                self.report.sweeps(&path);
            }
        }
    }

    /// What of the machine a container is given.
    fn mounted(&mut self, name: &str, words: &[Arg]) {
        if !matches!(name, "docker" | "podman" | "nerdctl" | "docker-compose") {
            return;
        }
        let options = Options::parse(words, "-v --volume --mount", Style::Gnu, false);
        let copied =
            options.operands.first().is_some_and(|verb| matches!(verb.text.as_str(), "cp" | "build" | "buildx"));
        let mut sources: Vec<String> =
            if copied { options.operands.iter().map(|arg| arg.text.clone()).collect() } else { Vec::new() };
        for opt in options.given.iter().filter(|opt| matches!(opt.name.as_str(), "-v" | "--volume" | "--mount")) {
            let value = opt.value.as_deref().unwrap_or_default();
            let keyed = value.split(',').find_map(|part| part.strip_prefix("source=").or(part.strip_prefix("src=")));
            let plain = value.split(':').next().filter(|source| source.starts_with(['/', '.', '~']));
            sources.extend(keyed.or(plain).map(str::to_owned));
        }
        for source in sources {
            let path = self.resolve(&source);
            self.report.sweeps(&path);
        }
    }
}

/// Whether the words behind `git` make it say nothing of what is in files.
fn git_names(words: &[Arg]) -> bool {
    let options = Options::parse(words, "-C -c --git-dir --work-tree --namespace", Style::Gnu, true);
    let Some((verb, rest)) = options.operands.split_first() else { return true };
    let any = |names: &[&str]| rest.iter().any(|word| names.iter().any(|name| word.text.starts_with(name)));
    match verb.text.as_str() {
        "log" => !any(GIT_SHOWING),
        "config" => !any(&["-f", "--file"]),
        verb => listed(GIT_NAMING, verb),
    }
}

/// Whether what is handed to a program's environment is shown by the same command.
fn shows_environment(name: &str, words: &[Arg]) -> bool {
    match name {
        "node" | "nodejs" | "bun" | "deno" | "tsx" => words.iter().any(|word| {
            matches!(word.text.as_str(), "-e" | "-p" | "-pe" | "--eval" | "--print" | "eval")
                || word.text.starts_with("--eval=")
                || word.text.starts_with("--print=")
        }),
        "docker" | "docker-compose" | "podman" => {
            words.iter().any(|word| matches!(word.text.as_str(), "config" | "convert"))
        }
        _ => false,
    }
}

fn sweeps(name: &str, words: &[Arg]) -> bool {
    if crate::code::Language::of(name) == Some(crate::code::Language::Python) {
        return words.windows(2).any(|pair| {
            matches!(pair, [option, module] if option.text == "-m" && SWEEPING_MODULES.contains(&module.text.as_str()))
        });
    }
    let options = Options::parse(words, "", Style::Gnu, false);
    let is_swept = |(names, flags): &(&str, &str)| listed(names, name) && (flags.is_empty() || options.has(flags));
    SWEEPING.iter().any(is_swept)
}

#[cfg(test)]
mod tests {
    use crate::view::{Links, View};

    /// A workspace with `.env` in it.
    struct Disk;
    impl Links for Disk {
        fn target(&self, _: &str) -> Option<String> {
            None
        }
        fn is_folder(&self, path: &str) -> bool {
            matches!(path, "/home/me/app" | "/home/me" | "/home")
        }
        fn exists(&self, path: &str) -> bool {
            matches!(path, "/home/me/app/.env" | "/home/me/.ssh/id_rsa" | "/home/me/app/package.json")
        }
    }

    #[track_caller]
    fn check(command: &str, expected: bool) {
        let view = View { cwd: "/home/me/app", home: "/home/me", links: Some(&Disk), ..View::default() };
        let answer = crate::classify(command, &view);
        let found = answer.capabilities.contains(&crate::Capability::Credentials);
        assert_eq!(found, expected, "{command}\n{:#?}", answer.reasons);
    }

    #[test]
    fn whoever_is_told_a_secret_can_read_it() {
        for command in [
            "cat .e*",
            "cat .en?",
            "cat .*",
            "perl -pe 1 .e*",
            "cat ~/.s*/id_*",
            "git diff --no-index /dev/null ~/.ssh/id_rsa",
            "git hash-object -w .env",
            "git config -f .env -l",
            "git blame --contents .env README.md",
            "git add -f .env",
            "git tag -F ~/.ssh/id_rsa t",
            "git commit -F .env",
            "git notes add -F .env",
            "git archive --add-file=.env HEAD",
            "git log -p -- .env",
            "strings -f .env",
            "od -An -c ~/.ssh/id_rsa",
            "gcc -E -P -x c ~/.ssh/id_rsa",
            "gcc @.env",
            "cpp .env",
            "column -t .env",
            "diff --from-file=.env README.md",
            "date -f .env",
            "file -f .env",
            "wc --files0-from=.env",
            "sort --files0-from=.env",
            "jq -f .env",
            "grep -f .env README.md",
            "grep -r --include=.env X .",
            "tar cf - --files-from=.env",
            "python3 -m base64 -e .env",
            "timeout 5 od -c .env",
            "node --env-file=.env -p process.env",
            "docker compose --env-file .env config",
            "mv .env notes.txt",
            "mv .e* notes.txt",
            "ln .env notes.txt",
            "ln .e* notes.txt",
            "link .env notes.txt",
            "ln -s .env notes.txt; strings notes.txt",
            "cp -l .env notes.txt",
            "git mv .env notes.txt",
            "mv -t src .env",
            "sed -i s/a/b/ .env",
            "cp .env notes.txt",
        ] {
            check(command, true);
        }
        for command in [
            "ls -la .env",
            "ls -d .*",
            "test -f .env",
            "stat .env",
            "ln -sf .env.shared .env",
            "[ -f .env ] && echo there",
            "echo .env >> .gitignore",
            "grep -n .env .gitignore",
            "git check-ignore .env",
            "git rm --cached .env",
            "git log --all -- .env",
            "git commit -m .env",
            "docker compose --env-file .env up",
            "node --env-file=.env server.js",
            "npx dotenv -e .env -- jest",
            "dotenv -e .env -- npm test",
            "rsync -a --exclude .env src/ dist/",
            "tar czf x.tgz --exclude=.env src",
            "jq .env package.json",
            "jq -c '.[].key' package.json",
            "jq -r .key package.json",
            "cat .g*",
            "cat .env.example",
            "cat *.json",
            "cp .env.example .env",
            "cp .env.example .env.local",
            "echo A=1 >> .env",
            "chmod 600 .env",
            "rm .env",
            "curl localhost/.env",
        ] {
            check(command, false);
        }
    }

    #[test]
    fn folders_read_as_a_whole_are_told() {
        let view = View { cwd: "/home/me/app", home: "/home/me", links: Some(&Disk), ..View::default() };
        let check = |command: &str, folder: &str, expected: bool| {
            let answer = crate::classify(command, &view);
            let found = answer.sweeps.iter().any(|path| path.as_str() == folder);
            assert_eq!(found, expected, "{command}\n{:?}", answer.sweeps);
        };
        for command in [
            "grep -r X ~",
            "grep -rh X ~",
            "rg X ~",
            "cd && rg X",
            "tar czf src/h.tgz ~",
            "cp -r ~ src/h",
            "rsync -a ~/ src/h",
            "find ~ -type f | xargs grep -h .",
            "find ~ -type f -exec cat {} +",
            "docker run -v $HOME:/h alpine ls",
            "docker run --mount type=bind,source=$HOME,target=/h alpine ls",
            "python3 -m zipfile -c x.zip ~",
        ] {
            check(command, "/home/me", true);
        }
        check("grep -rh X ..", "/home/me", true);
        check("cp -rt src ~", "/home/me", true);
        check("cp -r src ~", "/home/me", false);
        for command in ["ls ~", "ls -R ~", "find ~ -name x", "du -sh ~", "grep X ~/notes", "cd ~; ls", "cat ~/*.md"] {
            check(command, "/home/me", false);
        }
    }
}
