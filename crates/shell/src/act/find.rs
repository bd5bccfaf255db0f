//! `find` and its relatives: what they search, remove and run.

use crate::answer::{Capability, Class, Span};
use crate::call::Call;
use crate::mark;
use crate::sensitive;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Walker};

/// Tests that take a value and narrow what is found.
const NARROWING: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-size",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-inum",
    "-links",
    "-lname",
    "-ilname",
    "-samefile",
    "-fstype",
    "-used",
    "-context",
    "-flags",
    "-Bmin",
    "-since",
];

/// Predicates with a value that leaves everything in.
const WIDE: &[&str] =
    &["-type", "-xtype", "-maxdepth", "-mindepth", "-regextype", "-printf", "-depth-first", "-D", "-files0-from"];

/// Everything the expression of one `find` says.
#[derive(Default)]
struct Expression {
    narrowed: bool,
    only_empty: bool,
    delete: Option<Span>,
    /// Commands, and whether they run where each item lies.
    commands: Vec<(Vec<Arg>, bool)>,
    outputs: Vec<Arg>,
    names: Vec<Arg>,
}

pub(crate) fn find(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let (roots, rest) = roots(call.args);
    let expression = parse(rest);
    let items: Vec<Arg> = roots
        .iter()
        .map(|root| {
            let entry = if expression.narrowed || expression.only_empty { mark::PICK } else { mark::ITEM };
            Arg { text: format!("{}/{entry}", root.text.trim_end_matches('/')), span: root.span, loose: true }
        })
        .collect();
    for root in &roots {
        walker.read_file(&root.text, root.span);
    }
    for name in &expression.names {
        if sensitive::is_secret_name(name.text.trim_start_matches("*/")) {
            walker.report.can_because(
                Capability::Credentials,
                format!("searches for `{}`", mark::shown(&name.text)),
                name.span,
            );
        }
    }
    if removes_caches(walker, call.args, &roots, rest) {
        for root in &roots {
            walker.may_write(&root.text, root.span);
        }
        return Stream::Absent;
    }
    for output in &expression.outputs {
        walker.write_file(&output.text, How::Overwrite, output.span);
    }
    if let Some(span) = expression.delete {
        for item in &items {
            if expression.only_empty {
                walker.write_file(&item.text, How::Create, span);
            } else {
                walker.write_file(&item.text, How::RemoveTree, span);
                walker.report.raise(
                    Class::Destructive,
                    "REMOVES",
                    format!("removes what is found under `{}`", mark::shown(&item.text)),
                    span,
                );
            }
        }
    }
    let out = commands(walker, call, &expression, &items, &roots);
    if expression.commands.is_empty() {
        Stream::text(items.iter().map(|item| format!("{}\n", item.text)).collect::<String>())
    } else {
        out
    }
}

/// Runs the commands of the expression for each place that was searched.
fn commands(walker: &mut Walker<'_>, call: &Call<'_>, expression: &Expression, items: &[Arg], roots: &[Arg]) -> Stream {
    let mut out = Stream::Absent;
    for (command, beside) in &expression.commands {
        for (item, root) in items.iter().zip(roots) {
            let words: Vec<Arg> = command
                .iter()
                .map(|word| Arg {
                    text: word.text.replace("{}", &item.text),
                    span: word.span,
                    loose: word.loose || word.text == "{}",
                })
                .collect();
            let saved = walker.state.cwd.clone();
            if *beside {
                // Anywhere below the start.
                let words: Vec<Arg> = words.iter().map(|word| absolute(walker, word, item)).collect();
                walker.state.cwd = walker.resolve(&format!("{}/{}", root.text.trim_end_matches('/'), mark::ITEM));
                out = out.then(walker.run_perhaps(words, call.span));
                walker.state.cwd = saved;
            } else {
                out = out.then(walker.run_perhaps(words, call.span));
            }
        }
    }
    out
}

/// What was found, where the command does not run.
fn absolute(walker: &Walker<'_>, word: &Arg, item: &Arg) -> Arg {
    let text = if word.text == item.text { walker.resolve(&item.text) } else { word.text.clone() };
    Arg { text, ..word.clone() }
}

