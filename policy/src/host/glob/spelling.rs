//! A glob as it would be written, put together from the right without an allocation.

/// The bytes of the longest spelling: those of the longest name, and `**.` in front.
const BYTES: usize = 256;

/// A text that grows to the left.
#[derive(Debug)]
pub(super) struct Spelling {
    buffer: [u8; BYTES],
    start: usize,
    /// Where the tail starts.
    tail: usize,
}

impl Spelling {
    /// The tail alone; it is a part of a name, and so fits.
    pub(super) fn new(tail: &str) -> Self {
        let mut spelling = Self {
            buffer: [0; BYTES],
            start: BYTES,
            tail: BYTES,
        };
        if spelling.push(tail).is_some() {
            spelling.tail = spelling.start;
        }
        spelling
    }

    /// Takes away all but the tail.
    pub(super) fn restart(&mut self) {
        self.start = self.tail;
    }

    /// Puts a piece in front; `None` for what is longer than any glob that matches a name.
    pub(super) fn push(&mut self, piece: &str) -> Option<()> {
        let start = self.start.checked_sub(piece.len())?;
        let room = self.buffer.get_mut(start..self.start)?;
        room.copy_from_slice(piece.as_bytes());
        self.start = start;
        Some(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == BYTES
    }

    pub(super) fn text(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }
}
