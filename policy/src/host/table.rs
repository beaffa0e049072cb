//! From host name to the patterns that match it, in time that does not grow with their number.
//!
//! Names and tails stand in one arena, found by hash: a name costs one probe for itself and one for
//! each of its tails, at most as many as the longest pattern has labels. The table knows places,
//! numbers that its user gives out; what stands behind a place is the user's.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use super::glob::{Glob, GlobTable, GlobTableBuilder, TooManyGlobs};
use super::{HostName, Pattern};

/// A number that a table's user gives to a pattern.
pub(crate) type Place = u32;

/// No place.
const NONE: Place = Place::MAX;

/// One name or tail.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Where its text begins in the arena, and how long it is.
    at: u32,
    length: u8,
    exact: Place,
    below: Place,
    at_or_below: Place,
    /// Which of `globs` holds the patterns with this literal tail.
    globs: u32,
}

/// The names and patterns of names of a policy.
#[derive(Debug)]
pub(crate) struct NameTable {
    text: String,
    rows: HashTable<Row>,
    hash: RandomState,
    /// The most labels that a row's text has; longer tails are in no row.
    labels: usize,
    globs: Vec<GlobTable>,
    /// The globs without a literal tail.
    tailless: Option<GlobTable>,
    any: Place,
}

/// How a pattern matched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fit {
    /// The pattern is the name.
    Exact,
    /// The pattern covers other names too.
    Wider,
}

impl NameTable {
    /// Calls back with the place of every pattern that matches the name.
    pub(crate) fn each(&self, name: &HostName, mut found: impl FnMut(Place, Fit)) {
        let name = name.as_str();
        let mut tell = |place, fit| {
            if place != NONE {
                found(place, fit);
            }
        };
        tell(self.any, Fit::Wider);
        if let Some(globs) = &self.tailless {
            globs.each(name, |place| tell(place, Fit::Wider));
        }
        let mut labels = 0;
        let mut end = name.len();
        while labels < self.labels {
            labels += 1;
            // The dot in front of the next tail, or the front of the name.
            let dot = name.get(..end).and_then(|rest| rest.rfind('.'));
            let tail = match dot {
                Some(dot) => name.get(dot + 1..).unwrap_or(name),
                None => name,
            };
            if let Some(row) = self.find(tail) {
                tell(row.at_or_below, Fit::Wider);
                match dot {
                    None => tell(row.exact, Fit::Exact),
                    Some(dot) => {
                        tell(row.below, Fit::Wider);
                        if let Some(globs) = self.globs.get(row.globs as usize) {
                            let head = name.get(..dot).unwrap_or_default();
                            globs.each(head, |place| tell(place, Fit::Wider));
                        }
                    }
                }
            }
            match dot {
                Some(dot) => end = dot,
                None => break,
            }
        }
    }

    fn find(&self, tail: &str) -> Option<&Row> {
        let hash = self.hash.hash_one(tail.as_bytes());
        self.rows
            .find(hash, |row| row_text(&self.text, row) == Some(tail))
    }
}

fn row_text<'a>(text: &'a str, row: &Row) -> Option<&'a str> {
    let at = row.at as usize;
    text.get(at..at + usize::from(row.length))
}

/// Fills a [`NameTable`].
#[derive(Debug)]
pub(crate) struct NameTableBuilder {
    table: NameTable,
    globs: Vec<GlobTableBuilder>,
    tailless: GlobTableBuilder,
}

impl NameTableBuilder {
    pub(crate) fn new() -> Self {
        Self {
            table: NameTable {
                text: String::new(),
                rows: HashTable::new(),
                hash: RandomState::default(),
                labels: 0,
                globs: Vec::new(),
                tailless: None,
                any: NONE,
            },
            globs: Vec::new(),
            tailless: GlobTableBuilder::without_tail(),
        }
    }

    /// The place of a pattern: the one it was filed under before, else `fresh`. `None` for what is
    /// no pattern of names.
    pub(crate) fn file(
        &mut self,
        pattern: &Pattern,
        fresh: Place,
    ) -> Result<Option<Place>, TooManyGlobs> {
        let place = match pattern {
            Pattern::Exact(name) => &mut self.row(name.as_str()).exact,
            Pattern::Below(tail) => &mut self.row(tail.as_str()).below,
            Pattern::AtOrBelow(tail) => &mut self.row(tail.as_str()).at_or_below,
            Pattern::AnyName => &mut self.table.any,
            Pattern::Glob(text) => return self.file_glob(text, fresh).map(Some),
            Pattern::Range(_) | Pattern::Localhost => return Ok(None),
        };
        if *place == NONE {
            *place = fresh;
        }
        Ok(Some(*place))
    }

    fn file_glob(&mut self, text: &str, fresh: Place) -> Result<Place, TooManyGlobs> {
        let (glob, tail) = Glob::parse(text);
        if tail.is_empty() {
            return self.tailless.file(glob, fresh);
        }
        let next = u32::try_from(self.globs.len()).map_err(|_| TooManyGlobs)?;
        let row = self.row(tail);
        if row.globs == NONE {
            row.globs = next;
            self.globs.push(GlobTableBuilder::with_tail());
        }
        let at = self.row(tail).globs as usize;
        let globs = self.globs.get_mut(at).ok_or(TooManyGlobs)?;
        globs.file(glob, fresh)
    }

    fn row(&mut self, name: &str) -> &mut Row {
        let NameTable {
            text,
            rows,
            hash,
            labels,
            ..
        } = &mut self.table;
        *labels = (*labels).max(name.split('.').count());
        rows.entry(
            hash.hash_one(name.as_bytes()),
            |row| row_text(text, row) == Some(name),
            |row| hash.hash_one(row_text(text, row).unwrap_or_default().as_bytes()),
        )
        .or_insert_with(|| {
            // A name has at most 253 bytes, and the limits on files keep the arena far below 4 GiB.
            let row = Row {
                at: u32::try_from(text.len()).unwrap_or(u32::MAX),
                length: u8::try_from(name.len()).unwrap_or(u8::MAX),
                exact: NONE,
                below: NONE,
                at_or_below: NONE,
                globs: NONE,
            };
            text.push_str(name);
            row
        })
        .into_mut()
    }

    pub(crate) fn build(self) -> Result<NameTable, TooManyGlobs> {
        let mut table = self.table;
        table.text.shrink_to_fit();
        table.globs = self
            .globs
            .into_iter()
            .map(GlobTableBuilder::build)
            .collect::<Result<_, _>>()?;
        if !self.tailless.is_empty() {
            table.tailless = Some(self.tailless.build()?);
        }
        Ok(table)
    }
}
