//! The guard of a coding agent: its files, what only a person may change, and what a call would do.
//!
//! Nothing here decides. Facts about a call go into a proposal, and the contract's rules judge them.

mod archive_members;
pub mod call_facts;
pub mod command_line;
pub mod contract_cache;
pub mod daemon;
mod disk;
pub mod fetch_target;
pub mod hard_links;
pub mod hooks;
pub mod installed;
pub mod judge;
pub mod off_switch;
mod package_install;
pub mod path_expansion;
pub mod place;
pub mod probe;
pub mod protected_files;
pub mod push_target;
pub mod question;
#[cfg(test)]
#[cfg(feature = "bugs")]
mod seeded_faults;
pub mod session;
pub mod session_line;
pub mod settings_backup;
pub mod stop_check;
pub mod text_diff;
pub mod ticket;
pub mod trust;
pub mod whole_file;
pub mod wiring;
pub mod wrapper;
