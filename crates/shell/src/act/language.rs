//! Interpreters: shells and languages that run text.

use crate::answer::{Capability, Class, Span};
use crate::call::{Call, Options};
use crate::code::Language;
use crate::mark;
use crate::rules::Style;
use crate::stream::Stream;
use crate::walk::{Arg, Handed, Variable, Walker, Weight};

/// `sh`, `bash` and their relatives.
pub(crate) fn shell(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.report.can(Capability::Exec);
    // A lone `-c` cluster such as `-xec` takes the first operand as text, wherever options end.
    let args: Vec<Arg> =
        call.args.iter().filter(|arg| !(arg.text.starts_with('+') && arg.text.len() > 1)).cloned().collect();
    let options = Options::parse(&args, "-o -O --rcfile --init-file --command", Style::Gnu, true);
    let operands = options.operands.clone();
    if options.before_dashes.is_none() && options.has("-c") || options.has("-c") && options.before_dashes == Some(0) {
        let Some((text, rest)) = operands.split_first() else { return Stream::Opaque };
        return text_with_arguments(walker, &text.text, rest, call);
    }
    if let Some(text) = options.value("--command") {
        return walker.inner(text, call.stdin.clone(), call.span);
    }
    if let Some(path) = options.value("--rcfile --init-file") {
        let content = walker.handed_file(path, call.span);
        run_handed(walker, content, path, call);
    }
    if options.has("-n") && !operands.is_empty() {
        return Stream::Opaque;
    }
    match operands.split_first() {
        Some((script, rest)) if !options.has("-s") && script.text != "-" => {
            let content = walker.handed_file(&script.text, script.span);
            if !matches!(content, Handed::Told(Stream::Text(_))) {
                walker.may_write_words(rest);
            }
            let saved = walker.state.positional.replace(rest.iter().map(|arg| arg.text.clone()).collect());
            let out = run_handed(walker, content, &script.text, call);
            walker.state.positional = saved;
            out
        }
        Some(_) | None => shell_stdin(walker, call),
    }
}

fn text_with_arguments(walker: &mut Walker<'_>, text: &str, rest: &[Arg], call: &Call<'_>) -> Stream {
    let saved = walker.state.clone();
    walker.state.started(call.name == "bash");
    if let Some((zero, arguments)) = rest.split_first() {
        walker.state.variables.insert("0".to_owned(), Variable::Scalar(zero.text.clone()));
        walker.state.positional = Some(arguments.iter().map(|arg| arg.text.clone()).collect());
    }
    let out = walker.inline(text, call.stdin.clone(), call.span);
    walker.state.returned(saved);
    out
}

/// A script file, as far as it can be seen.
fn run_handed(walker: &mut Walker<'_>, content: Handed, path: &str, call: &Call<'_>) -> Stream {
    match content {
        Handed::Told(content) => run_content(walker, content, path, call),
        Handed::OnDisk(text) => run_on_disk(walker, &text, path, &call.stdin, call.span),
        Handed::Unseen => {
            walker.unseen(path, call.span);
            run_content(walker, Stream::Opaque, path, call)
        }
    }
}

/// A script that lies on disk, as if it had been typed.
pub(crate) fn run_on_disk(walker: &mut Walker<'_>, text: &str, path: &str, stdin: &Stream, span: Span) -> Stream {
    walker.report.raise(Class::Write, "LOCAL_PROGRAM", format!("runs the script `{}`", mark::shown(path)), span);
    if let Some(language) = Language::of_script(text) {
        return walker.within_file(path, Weight::Program, |walker| {
            walker.code(language, text, span);
            Stream::Opaque
        });
    }
    let saved = walker.state.clone();
    walker.state.started(false);
    walker.state.doubtful.remove("0");
    walker.state.variables.insert("0".to_owned(), Variable::Scalar(path.to_owned()));
    let out = walker.within_file(path, Weight::Typed, |walker| walker.inline(text, stdin.clone(), span));
    walker.state.returned(saved);
    out
}

