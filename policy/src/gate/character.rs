//! Characters that a reader of the file cannot see, or that two YAML versions read differently.

use crate::diagnostic::{Diagnostic, code};
use crate::source::SourceFile;

/// Finds the first few of them.
pub(super) fn find(source: &SourceFile) -> Vec<Diagnostic> {
    let text = &source.text;
    let plain = |b: u8| matches!(b, b'\t' | b'\n' | b' '..=b'~');
    if text.bytes().all(plain) {
        return Vec::new();
    }
    let mut before_line_feed = false;
    let mut found: Vec<(usize, char)> = Vec::new();
    for (at, c) in text.char_indices().rev() {
        let hidden = match c {
            '\r' => !before_line_feed,
            '\t' | '\n' => false,
            _ => c.is_control() || is_invisible(c),
        };
        before_line_feed = c == '\n';
        if hidden {
            found.push((at, c));
        }
    }
    let first = found.iter().rev().take(10);
    first
        .map(|&(at, c)| {
            Diagnostic::error(
                code::HIDDEN,
                source,
                source.span(at, at.saturating_add(c.len_utf8())),
                format!("the hidden character U+{:04X}", u32::from(c)),
            )
            .with_help("delete it: a policy holds only what its readers can see")
        })
        .collect()
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
