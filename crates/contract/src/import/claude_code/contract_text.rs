//! The contract as text: each action of a call gets the rules that can be about it.

use super::rule::{EDITORS, READERS, Rule};
use super::{DefaultMode, Permissions};
use values::json::Json;

/// The kinds of calls that a hook tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    Read,
    Internal,
    Fetch,
    Write,
    Shell,
    Mcp,
    Other,
}

const CALLS: &[(Call, &str)] = &[
    (Call::Read, "tool.read"),
    (Call::Internal, "tool.internal"),
    (Call::Fetch, "tool.fetch"),
    (Call::Write, "tool.write"),
    (Call::Shell, "tool.shell"),
    (Call::Mcp, "tool.mcp"),
    (Call::Other, "tool.other"),
];

/// What a contract takes of one expression.
const EXPRESSION_BYTES_MAX: usize = 4_096;

const HEAD: &str = "\
# Made by an import of permission settings of Claude Code. Deny counts before ask, ask before allow; the first word of a
# reason says which list a call was found in. Catastrophes and the guard's own files stay refused.
agent: claude-code
mission: Do what the permission settings of Claude Code let it do.
mode: enforce
actions:
";

const PARAMS: &str = "{ host: text, session: text, tool: text, cwd: text, at: text, input: object, class: text, can: list \
    of text, reads: list of text, writes: list of text, outside: list of text, guarded: list of text, shadowed: list of \
    text, unclear: list of text, argv: list of text, programs: list of text, server: text, attended: boolean, stall: \
    text, breaker: text }";

const TAIL: &str = "  tool.result:
    reads: true
    params: { host: text, session: text, tool: text, failed: boolean, result: object, stall: text, breaker: text }
  session.start: { reads: true, params: { host: text, session: text, cwd: text } }
  session.prompt: { reads: true, params: { host: text, session: text, prompt: object } }
  session.stop:
    reads: true
    params: { host: text, session: text, verified: text, refused: integer, noop: text, head: text, dirty: boolean, witness: text, dangling: text }
proposal: { retries: 100000 }
approvers: [maintainers]
escalation: { budget: { max: 600, per: 1h }, timeout: { after: 15m, then: ABORT }, on_exhausted: ABORT }
";

/// Commands that Claude Code takes for reading.
const LOOKING: &str = "^(ls|cat|echo|pwd|head|tail|grep|find|wc|which|diff|stat|du|cd|git)( .*)?$";

/// Programs that only start another one, whose own command is listed beside theirs.
const WRAPPING: &str = "^(timeout|time|nice|nohup|stdbuf) .*$";

/// Commands on files of the project that it runs unasked where edits are accepted.
const FILING: &str = "^(mkdir|touch|rm|rmdir|mv|cp|sed)( .*)?$";

/// Folders of a project whose files it asks about even where edits are accepted.
const KEPT: &str = "/\\.(git|vscode|idea|husky|claude)(/|$)";

/// Tools of the host itself that a person is asked about.
const ASKED_INSIDE: &[&str] = &["ExitPlanMode", "Skill", "SlashCommand"];

const GLASS: &str = "(has(state.break_glass) && at < state.break_glass && !('unread' in can))";

/// The text of the contract; what is too long for one is named.
pub(super) fn written(permissions: &Permissions, problems: &mut Vec<String>) -> String {
    let mut text = HEAD.to_owned();
    for (call, action) in CALLS {
        let mut lines = Lines { action, refuse: Vec::new(), ask: Vec::new() };
        if matches!(call, Call::Write | Call::Shell | Call::Mcp | Call::Other) {
            lines.refuse.push(("class == 'catastrophic'".to_owned(), "CATASTROPHIC"));
            lines.refuse.push(("size(guarded) > 0".to_owned(), "GUARD_TAMPERING"));
        }
        let about = |rules: &[Rule]| rules.iter().filter_map(|rule| named(*call, rule)).collect::<Vec<_>>();
        lines.refuse.extend(about(&permissions.deny).into_iter().map(|when| (when, "DENY_RULE")));
        let unlisted = format!("!({})", allowed(*call, permissions));
        let mut asked: Vec<(String, &str)> =
            about(&permissions.ask).into_iter().map(|when| (format!("{when} && !{GLASS}"), "ASK_RULE")).collect();
        asked.push((unlisted, "NO_RULE"));
        if permissions.mode == DefaultMode::DontAsk {
            lines.refuse.extend(asked);
        } else {
            lines.ask = asked;
        }
        lines.write(&mut text, problems);
    }
    text + TAIL
}