/// A script file: known, fetched, or simply local.
pub(crate) fn run_content(walker: &mut Walker<'_>, content: Stream, path: &str, call: &Call<'_>) -> Stream {
    match content {
        Stream::Text(text) => walker.program_text(&text, call.stdin.clone(), call.span),
        Stream::Remote => {
            walker.remote_code(format!("`{}` came from another machine", mark::shown(path)), call.span);
            Stream::Opaque
        }
        Stream::Opaque | Stream::Secret | Stream::Absent => {
            if path.starts_with("http://") || path.starts_with("https://") {
                walker.remote_code(format!("`{path}` is fetched and run"), call.span);
            } else if path.starts_with("/dev/fd/") {
                walker.report.unknown("DYNAMIC_CODE", "the text that is run cannot be known", call.span);
            } else {
                walker.report.raise(
                    Class::Write,
                    "LOCAL_PROGRAM",
                    format!("runs the script `{}`", mark::shown(path)),
                    call.span,
                );
            }
            Stream::Opaque
        }
    }
}

/// A shell that reads its commands from standard input.
pub(crate) fn shell_stdin(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.report.can(Capability::Exec);
    match &call.stdin {
        Stream::Text(text) => {
            let text = text.clone();
            walker.inner(&text, Stream::Absent, call.span)
        }
        Stream::Remote => {
            walker.remote_code(format!("`{}` runs what another machine sends", call.name), call.span);
            Stream::Opaque
        }
        Stream::Opaque | Stream::Secret => {
            walker.report.unknown("DYNAMIC_CODE", format!("`{}` runs text that cannot be known", call.name), call.span);
            Stream::Opaque
        }
        Stream::Absent => {
            walker.report.raise(
                Class::Write,
                "INTERACTIVE",
                format!("`{}` starts an interactive shell", call.name),
                call.span,
            );
            Stream::Opaque
        }
    }
}

/// How a language takes code on its command line.
fn code_options(language: Language) -> (&'static str, &'static str) {
    match language {
        Language::Python => ("-c", "-c -W -X --check-hash-based-pycs"),
        Language::Perl => ("-e -E", "-e -E -I -F -i? -0? -l?"),
        Language::Ruby => ("-e", "-e -r -I -C -E -i? -F?"),
        Language::Node => (
            "-e --eval -p --print -pe",
            "-e --eval -p --print -r --require --import --loader --experimental-loader -C --redirect-warnings \
             --cpu-prof-dir --heap-prof-dir --report-dir --report-directory --diagnostic-dir --test-reporter-destination \
             --test-reporter --trace-event-file-pattern --tls-keylog --snapshot-blob --localstorage-file --env-file \
             --env-file-if-exists --conditions --input-type --inspect-port --stack-trace-limit --unhandled-rejections",
        ),
        Language::Php => ("-r -B -R -E", "-r -B -R -E -d -c -f"),
        Language::Lua => ("-e", "-e -l"),
        Language::Other => ("-e --eval -c --command -Command -ex", "-e --eval -c --command"),
    }
}

/// Options of `node` that name a file or a folder it writes.
const NODE_OUTPUTS: &str = "--redirect-warnings --cpu-prof-dir --cpu-prof-name --heap-prof-dir --heap-prof-name --report-dir \
    --report-directory --report-filename --diagnostic-dir --test-reporter-destination --trace-event-file-pattern \
    --tls-keylog --snapshot-blob --build-snapshot-config --experimental-sea-config --localstorage-file";

/// What the options of `node` write and load.
fn node_options(walker: &mut Walker<'_>, options: &Options) {
    for opt in &options.given {
        let value = opt.value.as_deref().unwrap_or_default();
        let is_stream = matches!(value, "stdout" | "stderr");
        if NODE_OUTPUTS.split_whitespace().any(|name| name == opt.name) && !is_stream {
            walker.may_write(value, opt.span);
        }
        let loads = matches!(opt.name.as_str(), "-r" | "--require" | "--import" | "--loader" | "--experimental-loader");
        if loads && (value.starts_with("data:") || value.contains("://") && !value.starts_with("file://")) {
            walker.report.unknown("DYNAMIC_CODE", format!("`{}` loads code that is no file", opt.name), opt.span);
        }
    }
}

