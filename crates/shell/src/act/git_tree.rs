//! Which files a git command writes: single paths, a folder it is told to make, or the whole working tree.

use crate::act::git::path_like;
use crate::call::Options;
use crate::rules::Style;
use crate::rules::git::SUBCOMMANDS;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Variable, Walker};

/// What a subcommand does to the files of the working tree.
enum Effect {
    /// Nothing.
    Nothing,
    /// Anything in it.
    Everything,
    /// These paths.
    Paths(Vec<Arg>),
}

/// Reports what a subcommand that is no question writes.
pub(crate) fn changed(walker: &mut Walker<'_>, globals: &Options, name: &str, args: &[Arg], stdin: &Stream) {
    let root = root(walker, globals);
    let own = crate::path::normalise(walker.view.cwd, "/");
    let is_own = own == root || own.starts_with(&format!("{}/", root.trim_end_matches('/')));
    let makes_its_own = matches!(name, "clone" | "init" | "init-db");
    if !is_own && !makes_its_own {
        // Another repository: its history and its files are changed as well.
        walker.report.may_write(&root);
    }
    let given = globals.given.iter().filter(|opt| matches!(opt.name.as_str(), "--git-dir" | "--work-tree"));
    let given: Vec<Arg> = given.filter_map(|opt| Some(Arg::new(opt.value.clone()?, opt.span))).collect();
    let valued = SUBCOMMANDS.iter().find(|entry| entry.names.split(' ').any(|known| known == name));
    let valued = format!("{} {}", valued.map(|entry| entry.valued).unwrap_or_default(), VALUED);
    let options = Options::parse(args, valued.trim(), Style::Gnu, false);
    for folder in &given {
        walker.may_write(&folder.text, folder.span);
    }
    named_outputs(walker, name, &options);
    if name == "stash" && options.has("-u --include-untracked -a --all") {
        // Files that are in no commit are taken away, whoever put them there.
        walker.report.writes(&root);
    }
    match effect(walker, name, &options) {
        Effect::Nothing => {}
        Effect::Everything => walker.report.tree(&root),
        Effect::Paths(paths) => {
            for path in &paths {
                match path.text.strip_prefix(":/") {
                    Some(_) => walker.report.tree(&root),
                    None => {
                        let path = walker.resolve(&path.text);
                        walker.report.tree(&path);
                    }
                }
            }
        }
    }
    if matches!(name, "apply" | "am") && !options.has("--check --stat --numstat --summary --cached") {
        if let Some(folder) = options.value("--directory") {
            walker.may_write(&format!("{root}/{folder}"), crate::answer::Span::default());
        }
        crate::act::patch::git(walker, &root, args, stdin);
    }
}

/// Options with a value that are missing in the table because they change no class.
const VALUED: &str = "--directory --work-tree --separate-git-dir --template -o --output --output-directory";

/// Where the working tree begins.
fn root(walker: &Walker<'_>, globals: &Options) -> String {
    let set = |name: &str| match walker.state.variables.get(name) {
        Some(Variable::Scalar(value)) => Some(value.clone()),
        Some(Variable::List(_) | Variable::Scattered(_)) | None => None,
    };
    if let Some(tree) = globals.value("--work-tree").map(str::to_owned).or_else(|| set("GIT_WORK_TREE")) {
        return walker.resolve(&tree);
    }
    if let Some(folder) = globals.value("--git-dir").map(str::to_owned).or_else(|| set("GIT_DIR")) {
        let folder = walker.resolve(&folder);
        return folder.strip_suffix("/.git").unwrap_or(&folder).to_owned();
    }
    let Some(links) = walker.view.links else { return walker.state.cwd.clone() };
    let mut folder = walker.state.cwd.as_str();
    while !folder.is_empty() {
        if links.exists(&format!("{folder}/.git")) {
            return folder.to_owned();
        }
        folder = folder.rsplit_once('/').map(|(above, _)| above).unwrap_or_default();
    }
    walker.state.cwd.clone()
}

