//! The strict reading of YAML that stands in front of serde: what a policy file may not contain
//! although YAML allows it, and where everything is.
//!
//! The gate walks the events of one parser; serde reads with another. Only serde's document is
//! ever compiled, so a span that the gate got wrong can misplace a message and nothing else.
//! The gate does not know the policy language; the shape of a document is the part of
//! `shape`.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use crate::diagnostic::{Diagnostic, code};
use crate::source::{SourceFile, Span};

mod character;
mod offset;
mod tree;

use offset::Offsets;
pub use tree::{Kind, Node, Style, Tree};

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The most list items that a file may hold, aliases written out.
pub const MAX_ENTRIES: usize = 200_000;
/// The deepest nesting.
pub const MAX_DEPTH: usize = 32;
/// The most nodes that aliases may add to a file.
const MAX_ALIASED: usize = 200_000;
/// The most bytes of text that aliases may add to a file.
const MAX_ALIASED_BYTES: usize = MAX_BYTES;
/// The most problems that are collected before the reading stops.
const MAX_PROBLEMS: usize = 100;

/// Reads a text into a tree of nodes with their places.
///
/// # Errors
/// Every problem up to the first one that hides what comes after it.
pub fn read(source: &SourceFile) -> Result<Tree, Vec<Diagnostic>> {
    if source.text.len() > MAX_BYTES {
        let problem = Diagnostic::error(
            code::TOO_LARGE,
            source,
            source.span(0, 0),
            format!("the file has {} bytes", source.text.len()),
        );
        return Err(vec![
            problem.with_help("a policy file holds at most 16 MiB"),
        ]);
    }
    let hidden = character::find(source);
    if !hidden.is_empty() {
        return Err(hidden);
    }
    let mut walk = Walk::new(source);
    for event in Parser::new_from_str(&source.text) {
        let outcome = match event {
            Ok((event, place)) => {
                let span = walk.offsets.span(place);
                walk.take(event, span)
            }
            Err(error) => {
                let problem = syntax(source, &walk.offsets, &error);
                walk.stop(problem)
            }
        };
        if outcome.is_break() || walk.problems.len() >= MAX_PROBLEMS {
            break;
        }
    }
    walk.finish()
}

/// A collection that is still open.
struct Frame {
    node: usize,
    anchor: usize,
    items_before: usize,
    place: Place,
}

/// Where in its collection the next node stands.
enum Place {
    List,
    Key(HashSet<Box<str>>),
    Value(HashSet<Box<str>>),
}

/// What an anchor stands for.
struct Anchor {
    node: usize,
    items: usize,
}

struct Walk<'s> {
    source: &'s SourceFile,
    offsets: Offsets<'s>,
    tree: Tree,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Anchor>,
    items: usize,
    aliased: usize,
    aliased_bytes: usize,
    documents: usize,
    problems: Vec<Diagnostic>,
}

impl<'s> Walk<'s> {
    fn new(source: &'s SourceFile) -> Self {
        Self {
            source,
            offsets: Offsets::new(&source.text),
            tree: Tree::default(),
            frames: Vec::new(),
            anchors: HashMap::new(),
            items: 0,
            aliased: 0,
            aliased_bytes: 0,
            documents: 0,
            problems: Vec::new(),
        }
    }

    fn finish(mut self) -> Result<Tree, Vec<Diagnostic>> {
        if self.problems.is_empty() && self.tree.is_empty() {
            self.problems.push(empty(self.source));
        }
        if self.problems.is_empty() {
            Ok(self.tree)
        } else {
            Err(self.problems)
        }
    }

