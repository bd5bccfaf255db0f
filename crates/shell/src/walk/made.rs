//! Second names that a text makes before it uses them: links, and folders that were copied or moved with links inside.

use crate::mark;
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet};

/// Names one text may make; who makes more generates them.
const MADE_MAX: usize = 64;

/// How often a moved or copied folder is looked up where it came from.
const ORIGINS_MAX: usize = 8;

/// What a text has put in place so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made {
    /// Where a name leads.
    links: BTreeMap<String, String>,
    /// Where a copied or moved folder came from.
    origins: BTreeMap<String, String>,
    folders: BTreeSet<String>,
    /// What was removed or moved away.
    gone: BTreeSet<String>,
    /// Whether git was told to push elsewhere than before.
    pub pushes_elsewhere: bool,
}

impl Made {
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.origins.is_empty()
    }

    /// Whether no more is kept.
    pub fn is_full(&self) -> bool {
        self.links.len() + self.origins.len() >= MADE_MAX
    }

    /// A name that leads elsewhere. One that leads to two places leads nobody knows where.
    pub fn link(&mut self, name: String, target: String) {
        if let Some(before) = self.links.get_mut(&name) {
            if *before != target {
                *before = mark::OUTPUT.to_string();
            }
        } else if !self.is_full() {
            self.links.insert(name, target);
        }
    }

    /// What lay at `from` lies at `to` as well, or now.
    pub fn origin(&mut self, to: String, from: String) {
        if to != from && !self.is_full() {
            self.origins.entry(to).or_insert(from);
        }
    }

    pub fn folder(&mut self, path: String) {
        if self.folders.len() < MADE_MAX {
            self.folders.insert(path);
        }
    }

    pub fn gone(&mut self, path: &str) {
        if self.gone.len() < MADE_MAX {
            self.gone.insert(path.to_owned());
        } else {
            self.gone.insert(mark::OUTPUT.to_string());
        }
    }

    /// Whether a folder, or one above it, was removed or moved away.
    pub fn may_be_gone(&self, path: &str) -> bool {
        self.gone.iter().any(|gone| {
            !mark::is_literal(gone)
                || path.strip_prefix(gone.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    pub fn may_be_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// Where the link at `path` leads, made here or found by the view.
    pub fn target(&self, path: &str, view: &View<'_>) -> Option<String> {
        let on_disk = |path: &str| view.links.and_then(|links| links.target(path));
        if self.is_empty() {
            return on_disk(path);
        }
        let mut path = path.to_owned();
        for _ in 0..ORIGINS_MAX {
            if let Some(target) = self.link_at(&path).or_else(|| on_disk(&path)) {
                return Some(target);
            }
            let moved = self.origins.iter().find_map(|(to, from)| {
                let rest = path.strip_prefix(to.as_str())?;
                (rest.is_empty() || rest.starts_with('/')).then(|| format!("{from}{rest}"))
            });
            path = moved?;
        }
        None
    }

    fn link_at(&self, path: &str) -> Option<String> {
        if mark::has_wild(path) {
            return self
                .links
                .iter()
                .find(|(name, _)| crate::glob::matches(path, name))
                .map(|(_, target)| target.clone());
        }
        self.links.get(path).cloned()
    }
}

#[cfg(test)]
mod tests {
    use crate::view::{Links, View};

    struct Disk;
    impl Links for Disk {
        fn target(&self, path: &str) -> Option<String> {
            (path == "/w/app/out").then(|| "../other/deep".to_owned())
        }
        fn is_folder(&self, path: &str) -> bool {
            matches!(path, "/w/app" | "/w/app/src" | "/w/other/deep" | "/w/app/lib")
        }
        fn exists(&self, path: &str) -> bool {
            self.is_folder(path) || path == "/w/app/.git"
        }
    }

    /// Whether a command writes to a path.
    #[track_caller]
    fn check(command: &str, path: &str, expected: bool) {
        let view = View { cwd: "/w/app", home: "/home/me", links: Some(&Disk), ..View::default() };
        let answer = crate::classify(command, &view);
        let written: Vec<&str> = answer.writes.iter().chain(&answer.may_write).map(crate::Path::as_str).collect();
        assert_eq!(written.contains(&path), expected, "{command}: {written:?}");
    }

    #[test]
    fn links_made_on_the_way_are_followed() {
        check("echo x > out/../x", "/w/other/x", true);
        check("cd out && touch ../x", "/w/other/x", true);
        check("cd out && cd .. && touch x", "/w/app/x", true);
        check("cd -P out && cd .. && touch x", "/w/other/x", true);
        check("cd out/.. && touch x", "/w/app/x", true);
        check("ln -s .. n && touch n/x", "/w/x", true);
        check("ln -s .. n && touch n/x", "/w/app/n/x", true);
        check("ln -s /o n; (cd n; touch x)", "/o/x", true);
        check("ln -s /o n; cd n && cd .. && touch x", "/w/app/x", true);
        check("bash -c 'ln -s /o n'; echo x > n/x", "/o/x", true);
        check("ln -s /o src; echo x > src/o/x", "/o/x", true);
        check("mkdir k; ln -s /o k; echo x > k/o/x", "/o/x", true);
        check("ln -s /o; echo x > o/x", "/o/x", true);
        check("ln -st src /o; echo x > src/o/x", "/o/x", true);
        check("ln -sfn /o src; echo x > src/x", "/o/x", true);
        check("false && ln -sfn /o src; echo x > src/x", "/w/app/src/x", true);
        check("ln -sfn /o src; cd src; touch x", "/o/x", false);
        check("ln /o/a b; echo x > b", "/o/a", true);
        check("ln -s /o a; ln -s a b; touch b/x", "/o/x", true);
        check("ln -s ../.. a/b; touch a/b/x", "/w/x", true);
        check("mkdir k; ln -s /o k/l; mv k m; touch m/l/x", "/o/x", true);
        check("mkdir k; ln -s /o k/l; cp -a k m; touch m/l/x", "/o/x", true);
        check("mv out in; touch in/x", "/w/other/deep/x", true);
        check("cp -rs /o m; echo x > m/a", "/o/a", true);
        check("ln -s /o nn; touch n*/x", "/o/x", true);
        check("while :; do touch n/x; ln -s /o n; done", "/o/x", true);
        check("(sleep 1; ln -s /o n) & touch n/x", "/o/x", true);
        check("python3 -c \"import os; os.symlink('/o','n')\"; touch n/x", "/o/x", true);
        check("ln -s /o n; ln -sf /p n; touch n/x", "<unknown>/x", true);
        // A name that is made, replaced or removed is not what it leads to.
        check("ln -s /o n", "/o", false);
        check("ln -s /o n && rm n", "/o", false);
        check("rm -rf lib && ln -s /o lib", "/o", false);
        check("pushd src; pushd /o; popd; touch x", "/w/app/src/x", true);
    }

    #[test]
    fn a_folder_that_is_not_there_is_not_entered() {
        for command in [
            "cd nope; touch x",
            "cd nope; cd src; touch ../x",
            "cd nope || true; touch x",
            "cd nope && ls; touch x",
            "pushd nope; touch x",
            "mv src y; cd src; touch x",
            "rm -rf src; cd src; touch x",
            "rmdir s*; cd src; touch x",
            "git checkout other; cd src; touch x",
            "mkdir .git; cd .git/k; touch x",
        ] {
            check(command, "/w/app/x", true);
        }
        for command in [
            "cd src; touch x",
            "cd src && touch x",
            "cd nope && touch x",
            "mkdir k; cd k; touch x",
            "mkdir -p k && cd k && touch x",
            "cd nope; cd /w/app/src; touch x",
        ] {
            check(command, "/w/app/x", false);
        }
        let deep: String = (0..40).map(|n| format!("cd nope{n}; ")).collect();
        let view = View { cwd: "/w/app", home: "/home/me", links: Some(&Disk), ..View::default() };
        assert_eq!(crate::classify(&deep, &view).class, crate::Class::Unknown);
    }

    #[test]
    fn what_is_made_is_bounded() {
        let view = View { cwd: "/w/app", home: "/home/me", links: Some(&Disk), ..View::default() };
        let many: String = (0..200).map(|n| format!("ln -s /o n{n}; ")).collect();
        assert_eq!(crate::classify(&many, &view).class, crate::Class::Unknown);
        for round in ["ln -s a b; ln -s b a; touch a/x", "mv a b; mv b a; touch a/x", "ln -s n/n n; touch n/x"] {
            assert_eq!(crate::classify(round, &view).class, crate::Class::Write, "{round}");
        }
    }

    #[test]
    fn git_says_which_tree_it_changes() {
        #[track_caller]
        fn trees(command: &str, expected: &[&str]) {
            let view = View { cwd: "/w/app", home: "/home/me", links: Some(&Disk), ..View::default() };
            let answer = crate::classify(command, &view);
            let found: Vec<&str> = answer.trees.iter().map(crate::Path::as_str).collect();
            assert_eq!(found, expected, "{command}");
        }
        for command in
            ["git switch main", "git checkout main", "git stash", "git pull", "git merge x", "git reset --hard"]
        {
            trees(command, &["/w/app"]);
            trees(&format!("cd src && {command}"), &["/w/app"]);
        }
        trees("git checkout -b x", &[]);
        trees("git checkout -b x origin/main", &["/w/app"]);
        trees("git checkout -- src/a", &["/w/app/src/a"]);
        trees("git checkout src", &["/w/app/src"]);
        trees("git restore .", &["/w/app"]);
        trees("git restore --staged .", &[]);
        trees("git clean -fdx", &["/w/app"]);
        trees("git stash list", &[]);
        trees("git commit -m x", &[]);
        trees("git status", &[]);
        check("git -C ../other commit -m x", "/w/other", true);
        check("cd ../other && git commit -m x", "/w/other", true);
        check("git commit -m x", "/w/app", false);
        check("git clone https://x.io/a/b.git", "/w/app/b", true);
        check("git clone https://x.io/a/b.git ../b", "/w/b", true);
        check("git worktree add ../b", "/w/b", true);
        check("git --work-tree=/o checkout main", "/o", true);
        check("GIT_WORK_TREE=/o git checkout main", "/o", true);
        check("git apply --directory=../b p", "/w/b", true);
    }
}
