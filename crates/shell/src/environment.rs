//! What the variables that a text sets make the programs behind it do.

use crate::answer::{Capability, Span};
use crate::mark;
use crate::rules::environment::{self, HARMLESS, Use};
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Variable, Walker};

/// Values that name nothing.
const NOTHING: &[&str] = &["", "/dev/null"];

/// Where anybody may put a program.
const OPEN: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/private/tmp"];

/// Programs that build nothing: who names one of them as a tool wants something else.
const NO_TOOLS: &[&str] = &[
    "rm", "mv", "cp", "dd", "ln", "tee", "sh", "bash", "dash", "zsh", "ksh", "python", "python3", "perl", "ruby",
    "node", "awk", "sed", "xargs", "find", "curl", "wget", "nc", "git", "chmod", "truncate", "shred",
];

impl Walker<'_> {
    /// A program is about to run with the variables that this text has set.
    pub fn environment(&mut self, program: &str, span: Span) {
        let is_builtin =
            crate::rules::builtins::PROGRAMS.iter().any(|entry| entry.names.split(' ').any(|n| n == program));
        if self.state.variables.is_empty() || is_builtin {
            return;
        }
        let set: Vec<(String, Use, String)> = self
            .state
            .variables
            .iter()
            .filter_map(|(name, value)| {
                let used = environment::of(name)?;
                let text = match value {
                    Variable::Scalar(text) => text.clone(),
                    Variable::List(items) | Variable::Scattered(items) => items.first().cloned().unwrap_or_default(),
                };
                Some((name.clone(), used, text))
            })
            .collect();
        for (name, used, text) in set {
            if !NOTHING.contains(&text.as_str()) {
                self.variable_used(&name, used, &text, span);
            }
        }
    }

    fn variable_used(&mut self, name: &str, used: Use, text: &str, span: Span) {
        let does_harm = match used {
            Use::Loads => true,
            Use::Runs => !HARMLESS.contains(&text),
            // `ccache gcc` and `clang -m32` are tools; what lies in a folder of its own is not known.
            Use::Tool => {
                let first = text.split_whitespace().next().unwrap_or_default();
                !mark::is_literal(text)
                    || text.contains([';', '|', '&', '`', '$', '<', '>', '\n', '/'])
                    || NO_TOOLS.contains(&first)
            }
            Use::Options(harmful) => {
                !mark::is_literal(text)
                    || text.split_whitespace().any(|word| harmful.iter().any(|option| word.contains(option)))
            }
            Use::OnlyOptions(_) => environment::has_unknown_option(used, text),
            Use::Starts | Use::Prompts | Use::Reaches => false,
            Use::Home => text != self.view.home && text != mark::UNSET.to_string(),
            Use::Programs => text.split(':').any(|folder| self.may_hold_programs(folder)),
            Use::Modules => {
                let folders: Vec<&str> = text.split([':', ';']).collect();
                folders.iter().any(|folder| self.has_new_modules(folder, span))
            }
            Use::Writes => {
                let is_switch = name.starts_with("GIT_TRACE") && !text.starts_with('/') && mark::is_literal(text);
                if !is_switch {
                    self.may_write(text, span);
                }
                false
            }
        };
        if matches!(used, Use::Runs | Use::Tool) && does_harm {
            let command = text.trim_start_matches(['|', '-']);
            self.report.can(Capability::Exec);
            self.inner(command, Stream::Opaque, span);
        }
        if does_harm {
            self.report.can(Capability::Exec);
            let shown = mark::shown(text);
            self.report.unknown("DYNAMIC_CODE", format!("`{name}={shown}` says what programs load or run"), span);
        }
    }

    /// Whether a folder of a search path may hold programs under the names of others.
    fn may_hold_programs(&self, folder: &str) -> bool {
        // `$PATH` itself, as it was; `$?` is a number, and so may the name of a folder be.
        if [mark::UNSET, mark::NUMBER].iter().any(|as_it_was| folder == as_it_was.to_string()) {
            let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
            return self.report.written().any(|path| path.split('/').any(is_number));
        }
        let path = self.resolve(folder);
        let own = crate::path::normalise(self.view.cwd, "/");
        let is_below = |outer: &str| {
            path.strip_prefix(outer.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_open = is_below(&own) || OPEN.iter().any(|open| is_below(open)) || !path.starts_with('/');
        let is_tools = path.ends_with("bin") && mark::is_literal(&path);
        is_open && !is_tools || self.is_written_below(folder)
    }

    /// Whether this text has put modules into a folder that are not followed; those whose text is known are.
    fn has_new_modules(&mut self, folder: &str, span: Span) -> bool {
        if !self.is_written_below(folder) {
            return false;
        }
        let resolved = self.resolve(if folder.is_empty() { "." } else { folder });
        if !mark::is_literal(&resolved) {
            return true;
        }
        let is_module = |path: &str| {
            let end = path.rsplit('/').next().and_then(|file| file.rsplit_once('.')).map(|(_, end)| end.to_owned());
            end.is_some_and(|end| {
                matches!(end.as_str(), "so" | "jar" | "class" | "node" | "pyc" | "pth" | "zip")
                    || language(&end).is_some()
            }) || path.contains(".so.")
                || path.contains('<')
        };
        let inside = |path: &str| {
            path.contains('<')
                || path.strip_prefix(resolved.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
        };
        let written: Vec<String> =
            self.report.written().filter(|path| inside(path) && is_module(path)).map(ToOwned::to_owned).collect();
        let mut unclear = false;
        for path in written {
            let end = path.rsplit('.').next().unwrap_or_default();
            match (self.state.files.get(&path).cloned(), language(end)) {
                (Some(Stream::Text(text)), Some(language)) => self.code(language, &text, span),
                (Some(_) | None, _) => unclear = true,
            }
        }
        unclear
    }

    /// Whether this text has written to a folder, so that what is found in it is new.
    pub fn is_written_below(&self, folder: &str) -> bool {
        let folder = self.resolve(if folder.is_empty() { "." } else { folder });
        let outer = folder.trim_end_matches('/');
        let mut written = self.report.written();
        written.any(|path| {
            !mark::is_literal(&folder)
                || path.contains('<')
                || path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// The language of a module by its ending.
fn language(end: &str) -> Option<crate::code::Language> {
    let interpreter = match end {
        "py" => "python3",
        "js" | "cjs" | "mjs" | "ts" => "node",
        "pl" | "pm" => "perl",
        "rb" => "ruby",
        "lua" => "lua",
        "php" => "php",
        _ => return None,
    };
    crate::code::Language::of(interpreter)
}

/// Endings of scripts, with the interpreters that load them.
const SCRIPTS: &[(&str, &[&str])] = &[
    ("sh", &["sh", "bash", "dash", "zsh", "ksh", "ash", "source", "."]),
    ("bash", &["bash", "source", "."]),
    ("py", &["python", "python2", "python3", "pypy", "pypy3", "ipython"]),
    ("js", &["node", "nodejs", "bun", "deno"]),
    ("cjs", &["node", "nodejs", "bun", "deno"]),
    ("mjs", &["node", "nodejs", "bun", "deno"]),
    ("ts", &["node", "bun", "deno", "tsx", "ts-node"]),
    ("pl", &["perl"]),
    ("pm", &["perl"]),
    ("rb", &["ruby"]),
    ("php", &["php"]),
    ("lua", &["lua", "luajit"]),
];

/// Programs that run the file they are given.
const RUNNING: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "ash",
    "source",
    ".",
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "node",
    "nodejs",
    "bun",
    "deno",
    "tsx",
    "ts-node",
    "perl",
    "ruby",
    "php",
    "lua",
    "luajit",
    "awk",
    "gawk",
    "mawk",
    "expect",
    "tclsh",
    "osascript",
    "Rscript",
];

impl Walker<'_> {
    /// An interpreter is about to run: what of it did this text write?
    pub fn runs_what_was_written(&mut self, name: &str, args: &[crate::walk::Arg], span: Span) {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_running = |known: &&str| *known == name || *known == stem && !stem.is_empty();
        if !RUNNING.iter().any(&is_running) {
            return;
        }
        let script = args.iter().find(|arg| !arg.text.starts_with('-')).map(|arg| arg.text.clone());
        if let Some(script) = script {
            self.runs_script(&script, span);
        }
        let own: Vec<&str> =
            SCRIPTS.iter().filter(|(_, names)| names.iter().any(&is_running)).map(|(end, _)| *end).collect();
        let loaded: Vec<(String, Stream)> = self
            .state
            .files
            .iter()
            .filter(|(path, _)| {
                let file = path.rsplit('/').next().unwrap_or_default();
                let Some((module, end)) = file.rsplit_once('.') else { return false };
                own.contains(&end) && args.iter().any(|arg| names_module(&arg.text, module, file))
            })
            .map(|(path, content)| (path.clone(), content.clone()))
            .collect();
        for (path, content) in loaded {
            let is_script = args.iter().any(|arg| self.resolve(&arg.text) == path && !arg.text.starts_with('-'));
            match (content, crate::code::Language::of(name)) {
                // Code in a file that is run by its name is followed where the interpreter is judged.
                (Stream::Text(_), _) if is_script && !args.iter().any(|arg| arg.text.starts_with('-')) => {}
                (Stream::Text(text), Some(language)) => self.code(language, &text, span),
                (Stream::Text(text), None) => _ = self.inner(&text, Stream::Opaque, span),
                (Stream::Absent | Stream::Remote | Stream::Secret | Stream::Opaque, _) => {
                    self.written_script(&path, span)
                }
            }
        }
    }

    /// The file that an interpreter is given, if this text wrote it in a way that is not followed.
    fn runs_script(&mut self, script: &str, span: Span) {
        let path = self.resolve(script);
        if mark::is_literal(&path) {
            if self.state.files.get(&path) == Some(&Stream::Opaque) && !path.starts_with("/dev/") {
                self.written_script(script, span);
            }
            return;
        }
        // Some file below a folder, or one of a name that is not known: all that were written may be meant.
        let known: String = path.chars().take_while(|c| !mark::is_hole(*c) && !mark::is_wild(*c)).collect();
        let folder = known.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default();
        let is_meant = |path: &&String| path.starts_with(&folder) && !path.starts_with("/dev/");
        if self.state.files.keys().any(|path| is_meant(&path)) {
            self.written_script(script, span);
        }
    }

    fn written_script(&mut self, script: &str, span: Span) {
        self.report.unknown(
            "DYNAMIC_CODE",
            format!("`{}` is written by the same command that runs it", mark::shown(script)),
            span,
        );
    }
}

/// Whether a word of an interpreter's call names a module: `-m src.x`, `-Mx`, `import x`, `./src/x.js`.
fn names_module(word: &str, module: &str, file: &str) -> bool {
    if word.ends_with(file) || word.strip_prefix("-M").is_some_and(|named| named.starts_with(module)) {
        return true;
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    word.split(|c: char| !is_part(c)).any(|part| part == module || part.strip_prefix("-r") == Some(module))
        || module == "__init__"
        || module == "__main__"
        || matches!(module, "sitecustomize" | "usercustomize" | "index")
}

/// Options whose value is a command.
const HANDED_BY_OPTION: &[(&str, &[&str])] = &[
    ("go", &["-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"]),
    ("nodemon", &["-x", "--exec"]),
    ("cargo", &["-s", "--shell"]),
    ("cargo-watch", &["-s", "--shell"]),
];

/// Options of programs whose value is a program that they run.
const RUN_BY_OPTION: &[(&str, &[&str])] = &[
    ("sort", &["--compress-program"]),
    ("gsort", &["--compress-program"]),
    ("gcc", &["-wrapper", "-B", "-specs", "-fplugin"]),
    ("g++", &["-wrapper", "-B", "-specs", "-fplugin"]),
    ("cc", &["-wrapper", "-B", "-specs", "-fplugin"]),
    ("c++", &["-wrapper", "-B", "-specs", "-fplugin"]),
    ("gfortran", &["-wrapper", "-B", "-specs", "-fplugin"]),
    ("clang", &["-B", "-fplugin", "-fpass-plugin", "-Xclang=-load"]),
    ("clang++", &["-B", "-fplugin", "-fpass-plugin"]),
];

/// Options of compilers that name a file behind a comma.
const BEHIND_COMMA: &[&str] = &["-o", "-Map", "--Map", "-MD", "-MMD", "-MF", "--dependency-file", "--out-implib"];

impl Walker<'_> {
    /// Options that run a program of the caller's choice, and those that compilers hand on.
    pub fn options_that_run(&mut self, name: &str, args: &[crate::walk::Arg], span: Span) {
        crate::act::texts::handed(self, name, args, span);
        let watches = name != "cargo" || args.first().is_some_and(|verb| verb.text == "watch");
        for (_, options) in HANDED_BY_OPTION.iter().filter(|(known, _)| *known == name && watches) {
            for text in crate::act::handed::values(args, options) {
                crate::act::handed::run(self, &text.text, text.span);
            }
        }
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        let stem = if stem == "g" || stem == "c" { name } else { stem };
        let Some((_, options)) = RUN_BY_OPTION.iter().find(|(known, _)| *known == stem) else { return };
        for arg in args {
            let given = arg.text.split('=').next().unwrap_or_default();
            let is_long = |option: &str| given.len() > 4 && option.starts_with("--") && option.starts_with(given);
            let is_it = |option: &str| arg.text.starts_with(option) || is_long(option);
            if options.iter().any(|option| is_it(option)) {
                self.report.can(Capability::Exec);
                self.report.unknown("DYNAMIC_CODE", format!("`{name} {given}` runs a program"), span);
            }
            let is_handed = ["-Wl,", "-Wp,", "-Wa,"].iter().any(|start| arg.text.starts_with(start));
            let pieces: Vec<&str> = if is_handed { arg.text.split(',').collect() } else { Vec::new() };
            for (at, piece) in pieces.iter().enumerate() {
                let (option, value) = piece.split_once('=').map_or((*piece, None), |(name, value)| (name, Some(value)));
                if let Some(file) =
                    value.or_else(|| pieces.get(at + 1).copied()).filter(|_| BEHIND_COMMA.contains(&option))
                {
                    self.write_file(file, How::Overwrite, arg.span);
                }
            }
        }
    }
}

#[cfg(test)]
mod asked {
    use crate::testing::{asked, free};

    #[test]
    fn variables_before_programs() {
        asked(&[
            "go test -exec 'cp README.md .claude/settings.json' .",
            "go build -toolexec='cp README.md .claude/settings.json' .",
            "nodemon -x 'cp README.md .claude/settings.json'",
            "cargo watch -s 'cp README.md .claude/settings.json'",
            "cat $(date +.env)",
            "date +.env | xargs cat",
        ]);
        free(&["go test ./...", "nodemon --exec 'node src/a.js'", "cargo watch -x test", "cat $(date +%F).log"]);
        asked(&[
            "LESSOPEN='|cp README.md .claude/settings.json #%s' less README.md",
            "man -P 'cp README.md .claude/settings.json' ls",
            "man -l .env",
            "gcc -MMD -MF.claude/settings.json -c src/a.c",
            "gcc -dumpdir ../out/ -c src/a.c",
            "CC='cp README.md .claude/settings.json;' make src/q.o",
            "seq 100000 | sort --compress-program=src/c.sh",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=src/c.sh git log",
            "GIT_CONFIG_PARAMETERS=\"'core.pager=src/c.sh'\" git log",
            "X=src/c.sh git --config-env=core.pager=X log",
            "GIT_EXEC_PATH=src git status",
            "GIT_TEMPLATE_DIR=src git init src/x",
            "PERL5OPT=-Mx perl -e 1",
            "PERL5DB='BEGIN{}' perl -d -e 1",
            "PYTHONBREAKPOINT=os.system python3 -c 'breakpoint(\"x\")'",
            "PYTHONPYCACHEPREFIX=../out python3 src/a.py",
            "PYTHONSTARTUP=src/x.py python3",
            "NODE_OPTIONS='-r ./src/x.js' node -e 1",
            "NODE_OPTIONS=--redirect-warnings=../out/p node -e 1",
            "NODE_REDIRECT_WARNINGS=../out/p node -e 1",
            "NODE_V8_COVERAGE=../out node -e 1",
            "LD_DEBUG=all LD_DEBUG_OUTPUT=../out/p ls",
            "LD_PROFILE_OUTPUT=../out ls",
            "LD_PRELOAD=src/x.so ls",
            "TMPDIR=../out mktemp",
            "HISTFILE=../out/p bash -i",
            "BASH_ENV=src/c.sh bash -c ls",
            "export BASH_ENV=src/c.sh; bash -c ls",
            "MANPAGER=src/c.sh man ls",
            "PAGER='cp README.md .claude/settings.json;' git log",
            "EDITOR=src/c.sh git commit",
            "RUBYOPT=-rx ruby -e 1",
            "JAVA_TOOL_OPTIONS=-javaagent:src/x.jar java -version",
            "HOME=src git log",
            "XDG_CONFIG_HOME=src git log",
            "LESS='+!touch x' less README.md",
            "RUSTFLAGS='-C linker=src/c.sh' cargo build",
            "RUSTC_WRAPPER=src/c.sh cargo build",
            "TAR_OPTIONS=--to-command=x tar xf a.tar",
            "PATH=src:$PATH ls",
            "PATH=/tmp:$PATH ls",
            "PATH=:$PATH ls",
            "mkdir 0; echo x > 0/ls; PATH=$?:$PATH ls",
            "env BASH_ENV=src/c.sh bash -c ls",
            "export PAGER=src/c.sh; git log",
            "sort --compress-prog src/c.sh f",
            "gcc -wrapper src/c.sh,x a.c",
            "gcc -Wp,-MD,../out/p -c a.c",
            "CFLAGS='; touch ../x;' make",
            "GOFLAGS=-toolexec=src/c.sh go build",
            "GIT_INDEX_FILE=../x git add a",
        ]);
    }

    #[test]
    fn ordinary_variables_are_free() {
        free(&[
            "RUST_LOG=debug cargo test",
            "CI=1 npm test",
            "PYTHONPATH=. pytest",
            "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
            "TZ=UTC date",
            "GIT_PAGER=cat git log",
            "PAGER=cat man ls",
            "EDITOR=true git commit --amend --no-edit",
            "DEBUG=1 PORT=3000 npm start",
            "export PATH=\"$HOME/.cargo/bin:$PATH\"; cargo build",
            "PATH=$PWD/node_modules/.bin:$PATH tsc",
            "CC=clang make",
            "CC=gcc cargo build",
            "MAKEFLAGS=-j4 make",
            "make CFLAGS=-O2",
            "X=\"a b\"; make",
            "TMPDIR=/tmp cargo test",
            "GIT_TRACE=1 git fetch",
            "cat > src/a.py <<EOT\nimport os\nprint(os.getcwd())\nEOT\nPYTHONPATH=. pytest",
            "echo 'x = 1' > src/a.py; PYTHONPATH=src python3 -m app",
        ]);
    }

    #[test]
    fn what_is_written_and_run_at_once() {
        asked(&[
            "echo 'cp README.md .claude/settings.json' > src/c.sh; BASH_ENV=src/c.sh bash -c ls",
            "echo 'cp README.md .claude/settings.json' > src/c.sh; find src -name c.sh -exec sh {} \\;",
            "echo 'cp README.md .claude/settings.json' > src/c.sh; ls src/c.sh | xargs sh",
            "printf '#!/bin/sh\\ncp README.md .claude/settings.json' > src/ls; chmod +x src/ls; PATH=$PWD/src:$PATH ls",
            "printf '#!/bin/sh\\ncp README.md .claude/settings.json' > src/ls; chmod +x src/ls; PATH=$PWD/src:$PATH; ls",
            "sed 's/hi/cp README.md .claude\\/settings.json/' README.md > src/c.sh; sh src/c.sh",
            "echo 'open(\".claude/settings.json\",\"w\")' > src/x.py; python3 -m src.x",
            "echo 'open(\".claude/settings.json\",\"w\")' > src/x.py; PYTHONPATH=src python3 -c 'import x'",
            "echo 'require(\"fs\").writeFileSync(\".claude/settings.json\",\"\")' > src/x.js; node -r ./src/x.js -e 1",
            "echo 'system(\"cp README.md .claude/settings.json\");' > src/x.pm; perl -Isrc -Mx -e 1",
            "npm pkg set scripts.test='cp README.md .claude/settings.json' && npm test",
            "sed 's/a/b/' README.md > Makefile; make",
            "cat README.md > src/x; chmod +x src/x; ./src/x",
            "cat README.md | tee src/c.sh; bash src/c.sh",
            "cat README.md > a; cp a src/c.sh; sh src/c.sh",
            "cat README.md > src/x.py; python3 src/x.py",
        ]);
        free(&[
            "cat > src/a.py <<EOT\nprint(1)\nEOT\npytest",
            "echo 'x = 1' > src/a.py && python3 src/a.py",
            "sed -i 's/a/b/' src/a.py && python3 src/a.py",
            "cp src/a.sh src/b.sh && sh src/b.sh",
            "python3 gen.py > src/data.json && python3 src/use.py",
            "jq . a.json > b.json; node script.js",
            "echo \"#!/bin/sh\" > run.sh; echo \"cargo test\" >> run.sh; sh run.sh",
        ]);
    }
}
