//! The text of an entry: `["!"] (name | address) [":" ports]`.
//!
//! It says what the text means and knows nothing of groups: which ports are meant when none are
//! written depends on the group's effect, and is the compiler's part.

use super::error::{EntryError, EntryErrorKind};
use super::piece::Piece;
use crate::address::range;
use crate::host::{Pattern, pattern};
use crate::port::{Port, PortSet};

/// The most bytes that the text of an entry may have.
pub const MAX_ENTRY_BYTES: usize = 320;

/// An entry as its text says it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParsedEntry {
    /// Whether it begins with `!` and so takes hosts out of its list again.
    pub negated: bool,
    /// Which hosts.
    pub pattern: Pattern,
    /// Which ports; `None` where none are written.
    pub ports: Option<PortSet>,
}

/// Reads an entry that is written as a string.
pub fn parse(text: &str) -> Result<ParsedEntry, EntryError> {
    let whole = checked(text)?;
    let (negated, rest) = match whole.after("!") {
        Some(rest) => (true, rest),
        None => (false, whole),
    };
    let (pattern, ports) = host_and_ports(rest)?;
    Ok(ParsedEntry {
        negated,
        pattern,
        ports: ports.map(port_set).transpose()?,
    })
}

/// Reads the value of `host:` or `cidr:` of a mapping: an entry without `!` and without ports.
pub(crate) fn parse_host(text: &str) -> Result<Pattern, EntryError> {
    let (pattern, ports) = host_and_ports(checked(text)?)?;
    match ports {
        None => Ok(pattern),
        Some(ports) => Err(ports.error(
            EntryErrorKind::Ports,
            "ports have a key of their own in a mapping",
            format!("write `ports: \"{}\"` beside it", ports.text),
        )),
    }
}

/// Reads ports as an entry writes them: `*`, or numbers and ranges like `22,8000-8100`.
pub fn parse_ports(text: &str) -> Result<PortSet, EntryError> {
    let whole = Piece::whole(text);
    if text.len() > MAX_ENTRY_BYTES {
        return Err(whole.error(
            EntryErrorKind::TooLong,
            format!("ports of {} bytes", text.len()),
            format!("write a list of texts, each of at most {MAX_ENTRY_BYTES} bytes"),
        ));
    }
    port_set(whole)
}

/// What holds for every entry, whatever it names.
fn checked(text: &str) -> Result<Piece<'_>, EntryError> {
    let whole = Piece::whole(text);
    if text.is_empty() {
        return Err(whole.error(
            EntryErrorKind::Empty,
            "an empty entry",
            "write a host, for example `docs.example`, or remove the entry",
        ));
    }
    if text.len() > MAX_ENTRY_BYTES {
        return Err(whole.error(
            EntryErrorKind::TooLong,
            format!("an entry of {} bytes", text.len()),
            format!("an entry has at most {MAX_ENTRY_BYTES} bytes"),
        ));
    }
    if let Some(space) = whole.find_char(|c| c.is_whitespace() || c.is_control()) {
        return Err(space.error(
            EntryErrorKind::Character,
            "a space or control character in an entry",
            "remove it; every host is an entry of its own",
        ));
    }
    if let Some(scheme) = whole.find("://") {
        return Err(scheme.error(
            EntryErrorKind::Url,
            format!("`{text}` is a URL"),
            "write the host alone, without scheme and path, for example `docs.example:443`",
        ));
    }
    if let Some(at) = whole.find("@") {
        return Err(at.error(
            EntryErrorKind::Url,
            "user information in an entry",
            "write the host alone",
        ));
    }
    Ok(whole)
}

/// Reads the host and cuts off the ports, which are what follows the colon.
fn host_and_ports(rest: Piece<'_>) -> Result<(Pattern, Option<Piece<'_>>), EntryError> {
    if rest.text.starts_with('!') {
        return Err(rest.error(
            EntryErrorKind::Exclusion,
            "a `!` that excludes nothing",
            "write one `!`, in front of an entry that is a string",
        ));
    }
    if let Some(inner) = rest.after("[") {
        return bracketed(rest, inner);
    }
    if rest.text.matches(':').count() > 1 {
        return range::parse_unbracketed(rest).map(|range| (Pattern::Range(range), None));
    }
    let (host, ports) = match rest.split_once(':') {
        Some((host, ports)) => (host, Some(ports)),
        None => (rest, None),
    };
    if host.text.is_empty() {
        return Err(rest.error(
            EntryErrorKind::Empty,
            "no host in an entry",
            "write a host in front of the ports; `*` is any name",
        ));
    }
    let pattern = match range::parse_v4(host)? {
        Some(range) => Pattern::Range(range),
        None => pattern::parse_name(host)?,
    };
    Ok((pattern, ports))
}

fn bracketed<'a>(
    rest: Piece<'a>,
    inner: Piece<'a>,
) -> Result<(Pattern, Option<Piece<'a>>), EntryError> {
    let Some((inside, after)) = inner.split_once(']') else {
        return Err(rest.error(
            EntryErrorKind::Address,
            "a `[` without its `]`",
            "square brackets stand around an IPv6 address or range, for example `[2001:db8::/32]:443`",
        ));
    };
    let range = range::parse_v6(inside)?;
    let ports = match after.after(":") {
        Some(ports) => Some(ports),
        None if after.text.is_empty() => None,
        None => {
            return Err(after.error(
                EntryErrorKind::Address,
                format!("`{}` after the square brackets", after.text),
                "a prefix length stands inside them, ports follow them after a colon: `[2001:db8::/32]:443`",
            ));
        }
    };
    Ok((Pattern::Range(range), ports))
}

fn port_set(ports: Piece<'_>) -> Result<PortSet, EntryError> {
    if ports.text == "*" {
        return Ok(PortSet::all());
    }
    let ranges: Result<Vec<_>, _> = ports.split(',').map(port_range).collect();
    Ok(PortSet::from_ranges(ranges?))
}

fn port_range(part: Piece<'_>) -> Result<(Port, Port), EntryError> {
    let Some((low, high)) = part.split_once('-') else {
        let port = port(part)?;
        return Ok((port, port));
    };
    let range = (port(low)?, port(high)?);
    if range.0 > range.1 {
        return Err(part.error(
            EntryErrorKind::Ports,
            format!("`{}` ends before it begins", part.text),
            format!("write `{}-{}`", range.1, range.0),
        ));
    }
    Ok(range)
}

fn port(part: Piece<'_>) -> Result<Port, EntryError> {
    Port::parse(part.text).ok_or_else(|| {
        let message = if part.text.is_empty() {
            "a port is missing".to_owned()
        } else {
            format!("`{}` is no port", part.text)
        };
        part.error(
            EntryErrorKind::Ports,
            message,
            "ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`",
        )
    })
}

#[cfg(test)]
mod tests;
