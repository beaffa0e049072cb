//! A text with its name: what positions in diagnostics and rules refer to.

use std::sync::Arc;

/// One policy text, as read by the caller.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceFile {
    /// The name shown to people: a path, or `built-in default`.
    pub name: Arc<str>,
    /// The whole text, without a byte-order mark.
    pub text: Arc<str>,
}

impl SourceFile {
    /// A source; a leading byte-order mark is dropped.
    pub fn new(name: impl Into<Arc<str>>, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            name: name.into(),
            text: text.into(),
        }
    }
}

/// A part of a source, in bytes, with the line and column of its start for people.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte; never less than `start`.
    pub end: usize,
    /// Line of the start, from 1.
    pub line: u32,
    /// Column of the start in characters, from 1.
    pub column: u32,
}