/// Folders and files that a subcommand is told to write.
fn named_outputs(walker: &mut Walker<'_>, name: &str, options: &Options) {
    let operand = |at: usize| options.operands.get(at).cloned();
    let made = match name {
        "clone" => operand(1).or_else(|| {
            let source = operand(0)?;
            let folder = source.text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
            Some(Arg::new(folder.trim_end_matches(".git"), source.span))
        }),
        "init" | "init-db" => operand(0).or_else(|| Some(Arg::new(".", crate::answer::Span::default()))),
        "worktree" if operand(0).is_some_and(|verb| matches!(verb.text.as_str(), "add" | "remove" | "repair")) => {
            operand(1)
        }
        "worktree" if operand(0).is_some_and(|verb| verb.text == "move") => {
            if let Some(from) = operand(1) {
                walker.write_file(&from.text, How::Move, from.span);
            }
            operand(2)
        }
        "submodule" if operand(0).is_some_and(|verb| verb.text == "add") => operand(2),
        "bundle" if operand(0).is_some_and(|verb| verb.text == "create") => operand(1),
        _ => None,
    };
    if let Some(made) = made {
        walker.may_write(&made.text, made.span);
    }
    for opt in &options.given {
        let writes = matches!(opt.name.as_str(), "-o" | "--output" | "--output-directory" | "--separate-git-dir");
        let writes = writes && !matches!(name, "commit" | "push" | "clone" | "ls-files" | "grep");
        if let Some(value) = opt.value.as_ref().filter(|_| writes) {
            walker.may_write(value, opt.span);
        }
    }
}

fn effect(walker: &Walker<'_>, name: &str, options: &Options) -> Effect {
    let behind_dashes = options.before_dashes.map(|before| options.operands.get(before..).unwrap_or_default().to_vec());
    let verb = options.operands.first().map(|operand| operand.text.as_str()).unwrap_or_default();
    let is_there = |text: &str| {
        let path = walker.resolve(text);
        walker.view.links.is_some_and(|links| links.exists(&path))
    };
    match name {
        "checkout" => match behind_dashes {
            Some(paths) if !paths.is_empty() => Effect::Paths(paths),
            Some(_) | None => match options.operands.as_slice() {
                // A new branch from here leaves every file as it is.
                [] if !options.has("-f --force --pathspec-from-file --orphan") => Effect::Nothing,
                operands
                    if !options.has("-b -B --orphan")
                        && operands.iter().skip(1).any(|path| path_like(&path.text) || is_there(&path.text)) =>
                {
                    Effect::Paths(operands.to_vec())
                }
                [only] if !options.has("-b -B --orphan") && (path_like(&only.text) || is_there(&only.text)) => {
                    Effect::Paths(vec![only.clone()])
                }
                _ => Effect::Everything,
            },
        },
        "switch" if options.operands.is_empty() && !options.has("--orphan -f --force --discard-changes") => {
            Effect::Nothing
        }
        "restore" if options.has("--staged -S") && !options.has("--worktree -W") => Effect::Nothing,
        "restore" if options.operands.is_empty() => Effect::Everything,
        "restore" => Effect::Paths(options.operands.clone()),
        "reset" if !options.has("--hard --merge --keep") => Effect::Nothing,
        "clean" if options.has("-n --dry-run") => Effect::Nothing,
        "clean" if options.operands.is_empty() => Effect::Paths(vec![Arg::new(".", crate::answer::Span::default())]),
        "clean" => Effect::Paths(options.operands.clone()),
        "stash" if matches!(verb, "list" | "show" | "drop" | "clear" | "create" | "store") => Effect::Nothing,
        "stash" => match behind_dashes {
            Some(paths) if !paths.is_empty() => Effect::Paths(paths),
            Some(_) | None => Effect::Everything,
        },
        "apply" if options.has("--check --stat --numstat --summary --cached") => Effect::Nothing,
        "submodule" if !matches!(verb, "update" | "deinit" | "foreach" | "add") => Effect::Nothing,
        "lfs" if !matches!(verb, "pull" | "checkout" | "migrate") => Effect::Nothing,
        "bisect" if matches!(verb, "log" | "view" | "visualize" | "terms") => Effect::Nothing,
        "subtree" if !matches!(verb, "add" | "merge" | "pull") => Effect::Nothing,
        "read-tree" if !options.has("-u") => Effect::Nothing,
        "switch" | "reset" | "merge" | "rebase" | "pull" | "cherry-pick" | "revert" | "am" | "apply" | "submodule"
        | "lfs" | "bisect" | "subtree" | "read-tree" | "checkout-index" | "sparse-checkout" | "filter-branch"
        | "filter-repo" | "flow" | "quiltimport" | "mergetool" => Effect::Everything,
        _ => Effect::Nothing,
    }
}
