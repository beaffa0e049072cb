//! The only normalised form of a host, made once and used everywhere after.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// A DNS name as requests and entries carry it: ASCII, lower case, without a trailing dot,
/// 1 to 253 bytes, labels of 1 to 63 bytes out of letters, digits, `-` and `_`
/// (RFC 1035, section 2.3.4; the underscore as in RFC 8552), and a last label that no parser can
/// take for a part of an IPv4 address.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HostName(Arc<str>);

/// Why a text is no host.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Nothing at all.
    #[error("empty host")]
    Empty,
    /// A byte that no host name holds, among them every byte outside ASCII.
    #[error("a byte that no host name can hold")]
    Byte,
    /// Two dots in a row, or a dot at the front.
    #[error("an empty label")]
    EmptyLabel,
    /// A label of more than 63 bytes.
    #[error("a label longer than 63 bytes")]
    LabelLength,
    /// More than 253 bytes.
    #[error("longer than 253 bytes")]
    Length,
    /// An IPv4 address in a spelling that parsers read differently, for example `127.1` or `0x7f.1`.
    #[error("an address in a spelling other than four decimal numbers")]
    LegacyAddress,
    /// Square brackets around something that is not an IPv6 address.
    #[error("square brackets around something other than an IPv6 address")]
    Brackets,
}

impl HostName {
    /// Reads a name as it stands in a request; one trailing dot is dropped.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if !text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        {
            return Err(HostError::Byte);
        }
        if text.len() > 253 {
            return Err(HostError::Length);
        }
        for label in text.split('.') {
            if label.is_empty() {
                return Err(HostError::EmptyLabel);
            }
            if label.len() > 63 {
                return Err(HostError::LabelLength);
            }
        }
        let last = text.rsplit('.').next().unwrap_or(text);
        if is_number(last) {
            return Err(HostError::LegacyAddress);
        }
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            Ok(Self(text.to_ascii_lowercase().into()))
        } else {
            Ok(Self(text.into()))
        }
    }

    /// The name in lower case, without a trailing dot.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same text, shared.
    pub fn to_shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

/// Whether a label reads as a number of `inet_aton` or of the URL standard: digits, or `0x` and
/// hexadecimal digits (WHATWG URL, "ends in a number checker").
pub(crate) fn is_number(label: &str) -> bool {
    let hex = label
        .strip_prefix("0x")
        .or_else(|| label.strip_prefix("0X"));
    match hex {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => label.bytes().all(|b| b.is_ascii_digit()),
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a request asks to reach: a name, or an address written as such.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a third kind of host must be thought about everywhere"
)]
pub enum Host {
    /// A name, still to be resolved.
    Name(HostName),
    /// A literal address.
    Address(IpAddr),
}

impl Host {
    /// Reads the host of an authority (RFC 3986, section 3.2.2): a name, four decimal numbers,
    /// or an IPv6 address in square brackets.
    ///
    /// # Errors
    /// Everything else, among it IPv6 without brackets, zone identifiers, and IPv4 addresses
    /// in other spellings, which are never interpreted.
    pub fn parse(text: &[u8]) -> Result<Self, HostError> {
        let text = std::str::from_utf8(text).map_err(|_| HostError::Byte)?;
        if let Some(rest) = text.strip_prefix('[') {
            let inner = rest.strip_suffix(']').ok_or(HostError::Brackets)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| HostError::Brackets)?;
            return Ok(Self::Address(address.into()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        HostName::parse(text).map(Self::Name)
    }

    /// The name, if it is one.
    pub fn name(&self) -> Option<&HostName> {
        match self {
            Self::Name(name) => Some(name),
            Self::Address(_) => None,
        }
    }
}

impl fmt::Display for Host {
    /// As an authority writes it: IPv6 in square brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

#[cfg(test)]
mod tests;
