//! What is known about the bytes that flow between commands.

use crate::limits::VALUE_BYTES_MAX;
use crate::mark;

/// Bytes on standard input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stream {
    /// A terminal, or nothing: no command of this text feeds it.
    Absent,
    /// Exactly this text, marks included.
    Text(String),
    /// Bytes that came from another machine.
    Remote,
    /// A secret.
    Secret,
    /// Something else that cannot be known.
    Opaque,
}

impl Stream {
    /// Known text, or [`Stream::Opaque`] when it is larger than any value may be.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.len() > VALUE_BYTES_MAX { Self::Opaque } else { Self::Text(text) }
    }

    /// The value a substitution yields.
    pub fn value(&self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Text(text) => text.trim_end_matches('\n').to_owned(),
            Self::Remote => mark::REMOTE.to_string(),
            Self::Secret => mark::SECRET.to_string(),
            Self::Opaque => mark::OUTPUT.to_string(),
        }
    }

    /// The text as it is, if all of it is known or marked.
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Remote | Self::Secret | Self::Opaque => None,
        }
    }

    /// Output of one command after another.
    pub fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Absent, other) | (other, Self::Absent) => other,
            (Self::Text(first), Self::Text(second)) => Self::text(first + &second),
            (Self::Remote, _) | (_, Self::Remote) => Self::Remote,
            (Self::Secret, _) | (_, Self::Secret) => Self::Secret,
            (Self::Opaque, _) | (_, Self::Opaque) => Self::Opaque,
        }
    }

    /// What remains known after a command that changes bytes in a way not followed here.
    pub fn blurred(&self) -> Self {
        match self {
            Self::Absent | Self::Opaque => Self::Opaque,
            Self::Text(text) if text.contains(mark::REMOTE) => Self::Remote,
            Self::Text(_) => Self::Opaque,
            Self::Remote => Self::Remote,
            Self::Secret => Self::Secret,
        }
    }
}
