//! The YAML parser counts characters; Moat counts bytes.

use crate::source::Span;

/// Every how many characters a byte offset is kept.
const STEP: usize = 64;

/// From characters to bytes of one text.
pub(super) struct Offsets<'t> {
    text: &'t str,
    /// The byte offset of every `STEP`th character; empty for ASCII, where both counts agree.
    marks: Vec<usize>,
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
        Self { text, marks }
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

    pub(super) fn span(&self, place: saphyr_parser::Span) -> Span {
        let start = self.byte(place.start.index());
        Span {
            start,
            end: self.byte(place.end.index()).max(start),
            line: u32::try_from(place.start.line()).unwrap_or(u32::MAX),
            column: u32::try_from(place.start.col()).map_or(u32::MAX, |at| at.saturating_add(1)),
        }
    }
}