/// Perl opens what it is given as `open` does: a pipe runs a command, an arrow writes.
fn magic_operands(walker: &mut Walker<'_>, options: &Options) {
    for operand in &options.operands {
        let text = operand.text.trim();
        if let Some(command) = text.strip_suffix('|').or_else(|| text.strip_prefix('|')) {
            walker.inner(command, Stream::Opaque, operand.span);
        } else if let Some(path) = text.strip_prefix("+<").or_else(|| text.strip_prefix('>')) {
            walker.write_file(path.trim_start_matches('>').trim(), crate::touch::How::Overwrite, operand.span);
        }
    }
}

/// `python`, `perl`, `ruby`, `node`, `php`, `lua` and others.
pub(crate) fn language(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let Some(language) = Language::of(call.name) else { return Stream::Opaque };
    let (code, valued) = code_options(language);
    let options = Options::parse(call.args, valued, Style::Gnu, true);
    let asks = matches!(call.args, [only] if matches!(only.text.as_str(), "--version" | "-V" | "-v" | "-version" | "--help" | "-h"));
    if asks {
        return Stream::Opaque;
    }
    walker.report.can(Capability::Exec);
    walker.report.raise(Class::Write, "CODE", format!("`{}` runs code", call.name), call.span);
    let mut texts: Vec<String> = options
        .given
        .iter()
        .filter(|opt| code.split(' ').any(|name| name == opt.name))
        .filter_map(|opt| opt.value.clone())
        .collect();
    if language == Language::Node && texts.is_empty() && options.has("-p -e") {
        texts.extend(options.operands.first().map(|arg| arg.text.clone()));
    }
    let given = match options.operands.first() {
        Some(script) if texts.is_empty() => options.operands.get(usize::from(!script.text.is_empty())..),
        Some(_) | None => Some(options.operands.as_slice()),
    };
    let before = std::mem::replace(&mut walker.given, given.unwrap_or_default().to_vec());
    let out = with_given(walker, call, language, &options, &texts);
    walker.given = before;
    out
}

/// Words of languages that are not taken apart, where they start programs or remove files.
const REACHING_OUT: &[&str] =
    &["system", "cmd", "exec", "spawn", "popen", "shell", "process", "delete", "unlink", "remove", "file.rm"];

fn may_reach_out(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    REACHING_OUT.iter().any(|word| text.contains(word))
}

fn with_given(
    walker: &mut Walker<'_>,
    call: &Call<'_>,
    language: Language,
    options: &Options,
    texts: &[String],
) -> Stream {
    if language == Language::Node {
        node_options(walker, options);
    }
    if language == Language::Perl {
        magic_operands(walker, options);
    }
    if !texts.is_empty() {
        for text in texts {
            walker.code(language, text, call.span);
            if language == Language::Other && may_reach_out(text) {
                let what = format!("what this text of `{}` starts or removes cannot be known", call.name);
                walker.report.unknown("DYNAMIC_CODE", what, call.span);
            }
        }
        if options.has("-i") && language != Language::Python {
            for operand in &options.operands {
                walker.write_file(&operand.text, crate::touch::How::Modify, operand.span);
            }
        } else {
            for operand in &options.operands {
                walker.read_file(&operand.text, operand.span);
            }
        }
        return printed(language, texts);
    }
    if language == Language::Python
        && let Some(at) = call.args.iter().position(|arg| arg.text == "-m")
    {
        return module(walker, call, at);
    }
    script_or_input(walker, language, options, call);
    Stream::Opaque
}

