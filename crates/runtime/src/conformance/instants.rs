//! Time: one instant for a batch, read after the locks, never before one the ledger has seen.

use super::Room;
use super::samples::{at, change, must, state_key};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

pub(super) fn follow_the_clock(room: &Room) -> Result<(), String> {
    let mut handles = [room.open()?, room.open()?];
    let mut last = None;
    // Forwards, still, backwards, still behind, and on again.
    for (round, micros) in [5_i64, 5, 9, 2, 2, 3, 20, 21].into_iter().enumerate() {
        room.clock.set(at(micros));
        for store in &mut handles {
            let mut folded = None;
            let committed =
                change(store.as_mut(), &[state_key("a")], "tick", &mut |_, instant| folded = Some(instant))?;
            must(folded == Some(committed.at), || format!("{folded:?} was folded and {} returned", committed.at))?;
            let behind = last.is_some_and(|last| at(micros) < last);
            must(committed.clock_ran_backwards == behind, || format!("round {round}: nobody said the clock ran back"))?;
            let expected = if behind { last <= Some(committed.at) } else { committed.at == at(micros) };
            must(expected, || {
                format!("round {round}: {} after {last:?} while the clock says {}", committed.at, at(micros))
            })?;
            last = Some(committed.at);
        }
        // What a new process does not know, the ledger does.
        if round == 3 {
            handles = [room.open()?, room.open()?];
        }
    }
    Ok(())
}

/// Who waited for another batch decides at the instant the wait ended, not at the one it began.
pub(super) fn after_the_locks(room: &Room) -> Result<(), String> {
    let here = state_key("here");
    let mut first = room.open()?;
    let mut second = room.open()?;
    let (go, started) = mpsc::channel::<()>();
    let keys = [here.clone()];
    let waiter = thread::spawn(move || {
        let _gone = started.recv();
        change(second.as_mut(), &keys, "second", &mut |_, _| {})
    });
    let clock = room.clock.clone();
    change(first.as_mut(), &[here], "first", &mut |_, _| {
        let _gone = go.send(());
        // Time for the other to get as far as it gets without the lock.
        thread::sleep(Duration::from_millis(60));
        clock.set(at(1_000));
    })?;
    let committed = waiter.join().unwrap_or_else(|_| Err("the waiting handle panicked".to_owned()))?;
    must(committed.at == at(1_000), || format!("it decided at {} and waited until {}", committed.at, at(1_000)))
}
