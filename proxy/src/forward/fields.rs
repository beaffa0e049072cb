//! Header fields on their way through: what ends at this hop is taken out, and a response whose
//! end could be read in two ways is refused.

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{StatusCode, Version, response};

use crate::head::{parse_length, tokens};
use crate::refusal::Refusal;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");
const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");

/// What is true of one hop only (RFC 9110, section 7.6.1), with what older clients send.
const ONE_HOP: [HeaderName; 6] = [
    CONNECTION,
    KEEP_ALIVE,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HTTP2_SETTINGS,
];

/// Whether a message switches to another protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Switch {
    /// No.
    Stay,
    /// To WebSocket.
    WebSocket,
}

/// Makes a request's fields those that the origin gets.
pub(super) fn request(headers: &mut HeaderMap, host: HeaderValue, chunked: bool, switch: Switch) {
    strip(headers);
    remove_prefixed(headers, "proxy-");
    headers.insert(HOST, host);
    if chunked {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    if switch == Switch::WebSocket {
        set_websocket(headers);
    }
}

/// Judges a response's framing and makes its fields those that the client gets.
pub(super) fn response(parts: &mut response::Parts, asked: Switch) -> Result<Switch, Refusal> {
    check_framing(parts.version, &parts.headers)?;
    let switch = if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        let agreed = parts
            .headers
            .get(UPGRADE)
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
        if asked != Switch::WebSocket || !agreed {
            return Err(Refusal::upstream(
                "the origin switched to a protocol that nobody asked for",
            ));
        }
        Switch::WebSocket
    } else {
        Switch::Stay
    };
    let statuses = foreign_statuses(&parts.headers);
    strip(&mut parts.headers);
    remove_prefixed(&mut parts.headers, "moat-");
    remove_prefixed(&mut parts.headers, "proxy-");
    for value in statuses {
        parts.headers.append(PROXY_STATUS, value);
    }
    if switch == Switch::WebSocket {
        set_websocket(&mut parts.headers);
    }
    // The client's own version decides what is sent; hyper turns it down for HTTP/1.0.
    parts.version = Version::HTTP_11;
    Ok(switch)
}

/// Takes out of a trailer what has no place there (RFC 9110, section 6.5.1).
pub(super) fn trailers(headers: &mut HeaderMap) {
    strip(headers);
    remove_prefixed(headers, "proxy-");
    remove_prefixed(headers, "moat-");
    for name in [HOST, CONTENT_LENGTH, TRAILER] {
        headers.remove(name);
    }
}

/// The length must be single and certain, from an origin as from a client.
fn check_framing(version: Version, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let length = lengths.next();
    if lengths.next().is_some() {
        return Err(Refusal::upstream(
            "the origin sent more than one Content-Length",
        ));
    }
    if length.is_some_and(|value| parse_length(value.as_bytes()).is_none()) {
        return Err(Refusal::upstream(
            "the origin's Content-Length is not a number",
        ));
    }
    let mut encodings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(encoding) = encodings.next() else {
        return Ok(());
    };
    if length.is_some() {
        return Err(Refusal::upstream(
            "the origin sent both Content-Length and Transfer-Encoding",
        ));
    }
    let plain = encoding.as_bytes().eq_ignore_ascii_case(b"chunked");
    if !plain || encodings.next().is_some() || version != Version::HTTP_11 {
        return Err(Refusal::upstream(
            "the origin sent a Transfer-Encoding other than `chunked`",
        ));
    }
    Ok(())
}

/// Removes what is true of one hop only, and what `Connection` names.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| tokens(value.as_bytes()))
        .filter_map(|token| HeaderName::from_bytes(token).ok())
        // The length of a body stays certain whatever a sender calls it.
        .filter(|name| *name != CONTENT_LENGTH)
        .collect();
    for name in named.iter().chain(&ONE_HOP) {
        headers.remove(name);
    }
}

fn remove_prefixed(headers: &mut HeaderMap, prefix: &str) {
    let found: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(prefix))
        .cloned()
        .collect();
    for name in found {
        headers.remove(name);
    }
}

/// The values of `Proxy-Status` without the members that bear Moat's name, for only Moat says what
/// Moat did. A value that cannot be told apart is left out.
fn foreign_statuses(headers: &HeaderMap) -> Vec<HeaderValue> {
    let values = headers.get_all(PROXY_STATUS).iter();
    values
        .filter_map(|value| {
            let mut kept = members(value.to_str().ok()?)?;
            kept.retain(|member| !is_moat(member));
            if kept.is_empty() {
                return None;
            }
            HeaderValue::try_from(kept.join(", ")).ok()
        })
        .collect()
}

/// The members of a list, split at commas outside quotes; `None` where a quote is left open.
fn members(text: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                found.push(text.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text.get(start..)?.trim());
    (!quoted).then_some(found)
}

fn is_moat(member: &str) -> bool {
    let name = member.split(';').next().unwrap_or_default();
    name.trim().trim_matches('"').eq_ignore_ascii_case("moat")
}

fn set_websocket(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
}

#[cfg(test)]
mod tests;
