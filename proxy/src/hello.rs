//! The `ClientHello` at the front of a TLS connection, read and not answered.
//!
//! [rustls] decides whether it is one and which server name it carries; a second, plain walk over
//! the same bytes sees what rustls does not show: an address in the place of a name, and Encrypted
//! Client Hello. It does not know which names are allowed.

use std::borrow::Cow;

use moat_policy::host::{Host, HostName};
use rustls::server::Acceptor;

/// The content type of a record that carries handshake messages (RFC 8446, section 5.1): the
/// first byte of every TLS connection.
pub(crate) const HANDSHAKE: u8 = 22;
/// The largest `ClientHello`, with its record headers.
pub(crate) const LIMIT: usize = 16 * 1024;

/// The first byte of every version that a record names, from SSL 3.0 to TLS 1.3.
pub(crate) const VERSION: u8 = 3;
/// The type of the message that a client begins with.
pub(crate) const CLIENT_HELLO: u8 = 1;
/// How long the header of a record is.
const HEADER: usize = 5;
/// How long type and length in front of a handshake message are.
const START: usize = 4;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;

/// What a `ClientHello` says about where it wants to go.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Hello {
    /// The outer server name; an address where the client (wrongly, RFC 6066) sent one.
    pub(crate) server_name: Option<Host>,
    /// Whether it carries the extension of Encrypted Client Hello, which browsers also send
    /// without meaning it (GREASE).
    pub(crate) has_ech: bool,
}

/// Why bytes are no acceptable `ClientHello`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum HelloError {
    /// It breaks the protocol.
    #[error("not a valid TLS ClientHello")]
    Malformed,
    /// It is too large.
    #[error("the TLS ClientHello is larger than 16 KiB")]
    TooLarge,
    /// Its server name is no host name.
    #[error("the TLS server name is no host name")]
    Name,
}

/// Reads a `ClientHello` from the front of what a client sent. `None` means that more bytes are
/// needed; where they are cut into records and segments means nothing.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<Hello>, HelloError> {
    Reader::default().read(bytes)
}

/// Reads a `ClientHello` that comes in parts, and looks at each record once.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Where the records that were looked at end.
    at: usize,
    /// How many bytes of the handshake message they carry.
    joined: usize,
    /// The first four of these bytes, as far as they are there: the message's type and length.
    start: u32,
}

impl Reader {
    /// Reads on. `bytes` are all that came so far, and begin with those of the last call.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Option<Hello>, HelloError> {
        // Nothing beyond the limit and nothing behind the message counts, so that what is read
        // does not depend on how much came at once.
        if !self.finds_end(bytes.get(..LIMIT).unwrap_or(bytes))? {
            return if bytes.len() > LIMIT {
                Err(HelloError::TooLarge)
            } else {
                Ok(None)
            };
        }
        let bytes = bytes.get(..self.at).unwrap_or_default();
        let message = join(bytes);
        let seen = walk(&message).ok_or(HelloError::Malformed)?;
        let accepted = accept(bytes)?;
        let server_name = match (accepted, seen.server_name) {
            (None, None) => None,
            // rustls gives a name in lower case and without a dot at its end, and no address at
            // all.
            (Some(name), Some(_)) => {
                let name = HostName::parse(&name).map_err(|_| HelloError::Name)?;
                Some(Host::Name(name))
            }
            (None, Some(raw)) => Some(Host::Address(address(raw).ok_or(HelloError::Name)?)),
            (Some(_), None) => return Err(HelloError::Malformed),
        };
        Ok(Some(Hello {
            server_name,
            has_ech: seen.has_ech,
        }))
    }

    /// Whether the first handshake message is there, out of as many whole records as it takes.
    fn finds_end(&mut self, bytes: &[u8]) -> Result<bool, HelloError> {
        while !self.is_whole()? {
            let mut rest = Cursor(bytes.get(self.at..).unwrap_or_default());
            let Some(fragment) = rest.record()? else {
                return Ok(false);
            };
            for &byte in fragment.iter().take(START.saturating_sub(self.joined)) {
                self.start = self.start << 8 | u32::from(byte);
            }
            self.joined += fragment.len();
            self.at += HEADER + fragment.len();
        }
        Ok(true)
    }

    /// Whether the records that were looked at carry the whole message.
    fn is_whole(&self) -> Result<bool, HelloError> {
        if self.joined < START {
            return Ok(false);
        }
        let [kind, length @ ..] = self.start.to_be_bytes();
        if kind != CLIENT_HELLO {
            return Err(HelloError::Malformed);
        }
        let length = length
            .iter()
            .fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        if length > LIMIT {
            return Err(HelloError::TooLarge);
        }
        Ok(self.joined - START >= length)
    }
}

