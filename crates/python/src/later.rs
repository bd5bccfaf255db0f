//! An answer that will come: polled from the event loop, and woken without a runtime of its own.

use crate::deciding::{Reply, reply};
use pyo3::prelude::*;
use runtime::{Answered, Pending};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// An answer that will come. Letting go of it stops the waiting and nothing else: the decision is made all the same.
#[pyclass(frozen, module = "writkeeper._native")]
pub struct Later {
    pending: Mutex<Option<Pending>>,
}

impl Later {
    /// Of a command on its way.
    pub fn of(pending: Pending) -> Later {
        Later { pending: Mutex::new(Some(pending)) }
    }

    fn polled(&self, waker: &Waker) -> Option<Answered> {
        let mut held = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let pending = held.as_mut()?;
        match Pin::new(pending).poll(&mut Context::from_waker(waker)) {
            Poll::Ready(answered) => {
                *held = None;
                Some(answered)
            }
            Poll::Pending => None,
        }
    }
}

#[pymethods]
impl Later {
    /// The reply, once; nothing while it is on its way, and then `wake` is called from another thread when it is worth
    /// asking again.
    fn poll(&self, py: Python<'_>, wake: Py<PyAny>) -> PyResult<Option<Reply>> {
        let waker = Waker::from(Arc::new(Called(wake)));
        let polled = py.detach(|| self.polled(&waker).map(|answered| reply(&answered)));
        polled.transpose().map_err(|fault| fault.raised(py))
    }
}

/// Calls a Python function instead of waking a task.
struct Called(Py<PyAny>);

impl Wake for Called {
    fn wake(self: Arc<Called>) {
        // Nothing to wake where the interpreter is gone, or the loop that waited is closed.
        let _ = Python::try_attach(|py| self.0.call0(py).map(drop));
    }
}
