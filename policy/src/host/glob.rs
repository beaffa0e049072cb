//! Patterns with `*` inside labels, filed under what is literal in them.
//!
//! A glob is cut into its literal tail of labels, under which the name table files it, and its head.
//! Most heads have at most one `*` in a label, and so a shape: which labels are literal, and how
//! many bytes stand before and after each `*`. All heads of a shape are found by one hash of what
//! is literal. Heads that do not go into the few shapes of a table stand in small `GlobSet`s,
//! which say whether it is worth to try them one by one; their number is capped.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use super::table::Place;

mod rest;

pub(super) use rest::Rest;

/// The most shapes of one table: each costs a probe.
const MAX_SHAPES: usize = 16;
/// The most globs of a table that no shape holds.
const MAX_REST: usize = 1_000;
/// The most globs without a literal tail, each of which is asked for names of every kind.
const MAX_TAILLESS: usize = 1_000;

/// A table of globs is full: over the cap, time would grow with the number of rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooManyGlobs;

/// What stands in front of a head.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Lead {
    /// Nothing.
    None,
    /// `*.`: one or more labels.
    OneOrMore,
    /// `**.`: zero or more labels.
    ZeroOrMore,
}

/// A glob without its tail.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    lead: Lead,
    /// The labels in front of the tail, joined by dots; the last one holds a `*`.
    head: Box<str>,
}

/// What is literal in a head, as counts.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Shape {
    lead: Lead,
    /// From the right.
    labels: Box<[LabelShape]>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum LabelShape {
    Literal,
    Star { before: u8, after: u8 },
}

impl Glob {
    /// Cuts a normalised glob; the tail is empty where its last label holds a `*`.
    pub(super) fn parse(text: &str) -> (Self, &str) {
        let (lead, rest) = match (text.strip_prefix("**."), text.strip_prefix("*.")) {
            (Some(rest), _) => (Lead::ZeroOrMore, rest),
            (None, Some(rest)) => (Lead::OneOrMore, rest),
            (None, None) => (Lead::None, text),
        };
        let last_star = rest.rfind('*').unwrap_or(rest.len());
        let (head, tail) = match rest.get(last_star..).and_then(|end| end.split_once('.')) {
            Some((_, tail)) => (
                rest.strip_suffix(tail)
                    .and_then(|head| head.strip_suffix('.')),
                tail,
            ),
            None => (None, ""),
        };
        let head = head.unwrap_or(rest).into();
        (Self { lead, head }, tail)
    }

    /// The shape, if no label has more than one `*`.
    fn shape(&self) -> Option<Shape> {
        let label = |label: &str| match label.split_once('*') {
            None => Some(LabelShape::Literal),
            Some((_, after)) if after.contains('*') => None,
            Some((before, after)) => Some(LabelShape::Star {
                before: u8::try_from(before.len()).ok()?,
                after: u8::try_from(after.len()).ok()?,
            }),
        };
        Some(Shape {
            lead: self.lead,
            labels: self.head.rsplit('.').map(label).collect::<Option<_>>()?,
        })
    }

    /// Whether the head of a name matches: the truth, label by label from the right.
    fn matches(&self, head: &str) -> bool {
        let mut labels = head.rsplit('.');
        let fits = self
            .head
            .rsplit('.')
            .all(|pattern| labels.next().is_some_and(|label| fits(pattern, label)));
        fits && lead_fits(self.lead, labels.next())
    }
}

/// Whether the labels that are left over, of which the first is given, are what the lead wants.
fn lead_fits(lead: Lead, left: Option<&str>) -> bool {
    match lead {
        Lead::None => left.is_none(),
        Lead::OneOrMore => left.is_some(),
        Lead::ZeroOrMore => true,
    }
}

/// Whether a label matches a pattern in which each `*` is one or more characters.
fn fits(pattern: &str, label: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == label;
    };
    let Some(mut label) = label.strip_prefix(first) else {
        return false;
    };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        let mut characters = label.chars();
        if characters.next().is_none() {
            return false;
        }
        // Names are ASCII, so that the first place where a piece fits leaves the most for the rest.
        let after = characters.as_str();
        if pieces.peek().is_none() {
            return after.ends_with(piece);
        }
        match after.split_once(piece) {
            Some((_, rest)) => label = rest,
            None => return false,
        }
    }
    false
}

