//! What the other side of an effect answered: shown, and taken from whoever performed it elsewhere.

use crate::cli::performing::ReportArgs;
use crate::files;
use crate::terminal::{self, FAINT, counted, paint, say};
use kernel::change::AttachedResult;
use kernel::finding::visible;
use kernel::intent::IntentRow;
use kernel::result::{EffectResult, Response, ResponseStatus, ResultBody, ResultRecord, Secrets};

/// The result that a report brings, without the secrets of its intent.
pub fn given(args: &ReportArgs, row: &IntentRow) -> anyhow::Result<Option<AttachedResult>> {
    let Some(path) = &args.result else { return Ok(None) };
    let (body, content_type) = (files::read(path)?, args.content_type.clone());
    let status = ResponseStatus::Reported;
    let response = Response { status, content_type, body, complete: true, secrets: Vec::new() };
    let secrets = row.running.as_deref().map_or_else(|| Secrets::Known(Vec::new()), Secrets::of);
    Ok(Some(AttachedResult::Given(Box::new(EffectResult::of(response, secrets)))))
}

/// Letters of a body on one line.
const LINE_CHARS_MAX: usize = 200;

/// The result on one line: its status and the beginning of its body.
pub fn line(record: &ResultRecord) -> String {
    let body = match record.result.body() {
        ResultBody::Text(text) => {
            let shown: String = visible(text).chars().take(LINE_CHARS_MAX).collect();
            let more = if visible(text).chars().count() > LINE_CHARS_MAX { " …" } else { "" };
            if shown.is_empty() { String::new() } else { format!(": {shown}{more}") }
        }
        ResultBody::Bytes(_) => ": no text; see --json".to_owned(),
        ResultBody::Withheld => ": withheld, because it may hold secrets".to_owned(),
    };
    format!("{}, {}{body}", heading(record), terminal::at(record.at))
}

/// For people.
pub fn tell(record: &ResultRecord) -> anyhow::Result<()> {
    say!("\nresult  {}  {}", heading(record), paint(FAINT, terminal::at(record.at)));
    match record.result.body() {
        ResultBody::Text(text) => say!("{}", visible(text)),
        ResultBody::Bytes(_) => say!("{}", paint(FAINT, "no text; see --json")),
        ResultBody::Withheld => say!("{}", paint(FAINT, "withheld: it may hold secrets that are not kept any more")),
    }
    Ok(())
}

/// How the call ended, and how much came back.
fn heading(record: &ResultRecord) -> String {
    let result = &record.result;
    let status = match result.status() {
        ResponseStatus::Http(status) => format!("HTTP {status}"),
        ResponseStatus::Exit(code) => format!("exit code {code}"),
        ResponseStatus::Signal(signal) => format!("ended by signal {signal}"),
        ResponseStatus::Reported => "reported".to_owned(),
    };
    let content_type = result.content_type().map(|text| format!(", {}", visible(text))).unwrap_or_default();
    let extent = match (result.is_complete(), result.is_cut()) {
        (true, false) => String::new(),
        (true, true) => " (only the beginning is kept)".to_owned(),
        (false, _) => " (it broke off)".to_owned(),
    };
    format!("{status}{content_type}, {}{extent}", counted(result.bytes(), "byte"))
}
