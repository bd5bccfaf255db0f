//! Writing members of the full form.
//!
//! Keys of release 0.2.0 are written with their defaults. A key that came later is written only where the contract has
//! it (`put_some`, or a test for emptiness): a contract that does not use it keeps its digest through every release.

use std::collections::BTreeMap;
use values::json::{Json, Object};

#[derive(Default)]
pub(super) struct Members(Object);

impl Members {
    pub(super) fn put(&mut self, key: &str, value: Json) {
        self.0.insert(key.to_owned(), value);
    }

    pub(super) fn put_some<T: Into<Json>>(&mut self, key: &str, value: Option<T>) {
        if let Some(value) = value {
            self.put(key, value.into());
        }
    }

    /// Inert keys would report themselves on reading back if they stood there empty.
    pub(super) fn drop_empty(&mut self, keys: &[&str]) {
        for key in keys {
            if self.0.get(*key) == Some(&Json::List(Vec::new())) {
                self.0.remove(*key);
            }
        }
    }

    pub(super) fn done(self) -> Json {
        Json::Object(self.0)
    }
}

pub(super) fn list<T>(items: &[T], each: fn(&T) -> Json) -> Json {
    Json::List(items.iter().map(each).collect())
}

pub(super) fn map<T>(items: &BTreeMap<String, T>, each: fn(&T) -> Json) -> Json {
    Json::Object(items.iter().map(|(key, value)| (key.clone(), each(value))).collect())
}
