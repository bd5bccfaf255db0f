//! Code in other languages, given on a command line: what its literals and calls show.
//!
//! This is no interpreter. Literals are folded, calls that act on the system are looked up, and what
//! they act on is judged as a path, a shell text or more code. A call with an unknown argument is unknown.

mod awk;
mod calls;
mod places;
mod reach;
mod token;

use crate::answer::{Capability, Class, Span};
use crate::mark;
use crate::sensitive;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Walker};
use calls::lookup;
use places::{Argument, Bound, Place};
use token::Token;

/// A language whose code is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Perl,
    Ruby,
    Node,
    Php,
    Lua,
    Other,
}

impl Language {
    /// The language an interpreter runs.
    pub fn of(name: &str) -> Option<Self> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        Some(match stem {
            "python" | "pypy" | "ipython" | "micropython" | "jython" => Self::Python,
            "perl" => Self::Perl,
            "ruby" | "irb" | "jruby" => Self::Ruby,
            "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" | "esno" => Self::Node,
            "php" => Self::Php,
            "lua" | "luajit" | "texlua" => Self::Lua,
            "tclsh" | "expect" | "wish" | "guile" | "racket" | "julia" | "rscript" | "r" | "elixir" | "erl"
            | "groovy" | "scala" | "ghci" | "runghc" | "ocaml" | "swift" | "osascript" | "pwsh" | "powershell"
            | "octave" | "gjs" | "crystal" | "dart" | "gnuplot" => Self::Other,
            _ => return None,
        })
    }

    /// The language that the first line of a script names, if it is not a shell.
    pub fn of_script(text: &str) -> Option<Self> {
        let shebang = text.lines().next()?.strip_prefix("#!")?;
        let words = shebang.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let mut words = words.filter(|word| *word != "env" && !word.starts_with('-'));
        Self::of(words.next()?)
    }
}

/// What a call does with its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Shell,
    Code,
    RemoveTree,
    Remove,
    Write,
    /// The second argument is written; the first too if it goes away.
    Copy,
    Move,
    /// A symbolic link, and a second name.
    Symlink,
    Link,
    Read,
    Network,
}

/// Calls that open a file, and say in their second argument what for.
const OPENING: &[&str] = &["open", "fopen", "openSync", "createWriteStream", "FileIO", "ZipFile", "TarFile", "taropen"];

