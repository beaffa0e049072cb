//! A part of an entry's text that knows where it stands, so that errors can point at it.

use super::error::{EntryError, EntryErrorKind};

/// A part of an entry's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// The part itself.
    pub(crate) text: &'a str,
    /// The offset of its first byte in the entry.
    pub(crate) at: usize,
}

impl<'a> Piece<'a> {
    /// The whole of a text.
    pub(crate) fn whole(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// What follows a prefix, if the piece begins with it.
    pub(crate) fn after(self, prefix: &str) -> Option<Self> {
        let text = self.text.strip_prefix(prefix)?;
        Some(Self {
            text,
            at: self.at + prefix.len(),
        })
    }

    /// The parts before and after the first of a character.
    pub(crate) fn split_once(self, delimiter: char) -> Option<(Self, Self)> {
        let (before, after) = self.text.split_once(delimiter)?;
        Some(self.halves(before, after))
    }

    /// The parts before and after the last of a character.
    pub(crate) fn rsplit_once(self, delimiter: char) -> Option<(Self, Self)> {
        let (before, after) = self.text.rsplit_once(delimiter)?;
        Some(self.halves(before, after))
    }

    /// The parts between the characters.
    pub(crate) fn split(self, delimiter: char) -> impl Iterator<Item = Self> {
        let mut at = self.at;
        self.text.split(delimiter).map(move |text| {
            let piece = Self { text, at };
            at += text.len() + delimiter.len_utf8();
            piece
        })
    }

    /// The first place of a text inside the piece.
    pub(crate) fn find(self, needle: &str) -> Option<Self> {
        let start = self.text.find(needle)?;
        let text = self.text.get(start..start + needle.len())?;
        Some(Self {
            text,
            at: self.at + start,
        })
    }

    /// The first character for which the test holds.
    pub(crate) fn find_char(self, test: impl Fn(char) -> bool) -> Option<Self> {
        let (start, found) = self.text.char_indices().find(|&(_, c)| test(c))?;
        let text = self.text.get(start..start + found.len_utf8())?;
        Some(Self {
            text,
            at: self.at + start,
        })
    }

    /// An error about this piece.
    pub(crate) fn error(
        self,
        kind: EntryErrorKind,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> EntryError {
        EntryError {
            kind,
            range: self.at..self.at + self.text.len(),
            message: message.into(),
            help: help.into(),
        }
    }

    fn halves(self, before: &'a str, after: &'a str) -> (Self, Self) {
        let at = self.at + self.text.len() - after.len();
        (
            Self {
                text: before,
                at: self.at,
            },
            Self { text: after, at },
        )
    }
}
