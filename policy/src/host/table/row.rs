//! A row of a name table: a text and its answers in one cache line; and rows while they are made.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use super::rows::Rows;

/// As many bytes of text as a row has room for beside three answers of eight bytes.
const SHORT: usize = 34;

/// The text of a row.
#[derive(Clone, Copy, Debug)]
enum Key {
    Short {
        length: u8,
        bytes: [u8; SHORT],
    },
    /// Where the text stands among the long ones.
    Long {
        length: u16,
        at: u32,
    },
}

/// What is filed under one text: a name, a tail, or a glob as it is written.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Row<A> {
    key: Key,
    /// Which globs have this literal tail: a number of the table's, [`NO_GLOBS`] for none.
    pub(super) globs: u32,
    /// Of the text itself.
    pub(super) exact: Option<A>,
    /// Of `*.` and the text.
    pub(super) below: Option<A>,
    /// Of `**.` and the text.
    pub(super) at_or_below: Option<A>,
}

/// No number of globs.
pub(super) const NO_GLOBS: u32 = u32::MAX;

/// Rows by text, to be added to.
#[derive(Debug)]
pub(super) struct RowsBuilder<A> {
    table: HashTable<Row<A>>,
    long: Vec<u8>,
    hash: RandomState,
}

impl<A> RowsBuilder<A> {
    pub(super) fn new() -> Self {
        Self {
            table: HashTable::new(),
            long: Vec::new(),
            hash: RandomState::default(),
        }
    }

    /// The row of a text, made where there is none.
    pub(super) fn row(&mut self, text: &str) -> &mut Row<A> {
        let Self { table, long, hash } = self;
        let text = text.as_bytes();
        table
            .entry(
                hash_of(hash, text),
                |row| row.text(long) == Some(text),
                |row| hash_of(hash, row.text(long).unwrap_or_default()),
            )
            .or_insert_with(|| Row {
                key: Key::new(text, long),
                globs: NO_GLOBS,
                exact: None,
                below: None,
                at_or_below: None,
            })
            .into_mut()
    }

    /// The same rows with other answers and numbers of globs, not to be added to.
    pub(super) fn build<B>(
        self,
        globs: impl Fn(u32) -> u32,
        answer: impl Fn(A) -> Option<B>,
    ) -> Rows<B> {
        let Self { table, long, hash } = self;
        let row = |row: Row<A>| Row {
            key: row.key,
            globs: globs(row.globs),
            exact: row.exact.and_then(&answer),
            below: row.below.and_then(&answer),
            at_or_below: row.at_or_below.and_then(&answer),
        };
        Rows::new(table.into_iter().map(row).collect(), long.into(), hash)
    }
}

pub(super) fn hash_of(hash: &RandomState, text: &[u8]) -> u64 {
    let mut hasher = hash.build_hasher();
    hasher.write(text);
    hasher.finish()
}

impl<A> Row<A> {
    /// The text, of which a long one stands among the `long`.
    pub(super) fn text<'a>(&'a self, long: &'a [u8]) -> Option<&'a [u8]> {
        match &self.key {
            Key::Short { length, bytes } => bytes.get(..usize::from(*length)),
            Key::Long { length, at } => {
                let at = *at as usize;
                long.get(at..at + usize::from(*length))
            }
        }
    }
}

impl Key {
    fn new(text: &[u8], long: &mut Vec<u8>) -> Self {
        let mut bytes = [0; SHORT];
        if let (Some(room), Ok(length)) = (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            room.copy_from_slice(text);
            return Self::Short { length, bytes };
        }
        // An entry has at most a thousand bytes, and the limits on files keep all of them far below
        // 4 GiB; a text that could not be addressed would be found by no name.
        let key = Self::Long {
            length: u16::try_from(text.len()).unwrap_or(u16::MAX),
            at: u32::try_from(long.len()).unwrap_or(u32::MAX),
        };
        long.extend_from_slice(text);
        key
    }
}
