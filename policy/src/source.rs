//! A text with its name: what positions in diagnostics and rules refer to.

use std::ops::Range;
use std::sync::Arc;

/// One policy text, as read by the caller.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceFile {
    /// The name shown to people: a path, or `built-in default`.
    pub name: Arc<str>,
    /// The whole text, without a byte-order mark.
    pub text: Arc<str>,
}

impl SourceFile {
    /// A source; a leading byte-order mark is dropped.
    pub fn new(name: impl Into<Arc<str>>, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// The text of a span; empty for one that does not fit this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// The span of a range of bytes, its line and column counted from the start of the text.
    /// A range that does not fit is cut to the text.
    pub fn span(&self, start: usize, end: usize) -> Span {
        let start = self.floor(start);
        let end = self.floor(end).max(start);
        let before = self.text.get(..start).unwrap_or("");
        let line = before.bytes().filter(|&b| b == b'\n').count();
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |text| text.chars().count());
        Span {
            start,
            end,
            line: number(line),
            column: number(column),
        }
    }

    /// The span of a whole line, counted from 1; of the end of the text for a line beyond it.
    pub fn line(&self, number: usize) -> Span {
        let mut start = 0;
        for (index, line) in self.text.split_inclusive('\n').enumerate() {
            if index.saturating_add(1) == number {
                let length = line.trim_end_matches(['\r', '\n']).len();
                return self.span(start, start.saturating_add(length));
            }
            start = start.saturating_add(line.len());
        }
        self.span(start, start)
    }

    fn floor(&self, at: usize) -> usize {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at = at.saturating_sub(1);
        }
        at
    }
}

/// A count from 0 as people count, from 1.
fn number(count: usize) -> u32 {
    u32::try_from(count).map_or(u32::MAX, |count| count.saturating_add(1))
}

/// A part of a source, in bytes, with the line and column of its start for people.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte; never less than `start`.
    pub end: usize,
    /// Line of the start, from 1.
    pub line: u32,
    /// Column of the start in characters, from 1.
    pub column: u32,
}

impl Span {
    /// A part of a span that lies in one line, `text` being what stands in it: cheap, since
    /// nothing is counted but the part in front. A range that does not fit gives the whole.
    #[must_use]
    pub fn part(self, text: &str, range: &Range<usize>) -> Self {
        match (text.get(..range.start), text.get(range.clone())) {
            (Some(before), Some(_)) if !text.contains('\n') => Self {
                start: self.start.saturating_add(range.start),
                end: self.start.saturating_add(range.end),
                column: u32::try_from(before.chars().count())
                    .map_or(u32::MAX, |count| self.column.saturating_add(count)),
                ..self
            },
            _ => self,
        }
    }

    /// The first character of a span: where a collection is pointed at, since its whole text
    /// hides the point.
    #[must_use]
    pub fn first(self, source: &SourceFile) -> Self {
        let length = source.slice(self).chars().next().map_or(0, char::len_utf8);
        Self {
            end: self.start.saturating_add(length),
            ..self
        }
    }
}

/// Whether a reader of a text cannot see a character, or sees others elsewhere for it: control
/// characters, line breaks of YAML 1.1 alone, marks without width, those that turn the direction
/// of the text around, and tags.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests;
