//! Rows found by name. A process that judges one command and ends asks a handful of times, and looking through all rows
//! takes less than making an index of them; one that lives on gets the index.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Times that all rows are looked through before an index pays.
const LOOKS_MAX: usize = 24;

/// Shows every row with its names, which are separated by spaces.
type Show<T> = fn(&mut dyn FnMut(&'static str, &'static T));

/// Rows with the names they have.
type Named<T> = Vec<(&'static str, &'static T)>;

/// A table of rows that have names.
pub(crate) struct ByName<T: 'static> {
    show: Show<T>,
    looks: AtomicUsize,
    /// Rows by the first byte of their names.
    index: OnceLock<Vec<Named<T>>>,
}

impl<T> ByName<T> {
    /// Of the rows that are shown.
    pub const fn new(show: Show<T>) -> ByName<T> {
        ByName { show, looks: AtomicUsize::new(0), index: OnceLock::new() }
    }

    /// The rows of a name, in their order.
    pub fn get(&self, name: &str) -> Vec<&'static T> {
        let mut found = Vec::new();
        if self.index.get().is_none() && self.looks.fetch_add(1, Ordering::Relaxed) < LOOKS_MAX {
            (self.show)(&mut |names, row| {
                // Most rows do not have the letters at all, which is seen many letters at a time.
                if names.contains(name) && has_word(names.as_bytes(), name.as_bytes()) {
                    found.push(row);
                }
            });
            return found;
        }
        let index = self.index.get_or_init(|| self.indexed());
        let beside = name.bytes().next().and_then(|first| index.get(usize::from(first)));
        found.extend(beside.into_iter().flatten().filter(|(known, _)| *known == name).map(|(_, row)| *row));
        found
    }

    fn indexed(&self) -> Vec<Named<T>> {
        let mut index = Vec::new();
        index.resize_with(usize::from(u8::MAX) + 1, Vec::new);
        (self.show)(&mut |names, row| {
            for name in names.split(' ') {
                let first = name.bytes().next();
                if let Some(beside) = first.and_then(|first| index.get_mut(usize::from(first))) {
                    beside.push((name, row));
                }
            }
        });
        index
    }
}

/// Whether a word stands among words. Nearly all do not begin alike, so nearly all are left at their first byte.
fn has_word(mut words: &[u8], word: &[u8]) -> bool {
    let Some(first) = word.first() else { return false };
    loop {
        let is_whole = |rest: &[u8]| rest.first().is_none_or(|next| *next == b' ');
        if words.first() == Some(first) && words.strip_prefix(word).is_some_and(is_whole) {
            return true;
        }
        match words.iter().position(|byte| *byte == b' ').and_then(|space| words.get(space + 1..)) {
            Some(rest) => words = rest,
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static ROWS: [(&str, u8); 4] = [("cp mv", 1), ("cat", 2), ("", 3), ("cp", 4)];

    #[test]
    fn rows_are_found_by_each_of_their_names_with_an_index_and_without() {
        let table = ByName::new(|see| ROWS.iter().for_each(|(names, row)| see(names, row)));
        let check = || {
            for (name, expected) in
                [("cp", vec![1, 4]), ("mv", vec![1]), ("cat", vec![2]), ("ca", vec![]), ("", vec![]), ("p", vec![])]
            {
                let found: Vec<u8> = table.get(name).into_iter().copied().collect();
                assert_eq!(found, expected, "{name}");
            }
        };
        check();
        assert!(table.index.get().is_none(), "a few looks make no index");
        for _ in 0..LOOKS_MAX {
            check();
        }
        assert!(table.index.get().is_some(), "many looks make one");
    }
}