fn address(raw: &[u8]) -> Option<std::net::IpAddr> {
    std::str::from_utf8(raw).ok()?.parse().ok()
}

/// What rustls makes of it: the server name, if there is one.
fn accept(mut bytes: &[u8]) -> Result<Option<String>, HelloError> {
    let mut acceptor = Acceptor::default();
    while !bytes.is_empty() {
        let read = acceptor.read_tls(&mut bytes);
        if !matches!(read, Ok(1..)) {
            return Err(HelloError::Malformed);
        }
        match acceptor.accept() {
            Ok(None) => {}
            Ok(Some(accepted)) => {
                return Ok(accepted.client_hello().server_name().map(str::to_owned));
            }
            Err(_) => return Err(HelloError::Malformed),
        }
    }
    Err(HelloError::Malformed)
}

/// What these whole records carry.
fn join(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut rest = Cursor(bytes);
    let mut joined: Cow<'_, [u8]> = Cow::Borrowed(&[]);
    while let Ok(Some(fragment)) = rest.record() {
        if joined.is_empty() {
            joined = Cow::Borrowed(fragment);
        } else {
            joined.to_mut().extend_from_slice(fragment);
        }
    }
    joined
}

/// What the plain walk sees.
struct Seen<'a> {
    server_name: Option<&'a [u8]>,
    has_ech: bool,
}

/// Walks over a whole message; `None` where its lengths do not fit (RFC 8446, section 4.1.2).
fn walk(message: &[u8]) -> Option<Seen<'_>> {
    let mut hello = Cursor(message);
    hello.take(4 + 2 + 32)?;
    let session = hello.byte()?;
    hello.take(session.into())?;
    let suites = hello.word()?;
    hello.take(suites.into())?;
    let compressions = hello.byte()?;
    hello.take(compressions.into())?;
    let mut seen = Seen {
        server_name: None,
        has_ech: false,
    };
    let Some(length) = hello.word() else {
        return Some(seen); // Extensions may be left out in TLS 1.2.
    };
    let mut extensions = Cursor(hello.take(length.into())?);
    while !extensions.0.is_empty() {
        let kind = extensions.word()?;
        let length = extensions.word()?;
        let body = extensions.take(length.into())?;
        if kind == SERVER_NAME {
            seen.server_name = Some(only_name(body)?);
        }
        seen.has_ech |= kind == ENCRYPTED_CLIENT_HELLO;
    }
    Some(seen)
}

/// The only name of a list (RFC 6066, section 3). Servers differ in which entry of several they
/// read, and in what they make of an entry that is no host name.
fn only_name(list: &[u8]) -> Option<&[u8]> {
    let mut list = Cursor(list);
    let length = list.word()?;
    let mut entries = Cursor(list.take(length.into())?);
    let kind = entries.byte()?;
    let length = entries.word()?;
    let name = entries.take(length.into())?;
    (kind == HOST_NAME && entries.0.is_empty() && list.0.is_empty()).then_some(name)
}

/// Bytes that are taken from the front.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// What the next record carries, once it is whole.
    fn record(&mut self) -> Result<Option<&'a [u8]>, HelloError> {
        let Some(header) = self.take(HEADER) else {
            return Ok(None);
        };
        let mut header = Cursor(header);
        let (kind, major) = (header.byte(), header.byte());
        let (_minor, length) = (header.byte(), header.word());
        if kind != Some(HANDSHAKE) || major != Some(VERSION) || length == Some(0) {
            return Err(HelloError::Malformed);
        }
        Ok(length.and_then(|length| self.take(length.into())))
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn word(&mut self) -> Option<u16> {
        let (&bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(bytes))
    }
}

#[cfg(test)]
pub(crate) mod tests;
