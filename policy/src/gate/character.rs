//! Characters that a reader of the file cannot see, or that two YAML versions read differently.

use crate::diagnostic::{Diagnostic, code};
use crate::source::SourceFile;

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
            _ => c.is_control() || is_invisible(c),
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

/// Line breaks of YAML 1.1 alone, marks without width, and those that turn the direction of the
/// text around.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
    )
}
