//! How long a connection is waited for: for the headers of a request once they began, for the next request, and for
//! somebody who does not read what was answered.

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::Service;
use hyper::{Request, body};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// How long the headers of a request may take, from the first byte; of the first request, from the connection on.
const HEADERS_WAIT: Duration = Duration::from_secs(5);

/// How long a connection may be silent between two requests.
const SILENCE_WAIT: Duration = Duration::from_secs(30);

/// How long somebody may read nothing of what is answered.
const UNREAD_WAIT: Duration = Duration::from_secs(30);

/// Between two looks at the clock: a bound is exact to this.
const LOOK: Duration = Duration::from_secs(1);

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waits {
    /// For the next request.
    Silent(Instant),
    /// For the rest of its headers.
    Headers(Instant),
    /// For our own answer.
    Answer,
}

#[derive(Debug)]
struct State {
    waits: Waits,
    /// Since when nothing of an answer is taken.
    unread: Option<Instant>,
}

/// The patience with one connection.
#[derive(Clone, Debug)]
pub struct Patience(Arc<Mutex<State>>);

impl Patience {
    /// With a new connection.
    pub fn new(now: Instant) -> Patience {
        Patience(Arc::new(Mutex::new(State { waits: Waits::Headers(now), unread: None })))
    }

    /// Comes back when there is none left.
    pub async fn is_over(&self) {
        loop {
            let wait = self.left(Instant::now());
            if wait.is_zero() {
                return;
            }
            tokio::time::sleep(wait.min(LOOK)).await;
        }
    }

    /// How long it lasts as things stand.
    fn left(&self, now: Instant) -> Duration {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = match state.waits {
            Waits::Silent(since) => Some(since + SILENCE_WAIT),
            Waits::Headers(since) => Some(since + HEADERS_WAIT),
            Waits::Answer => None,
        };
        let unread = state.unread.map(|since| since + UNREAD_WAIT);
        let end = waits.into_iter().chain(unread).min();
        end.map_or(LOOK, |end| end.saturating_duration_since(now))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Bytes came.
    fn heard(&self, now: Instant) {
        self.change(|state| {
            if matches!(state.waits, Waits::Silent(_)) {
                state.waits = Waits::Headers(now);
            }
        });
    }

    /// Bytes of an answer were taken, or not.
    fn offered(&self, is_taken: bool, now: Instant) {
        self.change(|state| state.unread = if is_taken { None } else { state.unread.or(Some(now)) });
    }
}

/// A stream whose other side is watched.
pub struct Watched<S> {
    pub stream: S,
    pub patience: Patience,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.patience.heard(Instant::now());
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Watched<S> {
    fn offered<T>(&self, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.patience.offered(polled.is_ready(), Instant::now());
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.offered(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.offered(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.offered(polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.offered(polled)
    }
}

/// Answers requests, and says when it does.
pub struct Answers {
    pub router: TowerToHyperService<axum::Router>,
    pub patience: Patience,
}

impl Service<Request<Incoming>> for Answers {
    type Response = Response<Answered>;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let answering = Answering::begin(&self.patience);
        let answer = self.router.call(request);
        Box::pin(async move { Ok(answer.await?.map(|body| Answered { body, _answering: answering })) })
    }
}

/// As long as it is answered.
struct Answering(Patience);

impl Answering {
    fn begin(patience: &Patience) -> Answering {
        patience.change(|state| state.waits = Waits::Answer);
        Answering(patience.clone())
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let now = Instant::now();
        self.0.change(|state| state.waits = Waits::Silent(now));
    }
}

/// The body of an answer, which is over when nothing of it is left to be told.
pub struct Answered {
    body: Body,
    _answering: Answering,
}

impl body::Body for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_has_its_own_bound() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let patience = Patience::new(start);
        let check = |after: u32, expected: u64, what: &str| {
            assert_eq!(patience.left(start + second * after), second * u32::try_from(expected).unwrap(), "{what}");
        };
        check(0, 5, "nobody came yet");
        patience.heard(start + second);
        check(4, 1, "more bytes are no more time");
        check(6, 0, "headers that take too long");
        let answering = Answering::begin(&patience);
        check(600, 1, "our own answer takes as long as it takes");
        patience.offered(false, start + second * 10);
        patience.offered(false, start + second * 39);
        check(40, 0, "nobody reads");
        patience.offered(true, start + second * 41);
        check(80, 1, "somebody reads");
        let before = Instant::now();
        drop(answering);
        assert!(patience.left(before) >= SILENCE_WAIT, "between two requests");
        let next = Instant::now() + second * 20;
        patience.heard(next);
        assert_eq!(patience.left(next), HEADERS_WAIT, "the next one began");
    }
}
