//! The pattern grammar of entries: names, wildcards, and their one normalised form.
//!
//! What is read here is normalised as a request's host is (lower case, ASCII, no trailing dot), so
//! that an entry in another spelling is never silently dead. An entry that could never match is an
//! error.

use std::borrow::Cow;
use std::fmt;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use ipnet::IpNet;

use super::HostName;
use crate::address::range;
use crate::entry::{EntryError, EntryErrorKind, Piece};

/// Which hosts an entry matches.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the table files each of them in its own place"
)]
pub enum Pattern {
    /// This name alone.
    Exact(HostName),
    /// `*.tail`: one or more labels in front of the tail.
    Below(HostName),
    /// `**.tail`: the tail itself and everything below it.
    AtOrBelow(HostName),
    /// A name in which other `*` stand: each is one or more characters inside one label.
    /// The text is normalised (lower case, IDNA), a leading `*.` or `**.` included.
    Glob(Box<str>),
    /// `*`: any name, never an address.
    AnyName,
    /// An address or a range of addresses; an IPv4-mapped range is its IPv4 range.
    Range(IpNet),
    /// `localhost`: 127.0.0.1 and `::1`.
    Localhost,
}

/// What stands in front of the labels of a pattern.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Lead {
    /// Nothing.
    None,
    /// `*.`: one or more labels.
    OneOrMore,
    /// `**.`: zero or more labels.
    ZeroOrMore,
}

impl Pattern {
    /// Reads the value of `host:` or `cidr:`: an entry without `!` and without ports.
    pub fn parse(text: &str) -> Result<Self, EntryError> {
        crate::entry::parse_host(text)
    }
}

impl fmt::Display for Pattern {
    /// As an entry writes it in its normalised form; IPv6 in square brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => name.fmt(f),
            Self::Below(tail) => write!(f, "*.{tail}"),
            Self::AtOrBelow(tail) => write!(f, "**.{tail}"),
            Self::Glob(text) => f.write_str(text),
            Self::AnyName => f.write_str("*"),
            Self::Range(IpNet::V4(range)) if range.prefix_len() == 32 => range.addr().fmt(f),
            Self::Range(IpNet::V4(range)) => range.fmt(f),
            Self::Range(IpNet::V6(range)) if range.prefix_len() == 128 => {
                write!(f, "[{}]", range.addr())
            }
            Self::Range(IpNet::V6(range)) => write!(f, "[{range}]"),
            Self::Localhost => f.write_str("localhost"),
        }
    }
}

/// Reads a name or a pattern of names, without ports; `text` is not empty.
pub(crate) fn parse_name(text: Piece<'_>) -> Result<Pattern, EntryError> {
    check_characters(text)?;
    if text.text == "*" {
        return Ok(Pattern::AnyName);
    }
    let (lead, rest) = match (text.after("**."), text.after("*.")) {
        (Some(rest), _) => (Lead::ZeroOrMore, rest),
        (None, Some(rest)) => (Lead::OneOrMore, rest),
        (None, None) => (Lead::None, text),
    };
    let rest = without_final_dot(rest);
    check_stars(text, rest)?;
    check_labels(text, rest)?;
    let name = to_ascii(rest)?;
    check_lengths(text, lead, &name)?;
    // Again, since what was written may only now be a number: a final dot and wide digits are gone.
    range::refuse_address(rest, &name)?;
    if name == "localhost" || name.ends_with(".localhost") {
        return localhost(text, lead, &name);
    }
    if name.contains('*') {
        return Ok(glob(lead, &name));
    }
    let name = HostName::parse(&name).map_err(|error| {
        rest.error(
            EntryErrorKind::Character,
            format!("`{}` is no host name: {error}", rest.text),
            "a host name has letters, digits, `-`, `_` and dots",
        )
    })?;
    Ok(match lead {
        Lead::None => Pattern::Exact(name),
        Lead::OneOrMore => Pattern::Below(name),
        Lead::ZeroOrMore => Pattern::AtOrBelow(name),
    })
}

fn glob(lead: Lead, name: &str) -> Pattern {
    match lead {
        // One label behind zero or more of them is any name.
        Lead::ZeroOrMore if name == "*" => Pattern::AnyName,
        Lead::None => Pattern::Glob(name.into()),
        Lead::OneOrMore => Pattern::Glob(format!("*.{name}").into()),
        Lead::ZeroOrMore => Pattern::Glob(format!("**.{name}").into()),
    }
}

/// Every name below `localhost` is the same loopback address, so there is one entry for all.
fn localhost(text: Piece<'_>, lead: Lead, name: &str) -> Result<Pattern, EntryError> {
    if lead == Lead::None && name == "localhost" {
        return Ok(Pattern::Localhost);
    }
    Err(text.error(
        EntryErrorKind::BelowLocalhost,
        format!(
            "`{}` is the same address as `localhost`, and no host of its own",
            text.text
        ),
        "write `localhost`, which covers 127.0.0.1, ::1 and the names below `localhost`",
    ))
}

