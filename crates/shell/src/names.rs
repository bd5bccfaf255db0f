//! Rows found by name, for tables that a process mostly asks once: each judges one command and ends, and a tree or a
//! table of hashes of all names would take longer to make than all that is asked of it.

/// Rows by the first byte of their names.
pub(crate) struct ByName<T: 'static>(Vec<Vec<(&'static str, &'static T)>>);

impl<T> ByName<T> {
    /// Of rows with their names, which are separated by spaces.
    pub fn new(rows: impl Iterator<Item = (&'static str, &'static T)>) -> ByName<T> {
        let mut found = Vec::new();
        found.resize_with(usize::from(u8::MAX) + 1, Vec::new);
        for (names, row) in rows {
            for name in names.split(' ') {
                let first = name.bytes().next();
                if let Some(beside) = first.and_then(|first| found.get_mut(usize::from(first))) {
                    beside.push((name, row));
                }
            }
        }
        ByName(found)
    }

    /// The rows of a name, in their order.
    pub fn get<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'static T> + use<'n, T> {
        let beside = name.bytes().next().and_then(|first| self.0.get(usize::from(first)));
        beside.into_iter().flatten().filter(move |(known, _)| *known == name).map(|(_, row)| *row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_each_of_their_names() {
        static ROWS: [(&str, u8); 4] = [("cp mv", 1), ("cat", 2), ("", 3), ("cp", 4)];
        let index = ByName::new(ROWS.iter().map(|(names, row)| (*names, row)));
        for (name, expected) in [("cp", vec![1, 4]), ("mv", vec![1]), ("cat", vec![2]), ("ca", vec![]), ("", vec![])] {
            assert_eq!(index.get(name).copied().collect::<Vec<_>>(), expected, "{name}");
        }
    }
}
