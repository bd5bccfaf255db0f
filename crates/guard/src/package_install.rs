//! Whether a command brings software onto the machine that no lock file of the project pins.

use std::path::Path;

/// Tools whose package has the tool's name and the same author. A package of any other name may be a stranger's.
const WELL_KNOWN: &str = "jest vitest eslint prettier vite next nuxt astro playwright cypress tsx ts-node webpack rollup \
    esbuild parcel mocha ava nyc c8 rimraf husky lint-staged turbo nx lerna prisma drizzle-kit storybook tailwindcss \
    postcss babel svelte-check stylelint typedoc knip depcheck madge concurrently nodemon serve http-server wrangler expo \
    @angular/cli @biomejs/biome @playwright/test black ruff mypy isort flake8 pytest pylint pre-commit tox nox poetry \
    bandit pyright pyupgrade coverage twine build cookiecutter pdm hatch uv";

/// Whether a command installs something, or runs a package that is fetched first.
pub fn brings_software(words: &[String], cwd: &Path, workspace: &Path) -> bool {
    installs(words) || fetches(words, cwd, workspace)
}

/// Whether a package runner fetches a tool that is neither in the project nor well known.
fn fetches(words: &[String], cwd: &Path, workspace: &Path) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = words.first().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    let rest = match (program, words.get(1..).unwrap_or_default()) {
        ("npx" | "pnpx" | "bunx" | "uvx", rest) => rest,
        ("npm" | "pnpm" | "yarn" | "bun", ["exec" | "x" | "dlx", rest @ ..]) => rest,
        ("pipx", ["run", rest @ ..]) => rest,
        _ => return false,
    };
    fetched(rest).iter().any(|package| {
        // `prettier@3` is `prettier`, and `@scope/tool` keeps its scope.
        let name = package.rsplit_once('@').map_or(*package, |(name, _)| if name.is_empty() { package } else { name });
        let folders = cwd.ancestors().take_while(|folder| folder.starts_with(workspace));
        let is_there = |folder: &Path| {
            let modules = folder.join("node_modules");
            modules.join(".bin").join(name).exists() || modules.join(name).exists()
        };
        let plain = !name.is_empty() && !name.contains("..") && !name.starts_with('/');
        let known = WELL_KNOWN.split_whitespace().any(|known| known == name);
        !(plain && (known || folders.into_iter().any(is_there)))
    })
}

/// Whether a command installs something that no lock file pins.
fn installs(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let named = |rest: &[&str]| rest.iter().any(|word| !word.starts_with('-') && *word != ".");
    let program = words.first().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    match (program, words.get(1..).unwrap_or_default()) {
        ("npm" | "pnpm" | "yarn" | "bun", ["install" | "i" | "add" | "create" | "init" | "innit", rest @ ..]) => {
            named(rest) || rest.iter().any(|word| matches!(*word, "-g" | "--global" | "--location=global"))
        }
        // A name from the whole machine, or one put there.
        ("npm" | "pnpm" | "yarn" | "bun", ["link" | "ln", ..]) => true,
        ("uv", ["run", rest @ ..]) => rest.iter().any(|word| word.starts_with("--with") || word.contains("://")),
        ("uv", ["tool", "run" | "install" | "upgrade", ..]) => true,
        ("pip" | "pip3" | "uv" | "pipx", rest) => {
            let brought = |word: &&str| matches!(*word, "install" | "add" | "download" | "wheel");
            let Some(at) = rest.iter().position(brought) else { return false };
            brings(rest.get(at + 1..).unwrap_or_default())
        }
        // A program of the project is a path or a file; anything else is a module that is fetched.
        ("go", ["run", rest @ ..]) => {
            let told = rest.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
            told.contains('@') || told.contains('.') && !told.starts_with(['.', '/']) && !told.ends_with(".go")
        }
        ("cargo", ["generate", ..]) | ("gh", ["extension" | "extensions" | "ext", "install" | "upgrade", ..]) => true,
        ("cargo" | "go" | "gem" | "brew" | "apt" | "apt-get" | "dnf" | "yum" | "apk" | "pacman", rest) => {
            rest.iter().any(|word| matches!(*word, "install" | "add" | "get" | "-S"))
        }
        ("pipenv", ["install", rest @ ..]) => named(rest),
        (program, rest) => {
            let verb = rest.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
            PINNED.iter().any(|(names, verbs)| names.contains(&program) && !verb.is_empty() && !verbs.contains(&verb))
        }
    }
}

/// The packages that a package runner fetches: those it is given, else the tool; none if it may not install.
fn fetched<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let mut packages = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (option, attached) = word.split_once('=').map_or((*word, None), |(option, value)| (option, Some(value)));
        match option {
            "--no-install" | "--no" => return Vec::new(),
            "-p" | "--package" | "--from" | "--with" | "--spec" => {
                packages.extend(attached.or_else(|| words.next().copied()));
            }
            // Texts are judged as commands of their own.
            "-c" | "--call" => return packages,
            "-w" | "--workspace" | "--python" => _ = attached.or_else(|| words.next().copied()),
            option if option.starts_with('-') => {}
            tool => {
                if packages.is_empty() {
                    packages.push(tool);
                }
                break;
            }
        }
    }
    packages
}

/// Whether the words behind `pip install` name anything but files and folders of the project.
fn brings(words: &[&str]) -> bool {
    let is_local = |word: &str| word.starts_with('.') || word.starts_with('/') && !word.contains("://");
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (option, attached) = word.split_once('=').map_or((*word, None), |(option, value)| (option, Some(value)));
        match option {
            "-r" | "--requirement" | "-c" | "--constraint" | "-e" | "--editable" => {
                let value = attached.or_else(|| words.next().copied()).unwrap_or_default();
                if value.contains("://") || value.contains('+') {
                    return true;
                }
            }
            option if option.starts_with('-') => {}
            word if is_local(word) => {}
            _ => return true,
        }
    }
    false
}

/// Package managers, and their verbs that stay within a lock file or the project. Any other verb may install something new
/// or change where packages come from.
const PINNED: &[(&[&str], &[&str])] = &[
    (&["poetry"], &["run", "install", "check", "show", "version", "build", "lock", "env", "list", "help"]),
    (&["pipenv"], &["run", "sync", "check", "graph", "lock", "verify", "scripts"]),
    (&["pdm"], &["run", "install", "sync", "list", "lock", "build", "info"]),
    (&["hatch"], &["run", "test", "fmt", "build", "env", "version"]),
    (&["bundle", "bundler"], &["exec", "install", "check", "list", "show", "info", "outdated", "lock"]),
    (
        &["composer"],
        &["install", "validate", "show", "test", "run", "run-script", "dump-autoload", "outdated", "audit", "diagnose"],
    ),
    (
        &["turbo", "nx"],
        &[
            "run",
            "run-many",
            "affected",
            "build",
            "test",
            "lint",
            "typecheck",
            "check",
            "e2e",
            "dev",
            "serve",
            "graph",
            "show",
        ],
    ),
    (&["deno"], &["test", "fmt", "lint", "check", "task", "bench", "doc", "info", "run"]),
    (&["mix"], &["test", "compile", "format", "deps.get", "credo", "dialyzer", "run", "ecto.migrate", "phx.server"]),
    (&["flutter", "dart"], &["test", "analyze", "build", "run", "format", "doctor"]),
    (&["swift"], &["build", "test", "run"]),
];
