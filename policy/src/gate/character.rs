//! Characters that a reader of the file cannot see, or that two YAML versions read differently.

use crate::diagnostic::{Diagnostic, code};
use crate::source::{SourceFile, is_hidden};

/// How many are reported.
const MOST: usize = 10;

/// Finds the first few of them.
pub(super) fn find(source: &SourceFile) -> Vec<Diagnostic> {
    let text = &source.text;
    let plain = |b: u8| matches!(b, b'\t' | b'\n' | b' '..=b'~');
    if text.bytes().all(plain) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let hidden = match c {
            '\r' => characters.peek().is_none_or(|(_, next)| *next != '\n'),
            '\t' | '\n' => false,
            _ => is_hidden(c),
        };
        if hidden {
            let span = source.span(at, at.saturating_add(c.len_utf8()));
            let message = format!("the hidden character U+{:04X}", u32::from(c));
            let problem = Diagnostic::error(code::HIDDEN, source, span, message);
            found
                .push(problem.with_help("delete it: a policy holds only what its readers can see"));
            if found.len() == MOST {
                break;
            }
        }
    }
    found
}
