//! Code for programs whose effect a table cannot say.

pub(crate) mod archive;
pub(crate) mod builds;
pub(crate) mod builtin;
pub(crate) mod container;
pub(crate) mod copy;
pub(crate) mod database;
pub(crate) mod each;
pub(crate) mod edit;
pub(crate) mod fetch;
pub(crate) mod filter;
pub(crate) mod find;
pub(crate) mod git;
pub(crate) mod git_tree;
pub(crate) mod github;
pub(crate) mod handed;
pub(crate) mod language;
pub(crate) mod modes;
pub(crate) mod package;
pub(crate) mod remove;
pub(crate) mod sed;
pub(crate) mod statement;
pub(crate) mod system;
pub(crate) mod texts;
pub(crate) mod wrapper;
