//! One rule: `Tool`, or `Tool(specifier)`.

use super::{Places, path_pattern};

/// The list that a rule stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum List {
    Allow,
    Ask,
    Deny,
}

/// What a rule is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// Commands that fit a regular expression; `None` is every command.
    Command(Option<String>),
    /// Files that are read, by a regular expression over whole paths; `None` is every file.
    Read(Option<String>),
    /// Files that are changed, in the same way.
    Edit(Option<String>),
    /// Pages of a host, by a regular expression over addresses in small letters; `None` is every page.
    Fetch(Option<String>),
    /// Tools of MCP servers whose whole names fit a regular expression.
    Mcp(String),
    /// Agents of this kind.
    Agent(String),
    /// A tool by its name.
    Tool(String),
}

/// Tools that read files and follow the rules of `Read`.
pub(super) const READERS: &[&str] = &["Read", "Grep", "Glob", "LS", "NotebookRead"];

/// Tools that change files and follow the rules of `Edit`.
pub(super) const EDITORS: &[&str] = &["Edit", "Write", "MultiEdit", "NotebookEdit"];

/// Longest rule that is read.
const RULE_BYTES_MAX: usize = 1_024;

impl Rule {
    /// Reads a rule; the error says why it cannot be carried over.
    pub(super) fn read(text: &str, list: List, places: &Places) -> Result<Rule, String> {
        if text.len() > RULE_BYTES_MAX {
            return Err(format!("is longer than {RULE_BYTES_MAX} bytes"));
        }
        let (tool, specifier) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let inside = rest.strip_suffix(')').ok_or("has no closing parenthesis")?;
                (tool, Some(inside).filter(|inside| *inside != "*"))
            }
        };
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        let is_glob = tool.starts_with("mcp__") && tool.contains('*');
        if tool.is_empty() || !tool.chars().all(|letter| is_name(letter) || is_glob && letter == '*') {
            return Err("names no tool".to_owned());
        }
        match (tool, specifier) {
            ("Bash", specifier) => specifier.map(command).transpose().map(Rule::Command),
            ("Read", specifier) => specifier.map(|path| path_pattern::regex(path, places)).transpose().map(Rule::Read),
            ("Edit", specifier) => specifier.map(|path| path_pattern::regex(path, places)).transpose().map(Rule::Edit),
            ("WebFetch", specifier) => specifier.map(domain).transpose().map(Rule::Fetch),
            ("Agent" | "Task", Some(kind)) if kind.chars().all(is_name) && !kind.is_empty() => {
                Ok(Rule::Agent(kind.to_owned()))
            }
            ("Write" | "MultiEdit" | "NotebookEdit", Some(path)) => {
                Err(format!("is matched against no file by Claude Code; write `Edit({path})`"))
            }
            ("Grep" | "Glob" | "LS" | "NotebookRead", Some(path)) => {
                Err(format!("is matched against no file by Claude Code; write `Read({path})`"))
            }
            (tool, None) if tool.starts_with("mcp__") => mcp(tool, list),
            (tool, None) => Ok(Rule::Tool(tool.to_owned())),
            (tool, Some(_)) => Err(format!("says something about calls of `{tool}` that is not known here")),
        }
    }
}

/// `npm run:*`, `npm run *`, `git * main`, or exactly a command, as a regular expression over one command.
fn command(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("names no command".to_owned());
    }
    if text.contains('\\') {
        return Err("has a backslash, whose meaning is not known here".to_owned());
    }
    let trailing = text.strip_suffix(":*").or_else(|| text.strip_suffix(" *").filter(|start| !start.contains('*')));
    if let Some(start) = trailing {
        if start.contains(":*") {
            return Err("has `:*` before its end".to_owned());
        }
        return Ok(format!("^{}( .*)?$", globbed(start)));
    }
    if text.contains(":*") {
        return Err("has `:*` before its end".to_owned());
    }
    Ok(format!("^{}$", globbed(text)))
}

fn globbed(text: &str) -> String {
    text.split('*').map(path_pattern::escaped).collect::<Vec<_>>().join(".*")
}

/// `domain:example.com` or `domain:*.example.com`, as a regular expression over addresses.
fn domain(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("domain:").ok_or("is about something else than a `domain:`")?.to_ascii_lowercase();
    let (below, name) = match name.strip_prefix("*.") {
        Some(name) => ("([a-z0-9_-]+\\.)+", name),
        None => ("", name.as_str()),
    };
    let is_host = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    if name.is_empty() || !name.chars().all(is_host) {
        return Err("names no domain".to_owned());
    }
    Ok(format!("^https?://([^/?#@]*@)?{below}{}(:[0-9]+)?([/?#]|$)", path_pattern::escaped(name)))
}

/// A server with all its tools, one of them, or those that a `*` means.
fn mcp(tool: &str, list: List) -> Result<Rule, String> {
    let rest = tool.trim_start_matches("mcp__");
    let (server, name) = rest.split_once("__").unwrap_or((rest, "*"));
    if server.is_empty() || name.is_empty() {
        return Err("names no server".to_owned());
    }
    if list == List::Allow && server.contains('*') {
        return Err("allows tools of servers that it does not name".to_owned());
    }
    Ok(Rule::Mcp(format!("^mcp__{}__{}$", globbed(server), globbed(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places { root: "/w".to_owned(), home: "/home/user".to_owned() }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let read = Rule::read(text, List::Allow, &places());
        assert_eq!(read.map_or_else(|why| why, |rule| format!("{rule:?}")), expected, "{text}");
    }

    #[test]
    fn rules_are_read_or_refused_with_the_reason() {
        check("Bash", "Command(None)");
        check("Bash(*)", "Command(None)");
        check("Bash(npm run build)", "Command(Some(\"^npm run build$\"))");
        check("Bash(npm run:*)", "Command(Some(\"^npm run( .*)?$\"))");
        check("Bash(npm run *)", "Command(Some(\"^npm run( .*)?$\"))");
        check("Bash(ls*)", "Command(Some(\"^ls.*$\"))");
        check("Bash(git * main)", "Command(Some(\"^git .* main$\"))");
        check("Bash(a:*b)", "has `:*` before its end");
        check("Bash(a:*b:*)", "has `:*` before its end");
        check("Bash(a", "has no closing parenthesis");
        check("Bash()", "names no command");
        check("(x)", "names no tool");
        check("Read", "Read(None)");
        check("Write", "Tool(\"Write\")");
        check("Write(src/**)", "is matched against no file by Claude Code; write `Edit(src/**)`");
        check(
            "WebFetch(domain:Example.com)",
            "Fetch(Some(\"^https?://([^/?#@]*@)?example\\\\.com(:[0-9]+)?([/?#]|$)\"))",
        );
        check("WebFetch(https://example.com)", "is about something else than a `domain:`");
        check("WebSearch(x)", "says something about calls of `WebSearch` that is not known here");
        check("mcp__github", "Mcp(\"^mcp__github__.*$\")");
        check("mcp__github__*", "Mcp(\"^mcp__github__.*$\")");
        check("mcp__github__get_issue", "Mcp(\"^mcp__github__get_issue$\")");
        check("mcp__*", "allows tools of servers that it does not name");
        check("Agent(Explore)", "Agent(\"Explore\")");
        check("PowerShell(Get-Item)", "says something about calls of `PowerShell` that is not known here");
    }
}
