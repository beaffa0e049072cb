//! A request as a person writes it: `docs.example`, `docs.example:22`, or a URL.
//!
//! The one reader of such texts, for `moat check`, for a policy's own tests and for the URLs of
//! fetch tools. It is as strict as the proxy is with the targets of its clients.

use std::ops::Range;
use std::time::SystemTime;

use crate::host::{Host, HostError, Pattern};
use crate::port::Port;
use crate::request::{Request, Surface, Target, Wire};

/// What somebody asks about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asked {
    /// Host and port; a text without a port means 443, a URL the port of its scheme.
    pub target: Target,
    /// The method; known of an `http:` URL alone, where it is `GET` unless another was named.
    pub method: Option<Box<str>>,
    /// The path without the query; known of an `http:` URL alone: of TLS the proxy sees nothing.
    pub path: Option<Box<str>>,
    /// Whether it is sent in clear: an `http:` or `ws:` URL.
    pub wire: Wire,
}

/// Why a text is no request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AskedError {
    /// The bytes of the text that are wrong.
    pub range: Range<usize>,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl Asked {
    /// Reads `HOST`, `HOST:PORT` or an `http`, `https`, `ws` or `wss` URL.
    pub fn parse(text: &str) -> Result<Self, AskedError> {
        let bad = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
        if let Some((at, c)) = text.char_indices().find(|&(_, c)| bad(c)) {
            let message = "a character that no request holds".to_owned();
            return Err(AskedError {
                range: at..at.saturating_add(c.len_utf8()),
                message,
                help: "remove it, or percent-encode it".to_owned(),
            });
        }
        match text.split_once("://") {
            Some((scheme, rest)) => Self::url(text, scheme, rest),
            None => Self::authority(text, text, Port::HTTPS).map(Self::connection),
        }
    }

    /// The same with another method, where a method is visible at all.
    #[must_use]
    pub fn with_method(mut self, method: &str) -> Self {
        if self.method.is_some() {
            self.method = Some(method.into());
        }
        self
    }

    /// The same on another wire.
    #[must_use]
    pub fn travelling(self, wire: Wire) -> Self {
        Self { wire, ..self }
    }

    /// The request at a time.
    pub fn request(&self, surface: Surface, now: SystemTime) -> Request<'_> {
        Request {
            surface,
            target: &self.target,
            method: self.method.as_deref(),
            path: self.path.as_deref(),
            wire: self.wire,
            now,
        }
    }

    fn connection(target: Target) -> Self {
        Self {
            target,
            method: None,
            path: None,
            wire: Wire::Unseen,
        }
    }

    fn url(text: &str, scheme: &str, rest: &str) -> Result<Self, AskedError> {
        let is = |name: &str| scheme.eq_ignore_ascii_case(name);
        let (port, wire) = if is("http") || is("ws") {
            (Port::HTTP, Wire::Clear)
        } else if is("https") || is("wss") {
            (Port::HTTPS, Wire::Unseen)
        } else {
            return Err(error(
                text,
                scheme,
                format!("the scheme `{scheme}` is not judged"),
                "write an http, https, ws or wss URL, or HOST:PORT",
            ));
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let target = Self::authority(text, authority, port)?;
        if !is("http") {
            return Ok(Self::connection(target).travelling(wire));
        }
        let path = after.split(['?', '#']).next().unwrap_or("");
        if let Some(letter) = path.chars().find(|c| !c.is_ascii()) {
            return Err(error(
                text,
                path,
                format!("the path holds `{letter}`"),
                "percent-encode it, as clients do",
            ));
        }
        Ok(Self {
            target,
            method: Some("GET".into()),
            path: Some(if path.is_empty() { "/" } else { path }.into()),
            wire,
        })
    }

    fn authority(text: &str, authority: &str, default: Port) -> Result<Target, AskedError> {
        if authority.contains('@') {
            return Err(error(
                text,
                authority,
                "user information in front of the host",
                "remove it: it changes nothing about where the request goes, and hides it",
            ));
        }
        if authority.contains(['/', '?', '#']) {
            return Err(error(
                text,
                authority,
                "a path without a scheme",
                "put `https://` in front, or write the host alone",
            ));
        }
        let (host, port) = split_port(authority);
        let host = Host::parse(host.as_bytes()).map_err(|fault| bad_host(text, host, fault))?;
        let port = match port {
            None => default,
            Some(digits) => Port::parse(digits).ok_or_else(|| {
                error(
                    text,
                    if digits.is_empty() { authority } else { digits },
                    "a port is a number from 1 to 65535",
                    "write HOST:PORT, for example `docs.example:443`",
                )
            })?,
        };
        Ok(Target { host, port })
    }
}

/// Cuts the port off: what follows the last colon, unless the colon stands inside brackets.
/// Two colons without brackets stay with the host, which then is none.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port))
            if !port.contains(']') && (host.ends_with(']') || !host.contains(':')) =>
        {
            (host, Some(port))
        }
        _ => (authority, None),
    }
}

fn bad_host(text: &str, host: &str, fault: HostError) -> AskedError {
    if host.parse::<std::net::Ipv6Addr>().is_ok() {
        let help = format!("write `[{host}]`");
        return error(text, host, "an IPv6 address without square brackets", help);
    }
    let ascii = match Pattern::parse(host) {
        Ok(Pattern::Exact(name)) if !host.is_ascii() => Some(name),
        _ => None,
    };
    let help = match ascii {
        Some(name) => format!("write `{name}`, as clients do"),
        None => "write a host name or an address as clients send it".to_owned(),
    };
    error(text, host, format!("`{host}` is no host: {fault}"), help)
}

/// An error about a part of the text, which is a slice of it.
fn error(
    text: &str,
    part: &str,
    message: impl Into<String>,
    help: impl Into<String>,
) -> AskedError {
    let start = text.find(part).unwrap_or(0);
    AskedError {
        range: start..start.saturating_add(part.len()),
        message: message.into(),
        help: help.into(),
    }
}

#[cfg(test)]
mod tests;
