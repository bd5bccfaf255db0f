//! Tools by the names hosts give them: what kind each is, and which members of its input say what it touches.

use values::json::{Json, Object};

/// What kind of tool a call is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tool {
    /// Runs a command.
    Shell {
        /// The command as a shell reads it.
        command: String,
    },
    /// Changes files.
    Write {
        /// Which.
        paths: Vec<String>,
    },
    /// Only looks at files.
    Read {
        /// Which.
        paths: Vec<String>,
    },
    /// Reads from the network.
    Fetch,
    /// Belongs to an MCP server.
    Mcp {
        /// Which.
        server: String,
    },
    /// Changes nothing outside of the host itself: plans, lists, questions to the person.
    Internal,
    /// No dialect knows what it does.
    Other,
    /// There is no tool at this moment.
    Nothing,
}

/// What tools of a name do, as dialects list them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Runs commands.
    Shell,
    /// Changes files.
    Write,
    /// Looks at files.
    Read,
    /// Looks at everything below a folder.
    Search,
    /// Reads from the network.
    Fetch,
    /// Types into a program that runs. What the program does with it depends on what it is.
    Typing,
    /// Changes a plan, a list or the conversation and nothing else. A tool that starts another agent is one of these,
    /// because that agent's own calls come through the hooks again.
    Internal,
}

/// What a tool of this name does. A name that one host has means the same at every other.
pub fn kind(name: &str) -> Option<Kind> {
    let mut tools = super::HOSTS.into_iter().flat_map(|host| host.tools);
    tools.find(|(_, names)| names.contains(&name)).map(|(kind, _)| *kind)
}

/// Members of an input that name a file.
const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "notebook_path",
    "target_file",
    "target_notebook",
    "dir_path",
    "directory",
    "target_directory",
    "file",
];

/// Members of an input that name several files.
const PATH_LISTS: &[&str] = &["paths", "file_paths", "include", "files"];

/// Members of an input that hold a command.
const COMMANDS: &[&str] = &["command", "cmd", "script"];

/// Members of an input that hold what is typed.
const TYPED: &[&str] = &["chars", "input", "text"];

/// Members of a shell's input that name the folder it runs in.
const FOLDERS: &[&str] = &["workdir", "working_directory", "cwd", "dir_path", "directory"];

/// The folders that a shell's input says it runs in: none, one, or several, of which it is not known which one counts.
pub fn folders(input: &Object) -> Vec<&str> {
    let mut found: Vec<&str> = FOLDERS.iter().filter_map(|key| input.get(*key)?.as_text()).collect();
    found.retain(|folder| !folder.is_empty());
    found.dedup();
    found
}

/// What kind of tool a call is for. A tool whose input does not say what it touches counts as unknown.
pub fn recognise(name: &str, input: &Object) -> Tool {
    if let Some(server) = mcp_server(name) {
        return Tool::Mcp { server: server.to_owned() };
    }
    match kind(name) {
        Some(Kind::Shell) => command(input).map_or(Tool::Other, |command| Tool::Shell { command }),
        Some(Kind::Write) => {
            let mut paths = paths(input);
            paths.extend(patches(input).flat_map(patched));
            if paths.is_empty() { Tool::Other } else { Tool::Write { paths } }
        }
        Some(Kind::Read | Kind::Search) => Tool::Read { paths: paths(input) },
        Some(Kind::Fetch) => Tool::Fetch,
        // Looking at what a program printed is no typing.
        Some(Kind::Typing) if TYPED.iter().all(|key| input.get(*key).is_none_or(is_empty)) => Tool::Internal,
        Some(Kind::Typing) => Tool::Other,
        Some(Kind::Internal) => Tool::Internal,
        None => Tool::Other,
    }
}

fn is_empty(value: &Json) -> bool {
    value.as_text() == Some("")
}

/// `mcp__server__tool`, as most hosts write it.
fn mcp_server(name: &str) -> Option<&str> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then_some(server)
}

/// A command as one text; a list of arguments is quoted, unless it only wraps a script.
pub fn command(input: &Object) -> Option<String> {
    let found = COMMANDS.iter().find_map(|key| input.get(*key))?;
    match found {
        Json::Text(text) => Some(text.clone()),
        Json::List(items) => {
            let words: Vec<&str> = items.iter().map(Json::as_text).collect::<Option<_>>()?;
            Some(words.into_iter().map(quoted).collect::<Vec<_>>().join(" "))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => None,
    }
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn paths(input: &Object) -> Vec<String> {
    let single = PATHS.iter().filter_map(|key| input.get(*key)?.as_text());
    let lists = PATH_LISTS.iter().filter_map(|key| input.get(*key)?.as_list());
    let listed = lists.flatten().filter_map(Json::as_text);
    single.chain(listed).map(str::to_owned).collect()
}

/// Texts of an input that are patches.
fn patches(input: &Object) -> impl Iterator<Item = &str> {
    input.values().filter_map(Json::as_text).filter(|text| is_patch(text))
}

/// Whether a text holds a patch in the form of `apply_patch`.
pub fn is_patch(text: &str) -> bool {
    text.contains("*** Begin Patch")
}

/// The files a patch in the form of `apply_patch` changes.
pub fn patched(patch: &str) -> Vec<String> {
    const HEADS: &[&str] = &["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
    let named = |line: &str| HEADS.iter().find_map(|head| Some(line.trim().strip_prefix(head)?.trim().to_owned()));
    patch.lines().filter_map(named).filter(|path| !path.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, input: &str, expected: &Tool) {
        let Ok(Json::Object(input)) = Json::parse(input.as_bytes()) else { return assert_eq!(input, "an object") };
        assert_eq!(recognise(name, &input), *expected, "{name}");
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn tools_are_known_by_name_and_input() {
        let shell = |command: &str| Tool::Shell { command: command.to_owned() };
        check("Bash", r#"{"command":"ls -l"}"#, &shell("ls -l"));
        check("shell", r#"{"command":["bash","-lc","rm -rf x; ls"]}"#, &shell("bash -lc 'rm -rf x; ls'"));
        check("shell", r#"{"command":["echo","it's"]}"#, &shell(r"echo 'it'\''s'"));
        check("Bash", "{}", &Tool::Other);
        check("Edit", r#"{"file_path":"/w/a"}"#, &Tool::Write { paths: texts(&["/w/a"]) });
        check("Write", r#"{"content":"x"}"#, &Tool::Other);
        check("read_many_files", r#"{"paths":["a","b"]}"#, &Tool::Read { paths: texts(&["a", "b"]) });
        check("mcp__files__write", r#"{"path":"a"}"#, &Tool::Mcp { server: "files".to_owned() });
        check("mcp__files", "{}", &Tool::Other);
        check("TodoWrite", "{}", &Tool::Internal);
        check("SomethingNew", "{}", &Tool::Other);
        check("write_stdin", r#"{"session_id":1,"chars":"rm -rf /\n"}"#, &Tool::Other);
        check("write_stdin", r#"{"session_id":1,"chars":""}"#, &Tool::Internal);
    }

    #[test]
    fn a_patch_names_its_files() {
        let patch = "*** Begin Patch\\n*** Update File: a.rs\\n@@\\n-x\\n+y\\n*** Move to: b.rs\\n*** Add File: c/d\\n+z\\n*** End Patch";
        let input = format!(r#"{{"command":"{patch}"}}"#);
        check("apply_patch", &input, &Tool::Write { paths: texts(&["a.rs", "b.rs", "c/d"]) });
    }
}