/// The rules of one action.
struct Lines<'a> {
    action: &'a str,
    refuse: Vec<(String, &'static str)>,
    ask: Vec<(String, &'static str)>,
}

impl Lines<'_> {
    fn write(&self, text: &mut String, problems: &mut Vec<String>) {
        text.push_str(&format!("  {}:\n    params: {PARAMS}\n", self.action));
        for (key, rules) in [("refuse", &self.refuse), ("ask", &self.ask)] {
            if rules.is_empty() {
                continue;
            }
            text.push_str(&format!("    {key}:\n"));
            for (when, reason) in rules {
                if when.len() > EXPRESSION_BYTES_MAX {
                    let bytes = when.len();
                    problems.push(format!(
                        "the rules about `{}` take {bytes} bytes as one expression, and a contract takes \
                         {EXPRESSION_BYTES_MAX}; join rules with `*`",
                        self.action
                    ));
                }
                text.push_str(&format!(
                    "      - {{ when: {}, reason: {reason} }}\n",
                    Json::text(when.as_str()).to_canonical()
                ));
            }
        }
        text.push_str("    impact: LOW\n    run: host\n");
    }
}

/// When a rule of `deny` or `ask` is about a call; `None` if it can be about none of this kind.
fn named(call: Call, rule: &Rule) -> Option<String> {
    let runs_commands = matches!(call, Call::Read | Call::Shell | Call::Other);
    match rule {
        Rule::Command(None) => runs_commands.then(|| "tool == 'Bash'".to_owned()),
        Rule::Command(Some(regex)) => {
            let regex = quoted(regex);
            let text = format!("(has(input.command) && input.command.matches({regex}))");
            runs_commands.then(|| format!("tool == 'Bash' && (argv.exists(line, line.matches({regex})) || {text})"))
        }
        Rule::Read(None) => matches!(call, Call::Read | Call::Shell).then(|| one_of(READERS)),
        Rule::Read(Some(regex)) => matches!(call, Call::Read | Call::Shell)
            .then(|| format!("reads.exists(path, path.matches({}))", quoted(regex))),
        Rule::Edit(None) => matches!(call, Call::Write | Call::Other).then(|| one_of(EDITORS)),
        Rule::Edit(Some(regex)) => matches!(call, Call::Write | Call::Shell)
            .then(|| format!("writes.exists(path, path.matches({}))", quoted(regex))),
        Rule::Fetch(_) | Rule::Mcp(_) | Rule::Agent(_) | Rule::Tool(_) => single(call, rule),
    }
}

/// The part of rules that means the same in every list.
fn single(call: Call, rule: &Rule) -> Option<String> {
    match rule {
        Rule::Fetch(None) => (call == Call::Fetch).then(|| "tool == 'WebFetch'".to_owned()),
        Rule::Fetch(Some(regex)) => (call == Call::Fetch).then(|| {
            let regex = quoted(regex);
            format!("tool == 'WebFetch' && has(input.url) && input.url.lowerAscii().matches({regex})")
        }),
        Rule::Mcp(regex) => (call == Call::Mcp).then(|| format!("tool.matches({})", quoted(regex))),
        Rule::Agent(kind) => (call == Call::Internal).then(|| {
            let kind = quoted(kind);
            format!("tool in ['Agent', 'Task'] && has(input.subagent_type) && input.subagent_type == {kind}")
        }),
        Rule::Tool(name) => (call != Call::Mcp).then(|| format!("tool == {}", quoted(name))),
        Rule::Command(_) | Rule::Read(_) | Rule::Edit(_) => None,
    }
}