/// Code in a file, or on standard input.
fn script_or_input(walker: &mut Walker<'_>, language: Language, options: &Options, call: &Call<'_>) {
    match options.operands.first() {
        Some(script) if script.text != "-" => {
            if script.text.ends_with("manage.py")
                && options
                    .operands
                    .get(1)
                    .is_some_and(|verb| matches!(verb.text.as_str(), "flush" | "reset_db" | "sqlflush" | "clean_db"))
            {
                walker.report.raise(Class::Destructive, "LOSES", "drops the data of an application", call.span);
            }
            let content = walker.handed_file(&script.text, script.span);
            walker.may_write_words(options.operands.get(1..).unwrap_or_default());
            match content {
                Handed::OnDisk(text) => {
                    walker.within_file(&script.text, Weight::Program, |walker| {
                        walker.code(language, &text, call.span);
                        Stream::Opaque
                    });
                }
                Handed::Unseen => walker.unseen(&script.text, call.span),
                Handed::Told(Stream::Text(text)) => walker.code(language, &text, call.span),
                Handed::Told(Stream::Remote) => {
                    walker.remote_code(format!("`{}` came from another machine", mark::shown(&script.text)), call.span)
                }
                Handed::Told(Stream::Absent | Stream::Secret | Stream::Opaque) => {
                    let text = script.text.as_str();
                    if text.starts_with("http://") || text.starts_with("https://") {
                        walker.remote_code(format!("`{text}` is fetched and run"), call.span);
                    } else if text.starts_with("/dev/fd/") {
                        walker.report.unknown("DYNAMIC_CODE", "the text that is run cannot be known", call.span);
                    }
                }
            }
        }
        Some(_) | None => match &call.stdin {
            Stream::Text(text) => {
                let text = text.clone();
                walker.code(language, &text, call.span);
                if matches!(call.name, "tclsh" | "expect" | "wish") {
                    crate::act::handed::tcl(walker, &text, call.span);
                }
            }
            Stream::Remote => walker.remote_code(format!("`{}` runs what another machine sends", call.name), call.span),
            Stream::Opaque | Stream::Secret => walker.report.unknown(
                "DYNAMIC_CODE",
                format!("`{}` runs text that cannot be known", call.name),
                call.span,
            ),
            Stream::Absent => {}
        },
    }
}

/// `python -m module`: some modules are programs of their own.
fn module(walker: &mut Walker<'_>, call: &Call<'_>, at: usize) -> Stream {
    let rest = call.args.get(at + 1..).unwrap_or_default();
    let name = rest.first().map(|arg| arg.text.as_str()).unwrap_or_default();
    if matches!(name, "http.server" | "SimpleHTTPServer" | "smtpd" | "ensurepip" | "venv") {
        walker.report.can(Capability::Network);
    }
    if name == "timeit" {
        for text in rest.iter().skip(1).filter(|arg| !arg.text.starts_with('-')) {
            walker.code(Language::Python, &text.text, text.span);
        }
    }
    if matches!(name, "code" | "asyncio" | "pdb" | "idlelib") && !matches!(call.stdin, Stream::Absent) {
        match &call.stdin {
            Stream::Text(text) => walker.code(Language::Python, text, call.span),
            Stream::Absent | Stream::Remote | Stream::Secret | Stream::Opaque => {
                walker.report.unknown("DYNAMIC_CODE", format!("`{name}` runs text that cannot be known"), call.span)
            }
        }
    }
    let is_known = crate::rules::lookup(name).is_some();
    if is_known
        && matches!(name, "pip" | "pytest" | "black" | "ruff" | "mypy" | "poetry" | "pipx" | "uv" | "build" | "twine")
    {
        return walker.run(rest.to_vec(), call.stdin.clone(), call.span);
    }
    if is_known && !crate::rules::outputs::rows(name).is_empty() {
        return walker.run_unlisted(rest.to_vec(), call.stdin.clone(), call.span);
    }
    walker.may_write_words(rest.get(1..).unwrap_or_default());
    Stream::Opaque
}

/// `awk`: the program may run commands and write files.
pub(crate) fn awk(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let options = Options::parse(
        call.args,
        "-F -v -f --field-separator --assign --file -e --source -i --include",
        Style::Gnu,
        true,
    );
    let mut skip = 0usize;
    if let Some(path) = options.value("-f --file") {
        walker.report.can(Capability::Exec);
        match walker.handed_file(path, call.span) {
            Handed::OnDisk(text) => {
                walker.within_file(path, Weight::Program, |walker| {
                    walker.awk_program(&text, &call.stdin, call.span);
                    Stream::Opaque
                });
            }
            Handed::Unseen => walker.unseen(path, call.span),
            Handed::Told(Stream::Text(text)) => walker.awk_program(&text, &call.stdin, call.span),
            Handed::Told(Stream::Remote) => {
                walker.remote_code("an awk program came from another machine".to_owned(), call.span)
            }
            Handed::Told(Stream::Absent | Stream::Secret | Stream::Opaque) => {}
        }
    } else if let Some(program) = options.operands.first() {
        skip = 1;
        walker.awk_program(&program.text.clone(), &call.stdin, program.span);
    }
    let mut out = call.stdin.clone();
    for operand in options.operands.iter().skip(skip).filter(|operand| !operand.text.contains('=')) {
        out = walker.read_file(&operand.text, operand.span);
    }
    if options.given.iter().any(|opt| opt.name == "-i" && opt.value.as_deref() == Some("inplace")) {
        for operand in options.operands.iter().skip(skip) {
            walker.write_file(&operand.text, crate::touch::How::Modify, operand.span);
        }
    }
    out.blurred()
}

