//! From host name to the patterns that match it, in time that does not grow with their number.
//!
//! Every text of a pattern has a row, found by hash: a name costs one probe for itself and one for
//! each of its tails, at most as many as the longest pattern has labels, and a tail with globs one
//! for each way in which a glob that matches would be written. With many patterns the price of
//! a probe is what it reads that no cache holds, so that a row is one cache line with text and
//! answers in it. What an answer means is the business of the table's user.

use std::collections::HashMap;

use super::glob::{Glob, Globs, GlobsBuilder, Shape, TooManyGlobs};
use super::{HostName, Pattern};

mod row;

use row::{NO_GLOBS, Row, Rows};

/// A number that a table's user gives to a pattern.
pub(crate) type Place = u32;

/// The names and patterns of names of a policy, and what each answers.
#[derive(Debug)]
pub(crate) struct NameTable<A> {
    rows: Rows<A>,
    /// The most labels that the text of a name or tail has; longer tails are in no row.
    labels: usize,
    /// By the number in a row: the globs with that literal tail.
    globs: Vec<Globs>,
    /// The globs without a literal tail.
    tailless: Option<Globs>,
    any: Option<A>,
}

/// How a pattern matched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fit {
    /// The pattern is the name.
    Exact,
    /// The pattern covers other names too.
    Wider,
}

impl<A: Copy> NameTable<A> {
    /// Calls back with the answer of every pattern that matches the name.
    pub(crate) fn each(&self, name: &HostName, mut found: impl FnMut(A, Fit)) {
        let name = name.as_str();
        let mut tell = |answer, fit| {
            if let Some(answer) = answer {
                found(answer, fit);
            }
        };
        tell(self.any, Fit::Wider);
        if let Some(globs) = &self.tailless {
            self.each_glob(globs, name, "", |answer| tell(answer, Fit::Wider));
        }
        // Asked for first and read last, so that the waits for memory overlap.
        let whole = self.rows.find(name.as_bytes());
        for (dot, _) in name.rmatch_indices('.').take(self.labels) {
            let (Some(head), Some(tail)) = (name.get(..dot), name.get(dot + 1..)) else {
                continue;
            };
            let Some(row) = self.rows.find(tail.as_bytes()) else {
                continue;
            };
            tell(row.at_or_below, Fit::Wider);
            tell(row.below, Fit::Wider);
            if let Some(globs) = self.globs.get(row.globs as usize) {
                self.each_glob(globs, head, tail, |answer| tell(answer, Fit::Wider));
            }
        }
        if let Some(row) = whole {
            tell(row.at_or_below, Fit::Wider);
            tell(row.exact, Fit::Exact);
        }
    }

    fn each_glob(&self, globs: &Globs, head: &str, tail: &str, mut tell: impl FnMut(Option<A>)) {
        globs.each(head, tail, |text| {
            if let Some(row) = self.rows.find(text) {
                tell(row.exact);
            }
        });
    }
}

/// Fills a [`NameTable`].
#[derive(Debug)]
pub(crate) struct NameTableBuilder {
    rows: Rows<Place>,
    labels: usize,
    globs: Vec<GlobsBuilder>,
    tailless: GlobsBuilder,
    any: Option<Place>,
}

impl NameTableBuilder {
    pub(crate) fn new() -> Self {
        Self {
            rows: Rows::new(),
            labels: 0,
            globs: Vec::new(),
            tailless: GlobsBuilder::default(),
            any: None,
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
            Pattern::Exact(name) => &mut self.tail(name.as_str()).exact,
            Pattern::Below(tail) => &mut self.tail(tail.as_str()).below,
            Pattern::AtOrBelow(tail) => &mut self.tail(tail.as_str()).at_or_below,
            Pattern::AnyName => &mut self.any,
            Pattern::Glob(text) => return self.file_glob(text, fresh).map(Some),
            Pattern::Range(_) | Pattern::Localhost => return Ok(None),
        };
        Ok(Some(*place.get_or_insert(fresh)))
    }

    fn file_glob(&mut self, text: &str, fresh: Place) -> Result<Place, TooManyGlobs> {
        if let Some(known) = self.rows.row(text).exact {
            return Ok(known);
        }
        let glob = Glob::parse(text);
        if glob.tail().is_empty() {
            self.tailless.add(glob)?;
        } else {
            let next = u32::try_from(self.globs.len()).map_err(|_| TooManyGlobs)?;
            let row = self.tail(glob.tail());
            if row.globs == NO_GLOBS {
                row.globs = next;
                self.globs.push(GlobsBuilder::default());
            }
            let at = self.tail(glob.tail()).globs as usize;
            let globs = self.globs.get_mut(at).ok_or(TooManyGlobs)?;
            globs.add(glob)?;
        }
        self.rows.row(text).exact = Some(fresh);
        Ok(fresh)
    }

    /// The row of a name or tail.
    fn tail(&mut self, text: &str) -> &mut Row<Place> {
        self.labels = self.labels.max(text.split('.').count());
        self.rows.row(text)
    }

    /// The table, with what the pattern of each place answers.
    pub(crate) fn build<A>(
        self,
        answer: impl Fn(Place) -> Option<A>,
    ) -> Result<NameTable<A>, TooManyGlobs> {
        let mut globs: Vec<Globs> = Vec::new();
        let mut numbers = Vec::with_capacity(self.globs.len());
        let mut known: HashMap<Box<[Shape]>, u32> = HashMap::new();
        for builder in self.globs {
            let built = builder.build()?;
            let next = u32::try_from(globs.len()).map_err(|_| TooManyGlobs)?;
            // Most tails have a few shapes that many others have too, which so stay in the cache.
            let number = match built.shared() {
                Some(shapes) => *known.entry(shapes.into()).or_insert(next),
                None => next,
            };
            if number == next {
                globs.push(built);
            }
            numbers.push(number);
        }
        let number = |old: u32| numbers.get(old as usize).copied().unwrap_or(NO_GLOBS);
        Ok(NameTable {
            any: self.any.and_then(&answer),
            rows: self.rows.map(number, answer),
            labels: self.labels,
            globs,
            tailless: match self.tailless {
                globs if globs.is_empty() => None,
                globs => Some(globs.build()?),
            },
        })
    }
}

#[cfg(test)]
mod tests;
