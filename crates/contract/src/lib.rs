//! How a rule is written: the text of a contract in both forms, read into [`kernel::contract::Contract`].
//!
//! | to | use |
//! |---|---|
//! | read a contract, with every error at its place | [`read`] |
//! | know what is probably not meant | [`lint`] |
//! | say in plain sentences what it comes to | [`sentence`] |
//! | start from a template, or from schemas of tools | [`TEMPLATES`], [`draft`] |
//! | take over rules written for something else | [`import`] |
//! | judge the tests a contract carries | [`rehearse`] |
//! | know every key, for editors and documentation | [`keys`], [`SCHEMA`] |

mod cursor;
pub mod defaults;
pub mod draft;
pub mod import;
pub mod keys;
pub mod lint;
mod plugins;
mod published;
pub mod read;
pub mod rehearse;
pub mod sentence;
mod short_form;
pub mod source;
pub mod tests;
mod watches;
mod witnesses;

pub use published::{SCHEMA, TEMPLATES, Template, template};
pub use short_form::types::{SHORT_TYPES, ShortType};
