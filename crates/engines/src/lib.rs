//! engines

pub mod yaml;
