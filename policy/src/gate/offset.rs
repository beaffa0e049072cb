//! The YAML parser counts characters; Moat counts bytes, and lines by itself.

use crate::source::Span;

/// Every how many characters a byte offset is kept.
const STEP: usize = 64;

/// From characters to bytes, lines and columns of one text.
pub(super) struct Offsets<'t> {
    text: &'t str,
    /// The byte offset of every `STEP`th character; empty for ASCII, where both counts agree.
    marks: Vec<usize>,
    /// The first character of each line, in ascending order; never empty.
    lines: Vec<usize>,
    characters: usize,
}

impl<'t> Offsets<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let marks = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices()
                .step_by(STEP)
                .map(|(byte, _)| byte)
                .collect()
        };
        let mut lines = vec![0];
        let mut characters: usize = 0;
        for c in text.chars() {
            characters = characters.saturating_add(1);
            if c == '\n' {
                lines.push(characters);
            }
        }
        Self {
            text,
            marks,
            lines,
            characters,
        }
    }

    /// The byte at which a character begins; the end of the text for what lies beyond it.
    pub(super) fn byte(&self, character: usize) -> usize {
        if self.marks.is_empty() {
            return character.min(self.text.len());
        }
        let Some(&mark) = self.marks.get(character / STEP) else {
            return self.text.len();
        };
        let rest = self.text.get(mark..).unwrap_or("");
        rest.char_indices()
            .nth(character % STEP)
            .map_or(self.text.len(), |(byte, _)| mark.saturating_add(byte))
    }

    /// The parser's own lines are not taken over: at the end of a text it counts one too many.
    pub(super) fn span(&self, place: saphyr_parser::Span) -> Span {
        let character = place.start.index().min(self.characters);
        let line = self.lines.partition_point(|first| *first <= character);
        let first = self.lines.get(line.saturating_sub(1)).copied();
        let column = character
            .saturating_sub(first.unwrap_or(0))
            .saturating_add(1);
        let start = self.byte(character);
        Span {
            start,
            end: self.byte(place.end.index()).max(start),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}
