//! Getting a thread onto another processor at once.
//!
//! The system puts a new thread onto the processor of whoever made it and lets it wait there; that another one idles is
//! noticed a few milliseconds later. A hook is gone by then.

/// The processor this thread runs on, where that can be told.
#[cfg(target_os = "linux")]
pub fn here() -> Option<usize> {
    Some(rustix::thread::sched_getcpu())
}

/// Leaves a processor for any other this thread may use, if it runs there. Afterwards it may be moved as before.
#[cfg(target_os = "linux")]
pub fn than(processor: Option<usize>) {
    use rustix::thread::{sched_getaffinity, sched_setaffinity};
    let (Some(processor), Ok(allowed)) = (processor.filter(|from| here() == Some(*from)), sched_getaffinity(None))
    else {
        return;
    };
    let mut others = allowed;
    others.unset(processor);
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        let _as_before = sched_setaffinity(None, &allowed);
    }
}

/// The processor this thread runs on, where that can be told.
#[cfg(not(target_os = "linux"))]
pub fn here() -> Option<usize> {
    None
}

/// Leaves a processor for any other, where that can be done.
#[cfg(not(target_os = "linux"))]
pub fn than(_processor: Option<usize>) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn a_thread_that_left_may_be_moved_as_before() {
        let before = sched_getaffinity(None).unwrap();
        let from = here();
        than(from);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
        // Nobody leaves a processor on which it is not.
        than(None);
        than(Some(rustix::thread::CpuSet::MAX_CPU));
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
