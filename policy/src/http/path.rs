//! The path of a request, read defensively.

use std::borrow::Cow;

/// A path as a rule judges it: without percent-encoding, and in both readings of an encoded slash.
/// A path that parsers are known to read differently has no reading at all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RequestPath<'a>(Option<Readings<'a>>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct Readings<'a> {
    /// Decoded, an encoded slash kept as `%2F`.
    kept: Cow<'a, str>,
    /// The same with the encoded slash as a separator; `None` without one.
    split: Option<String>,
}

impl<'a> RequestPath<'a> {
    /// Reads a path as sent, from its first `/` and without the query.
    pub fn new(text: &'a str) -> Self {
        Self(readings(text))
    }

    /// The reading with encoded slashes kept, and the one with them split, where they differ.
    pub(crate) fn readings(&self) -> Option<(&str, Option<&str>)> {
        self.0
            .as_ref()
            .map(|readings| (readings.kept.as_ref(), readings.split.as_deref()))
    }
}

fn readings(text: &str) -> Option<Readings<'_>> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.contains(['?', '#']) {
        return None;
    }
    let kept = decoded(text)?;
    if !is_plain(&kept) {
        return None;
    }
    let split = kept.contains("%2F").then(|| kept.replace("%2F", "/"));
    if split.as_ref().is_some_and(|split| !is_plain(split)) {
        return None;
    }
    Some(Readings { kept, split })
}

/// Whether every parser sees the same segments: no dot segment, no empty one but the last, no
/// backslash, no control character.
pub(super) fn is_plain(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else {
        return false;
    };
    let dots = |segment: &str| {
        // Servers with path parameters drop what follows a semicolon.
        matches!(segment.split(';').next(), Some("." | ".."))
    };
    let inner_is_empty = rest.starts_with('/') || rest.contains("//");
    !inner_is_empty
        && !rest.split('/').any(dots)
        && !path.chars().any(|c| c == '\\' || c.is_control())
}

/// Decodes once; `%2F` stays, in that spelling. `None` for a bad escape, for what is no UTF-8, and
/// for what a second decoding would change.
pub(super) fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let value = hexadecimal(digits)?;
        match value {
            b'/' => bytes.extend_from_slice(b"%2F"),
            b'%' => return None,
            _ => bytes.push(value),
        }
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn hexadecimal(digits: &str) -> Option<u8> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| plain)
}