impl Shape {
    /// The hash of what is literal in a head of this shape; `None` for another shape. A head of
    /// a pattern has its own shape, so that names and patterns are hashed alike.
    fn hash(&self, head: &str, hash: &RandomState) -> Option<u64> {
        let mut hasher = hash.build_hasher();
        let mut labels = head.rsplit('.');
        for shape in &self.labels {
            let label = labels.next()?;
            match *shape {
                LabelShape::Literal => hasher.write(label.as_bytes()),
                LabelShape::Star { before, after } => {
                    let (before, after) = (usize::from(before), usize::from(after));
                    let end = label.len().checked_sub(after).filter(|&end| end > before)?;
                    hasher.write(label.as_bytes().get(..before)?);
                    hasher.write(label.as_bytes().get(end..)?);
                }
            }
            hasher.write_u8(b'.');
        }
        Some(hasher.finish())
    }
}

/// The globs of one shape.
#[derive(Debug)]
struct ShapeTable {
    shape: Shape,
    globs: HashTable<(Glob, Place)>,
}

/// The globs of one tail.
#[derive(Debug)]
pub(super) struct GlobTable {
    shapes: Box<[ShapeTable]>,
    rest: Rest,
    hash: RandomState,
}

impl GlobTable {
    /// Calls back with the place of every glob that matches the part of a name before the tail.
    pub(super) fn each(&self, head: &str, mut found: impl FnMut(Place)) {
        for ShapeTable { shape, globs } in &self.shapes {
            let hit = shape
                .hash(head, &self.hash)
                .and_then(|hash| globs.find(hash, |(glob, _)| glob.matches(head)));
            if let Some(&(_, place)) = hit {
                found(place);
            }
        }
        self.rest.each(head, found);
    }
}

/// Fills a [`GlobTable`].
#[derive(Debug)]
pub(super) struct GlobTableBuilder {
    globs: HashTable<(Glob, Place)>,
    hash: RandomState,
    /// The most globs; the rest is capped when it is known.
    most: usize,
}

impl GlobTableBuilder {
    pub(super) fn with_tail() -> Self {
        Self {
            globs: HashTable::new(),
            hash: RandomState::default(),
            most: usize::MAX,
        }
    }

    pub(super) fn without_tail() -> Self {
        Self {
            most: MAX_TAILLESS,
            ..Self::with_tail()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// The place of a glob: the one it was filed under before, else `fresh`.
    pub(super) fn file(&mut self, glob: Glob, fresh: Place) -> Result<Place, TooManyGlobs> {
        let key = |glob: &Glob| self.hash.hash_one((glob.lead, &glob.head));
        let same = |(other, _): &(Glob, Place)| other.lead == glob.lead && other.head == glob.head;
        if let Some(&(_, place)) = self.globs.find(key(&glob), same) {
            return Ok(place);
        }
        if self.globs.len() >= self.most {
            return Err(TooManyGlobs);
        }
        self.globs
            .insert_unique(key(&glob), (glob, fresh), |(glob, _)| key(glob));
        Ok(fresh)
    }

    pub(super) fn build(self) -> Result<GlobTable, TooManyGlobs> {
        let mut rest = Vec::new();
        let mut shapes: Vec<(Shape, Vec<(Glob, Place)>)> = Vec::new();
        let mut known = std::collections::HashMap::new();
        for (glob, place) in self.globs {
            let Some(shape) = glob.shape() else {
                rest.push((glob, place));
                continue;
            };
            let at = *known.entry(shape).or_insert_with_key(|shape| {
                shapes.push((shape.clone(), Vec::new()));
                shapes.len() - 1
            });
            if let Some((_, globs)) = shapes.get_mut(at) {
                globs.push((glob, place));
            }
        }
        shapes.sort_by_key(|(_, globs)| std::cmp::Reverse(globs.len()));
        let rare = shapes.split_off(shapes.len().min(MAX_SHAPES));
        rest.extend(rare.into_iter().flat_map(|(_, globs)| globs));
        if rest.len() > MAX_REST {
            return Err(TooManyGlobs);
        }
        let hash = self.hash;
        let table = |(shape, globs): (Shape, Vec<(Glob, Place)>)| {
            let key = |glob: &Glob| shape.hash(&glob.head, &hash).unwrap_or_default();
            let mut table = HashTable::with_capacity(globs.len());
            for (glob, place) in globs {
                table.insert_unique(key(&glob), (glob, place), |(glob, _)| key(glob));
            }
            ShapeTable {
                shape,
                globs: table,
            }
        };
        Ok(GlobTable {
            shapes: shapes.into_iter().map(table).collect(),
            rest: Rest::build(&rest)?,
            hash,
        })
    }
}

#[cfg(test)]
mod tests;
