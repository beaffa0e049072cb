//! The methods and path patterns of entries: what is written, checked and compiled.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::path;

/// The most bytes of one path pattern.
const MAX_PATTERN_BYTES: usize = 1024;

/// Why a method or a path pattern of an entry cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[error("{message}")]
pub struct HttpRuleError {
    /// The key with the fault: `methods` or `paths`.
    pub key: &'static str,
    /// Which of the key's values, from 0.
    pub index: usize,
    /// What is wrong: lower case, no full stop, user input in backticks.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

/// Refuses what is no method (RFC 9110, section 9.1), and those that could never match.
pub(super) fn check_method(method: &str, index: usize) -> Result<(), HttpRuleError> {
    let fault = |message: String, help: String| {
        Err(HttpRuleError {
            key: "methods",
            index,
            message,
            help,
        })
    };
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if method.is_empty() || !method.bytes().all(token) || method.contains('*') {
        return fault(
            format!("`{method}` is no HTTP method"),
            "write methods like `GET`; leave `methods` out for every method".to_owned(),
        );
    }
    if method.eq_ignore_ascii_case("connect") {
        return fault(
            "`CONNECT` opens a tunnel, and is no request of a host's rule".to_owned(),
            "leave it out; an entry without `methods` and `paths` allows tunnels".to_owned(),
        );
    }
    if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return fault(
            format!("`{method}` is not in capitals, and methods are case-sensitive"),
            format!("write `{}`", method.to_ascii_uppercase()),
        );
    }
    Ok(())
}

/// Compiles path patterns: `*` is any characters inside a segment, `**` any segments.
pub(super) fn compile<P: AsRef<str>>(patterns: &[P]) -> Result<GlobSet, HttpRuleError> {
    let mut set = GlobSetBuilder::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let pattern = pattern.as_ref();
        let fault = |(message, help): (String, &str)| HttpRuleError {
            key: "paths",
            index,
            message,
            help: help.to_owned(),
        };
        let text = checked(pattern).map_err(fault)?;
        let glob = GlobBuilder::new(&text)
            .literal_separator(true)
            .backslash_escape(false)
            .build()
            .map_err(|error| fault((error.to_string(), "write the path in a simpler way")))?;
        set.add(glob);
    }
    set.build().map_err(|_| HttpRuleError {
        key: "paths",
        index: 0,
        message: "too many paths in one entry".to_owned(),
        help: "split the entry; one takes some thousands of paths".to_owned(),
    })
}

/// What every path that a checked pattern matches begins with, up to a `/`; a pattern without
/// wildcards whole.
pub(super) fn beginning(pattern: &str) -> String {
    let (literal, wild) = match pattern.split_once('*') {
        Some((literal, _)) => (literal, true),
        None => (pattern, false),
    };
    // A checked pattern can be decoded; were it not so, it would be held against every path.
    let decoded = path::decoded(literal).unwrap_or(Cow::Borrowed("/"));
    match decoded.rfind('/') {
        Some(slash) if wild => decoded.get(..=slash).unwrap_or_default().to_owned(),
        _ => decoded.into_owned(),
    }
}

/// The pattern in the form that decoded request paths have, or what is wrong and what to do.
fn checked(pattern: &str) -> Result<String, (String, &'static str)> {
    if !pattern.starts_with('/') {
        return Err((
            format!("`{pattern}` does not begin with `/`"),
            "write the path from its first `/`, for example `/repos/acme/**`",
        ));
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err((
            format!("a path of {} bytes", pattern.len()),
            "a path pattern has at most 1024 bytes",
        ));
    }
    if let Some(found) = pattern
        .chars()
        .find(|&c| matches!(c, '?' | '[' | ']' | '{' | '}' | '#'))
    {
        return Err((
            format!("`{found}` in the path `{pattern}`"),
            "the wildcards are `*` inside a segment and `**` for segments; a query is no part of a path; write the character itself as `%` and two digits",
        ));
    }
    let stars = |segment: &str| segment.contains("**") && segment != "**";
    if pattern.split('/').any(stars) {
        return Err((
            format!("`**` inside a segment of `{pattern}`"),
            "`**` stands for whole segments: `/a/**/b`; inside a segment write `*`",
        ));
    }
    let pieces: Option<Vec<_>> = pattern.split('*').map(path::decoded).collect();
    let plain = pieces.filter(|pieces| path::is_plain(&pieces.join("*")));
    plain
        .map(|pieces| {
            let escaped: Vec<_> = pieces.iter().map(|piece| escaped(piece)).collect();
            escaped.join("*")
        })
        .ok_or_else(|| {
            (
                format!("`{pattern}` matches no path that is safe to read"),
                "remove `//`, `.` and `..` segments, backslashes, control characters and bad `%` escapes",
            )
        })
}

/// Decoded characters that mean something to globset mean themselves.
fn escaped(piece: &str) -> String {
    let mut escaped = String::with_capacity(piece.len());
    for c in piece.chars() {
        if matches!(c, '?' | '*' | '[' | ']' | '{' | '}') {
            escaped.extend(['[', c, ']']);
        } else {
            escaped.push(c);
        }
    }
    escaped
}