impl Walker<'_> {
    /// Judges code that an interpreter is given.
    pub fn code(&mut self, language: Language, text: &str, span: Span) {
        self.report.can(Capability::Exec);
        self.report.raise(Class::Write, "CODE", "runs code in another language", span);
        if text.contains(mark::REMOTE) {
            self.remote_code("the code came from another machine".to_owned(), span);
        } else if text.chars().next().is_some_and(mark::is_hole)
            && text.chars().all(|c| mark::is_hole(c) || c.is_whitespace())
        {
            self.report.unknown("DYNAMIC_CODE", "the code cannot be known", span);
        }
        if !self.deeper() {
            return;
        }
        self.apple_script(text, span);
        if language == Language::Perl {
            crate::act::handed::piped_opens(self, text, span);
        }
        let tokens = token::fold(&token::lex(text, language), language);
        let bound = places::bound(&tokens, language);
        // From another folder on, names are relative to nobody knows what.
        let folder =
            reach::changes_folder(&tokens).then(|| std::mem::replace(&mut self.state.cwd, mark::OUTPUT.to_string()));
        self.tokens(language, &tokens, &bound, span);
        self.reaches(language, text, &tokens, span);
        if let Some(folder) = folder {
            self.state.cwd = folder;
        }
        self.connected_shell(text, span);
        self.shallower();
    }

    fn tokens(&mut self, language: Language, tokens: &[Token], bound: &Bound, span: Span) {
        for (at, token) in tokens.iter().enumerate() {
            match token {
                Token::Command(text) => {
                    self.inner(text, Stream::Absent, span);
                }
                Token::Text(text) => self.literal(text, span),
                Token::Name(name) => {
                    let last = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
                    let last = if language == Language::Perl { last.trim_start_matches('&') } else { last };
                    let called = match tokens.get(at + 1) {
                        Some(Token::Mark('(')) => true,
                        Some(Token::Text(_)) => {
                            matches!(language, Language::Perl | Language::Ruby | Language::Lua | Language::Php)
                        }
                        Some(Token::Mark('<')) => false,
                        Some(_) | None => false,
                    };
                    let rest = tokens.get(at + 1..).unwrap_or_default();
                    if called && reach::TEMPORARY.contains(&last) {
                        self.temporary(&places::arguments(rest, language, bound), span);
                    }
                    if language == Language::Perl && name == "open" {
                        self.perl_open(&places::arguments(rest, language, bound), span);
                    } else if called && let Some(does) = lookup(last, name, language, tokens) {
                        let arguments = places::arguments(rest, language, bound);
                        let own = receiver(tokens, at, name, bound);
                        self.called(language, does, last, rest, span);
                        self.placed_call(does, last, own, &arguments, span);
                    } else if !called && reach::is_bare_call(language, last, tokens, at) {
                        self.bare_call(lookup(last, name, language, tokens), last, span);
                    }
                }
                Token::Mark(']') if language == Language::Node && tokens.get(at + 1) == Some(&Token::Mark('(')) => {
                    self.computed_call(tokens, at, bound, span);
                }
                Token::Mark(_) | Token::Number(_) => {}
            }
        }
    }

    /// A path that carries secrets is noticed wherever it stands.
    fn literal(&mut self, text: &str, span: Span) {
        self.name_words(&[Arg::new(text, span)]);
        let path_like = text.len() < 512
            && (text.starts_with(['/', '~', '.']) || text.contains("/."))
            && !text.contains([' ', '\n']);
        if path_like && sensitive::is(sensitive::Concern::Secret, &self.resolve(text), &self.view) {
            self.read_file(text, span);
        }
        if sensitive::is_secret_variable(text)
            && text.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
        {
            self.report.can_because(Capability::Credentials, format!("reads the variable `{text}`"), span);
        }
    }

    fn called(&mut self, language: Language, does: Does, name: &str, rest: &[Token], span: Span) {
        let (texts, unknown) = token::arguments(rest);
        match does {
            Does::Shell => self.shell_call(&texts, unknown, name, span),
            Does::Code => {
                texts.iter().for_each(|text| self.code(language, text, span));
                if unknown {
                    self.report.unknown("DYNAMIC_CODE", format!("`{name}` runs code that cannot be known"), span);
                }
            }
            Does::RemoveTree | Does::Remove => {
                self.report.raise(Class::Destructive, "REMOVES", format!("`{name}` removes files"), span);
                for text in texts.iter().take(1) {
                    self.write_file(text, if does == Does::RemoveTree { How::RemoveTree } else { How::Remove }, span);
                }
            }
            Does::Write | Does::Copy | Does::Move => {}
            Does::Symlink | Does::Link => match texts.as_slice() {
                [source, name, ..] => {
                    self.write_file(name, How::Link, span);
                    self.linked(name, source, does == Does::Symlink);
                }
                [_] | [] => self.report.unknown("DYNAMIC_CODE", format!("where `{name}` leads cannot be known"), span),
            },
            Does::Read => self.opened(&texts, rest, span),
            Does::Network => {
                self.report.can(Capability::Network);
                if !reach::is_of_this_machine(&texts, unknown) {
                    self.connects(span);
                }
            }
        }
    }

    /// What a call writes, by the places its arguments point to.
    fn placed_call(&mut self, does: Does, name: &str, own: Option<Place>, arguments: &[Argument], span: Span) {
        let positional: Vec<&Place> =
            arguments.iter().filter(|(key, _)| key.is_none()).map(|(_, place)| place).collect();
        let keyed = |names: &[&str]| {
            let found = arguments.iter().find(|(key, _)| key.as_deref().is_some_and(|key| names.contains(&key)));
            found.map(|(_, place)| place)
        };
        // A database in memory is nowhere.
        if positional.first().is_some_and(|place| **place == Place::Known(":memory:".to_owned())) {
            return;
        }
        let first = own.as_ref().or(positional.first().copied()).or(keyed(&["file", "path", "src", "name"]));
        let second = positional.get(usize::from(own.is_none())).copied().or(keyed(&["dst"]));
        match does {
            Does::Write => self.write_place(first, How::Overwrite, span),
            Does::Copy if name == "copyfileobj" => {}
            Does::Copy => self.write_place(second, How::Overwrite, span),
            Does::Move => {
                self.write_place(first, How::Move, span);
                self.write_place(second, How::Overwrite, span);
            }
            Does::Read if OPENING.contains(&name) => {
                let mode = if own.is_some() { positional.first().copied() } else { positional.get(1).copied() };
                let mode = mode.or(keyed(&["mode"]));
                let writes = name == "createWriteStream"
                    || match mode {
                        None => false,
                        Some(Place::Known(mode)) => mode.contains(['w', 'a', 'x', '+', '>']),
                        Some(Place::Several(_) | Place::Below(_) | Place::Given | Place::Unknown) => true,
                    };
                let known = matches!(first, Some(Place::Known(_))) && matches!(mode, Some(Place::Known(_)));
                // What is all literal was seen already.
                if writes && !(known && name != "createWriteStream") {
                    self.write_place(first, How::Overwrite, span);
                }
            }
            Does::Read
            | Does::Shell
            | Does::Code
            | Does::RemoveTree
            | Does::Remove
            | Does::Symlink
            | Does::Link
            | Does::Network => {}
        }
    }

    fn write_place(&mut self, place: Option<&Place>, how: How, span: Span) {
        match place {
            None => {}
            Some(Place::Known(text)) => self.write_file(text, how, span),
            Some(Place::Several(texts)) => texts.iter().for_each(|text| self.write_file(text, how, span)),
            Some(Place::Below(folder)) => self.may_write(folder, span),
            Some(Place::Given)
                if !self.given.is_empty() && self.given.iter().all(|arg| mark::is_literal(&arg.text)) =>
            {
                let given = self.given.clone();
                self.may_write_words(&given);
            }
            Some(Place::Given | Place::Unknown) => self.write_file(&mark::OUTPUT.to_string(), How::Create, span),
        }
    }

    /// `open(HANDLE, MODE, PATH)`, or with mode and path in one.
    fn perl_open(&mut self, arguments: &[Argument], span: Span) {
        match arguments {
            [_, (_, Place::Known(mode)), rest @ ..]
                if mode.contains('|') && mode.trim_matches(['|', '-', ' ']).is_empty() =>
            {
                let words: Option<Vec<Arg>> = rest
                    .iter()
                    .map(|(_, place)| match place {
                        Place::Known(text) => Some(Arg::new(text.clone(), span)),
                        Place::Several(_) | Place::Below(_) | Place::Given | Place::Unknown => None,
                    })
                    .collect();
                match words.as_deref() {
                    Some([only]) => _ = self.inner(&only.text.clone(), Stream::Opaque, span),
                    Some(words) => _ = self.run(words.to_vec(), Stream::Opaque, span),
                    None => self.report.unknown("DYNAMIC_CODE", "`open` runs a command that cannot be known", span),
                }
            }
            [_, (_, Place::Known(mode)), (_, path), ..] => {
                if mode.contains(['>', '+']) {
                    self.write_place(Some(path), How::Overwrite, span);
                }
            }
            [_, (_, Place::Known(both))] => {
                let path = both.trim_start();
                match path.strip_prefix("+<").or_else(|| path.strip_prefix("+>")).or_else(|| path.strip_prefix('>')) {
                    Some(path) => {
                        self.write_file(path.trim_start_matches('>').trim(), How::Overwrite, span);
                    }
                    None if !path.contains('|') => {
                        self.read_file(path.trim_start_matches('<').trim(), span);
                    }
                    None => {}
                }
            }
            // Mode and name in one text that is put together: it may write, or run something.
            [_, (_, Place::Unknown | Place::Given | Place::Several(_) | Place::Below(_)), ..] => {
                self.write_place(Some(&Place::Unknown), How::Create, span);
            }
            [_] | [] => {}
        }
    }

    /// `object['name'](…)`.
    fn computed_call(&mut self, tokens: &[Token], at: usize, bound: &Bound, span: Span) {
        let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
        let rest = tokens.get(at + 1..).unwrap_or_default();
        match (before(2), before(1)) {
            (Some(Token::Mark('[')), Some(Token::Text(name))) => {
                if let Some(does) = calls::by_name(name) {
                    let name = name.clone();
                    self.called(Language::Node, does, &name, rest, span);
                    let arguments = places::arguments(rest, Language::Node, bound);
                    self.placed_call(does, &name, None, &arguments, span);
                }
            }
            (Some(Token::Mark('[')), Some(Token::Number(_))) => {}
            _ => self.report.unknown("DYNAMIC_CODE", "which function the code calls cannot be known", span),
        }
    }

    /// `open(path, mode)`: the mode decides.
    fn opened(&mut self, texts: &[String], rest: &[Token], span: Span) {
        let Some(path) = texts.first() else { return };
        let mode = texts.get(1).map(String::as_str).unwrap_or_default();
        // Perl's two-argument open: `open(F, "| cmd")`.
        if let Some(command) = path.strip_prefix('|').or_else(|| path.strip_suffix('|')) {
            self.inner(command, Stream::Absent, span);
        } else if mode.starts_with(['w', '>', 'x']) {
            let closed = rest.iter().position(|token| *token == Token::Mark(')')).and_then(|end| rest.get(end + 1))
                == Some(&Token::Name(".close".to_owned()));
            self.write_file(path, if closed { How::Empty } else { How::Overwrite }, span);
        } else if mode.starts_with(['a', 'r']) && mode.contains('+') || mode.starts_with('a') {
            self.write_file(path, How::Append, span);
        } else {
            self.read_file(path, span);
        }
    }

    fn shell_call(&mut self, texts: &[String], unknown: bool, name: &str, span: Span) {
        match texts {
            [] if unknown => {
                self.report.unknown("DYNAMIC_CODE", format!("`{name}` runs a command that cannot be known"), span)
            }
            [] => {}
            [only] => {
                self.inner(&only.clone(), Stream::Absent, span);
                if unknown {
                    self.report.unknown(
                        "DYNAMIC_CODE",
                        format!("`{name}` runs a command that is partly unknown"),
                        span,
                    );
                }
            }
            several => {
                let words: Vec<Arg> = several.iter().map(|text| Arg::new(text.clone(), span)).collect();
                // `execl("/bin/rm", "rm", …)` repeats the name.
                let words = if name.starts_with("execl") && words.len() > 2 {
                    [words.get(..1).unwrap_or_default(), words.get(2..).unwrap_or_default()].concat()
                } else {
                    words
                };
                self.run(words, Stream::Absent, span);
            }
        }
    }

    /// A socket and a shell in one program are a door for somebody else.
    fn connected_shell(&mut self, text: &str, span: Span) {
        let socket = ["socket", "TCPSocket", "fsockopen", "net.connect", "net.Socket", "IO::Socket", "/inet/tcp"]
            .iter()
            .any(|name| text.contains(name));
        let shell = ["/bin/sh", "/bin/bash", "dup2", "pty.spawn", "cmd.exe", "exec", "\"sh\"", "'sh'"]
            .iter()
            .any(|name| text.contains(name));
        if socket && shell {
            self.remote_code("the code connects a shell to another machine".to_owned(), span);
        }
        let fetches = [
            "urlopen",
            "requests.get",
            "http.get",
            "https.get",
            "fetch(",
            "open-uri",
            "LWP",
            "Net::HTTP",
            "file_get_contents('http",
            "file_get_contents(\"http",
            "urlretrieve",
            "URI.open",
        ]
        .iter()
        .any(|name| text.contains(name));
        let evaluates =
            ["eval ", "eval(", "instance_eval", "exec(", "Function("].iter().any(|name| text.contains(name));
        let addressed = text.contains("http://") || text.contains("https://");
        if addressed && evaluates && ["get", "open", "fetch", "read"].iter().any(|name| text.contains(name)) {
            self.remote_code("the code fetches text and runs it".to_owned(), span);
        }
        if fetches {
            self.report.can(Capability::Network);
            if ["exec(", "eval(", "os.system", "subprocess", "execSync", "system(", "compile("]
                .iter()
                .any(|name| text.contains(name))
            {
                self.remote_code("the code fetches text and runs it".to_owned(), span);
            }
        }
    }

    /// AppleScript reaches the shell by a phrase, not by a call.
    fn apple_script(&mut self, text: &str, span: Span) {
        let mut rest = text;
        while let Some(at) = rest.find("do shell script") {
            rest = rest.get(at + 15..).unwrap_or_default();
            let body =
                rest.trim_start().strip_prefix('"').map(|body| body.split('"').next().unwrap_or_default().to_owned());
            match body {
                Some(body) => {
                    self.inner(&body, Stream::Absent, span);
                }
                None => self.report.unknown("DYNAMIC_CODE", "the shell text in the script cannot be known", span),
            }
        }
        if text.contains("administrator privileges") {
            self.report.can_because(Capability::Privilege, "the script asks for administrator privileges", span);
        }
        if text.contains("to delete") && text.contains("POSIX file")
            || text.contains("empty the trash")
            || text.contains("empty trash")
        {
            self.report.raise(Class::Destructive, "REMOVES", "the script deletes files", span);
        }
        if text.contains("to shut down") || text.contains("to restart") {
            self.report.raise(Class::Catastrophic, "POWER", "the script stops the machine", span);
        }
    }
}

