//! What happens, as server-sent events: a cursor over the ledger, which is the only buffer there is.
//!
//! Whoever reads slowly is told from the ledger at its own pace, and whoever reads nothing is let go. What many are told
//! at the same place is read and written once for all of them.

use crate::call::{Call, Reply};
use crate::listen;
use crate::problem::Problem;
use crate::rate::OpenStream;
use crate::routes::{Answering, bearer, recognized};
use crate::site::Site;
use crate::tenants::Tenant;
use axum::body::Body;
use axum::http::{HeaderName, StatusCode, header};
use bytes::Bytes;
use hyper::body::Frame;
use kernel::reasons::Reason;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc};
use writkeeper::events;

/// The media type.
pub const MEDIA: &str = "text/event-stream";

/// Records of one page.
const PAGE: u64 = 128;

/// Pages that are kept for others at the same place.
const PAGES: usize = 32;

/// Pieces that wait for a reader.
const PIECES: usize = 2;

/// How long a reader may take for a piece before it is let go.
const READ_WAIT: Duration = Duration::from_secs(30);

/// Between two looks whether a reader is still known.
const LOOKED: Duration = Duration::from_secs(1);

/// After so long without news a line says that the connection lives.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Streams that an agent may have open: it hears of its own things alone, and needs one for them.
const AGENT_STREAMS_MAX: usize = 16;

/// Seconds after which a reader that had too many streams may look again.
const STREAM_WAIT: u32 = 5;

/// Between two looks of one reader: what happens in between is told together.
const GATHER: Duration = Duration::from_millis(20);

/// One event as it goes out, and what it is picked by.
struct TextEvent {
    kind: String,
    agent: Option<String>,
    flow: Option<String>,
    bytes: Bytes,
    /// Whether its body was erased, so that nothing can be told but that something is missing.
    is_gap: bool,
}

/// A page, by the indices it holds.
type Page = ((u64, u64), Arc<Vec<TextEvent>>);

/// Pages that were made lately.
#[derive(Default)]
pub struct Pages(Mutex<VecDeque<Page>>);

/// What one reader wants to hear of.
struct Wanted {
    kind: Option<String>,
    agent: Option<String>,
    flow: Option<String>,
    /// An agent hears of what is its own, and of nothing else.
    own: Option<String>,
    /// After so many the stream ends; without it never.
    limit: Option<u64>,
}

impl Wanted {
    fn has(&self, event: &TextEvent) -> bool {
        let fits =
            |wanted: &Option<String>, is: Option<&str>| wanted.as_deref().is_none_or(|wanted| is == Some(wanted));
        let (agent, flow) = (event.agent.as_deref(), event.flow.as_deref());
        if event.is_gap {
            // Whose it was nobody knows any more.
            return true;
        }
        fits(&self.own, agent)
            && fits(&self.agent, agent)
            && fits(&self.flow, flow)
            && fits(&self.kind, Some(&event.kind))
    }
}

/// Tells everything behind an index, and then whatever is committed.
pub fn stream(call: Call) -> Answering {
    Box::pin(async move {
        let last = call.headers.get("last-event-id").map(|id| {
            let id = id.to_str().ok().and_then(|id| id.trim().parse::<u64>().ok());
            id.ok_or_else(|| Problem::invalid("`Last-Event-ID` is no index of an event"))
        });
        // A reader that comes back knows better than the address it was given at first.
        let after = last.transpose()?.or(call.whole("after"));
        let wanted = Wanted {
            kind: call.asked("type").map(|kind| kind.trim_start_matches(events::TYPE_PREFIX).to_owned()),
            agent: call.asked("agent").map(str::to_owned),
            flow: call.asked("flow").map(str::to_owned),
            own: call.caller.own_agent().map(str::to_owned),
            limit: call.whole("limit"),
        };
        let open = opened(&call)?;
        let (sender, receiver) = mpsc::channel(PIECES);
        let next = after.map_or(0, |after| after.saturating_add(1));
        let shown = bearer(&call.headers).unwrap_or_default().to_owned();
        let reader = Reader { site: call.site.clone(), shown, looked: Instant::now(), _open: open };
        tokio::spawn(tell(call.caller.tenant.clone(), next, wanted, sender, reader));
        let mut reply = Reply::bytes(MEDIA, Bytes::new());
        reply.body = Body::new(Pieces(receiver));
        let unbuffered = HeaderName::from_static("x-accel-buffering");
        Ok(reply.with(header::CACHE_CONTROL, "no-store").with(unbuffered, "no"))
    })
}

/// A place among the streams of the key that asks; without a bound one key could take every connection.
fn opened(call: &Call) -> Result<OpenStream, Problem> {
    let most = match call.caller.own_agent() {
        Some(_) => AGENT_STREAMS_MAX.min(call.site.options.streams),
        None => call.site.options.streams,
    };
    call.site.rates.stream(call.caller.account, most).ok_or_else(|| {
        let values = [("who", &*call.caller.name), ("most", &*most.to_string())];
        let problem = Problem::of(StatusCode::TOO_MANY_REQUESTS, Reason::TooManyStreams, &values);
        Problem { retry_after: Some(STREAM_WAIT), ..problem }
    })
}

