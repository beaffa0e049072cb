//! The nodes of a file in the order of the file, without a map of paths.

use crate::source::Span;

/// What a node is.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "YAML has these three")]
pub enum Kind {
    /// A text.
    Scalar(Box<str>, Style),
    /// A sequence.
    List,
    /// A mapping: its children are key, value, key, value.
    Map,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "only this much matters")]
pub enum Style {
    /// Bare, so that YAML may read it as something else than a text.
    Plain,
    /// Quoted, or a block.
    Quoted,
}

#[derive(Debug)]
struct Row {
    kind: Kind,
    span: Span,
    /// How many rows this node and everything in it takes.
    size: usize,
}

/// A file as nodes with their places.
#[derive(Debug, Default)]
pub struct Tree {
    rows: Vec<Row>,
}

impl Tree {
    /// The outermost node.
    pub fn root(&self) -> Option<Node<'_>> {
        Node::at(self, 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn push(&mut self, kind: Kind, span: Span) -> usize {
        self.rows.push(Row {
            kind,
            span,
            size: 1,
        });
        self.rows.len().saturating_sub(1)
    }

    /// Ends the collection that was pushed at `at`: everything after it belongs to it.
    pub(super) fn close(&mut self, at: usize, end: usize) {
        let size = self.rows.len().saturating_sub(at);
        if let Some(row) = self.rows.get_mut(at) {
            row.size = size;
            row.span.end = end.max(row.span.start);
        }
    }

    pub(super) fn size(&self, at: usize) -> usize {
        self.rows.get(at).map_or(0, |row| row.size)
    }

    /// How many bytes of text a node and everything in it holds.
    pub(super) fn bytes(&self, at: usize) -> usize {
        let rows = self.rows.get(at..at.saturating_add(self.size(at)));
        let texts = rows.unwrap_or_default().iter().map(|row| match &row.kind {
            Kind::Scalar(text, _) => text.len(),
            Kind::List | Kind::Map => 0,
        });
        texts.sum()
    }

    /// Writes a finished node out again, with the places of the first.
    pub(super) fn repeat(&mut self, at: usize) {
        for index in at..at.saturating_add(self.size(at)) {
            if let Some(row) = self.rows.get(index) {
                let copy = Row {
                    kind: row.kind.clone(),
                    span: row.span,
                    size: row.size,
                };
                self.rows.push(copy);
            }
        }
    }
}

/// One node of a [`Tree`].
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    tree: &'t Tree,
    row: &'t Row,
    at: usize,
}

impl<'t> Node<'t> {
    fn at(tree: &'t Tree, at: usize) -> Option<Self> {
        let row = tree.rows.get(at)?;
        Some(Self { tree, row, at })
    }

    /// What it is.
    pub fn kind(self) -> &'t Kind {
        &self.row.kind
    }

    /// Where it stands.
    pub fn span(self) -> Span {
        self.row.span
    }

    /// The text of a scalar.
    pub fn text(self) -> Option<&'t str> {
        match &self.row.kind {
            Kind::Scalar(text, _) => Some(text),
            Kind::List | Kind::Map => None,
        }
    }

    /// Whether it is a value left out: nothing at all, `null` or `~`, not quoted.
    pub fn is_null(self) -> bool {
        matches!(&self.row.kind, Kind::Scalar(text, Style::Plain)
            if matches!(&**text, "" | "~" | "null" | "Null" | "NULL"))
    }

    fn children(self) -> impl Iterator<Item = Self> {
        let end = self.at.saturating_add(self.row.size);
        let mut next = self.at.saturating_add(1);
        let is_leaf = self.text().is_some();
        std::iter::from_fn(move || {
            if is_leaf || next >= end {
                return None;
            }
            let child = Self::at(self.tree, next)?;
            next = next.saturating_add(child.row.size);
            Some(child)
        })
    }

    /// The items of a list; none for anything else.
    pub fn items(self) -> impl Iterator<Item = Self> {
        let is_list = self.row.kind == Kind::List;
        self.children().take_while(move |_| is_list)
    }

    /// The pairs of a mapping; none for anything else.
    pub fn pairs(self) -> impl Iterator<Item = (Self, Self)> {
        let is_map = self.row.kind == Kind::Map;
        let mut children = self.children();
        std::iter::from_fn(move || {
            if !is_map {
                return None;
            }
            Some((children.next()?, children.next()?))
        })
    }

    /// The value of a key of a mapping.
    pub fn get(self, key: &str) -> Option<Self> {
        self.pair(key).map(|(_, value)| value)
    }

    /// A key of a mapping and its value.
    pub fn pair(self, key: &str) -> Option<(Self, Self)> {
        self.pairs().find(|(name, _)| name.text() == Some(key))
    }
}
