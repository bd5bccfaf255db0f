//! Packages that lie on this machine: to install one is to run its code, and tools build it where it lies.

use crate::walk::{Arg, Walker};

/// Programs, and the verbs behind which they take the folder or file of a package.
const TAKING: &[(&[&str], &[&str])] = &[
    (&["pip", "pip2", "pip3", "pipx", "uv", "poetry", "pdm", "pipenv"], PYTHON),
    (&["npm", "pnpm", "yarn", "bun"], &["install", "i", "add", "link", "ln", "exec", "x", "dlx"]),
    (&["uvx", "npx", "bunx", "pnpx"], &[]),
    (&["cargo"], &["install"]),
    (&["go"], &["run", "install", "test", "generate"]),
    (&["gem"], &["install"]),
];

const PYTHON: &[&str] = &["install", "inject", "add", "run", "wheel", "download"];

/// Options whose value is a package, or a place where packages are found.
const PACKAGES: &[&str] = &[
    "-e",
    "--editable",
    "-f",
    "--find-links",
    "-r",
    "--requirement",
    "--path",
    "--with",
    "--with-editable",
    "--from",
    "--spec",
    "--package",
];

/// Options whose value is something else.
const OTHERS: &[&str] = &[
    "-C",
    "-c",
    "-i",
    "-o",
    "-p",
    "-t",
    "--cache",
    "--cache-dir",
    "--cert",
    "--client-cert",
    "--config",
    "--constraint",
    "--cwd",
    "--dir",
    "--directory",
    "--extra-index-url",
    "--index-url",
    "--log",
    "--manifest-path",
    "--modules-folder",
    "--prefix",
    "--project",
    "--python",
    "--root",
    "--store-dir",
    "--src",
    "--target",
    "--target-dir",
    "--userconfig",
];

impl Walker<'_> {
    /// What a manager of packages builds and runs besides what it fetches.
    pub fn local_packages(&mut self, name: &str, args: &[Arg]) {
        let Some((_, verbs)) = TAKING.iter().find(|(names, _)| names.contains(&name)) else { return };
        let at = args.iter().position(|arg| verbs.contains(&arg.text.as_str()));
        let from = match at {
            Some(at) => at + 1,
            None if verbs.is_empty() => 0,
            None => return,
        };
        // Behind the tool stand its own words.
        let runs =
            verbs.is_empty() || matches!(args.get(from - usize::from(from > 0)), Some(verb) if is_run(&verb.text));
        let mut words = args.get(from..).unwrap_or_default().iter();
        while let Some(word) = words.next() {
            let (option, attached) =
                word.text.split_once('=').map_or((word.text.as_str(), None), |(a, b)| (a, Some(b)));
            if !option.starts_with('-') {
                self.local_package(&word.text, word);
                if runs && name != "go" {
                    return;
                }
            } else if PACKAGES.contains(&option) {
                let value = attached.map(ToOwned::to_owned).or_else(|| words.next().map(|next| next.text.clone()));
                self.local_package(&value.unwrap_or_default(), word);
            } else if OTHERS.contains(&option) && attached.is_none() {
                words.next();
            } else if let Some(value) = option.strip_prefix("-e").or_else(|| option.strip_prefix("-f")) {
                self.local_package(value, word);
            }
        }
    }

    fn local_package(&mut self, text: &str, word: &Arg) {
        // `name @ file:../x`, `file:../x`, `../x[extra]`.
        let bare = ["file://", "file:", "link:", "portal:"]
            .iter()
            .find_map(|start| text.split_once(start).map(|(_, path)| path))
            .unwrap_or(text);
        let bare = bare.split(['[', crate::mark::BRACKET]).next().unwrap_or_default();
        let bare = bare.strip_suffix("/...").unwrap_or(bare);
        if !bare.starts_with(['.', '/', '~']) || bare.contains("://") {
            return;
        }
        // Where the agent works it may build whatever lies there.
        let (path, own) = (self.resolve(bare), crate::path::normalise(self.view.cwd, "/"));
        let is_own = path.strip_prefix(own.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if !is_own || crate::mark::has_hole(&path) {
            self.may_write(bare, word.span);
        }
    }
}

fn is_run(verb: &str) -> bool {
    matches!(verb, "run" | "exec" | "x" | "dlx")
}

#[cfg(test)]
mod asked {
    use crate::testing::{asked, free};

    #[test]
    fn packages_from_elsewhere() {
        asked(&[
            "pip install -e ../lib",
            "pip install -e../lib",
            "pip install --editable=../lib",
            "pip install ../lib",
            "pip install '../lib[dev]'",
            "pip install 'lib @ file:///opt/lib'",
            "pip install --find-links ../wheels x",
            "pip install -r ../other/requirements.txt",
            "python3 -m pip install -e ../lib",
            "uv pip install -e ../lib",
            "uv add ../lib",
            "uv run --with ../lib x.py",
            "uvx --from ../lib tool",
            "pipx install ../lib",
            "poetry add ../lib",
            "npm install ../x",
            "npm install file:../x",
            "npm link ../x",
            "pnpm link ../x",
            "yarn add link:../x",
            "npx ../x",
            "cargo install --path ../x",
            "go run ../x",
            "go test ../x/...",
            "cd .. && pip install -e .",
            "cd src && pip install ../../lib",
            "pip install -e ~/lib",
        ]);
        free(&[
            "pip install -e .",
            "pip install -e '.[dev]'",
            "pip install .[test]",
            "cd src && pip install -e ..",
            "cd src && pip install -r ../requirements.txt",
            "pip install ./dist/x.whl",
            "npm install ./packages/x",
            "npm install",
            "npm run build",
            "uv run pytest ../other",
            "npx jest src",
            "cargo install --path .",
            "cargo build",
            "go test ./...",
            "go run ./cmd/x",
        ]);
    }
}
