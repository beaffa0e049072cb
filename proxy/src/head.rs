//! The head of an HTTP/1 request: where it ends, and whether everybody would read it alike.
//!
//! Every head passes [`check`], the first of a connection and the later ones, whichever door it
//! goes to. It knows the framing of the body and nothing of the target's meaning.

use std::mem::MaybeUninit;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use tokio::io::AsyncRead;

use crate::refusal::Refusal;
use crate::scratch;

/// Largest head, in bytes.
pub(crate) const MAX_HEAD: usize = 16 * 1024;
/// Most headers in a head.
pub(crate) const MAX_HEADERS: usize = 100;

/// A head that passed, as far as doors need it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of its own"
)]
pub(crate) struct Head<'a> {
    /// As sent; methods are case-sensitive (RFC 9110, section 9.1).
    pub(crate) method: &'a str,
    /// The request target as sent.
    pub(crate) target: &'a str,
    /// 1.0 or 1.1.
    pub(crate) version: Version,
    /// The Host header, which may be empty.
    pub(crate) host: Option<&'a str>,
    /// What follows the head.
    pub(crate) body: Framing,
    /// Whether the client waits for `100 Continue`.
    pub(crate) expects: bool,
    /// Whether the client wants to go on with this connection.
    pub(crate) persists: bool,
    /// Whether this asks for a WebSocket (RFC 6455, section 4.1).
    pub(crate) websocket: bool,
    /// Whether the client would rather have JSON than text.
    pub(crate) json: bool,
}

/// The versions that are served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Framing {
    /// There is none.
    Empty,
    /// This many bytes.
    Length(u64),
    /// In chunks.
    Chunked,
}

/// Reads until `bytes` begins with a whole head and gives its length. `bytes` holds what was read
/// before and, in the end, what came behind the head.
pub(crate) async fn read<S>(
    stream: &mut S,
    bytes: &mut BytesMut,
    limit: Duration,
) -> Result<usize, Refusal>
where
    S: AsyncRead + Unpin,
{
    let mut search = Search::default();
    if let Some(end) = search.find_end(bytes)? {
        return Ok(end);
    }
    let more = async {
        loop {
            match scratch::read(stream, bytes).await {
                Ok(0) | Err(_) => return Err(Refusal::malformed("the head ends too early")),
                Ok(_) => {}
            }
            if let Some(end) = search.find_end(bytes)? {
                return Ok(end);
            }
        }
    };
    tokio::time::timeout(limit, more)
        .await
        .unwrap_or_else(|_| Err(Refusal::head_too_slow()))
}

/// The search for the end of a head that comes in pieces.
#[derive(Debug, Default)]
struct Search {
    scanned: usize,
    /// Whether an empty line was dropped.
    skipped: bool,
}

impl Search {
    /// The length of the head at the front, once it is whole. One empty line before it is dropped
    /// (RFC 9112, section 2.2); a second one, and a line that ends without CR, are refused as soon
    /// as they are seen.
    fn find_end(&mut self, bytes: &mut BytesMut) -> Result<Option<usize>, Refusal> {
        while self.scanned == 0 && bytes.starts_with(b"\r\n") {
            if std::mem::replace(&mut self.skipped, true) {
                return Err(Refusal::malformed("more than one empty line before a head"));
            }
            bytes.advance(2);
        }
        let end = end_of_lines(bytes, &mut self.scanned)?;
        if end.unwrap_or(bytes.len()) > MAX_HEAD {
            return Err(Refusal::head_too_large());
        }
        Ok(end)
    }
}

/// The end of the first empty line that follows another line. `scanned` says how much was looked
/// at before and had no such end.
pub(crate) fn end_of_lines(bytes: &[u8], scanned: &mut usize) -> Result<Option<usize>, Refusal> {
    while let Some(offset) = bytes
        .get(*scanned..)
        .and_then(|rest| rest.iter().position(|&byte| byte == b'\n'))
    {
        let end = *scanned + offset + 1;
        let line = bytes.get(..end).unwrap_or_default();
        if !line.ends_with(b"\r\n") {
            return Err(Refusal::malformed("a line ends without a carriage return"));
        }
        *scanned = end;
        if line.ends_with(b"\r\n\r\n") {
            return Ok(Some(end));
        }
    }
    // The last byte is looked at again, so that an empty line in two pieces is still seen at 0.
    *scanned = (*scanned)
        .max(bytes.len().saturating_sub(1))
        .min(bytes.len());
    Ok(None)
}