/// The path that a method works on: `Path('a').write_text(…)`, `name.write_text(…)`.
fn receiver(tokens: &[Token], at: usize, name: &str, bound: &Bound) -> Option<Place> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let of_paths = matches!(last, "write_text" | "write_bytes");
    if let Some((owner, _)) = name.rsplit_once('.').filter(|(owner, _)| !owner.is_empty()) {
        let known = bound.get(owner).filter(|place| **place != Place::Unknown || of_paths).cloned();
        let is_path = matches!(last, "open" | "mkdir" | "chmod") && known.is_some();
        return if of_paths { Some(known.unwrap_or(Place::Unknown)) } else { known.filter(|_| is_path) };
    }
    if !name.starts_with('.') {
        return None;
    }
    let before = tokens.get(..at).unwrap_or_default();
    match before {
        [.., Token::Name(path), Token::Mark('('), Token::Text(text), Token::Mark(')')]
            if matches!(path.as_str(), "Path" | "pathlib.Path") =>
        {
            Some(Place::Known(text.clone()))
        }
        _ if of_paths || last == "open" && name == ".open" => Some(Place::Unknown),
        _ => None,
    }
}

/// The text that code prints when printing one literal is all it does.
pub(crate) fn printed(language: Language, text: &str) -> Option<String> {
    let tokens = token::fold(&token::lex(text, language), language);
    let literals: Vec<&String> =
        tokens.iter().filter_map(|token| if let Token::Text(text) = token { Some(text) } else { None }).collect();
    let prints = tokens.iter().any(|token| matches!(token, Token::Name(name) if matches!(name.as_str(), "print" | "puts" | "say" | "echo" | "printf" | "console.log" | "process.stdout.write" | "sys.stdout.write" | "io.write")));
    match literals.as_slice() {
        [only] if prints && !only.is_empty() => Some(format!("{only}\n")),
        _ => None,
    }
}