/// `tmux`, `screen`: a command may follow, or be typed into a session.
pub(crate) fn terminal(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    // The command's own options must not be taken for those of the terminal.
    let own = Options::parse(call.args, "-S -t -c -s -h -p -T -e -L -f -n -F -x -y", Style::Gnu, true);
    let operands = &own.operands;
    let verb = operands.first().map(|operand| operand.text.clone()).unwrap_or_default();
    let asks = matches!(
        verb.as_str(),
        "ls" | "list-sessions"
            | "list-windows"
            | "list-panes"
            | "info"
            | "has-session"
            | "capture-pane"
            | "display-message"
            | "show-options"
            | "list-keys"
    ) || own.has("-ls -list -V -v --version");
    if asks {
        return Stream::Opaque;
    }
    walker.report.raise(Class::Write, "TERMINAL", format!("`{}` runs a terminal", call.name), call.span);
    let command: Vec<Arg> = match verb.as_str() {
        "kill-server" | "kill-session" | "attach" | "a" | "detach" | "resize-pane" | "select-window"
        | "rename-session" | "rename-window" | "source-file" | "set" | "set-option" => Vec::new(),
        "new" | "new-session" | "new-window" | "neww" | "split-window" | "splitw" | "send-keys" | "send"
        | "respawn-pane" | "run-shell" | "run" | "if-shell" | "pipe-pane" | "display-popup" => {
            operands.get(1..).unwrap_or_default().to_vec()
        }
        _ if call.name == "screen" && !own.has("-X -r -R -x -wipe -list") => operands.clone(),
        _ if call.name == "screen" && own.has("-X") && verb == "stuff" => {
            operands.get(1..).unwrap_or_default().to_vec()
        }
        _ => Vec::new(),
    };
    if call.name == "screen" && verb != "stuff" {
        return walker.run(command, Stream::Absent, call.span);
    }
    // Options of the verb stand before its command.
    let command = Options::parse(&command, "-t -s -n -c -F -x -y -e -l -p", Style::Gnu, true).operands;
    if !command.is_empty() {
        let text = command
            .iter()
            .map(|arg| mark::as_source(&arg.text))
            .filter(|text| !matches!(text.as_str(), "Enter" | "C-m" | "C-c"))
            .collect::<Vec<_>>()
            .join(" ");
        walker.inner(&text, Stream::Absent, call.span);
    }
    Stream::Opaque
}

/// `deno run https://…` fetches what it runs.
pub(crate) fn fetched_script(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if let Some(url) = call
        .options
        .operands
        .iter()
        .find(|operand| operand.text.starts_with("http://") || operand.text.starts_with("https://"))
    {
        walker.remote_code(format!("`{}` is fetched and run", mark::shown(&url.text)), url.span);
    }
    if call.options.operands.first().is_some_and(|verb| verb.text == "eval")
        && let Some(code) = call.options.operands.get(1)
    {
        walker.code(Language::Node, &code.text.clone(), code.span);
    }
    Stream::Opaque
}

/// `java -jar tool.jar … delete-job x`: the verb of the tool is all that shows.
pub(crate) fn java(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if call
        .options
        .operands
        .iter()
        .chain(call.args)
        .any(|operand| operand.text.starts_with("delete-") || operand.text == "delete" || operand.text == "remove-job")
    {
        walker.report.raise(Class::Destructive, "LOSES", "the tool is told to delete something", call.span);
    }
    Stream::Opaque
}

/// What code prints, when all it does is print a literal.
fn printed(language: Language, texts: &[String]) -> Stream {
    let [text] = texts else { return Stream::Opaque };
    crate::code::printed(language, text).map_or(Stream::Opaque, Stream::text)
}