    /// Takes one event; a break ends the reading.
    fn take(&mut self, event: Event<'_>, span: Span) -> ControlFlow<()> {
        match event {
            Event::DocumentStart(_) => self.start_document(span),
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), span);
                self.scalar(&text, style, anchor, span)
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref(), span);
                self.open(Kind::List, Place::List, anchor, span)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref(), span);
                self.open(Kind::Map, Place::Key(HashSet::new()), anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.close(span);
                ControlFlow::Continue(())
            }
            Event::Alias(id) => self.alias(id, span),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {
                ControlFlow::Continue(())
            }
        }
    }

    fn start_document(&mut self, span: Span) -> ControlFlow<()> {
        self.documents = self.documents.saturating_add(1);
        if self.documents == 1 {
            return ControlFlow::Continue(());
        }
        let problem = self
            .error(code::DOCUMENTS, span, "a second document")
            .with_help("a policy file is one document: remove the `---` or `...` before this line");
        self.stop(problem)
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        span: Span,
    ) -> ControlFlow<()> {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted
            | ScalarStyle::DoubleQuoted
            | ScalarStyle::Literal
            | ScalarStyle::Folded => Style::Quoted,
        };
        self.begin(Some(text), style, span)?;
        let node = self.tree.push(Kind::Scalar(text.into(), style), span);
        self.end(node, anchor, self.items);
        ControlFlow::Continue(())
    }

    fn open(&mut self, kind: Kind, place: Place, anchor: usize, span: Span) -> ControlFlow<()> {
        self.begin(None, Style::Plain, span)?;
        if self.frames.len() >= MAX_DEPTH {
            let problem = too_deep(self.source, span);
            return self.stop(problem);
        }
        let node = self.tree.push(kind, span);
        self.frames.push(Frame {
            node,
            anchor,
            items_before: self.items,
            place,
        });
        ControlFlow::Continue(())
    }

    fn close(&mut self, span: Span) {
        if let Some(frame) = self.frames.pop() {
            self.tree.close(frame.node, span.end);
            self.end(frame.node, frame.anchor, frame.items_before);
        }
    }

    fn alias(&mut self, id: usize, span: Span) -> ControlFlow<()> {
        self.begin(None, Style::Plain, span)?;
        let Some(&Anchor { node, items }) = self.anchors.get(&id) else {
            let problem = self
                .error(
                    code::ALIAS,
                    span,
                    "an alias of something that is still open",
                )
                .with_help("write the values out");
            return self.stop(problem);
        };
        self.items = self.items.saturating_add(items);
        self.aliased = self.aliased.saturating_add(self.tree.size(node));
        self.aliased_bytes = self.aliased_bytes.saturating_add(self.tree.bytes(node));
        if self.aliased > MAX_ALIASED
            || self.aliased_bytes > MAX_ALIASED_BYTES
            || self.items > MAX_ENTRIES
        {
            let problem = self
                .error(
                    code::ALIAS,
                    span,
                    "the aliases of this file stand for too much",
                )
                .with_help("write the values out");
            return self.stop(problem);
        }
        self.tree.repeat(node);
        self.turn();
        ControlFlow::Continue(())
    }

    /// What must hold before a node is taken: as a list item it counts, as a key it is a text
    /// that its mapping does not have yet.
    fn begin(&mut self, text: Option<&str>, style: Style, span: Span) -> ControlFlow<()> {
        let Some(frame) = self.frames.last_mut() else {
            return ControlFlow::Continue(());
        };
        let keys = match &mut frame.place {
            Place::Value(_) => return ControlFlow::Continue(()),
            Place::List => {
                self.items = self.items.saturating_add(1);
                if self.items > MAX_ENTRIES {
                    let text = format!("more than {MAX_ENTRIES} list items");
                    let problem = self
                        .error(code::TOO_LARGE, span, text)
                        .with_help("split the policy, or use wildcards");
                    return self.stop(problem);
                }
                return ControlFlow::Continue(());
            }
            Place::Key(keys) => keys,
        };
        let problem = match text {
            None => self
                .error(code::KEY, span, "a key that is not a plain text")
                .with_help("keys are single words"),
            Some("<<") if style == Style::Plain => self
                .error(code::MERGE, span, "a merge key, `<<`")
                .with_help("write the keys out"),
            Some(text) if !keys.insert(text.into()) => self
                .error(
                    code::DUPLICATE_KEY,
                    span,
                    format!("the key `{text}` stands here twice"),
                )
                .with_help("join the two"),
            Some(_) => return ControlFlow::Continue(()),
        };
        self.problems.push(problem);
        ControlFlow::Continue(())
    }

    /// What follows a node that is complete.
    fn end(&mut self, node: usize, anchor: usize, items_before: usize) {
        if anchor != 0 {
            let items = self.items.saturating_sub(items_before);
            self.anchors.insert(anchor, Anchor { node, items });
        }
        self.turn();
    }

    /// In a mapping a value follows a key, and a key a value.
    fn turn(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.place = match std::mem::replace(&mut frame.place, Place::List) {
                Place::List => Place::List,
                Place::Key(keys) => Place::Value(keys),
                Place::Value(keys) => Place::Key(keys),
            };
        }
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, span: Span) {
        if let Some(tag) = tag {
            let handle = if tag.is_yaml_core_schema() {
                "!!"
            } else {
                &tag.handle
            };
            let written = format!("{handle}{}", tag.suffix);
            let problem = self
                .error(
                    code::QUOTE,
                    span,
                    format!("`{written}` is a tag to YAML, not a text"),
                )
                .with_help(format!("quote it: \"{written}\""));
            self.problems.push(problem);
        }
    }

    fn stop(&mut self, problem: Diagnostic) -> ControlFlow<()> {
        self.problems.push(problem);
        ControlFlow::Break(())
    }

    fn error(&self, code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.source, span, message)
    }
}

pub(crate) fn empty(source: &SourceFile) -> Diagnostic {
    Diagnostic::error(code::EMPTY, source, source.span(0, 0), "the file is empty")
        .with_help("a policy begins with `version: 1`; without any allow group it allows nothing")
}

fn too_deep(source: &SourceFile, span: Span) -> Diagnostic {
    let message = format!("nested more than {MAX_DEPTH} deep");
    Diagnostic::error(code::DEPTH, source, span, message).with_help("a policy needs six levels")
}

/// What the parser refuses by itself. An unquoted wildcard is the one that everybody meets.
fn syntax(source: &SourceFile, offsets: &Offsets<'_>, error: &ScanError) -> Diagnostic {
    let start = offsets.byte(error.marker().index());
    let rest = source.text.get(start..).unwrap_or("");
    let word_length = rest
        .find(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}'))
        .unwrap_or(rest.len());
    let span = source.span(start, start.saturating_add(word_length));
    let word = source.slice(span);
    if word.starts_with('*') || error.info().contains("alias") {
        return Diagnostic::error(
            code::QUOTE,
            source,
            span,
            format!("`{word}` is an alias to YAML, not a text"),
        )
        .with_help(format!("quote it: \"{word}\""));
    }
    if error.info().contains("recursion limit") {
        return too_deep(source, span);
    }
    Diagnostic::error(
        code::SYNTAX,
        source,
        span,
        format!("not YAML: {}", error.info()),
    )
    .with_help("put texts with `: # [ ] { } , & * ! | > % @` or a backtick in double quotes")
}

#[cfg(test)]
mod tests;
