//! Patterns with `*` inside labels, filed under what is literal in them.
//!
//! A glob is cut into its literal tail of labels, under which the name table files it, and its head.
//! Most heads have at most one `*` in a label, and so a shape: which labels are literal, and how
//! many bytes stand before and after each `*`. A shape says how the one glob of that shape that
//! could match a name would be written, so that it is looked up as any other text. Heads that do
//! not go into the few shapes of a tail stand in small `GlobSet`s, which say whether it is worth to
//! try them one by one; their number is capped.

use std::collections::HashMap;
use std::ops::Range;

mod rest;
mod spelling;

use rest::Rest;
use spelling::Spelling;

/// The most shapes of one tail: each costs a probe.
const MAX_SHAPES: usize = 16;
/// The most globs of a tail that no shape holds.
const MAX_REST: usize = 1_000;
/// The most globs without a literal tail, each of which is asked for names of every kind.
const MAX_TAILLESS: usize = 1_000;

/// A tail holds too many globs: over the cap, time would grow with the number of rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooManyGlobs;

/// What stands in front of a head.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Lead {
    /// Nothing.
    None,
    /// `*.`: one or more labels.
    OneOrMore,
    /// `**.`: zero or more labels.
    ZeroOrMore,
}

/// A normalised glob.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    text: Box<str>,
    lead: Lead,
    /// Where the labels between lead and tail stand in the text; the last one holds a `*`.
    head: Range<usize>,
}

/// What is literal in a head, as counts.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Shape {
    lead: Lead,
    /// From the right.
    labels: Box<[LabelShape]>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum LabelShape {
    Literal,
    Star { before: u8, after: u8 },
}

impl Glob {
    /// Reads a normalised glob.
    pub(super) fn parse(text: &str) -> Self {
        let (lead, rest) = match (text.strip_prefix("**."), text.strip_prefix("*.")) {
            (Some(rest), _) => (Lead::ZeroOrMore, rest),
            (None, Some(rest)) => (Lead::OneOrMore, rest),
            (None, None) => (Lead::None, text),
        };
        let start = text.len() - rest.len();
        let last_star = text.rfind('*').unwrap_or(start).max(start);
        let behind = text.get(last_star..).and_then(|end| end.find('.'));
        let end = behind.map_or(text.len(), |dot| last_star + dot);
        Self {
            text: text.into(),
            lead,
            head: start..end,
        }
    }

    /// The labels between lead and tail.
    fn head(&self) -> &str {
        self.text.get(self.head.clone()).unwrap_or_default()
    }

    /// The labels behind the last one that holds a `*`; empty where that is the last of all.
    pub(super) fn tail(&self) -> &str {
        self.text.get(self.head.end + 1..).unwrap_or_default()
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
            labels: self.head().rsplit('.').map(label).collect::<Option<_>>()?,
        })
    }

    /// Whether the part of a name before the tail matches, label by label from the right.
    fn matches(&self, head: &str) -> bool {
        let mut labels = head.rsplit('.');
        let fits = self
            .head()
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
    /// Writes the one glob of this shape that could match a name in front of its tail, from the
    /// right; `None` where none could.
    ///
    /// A glob matches exactly the names from which its own shape writes it: a star stands for at
    /// least one byte, what stands around it is copied, and the labels left over are what the lead
    /// wants.
    fn write(&self, head: &str, spelling: &mut Spelling) -> Option<()> {
        let mut labels = head.rsplit('.');
        for shape in &self.labels {
            let label = labels.next()?;
            if !spelling.is_empty() {
                spelling.push(".")?;
            }
            match *shape {
                LabelShape::Literal => spelling.push(label)?,
                LabelShape::Star { before, after } => {
                    let (before, after) = (usize::from(before), usize::from(after));
                    let end = label.len().checked_sub(after).filter(|&end| end > before)?;
                    spelling.push(label.get(end..)?)?;
                    spelling.push("*")?;
                    spelling.push(label.get(..before)?)?;
                }
            }
        }
        if !lead_fits(self.lead, labels.next()) {
            return None;
        }
        match self.lead {
            Lead::None => Some(()),
            Lead::OneOrMore => spelling.push("*."),
            Lead::ZeroOrMore => spelling.push("**."),
        }
    }
}

/// The globs of one tail: the shapes of those that have one, and the others.
#[derive(Debug)]
pub(super) struct Globs {
    shapes: Box<[Shape]>,
    rest: Rest,
}

impl Globs {
    /// Calls back with the text of every glob of this tail that matches a name, whose part before
    /// the tail is `head`, and of others that would match it and may be in no policy.
    pub(super) fn each(&self, head: &str, tail: &str, mut text: impl FnMut(&[u8])) {
        if !self.shapes.is_empty() {
            let mut spelling = Spelling::new(tail);
            for shape in &self.shapes {
                spelling.restart();
                if shape.write(head, &mut spelling).is_some() {
                    text(spelling.text());
                }
            }
        }
        self.rest.each(head, |glob| text(glob.text.as_bytes()));
    }

    /// The shapes, which are all there is to the globs of most tails.
    pub(super) fn shared(&self) -> Option<&[Shape]> {
        self.rest.is_empty().then_some(&*self.shapes)
    }
}

/// Sorts the globs of one tail.
#[derive(Debug, Default)]
pub(super) struct GlobsBuilder(Vec<Glob>);

impl GlobsBuilder {
    /// Adds a glob that was not added before.
    pub(super) fn add(&mut self, glob: Glob) -> Result<(), TooManyGlobs> {
        if glob.tail().is_empty() && self.0.len() >= MAX_TAILLESS {
            return Err(TooManyGlobs);
        }
        self.0.push(glob);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn build(self) -> Result<Globs, TooManyGlobs> {
        let mut rest = Vec::new();
        let mut by_shape: HashMap<Shape, Vec<Glob>> = HashMap::new();
        for glob in self.0 {
            match glob.shape() {
                Some(shape) => by_shape.entry(shape).or_default().push(glob),
                None => rest.push(glob),
            }
        }
        let mut shapes: Vec<_> = by_shape.into_iter().collect();
        shapes
            .sort_by(|(one, ones), (other, others)| (others.len(), one).cmp(&(ones.len(), other)));
        let rare = shapes.split_off(shapes.len().min(MAX_SHAPES));
        rest.extend(rare.into_iter().flat_map(|(_, globs)| globs));
        if rest.len() > MAX_REST {
            return Err(TooManyGlobs);
        }
        Ok(Globs {
            shapes: shapes.into_iter().map(|(shape, _)| shape).collect(),
            rest: Rest::build(&rest)?,
        })
    }
}

#[cfg(test)]
mod tests;
