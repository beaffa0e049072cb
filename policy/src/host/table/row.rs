//! The rows of a name table: a text and its answers in one cache line.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

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

/// The rows by text.
#[derive(Debug)]
pub(super) struct Rows<A> {
    table: HashTable<Row<A>>,
    long: Vec<u8>,
    hash: RandomState,
}

impl<A> Rows<A> {
    pub(super) fn new() -> Self {
        Self {
            table: HashTable::new(),
            long: Vec::new(),
            hash: RandomState::default(),
        }
    }

    pub(super) fn find(&self, text: &[u8]) -> Option<&Row<A>> {
        let hash = self.hash.hash_one(text);
        self.table
            .find(hash, |row| text_of(row, &self.long) == Some(text))
    }

    /// The row of a text, made where there is none.
    pub(super) fn row(&mut self, text: &str) -> &mut Row<A> {
        let Self { table, long, hash } = self;
        let text = text.as_bytes();
        table
            .entry(
                hash.hash_one(text),
                |row| text_of(row, long) == Some(text),
                |row| hash.hash_one(text_of(row, long).unwrap_or_default()),
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

    /// The same rows with other answers and numbers of globs, and no more room than they need.
    pub(super) fn map<B>(
        self,
        globs: impl Fn(u32) -> u32,
        answer: impl Fn(A) -> Option<B>,
    ) -> Rows<B> {
        let mut rows = Rows {
            table: HashTable::with_capacity(self.table.len()),
            long: self.long,
            hash: self.hash,
        };
        rows.long.shrink_to_fit();
        for row in self.table {
            let row = Row {
                key: row.key,
                globs: globs(row.globs),
                exact: row.exact.and_then(&answer),
                below: row.below.and_then(&answer),
                at_or_below: row.at_or_below.and_then(&answer),
            };
            let key = |row: &Row<B>| {
                let text = text_of(row, &rows.long).unwrap_or_default();
                rows.hash.hash_one(text)
            };
            rows.table.insert_unique(key(&row), row, key);
        }
        rows
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

fn text_of<'a, A>(row: &'a Row<A>, long: &'a [u8]) -> Option<&'a [u8]> {
    match &row.key {
        Key::Short { length, bytes } => bytes.get(..usize::from(*length)),
        Key::Long { length, at } => {
            let at = *at as usize;
            long.get(at..at + usize::from(*length))
        }
    }
}