/// When a call runs unasked: by a rule, by the mode, or while glass is broken.
fn allowed(call: Call, permissions: &Permissions) -> String {
    let mut ways = vec![GLASS.to_owned()];
    ways.extend(by_mode(call, permissions));
    let rules = &permissions.allow;
    let regexes = |pick: fn(&Rule) -> Option<&String>| -> Option<String> {
        let found: Vec<&str> = rules.iter().filter_map(pick).map(String::as_str).collect();
        (!found.is_empty()).then(|| quoted(&joined(&found)))
    };
    if matches!(call, Call::Read | Call::Shell | Call::Other) {
        let every = rules.contains(&Rule::Command(None)).then(|| "tool == 'Bash'".to_owned());
        let some = regexes(|rule| if let Rule::Command(regex) = rule { regex.as_ref() } else { None });
        let (looking, wrapping) = (quoted(LOOKING), quoted(WRAPPING));
        // Each command of a line needs a rule; what Claude Code takes for reading needs none beside others.
        let some = some.map(|regex| {
            let free = if call == Call::Read { format!(" || line.matches({looking})") } else { String::new() };
            let fits = format!("line.matches({regex}){free} || line.matches({wrapping})");
            format!("(tool == 'Bash' && size(argv) > 0 && argv.all(line, {fits}))")
        });
        ways.extend(every.or(some));
    }
    if matches!(call, Call::Read | Call::Shell) {
        let every = rules.contains(&Rule::Read(None)).then(|| one_of(READERS));
        let some = regexes(|rule| if let Rule::Read(regex) = rule { regex.as_ref() } else { None });
        let some = some
            .map(|regex| format!("({} && size(reads) > 0 && reads.all(path, path.matches({regex})))", one_of(READERS)));
        ways.extend(every.or(some));
    }
    if matches!(call, Call::Write | Call::Other) {
        let every = rules.contains(&Rule::Edit(None)).then(|| one_of(EDITORS));
        let some = regexes(|rule| if let Rule::Edit(regex) = rule { regex.as_ref() } else { None });
        let some = some.map(|regex| {
            format!("({} && size(writes) > 0 && writes.all(path, path.matches({regex})))", one_of(EDITORS))
        });
        ways.extend(every.or(some));
    }
    ways.extend(rules.iter().filter_map(|rule| single(call, rule)).map(|when| format!("({when})")));
    ways.join(" || ")
}

/// What runs unasked without a rule.
fn by_mode(call: Call, permissions: &Permissions) -> Option<String> {
    let inside = |list: &str| {
        let folders: Vec<String> = permissions.folders.iter().map(|folder| quoted(folder)).collect();
        let folders = folders.join(", ");
        format!("{list}.all(path, [{folders}].exists(folder, path == folder || path.startsWith(folder + '/')))")
    };
    let edits = permissions.mode == DefaultMode::AcceptEdits;
    let files = || format!("{} && !writes.exists(path, path.matches({}))", inside("writes"), quoted(KEPT));
    match call {
        _ if permissions.mode == DefaultMode::Bypass => Some("true".to_owned()),
        Call::Read => {
            let looks = format!("argv.all(line, line.matches({}))", quoted(LOOKING));
            Some(format!("({} && (tool != 'Bash' || {looks}))", inside("reads")))
        }
        Call::Internal => {
            let names: Vec<String> = ASKED_INSIDE.iter().map(|name| quoted(name)).collect();
            Some(format!("!(tool in [{}])", names.join(", ")))
        }
        Call::Write if edits => Some(format!("({} && size(writes) > 0 && {})", one_of(EDITORS), files())),
        Call::Shell if edits => {
            let filing = format!("argv.all(line, line.matches({}))", quoted(FILING));
            Some(format!("(tool == 'Bash' && size(argv) > 0 && size(unclear) == 0 && {filing} && {})", files()))
        }
        Call::Write | Call::Shell | Call::Fetch | Call::Mcp | Call::Other => None,
    }
}

fn one_of(tools: &[&str]) -> String {
    let names: Vec<String> = tools.iter().map(|name| quoted(name)).collect();
    format!("tool in [{}]", names.join(", "))
}

/// Several whole regular expressions as one.
fn joined(regexes: &[&str]) -> String {
    let bare = |regex: &&str| regex.trim_start_matches('^').trim_end_matches('$').to_owned();
    format!("^({})$", regexes.iter().map(bare).collect::<Vec<_>>().join("|"))
}

/// A text as an expression writes it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