/// Who reads, as long as what they showed counts: a key that is revoked ends what it opened.
struct Reader {
    site: Arc<Site>,
    shown: String,
    looked: Instant,
    /// It counts among the streams of its key until it is let go.
    _open: OpenStream,
}

impl Reader {
    /// Whether they may go on reading; nobody is looked up twice within a second.
    async fn may_read(&mut self) -> bool {
        if self.looked.elapsed() < LOOKED {
            return true;
        }
        self.looked = Instant::now();
        let known = recognized(&self.site, &self.shown).await;
        // A store that does not answer now has not said no.
        !known.is_err_and(|problem| matches!(problem.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
    }
}

/// Goes along the ledger until the reader leaves, is too slow, or is known no more, or until the service ends.
async fn tell(tenant: Arc<Tenant>, mut next: u64, wanted: Wanted, sender: mpsc::Sender<Bytes>, mut reader: Reader) {
    let mut ending = reader.site.ending.subscribe();
    let commits = tenant.keeper.runtime().commits().clone();
    let mut left = wanted.limit.unwrap_or(u64::MAX);
    if sender.send_timeout(Bytes::from_static(b": ok\n\n"), READ_WAIT).await.is_err() {
        return;
    }
    let is_known = look(&tenant, next).await;
    if !is_known && next > commits.size() {
        // Whether what the reader knows was lost cannot be said now, so nothing is: it comes back.
        return;
    }
    // A reader that knows more than there is read a ledger that was lost, after a restore for example.
    let size = commits.size();
    if next > size && size > 0 {
        let gap = gap(size, next.saturating_sub(1));
        next = size;
        if sender.send_timeout(Bytes::from(gap), READ_WAIT).await.is_err() {
            return;
        }
    }
    loop {
        // What other processes commit is noticed for all who wait, so nobody has to look.
        let size = commits.size();
        while next < size {
            if !reader.may_read().await {
                return;
            }
            let to = size.min(next.saturating_add(PAGE));
            let Some(page) = page(&tenant, (next, to)).await else { return };
            let mut told = Vec::new();
            for event in page.iter().filter(|event| wanted.has(event)) {
                if left > 0 {
                    told.extend_from_slice(&event.bytes);
                    left -= 1;
                }
            }
            next = to;
            if !told.is_empty() && sender.send_timeout(Bytes::from(told), READ_WAIT).await.is_err() || left == 0 {
                return;
            }
        }
        tokio::select! {
            _ = commits.beyond(next) => tokio::time::sleep(GATHER).await,
            () = tokio::time::sleep(HEARTBEAT) => {
                if !reader.may_read().await || sender.send_timeout(Bytes::from_static(b": \n\n"), READ_WAIT).await.is_err() {
                    return;
                }
            }
            () = sender.closed() => return,
            () = listen::ended(&mut ending) => return,
        }
    }
}

/// Finds out how many records there are, once for all who come at the same time, and again for whoever knows of more;
/// whether that is known now. A store that does not answer is looked at again by whoever waits.
async fn look(tenant: &Arc<Tenant>, next: u64) -> bool {
    let _turn = tenant.pages.0.lock().await;
    let known = tenant.keeper.runtime().commits().size();
    if known > 0 && next <= known {
        return true;
    }
    let tenant = tenant.clone();
    let looked = tokio::task::spawn_blocking(move || tenant.keeper.runtime().commits().look());
    looked.await.unwrap_or_default()
}

/// The events of records, made once for all who are at the same place.
async fn page(tenant: &Arc<Tenant>, (from, to): (u64, u64)) -> Option<Arc<Vec<TextEvent>>> {
    let mut pages = tenant.pages.0.lock().await;
    if let Some((_, known)) = pages.iter().find(|(place, _)| *place == (from, to)) {
        return Some(known.clone());
    }
    let owner = tenant.clone();
    let made = tokio::task::spawn_blocking(move || made(&owner, from, to)).await.ok().flatten()?;
    let made = Arc::new(made);
    if pages.len() >= PAGES {
        pages.pop_front();
    }
    pages.push_back(((from, to), made.clone()));
    Some(made)
}

fn made(tenant: &Tenant, from: u64, to: u64) -> Option<Vec<TextEvent>> {
    let runtime = tenant.keeper.runtime();
    let count = usize::try_from(to.saturating_sub(from)).ok()?;
    let records = runtime.records(from, count).ok()?;
    let text = |record: &runtime::ports::store::StoredRecord| match events::of(record) {
        Some(event) => {
            let (agent, flow) = events::whose(runtime, &event);
            let json = event.to_json().to_canonical();
            let text = format!("id: {}\nevent: {}{}\ndata: {json}\n\n", event.index, events::TYPE_PREFIX, event.kind);
            TextEvent { kind: event.kind, agent, flow, bytes: Bytes::from(text), is_gap: false }
        }
        None => {
            let text = format!("id: {}\n{}", record.index, gap(record.index, record.index));
            TextEvent { kind: "gap".to_owned(), agent: None, flow: None, bytes: Bytes::from(text), is_gap: true }
        }
    };
    Some(records.iter().map(text).collect())
}

/// Says that something is missing, from one index to another.
fn gap(from: u64, to: u64) -> String {
    format!("event: gap\ndata: {{\"from\":{from},\"to\":{to}}}\n\n")
}

/// The body of an answer that comes piece by piece.
struct Pieces(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