/// Names that interpreters make again by themselves, wherever they lie.
const CACHES: &[&str] = &["*.pyc", "*.pyo", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store"];

/// Whether all that is removed is caches below where the command runs: a kind, one name, and the removal, in this order
/// and nothing else. With `-o`, `!` or brackets, or through links, it would be anything.
fn removes_caches(walker: &Walker<'_>, args: &[Arg], roots: &[Arg], expression: &[Arg]) -> bool {
    let texts: Vec<&str> = expression.iter().map(|arg| arg.text.as_str()).collect();
    let texts = match texts.as_slice() {
        ["-type", "f" | "d", rest @ ..] => rest,
        rest => rest,
    };
    let (name, action) = match texts {
        ["-name", name, "-type", "f" | "d", action @ ..] | ["-name", name, action @ ..] => (*name, action),
        _ => return false,
    };
    let removes = matches!(
        action,
        ["-delete"]
            | ["-print", "-delete"]
            | ["-exec", "rm", "-rf" | "-fr" | "-r" | "-f", "{}", "+" | ";"]
            | ["-prune", "-exec", "rm", "-rf" | "-fr" | "-r" | "-f", "{}", "+" | ";"]
    );
    let here = walker.view.cwd.trim_end_matches('/');
    let inside = |root: &Arg| {
        let path = walker.resolve(&root.text);
        let below = path.strip_prefix(here).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        below && mark::is_literal(&path)
    };
    let starts_plain = args.first().is_some_and(|arg| roots.first() == Some(arg) || arg.text.starts_with("-name"));
    removes
        && CACHES.contains(&name)
        && !here.is_empty()
        && here != walker.view.home
        && starts_plain
        && walker.made.is_empty()
        && walker.state.stayed.is_empty()
        && roots.iter().all(inside)
}

/// Where the search starts, and the expression after it.
fn roots(args: &[Arg]) -> (Vec<Arg>, &[Arg]) {
    let mut i = 0usize;
    while let Some(arg) = args.get(i) {
        match arg.text.as_str() {
            "-H" | "-L" | "-P" | "-E" | "-X" | "-d" | "-s" | "-x" => i += 1,
            "-D" | "-f" => i += 2,
            text if text.starts_with("-O") => i += 1,
            _ => break,
        }
    }
    let start = i;
    while args.get(i).is_some_and(|arg| !arg.text.starts_with(['-', '(', '!', ')', ','])) {
        i += 1;
    }
    let mut roots: Vec<Arg> = args.get(start..i).unwrap_or_default().to_vec();
    if roots.is_empty() {
        roots.push(Arg::new(".", args.first().map(|arg| arg.span).unwrap_or_default()));
    }
    (roots, args.get(i..).unwrap_or_default())
}

fn parse(args: &[Arg]) -> Expression {
    let mut expression = Expression::default();
    let mut i = 0usize;
    while let Some(arg) = args.get(i) {
        i += 1;
        match arg.text.as_str() {
            "-delete" => expression.delete = Some(arg.span),
            "-empty" => expression.only_empty = true,
            "-nouser" | "-nogroup" | "-executable" | "-readable" | "-writable" => expression.narrowed = true,
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = args.get(i..).unwrap_or_default();
                let end = rest.iter().position(|word| word.text == ";" || word.text == "+").unwrap_or(rest.len());
                let beside = matches!(arg.text.as_str(), "-execdir" | "-okdir");
                expression.commands.push((rest.get(..end).unwrap_or_default().to_vec(), beside));
                i += end + 1;
            }
            "-fprint" | "-fprint0" | "-fls" => {
                expression.outputs.extend(args.get(i).cloned());
                i += 1;
            }
            "-fprintf" => {
                expression.outputs.extend(args.get(i).cloned());
                i += 2;
            }
            text if NARROWING.contains(&text) || text.starts_with("-newer") => {
                // `-name '*'` narrows nothing.
                let value = args.get(i);
                expression.narrowed |= value.is_none_or(|value| value.text.chars().any(|c| !matches!(c, '*' | '.')));
                if matches!(text, "-name" | "-iname" | "-path" | "-wholename") {
                    expression.names.extend(value.cloned());
                }
                i += 1;
            }
            text if WIDE.contains(&text) => i += 1,
            _ => {}
        }
    }
    expression
}

/// `fd PATTERN [PATH] -x CMD`.
pub(crate) fn fd(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let at = call.args.iter().position(|arg| matches!(arg.text.as_str(), "-x" | "--exec" | "-X" | "--exec-batch"));
    let Some(at) = at else { return Stream::text(format!("./{}\n", mark::PICK)) };
    let item = format!("./{}", mark::PICK);
    let mut words: Vec<Arg> = call
        .args
        .get(at + 1..)
        .unwrap_or_default()
        .iter()
        .map(|arg| Arg { text: arg.text.replace("{}", &item), ..arg.clone() })
        .collect();
    if !words.iter().any(|word| word.text.contains(mark::PICK)) {
        words.push(Arg { text: item, span: call.span, loose: true });
    }
    walker.run_perhaps(words, call.span)
}

#[cfg(test)]
mod asked {
    use crate::testing::asked;
    use crate::testing::free;

    #[test]
    fn commands_beside_what_is_found() {
        asked(&[
            "find . -execdir rm -f settings.json \\;",
            "find . -execdir tee settings.json \\;",
            "find .. -name p -execdir mv p q \\;",
        ]);
        free(&["find . -name '*.py' | xargs -n1 grep foo", "find . -name '*.pyc' -execdir ls {} \\;"]);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn caches_by_name_are_no_loss() {
        for command in [
            "find . -name '*.pyc' -delete",
            "find . -type f -name '*.pyc' -delete",
            "find src -name __pycache__ -type d -exec rm -rf {} +",
            "find . -type d -name __pycache__ -exec rm -rf {} +",
            "find . -type d -name .pytest_cache -prune -exec rm -rf {} \\;",
        ] {
            let answer = crate::classify(command, &crate::View::default());
            assert_eq!(answer.class.name(), "write", "{command}\n{:#?}", answer.reasons);
        }
        check("find . -name '*.py' -delete", "destructive", &[]);
        check("find . -name '*.pyc' -o -delete", "destructive", &[]);
        check("find . ! -name '*.pyc' -delete", "destructive", &[]);
        check("find -L . -name '*.pyc' -delete", "destructive", &[]);
        check("find .. -name __pycache__ -exec rm -rf {} +", "destructive", &[]);
        check("find /srv -name '*.pyc' -delete", "destructive", &[]);
        check("find . -name *.pyc -exec rm -rf {} + -exec rm -rf src \\;", "destructive", &[]);
        check("ln -s / x; find x/ -name '*.pyc' -delete", "destructive", &[]);
    }
}