/// Judges one whole head, from its first byte to the empty line.
pub(crate) fn check(bytes: &[u8]) -> Result<Head<'_>, Refusal> {
    check_bytes(bytes)?;
    if !bytes.first().is_some_and(u8::is_ascii_graphic) {
        return Err(Refusal::malformed("the request line is malformed"));
    }
    let mut slots = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, &mut slots) {
        Ok(httparse::Status::Complete(end)) if end == bytes.len() => {}
        Ok(_) => return Err(Refusal::malformed("the head is not whole")),
        Err(error) => return Err(fault(error)),
    }
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Err(Refusal::malformed("the request line is not whole"));
    };
    let version = match request.version {
        Some(0) => Version::Http10,
        Some(1) => Version::Http11,
        _ => return Err(Refusal::malformed("the version is neither 1.0 nor 1.1")),
    };
    let mut fields = Fields::default();
    for header in request.headers.iter() {
        fields.take(header)?;
    }
    let body = fields.framing(version)?;
    let persists = match version {
        Version::Http10 => fields.keep_alive && !fields.close,
        Version::Http11 => !fields.close,
    };
    Ok(Head {
        method,
        target,
        version,
        host: fields.host,
        body,
        expects: fields.expects && version == Version::Http11,
        persists,
        websocket: fields.websocket
            && fields.upgrades
            && method == "GET"
            && version == Version::Http11
            && body == Framing::Empty,
        json: fields.json && !fields.text,
    })
}

/// Control bytes have no place in a head, and CR and LF only as a pair. What `httparse` would
/// refuse too is refused here first, so that nothing hangs on its leniency.
pub(crate) fn check_bytes(bytes: &[u8]) -> Result<(), Refusal> {
    let mut after_cr = false;
    for &byte in bytes {
        if after_cr != (byte == b'\n') {
            return Err(Refusal::malformed("a bare carriage return or line feed"));
        }
        after_cr = byte == b'\r';
        if (byte < b' ' && !matches!(byte, b'\t' | b'\r' | b'\n')) || byte == 0x7f {
            return Err(Refusal::malformed("a control byte in the head"));
        }
    }
    if after_cr {
        return Err(Refusal::malformed("a bare carriage return or line feed"));
    }
    Ok(())
}

fn fault(error: httparse::Error) -> Refusal {
    match error {
        httparse::Error::HeaderName => Refusal::malformed("a header name is malformed"),
        httparse::Error::HeaderValue => Refusal::malformed("a header value is malformed"),
        httparse::Error::NewLine => Refusal::malformed("a line does not end as it must"),
        httparse::Error::Status | httparse::Error::Token => {
            Refusal::malformed("the request line is malformed")
        }
        httparse::Error::TooManyHeaders => Refusal::head_too_large(),
        httparse::Error::Version => Refusal::malformed("the version is neither 1.0 nor 1.1"),
    }
}

/// What the headers say, gathered one by one.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of its own"
)]
struct Fields<'a> {
    host: Option<&'a str>,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    upgrades: bool,
    websocket: bool,
    expects: bool,
    json: bool,
    text: bool,
}

impl<'a> Fields<'a> {
    fn take(&mut self, header: &httparse::Header<'a>) -> Result<(), Refusal> {
        let (name, value) = (header.name, header.value);
        // No name that matters is longer or shorter; most headers end here.
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => self.take_host(value)?,
            6 if name.eq_ignore_ascii_case("accept") => {
                self.json |= contains(value, b"application/json");
                self.text |= contains(value, b"text/html") || contains(value, b"text/plain");
            }
            6 if name.eq_ignore_ascii_case("expect") => self.expects = true,
            7 if name.eq_ignore_ascii_case("upgrade") => {
                self.websocket = value.eq_ignore_ascii_case(b"websocket");
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                for token in tokens(value) {
                    self.close |= token.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                    self.upgrades |= token.eq_ignore_ascii_case(b"upgrade");
                }
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                let length = parse_length(value)
                    .ok_or_else(|| Refusal::malformed("Content-Length is not a number"))?;
                if self.length.replace(length).is_some() {
                    return Err(Refusal::malformed("more than one Content-Length"));
                }
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if self.chunked {
                    return Err(Refusal::malformed("more than one Transfer-Encoding"));
                }
                if !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Refusal::malformed(
                        "a Transfer-Encoding other than `chunked`",
                    ));
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn take_host(&mut self, value: &'a [u8]) -> Result<(), Refusal> {
        let host = std::str::from_utf8(value)
            .map_err(|_| Refusal::malformed("the Host header is not ASCII"))?;
        if self.host.replace(host).is_some() {
            return Err(Refusal::malformed("more than one Host header"));
        }
        Ok(())
    }

    fn framing(&self, version: Version) -> Result<Framing, Refusal> {
        match (self.length, self.chunked) {
            (None | Some(0), false) => Ok(Framing::Empty),
            (Some(length), false) => Ok(Framing::Length(length)),
            (Some(_), true) => Err(Refusal::malformed(
                "both Content-Length and Transfer-Encoding",
            )),
            (None, true) if version == Version::Http10 => {
                Err(Refusal::malformed("Transfer-Encoding in HTTP/1.0"))
            }
            (None, true) => Ok(Framing::Chunked),
        }
    }
}

/// The elements of a comma-separated list, empty ones left out.
pub(crate) fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

/// One or more digits, and nothing else, that fit into 63 bits.
pub(crate) fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn contains(value: &[u8], word: &[u8]) -> bool {
    value
        .windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