fn without_final_dot(text: Piece<'_>) -> Piece<'_> {
    Piece {
        text: text.text.strip_suffix('.').unwrap_or(text.text),
        at: text.at,
    }
}

/// Refuses what is no part of the grammar by the name under which people know it.
fn check_characters(text: Piece<'_>) -> Result<(), EntryError> {
    if let Some(found) = text.find_char(|c| matches!(c, '?' | '[' | ']' | '{' | '}')) {
        return Err(found.error(
            EntryErrorKind::ForeignWildcard,
            format!("`{}` is no wildcard of an entry", found.text),
            "`*` stands for one or more characters inside a label, `*.` and `**.` for whole labels in front; write an entry for each alternative",
        ));
    }
    if let Some(found) = text.find_char(|c| {
        c.is_ascii() && !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*'))
    }) {
        return Err(found.error(
            EntryErrorKind::Character,
            format!("`{}` in a host", found.text),
            "a host has letters, digits, `-`, `_` and dots; the only wildcard is `*`",
        ));
    }
    Ok(())
}

fn check_stars(text: Piece<'_>, rest: Piece<'_>) -> Result<(), EntryError> {
    if let Some(stars) = rest.find("**") {
        return Err(stars.error(
            EntryErrorKind::Star,
            format!("`**` inside `{}`", text.text),
            "`**.` stands at the front alone, for the name and everything below it; elsewhere write `*`",
        ));
    }
    if rest.text.is_empty() {
        return Err(text.error(
            EntryErrorKind::Star,
            format!("no name behind `{}`", text.text),
            "write the name that it stands in front of, or `*` for any name",
        ));
    }
    Ok(())
}

fn check_labels(text: Piece<'_>, rest: Piece<'_>) -> Result<(), EntryError> {
    if rest.split('.').any(|label| label.text.is_empty()) {
        return Err(text.error(
            EntryErrorKind::EmptyLabel,
            format!("`{}` has an empty label", text.text),
            "write one dot between two labels, and none at the front",
        ));
    }
    Ok(())
}

/// Names longer than DNS carries never match; each `*` counts as the one character it stands for.
fn check_lengths(text: Piece<'_>, lead: Lead, name: &str) -> Result<(), EntryError> {
    let front = if lead == Lead::OneOrMore { 2 } else { 0 };
    if name.len() + front > 253 || name.split('.').any(|label| label.len() > 63) {
        return Err(text.error(
            EntryErrorKind::TooLong,
            "a name that is too long for DNS",
            "a name has at most 253 bytes, a label at most 63",
        ));
    }
    if name.split('.').any(str::is_empty) {
        return Err(idna_error(text));
    }
    Ok(())
}

/// The labels in the form that requests carry (UTS-46, non-transitional; hyphens and underscores
/// as DNS has them). `*` stays.
fn to_ascii(rest: Piece<'_>) -> Result<String, EntryError> {
    if !rest.text.contains('*') {
        return label_to_ascii(rest)
            .map(Cow::into_owned)
            .ok_or_else(|| idna_error(rest.split('.').find(unconvertible).unwrap_or(rest)));
    }
    let mut name = String::with_capacity(rest.text.len());
    for label in rest.split('.') {
        if !name.is_empty() {
            name.push('.');
        }
        if !label.text.contains('*') {
            name.push_str(&label_to_ascii(label).ok_or_else(|| idna_error(label))?);
        } else if label.text.is_ascii() {
            name.push_str(&label.text.to_ascii_lowercase());
        } else {
            return Err(label.error(
                EntryErrorKind::Idna,
                format!("`*` beside other than ASCII letters in `{}`", label.text),
                "such a label is encoded as a whole; write it out, or `*` for the whole label",
            ));
        }
    }
    Ok(name)
}

fn unconvertible(label: &Piece<'_>) -> bool {
    label_to_ascii(*label).is_none()
}

fn label_to_ascii(label: Piece<'_>) -> Option<Cow<'_, str>> {
    let converted = Uts46::new()
        .to_ascii(
            label.text.as_bytes(),
            AsciiDenyList::URL,
            Hyphens::Allow,
            DnsLength::Ignore,
        )
        .ok()?;
    // What maps to a star or a dot at the end must not become a wildcard or an empty label.
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    converted.bytes().all(plain).then_some(converted)
}

fn idna_error(label: Piece<'_>) -> EntryError {
    label.error(
        EntryErrorKind::Idna,
        format!("`{}` cannot be converted to a DNS name", label.text),
        "write the name as a browser shows it, or in its `xn--` form",
    )
}

#[cfg(test)]
mod tests;
