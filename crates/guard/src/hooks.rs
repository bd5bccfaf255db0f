//! Hooks of agent hosts: what each host sends becomes one [`Call`], and one [`Reply`] becomes what that host reads.
//!
//! Both directions are pure. To add a host: a file under `hooks/` with `const HOST: Dialect`, and its two lines here.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
pub mod dialect;
mod gemini;
mod nested;
mod qwen;
pub mod tools;
pub mod trust;

pub use dialect::Host;

use shell::HostFiles;
use std::sync::LazyLock;
use tools::Tool;
use values::json::{Json, Object};

/// Every host. Lists of anything that hosts have are iterations over this one.
pub const HOSTS: [Host; 6] =
    [&claude_code::HOST, &codex::HOST, &cursor::HOST, &gemini::HOST, &qwen::HOST, &copilot::HOST];

/// The host of a word.
pub fn host(word: &str) -> Option<Host> {
    HOSTS.into_iter().find(|host| host.word == word)
}

/// The files of all hosts, for the reader of commands.
pub fn host_files() -> &'static [HostFiles] {
    static FILES: LazyLock<[HostFiles; HOSTS.len()]> = LazyLock::new(|| HOSTS.map(|host| host.files));
    FILES.as_slice()
}

/// Moments at which a host calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    PreTool,
    PostTool,
    Stop,
    SessionStart,
    Prompt,
}

impl Event {
    /// Every moment.
    pub const ALL: [Event; 5] = [Event::PreTool, Event::PostTool, Event::Stop, Event::SessionStart, Event::Prompt];

    /// The moment of a word.
    pub fn from_word(word: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.word() == word)
    }

    /// What happens then.
    pub fn summary(self) -> &'static str {
        match self {
            Event::PreTool => "A tool is about to run; the only moment at which it can be stopped",
            Event::PostTool => "A tool has run",
            Event::Stop => "The agent says it is done",
            Event::SessionStart => "A session begins",
            Event::Prompt => "A person typed something",
        }
    }

    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Event::PreTool => "pre-tool",
            Event::PostTool => "post-tool",
            Event::Stop => "stop",
            Event::SessionStart => "session-start",
            Event::Prompt => "prompt",
        }
    }
}

/// What a host sent, in our words.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The host's own name of the moment.
    pub moment: String,
    /// The host's session.
    pub session: String,
    /// Where the agent works.
    pub cwd: String,
    /// The host's id of the call, where it has one.
    pub id: Option<String>,
    /// The host's name of the tool.
    pub name: String,
    /// The tool's input as the host sent it.
    pub input: Object,
    /// What kind of tool it is and what it would touch.
    pub tool: Tool,
    /// What the tool returned.
    pub result: Option<Json>,
    /// Whether the tool says it failed.
    pub failed: bool,
    /// What a person typed; at a stop, what the agent said last.
    pub prompt: Option<String>,
    /// Whether a question of ours would be shown to a person.
    pub can_ask: bool,
    /// Whether the host goes on only because a stop was refused before.
    pub stop_refused_before: bool,
}

/// What the host is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// Nothing: the host's own rules go on.
    Pass,
    /// The call runs, and the agent reads this.
    Warn(String),
    /// The call does not run (or the agent does not stop), and this says why.
    Deny(String),
    /// A person decides.
    Ask(String),
}

/// What is printed for a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookOutput {
    /// An object, always.
    pub stdout: String,
    /// For the host's second channel.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl HookOutput {
    /// An object and nothing else.
    pub fn object(object: &serde_json::Value) -> HookOutput {
        HookOutput { stdout: object.to_string(), stderr: String::new(), code: 0 }
    }
}

/// What a host sent, in our words; the error says what is wrong with it.
pub fn read(host: Host, event: Event, sent: &Json) -> Result<Call, String> {
    let mut call = (host.read)(event, sent)?;
    if event == Event::Stop {
        // Where a host tells it: what the agent said last.
        let last = text(sent, "last_assistant_message").or_else(|| text(sent, "prompt_response"));
        call.prompt = last.map(str::to_owned);
    }
    Ok(call)
}

/// What the host reads. `moment` is its own name of the moment, where it was readable.
pub fn write(host: Host, event: Event, moment: &str, reply: &Reply) -> HookOutput {
    (host.write)(event, moment, reply)
}

/// A member that is text.
fn text<'j>(sent: &'j Json, key: &str) -> Option<&'j str> {
    sent.get(key).and_then(Json::as_text)
}

/// A member that has to be text.
fn required(sent: &Json, key: &str) -> Result<String, String> {
    match sent.get(key) {
        Some(Json::Text(text)) => Ok(text.clone()),
        Some(other) => Err(format!("`{key}` is {}, not text", other.kind())),
        None => Err(format!("`{key}` is missing")),
    }
}

/// The host's name of the moment, which has to be one of those that fit.
fn moment(sent: &Json, event: Event, known: &[&str]) -> Result<String, String> {
    let name = required(sent, "hook_event_name")?;
    if known.contains(&name.as_str()) {
        return Ok(name);
    }
    Err(format!("`hook_event_name` is `{name}`, which is not `{}` for {}", known.join("` or `"), event.word()))
}
