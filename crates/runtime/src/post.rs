//! Answers on their way out: those of a large batch are handed over by a second thread while the writer goes on.

use crate::answer_slot::Giver;
use crate::crash::around;
use crate::sequencer::Reply;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, Scope};

/// Answers from which on a second thread is worth waking.
const SHARED_FROM: usize = 48;

/// Batches of answers that may wait; then the writer waits.
const WAITING_MAX: usize = 4;

/// An answer, and who waits for it.
pub struct Letter {
    pub giver: Giver<Reply>,
    pub reply: Reply,
}

impl Letter {
    fn deliver(self) {
        around("sequencer.answer", || self.giver.give(self.reply));
    }
}

/// Hands answers out. What they are about is durable.
pub struct Post<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    second: Option<SyncSender<Vec<Letter>>>,
}

impl<'scope, 'env> Post<'scope, 'env> {
    /// The scope ends only after the last answer was handed out.
    pub fn new(scope: &'scope Scope<'scope, 'env>) -> Post<'scope, 'env> {
        Post { scope, second: None }
    }

    /// Hands out the answers of a batch.
    pub fn send(&mut self, letters: Vec<Letter>) {
        if letters.len() < SHARED_FROM {
            return letters.into_iter().for_each(Letter::deliver);
        }
        if self.second.is_none() {
            self.second = self.started();
        }
        let unsent = match &self.second {
            Some(second) => second.send(letters).err().map(|refused| refused.0),
            None => Some(letters),
        };
        // Where the machine gives no thread, this one does it.
        unsent.into_iter().flatten().for_each(Letter::deliver);
    }

    fn started(&self) -> Option<SyncSender<Vec<Letter>>> {
        let (sender, receiver) = sync_channel::<Vec<Letter>>(WAITING_MAX);
        let deliver = move || receiver.iter().flatten().for_each(Letter::deliver);
        Builder::new().name("post".to_owned()).spawn_scoped(self.scope, deliver).ok().map(|_| sender)
    }
}
