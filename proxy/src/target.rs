//! What a client asks for: the strict parse of a request target, and whether Host agrees.
//!
//! The text is read once, into a [`Target`]; nothing after this file looks at it again.

use moat_policy::host::Host;
use moat_policy::port::Port;
use moat_policy::record::Cause;
use moat_policy::request::Target;

use crate::refusal::Refusal;

/// What a plain request asks for (RFC 9112, section 3.2.2).
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Absolute<'a> {
    /// Host and port, 80 where none is written.
    pub(crate) target: Target,
    /// Path and query as sent; empty or beginning with `?` where there is no path.
    pub(crate) rest: &'a str,
}

impl<'a> Absolute<'a> {
    /// The path without the query; `/` stands for an empty one.
    pub(crate) fn path(&self) -> &'a str {
        match self.rest.split('?').next() {
            None | Some("") => "/",
            Some(path) => path,
        }
    }
}

/// Reads `HOST:PORT` as CONNECT carries it (RFC 9112, section 3.2.3): the port is part of what is
/// approved, so it must be there.
pub(crate) fn parse_authority(text: &str) -> Result<Target, Refusal> {
    let (host, port) = split_port(text)?;
    let port = port.ok_or_else(|| Refusal::malformed("the target must be HOST:PORT"))?;
    Ok(Target {
        host: parse_host(host)?,
        port: parse_port(port)?,
    })
}

/// Reads the target of a request that is not CONNECT: an absolute `http://` URL and no other.
pub(crate) fn parse_absolute(text: &str) -> Result<Absolute<'_>, Refusal> {
    let no_url = || Refusal::malformed("this port is a proxy: the target must be an absolute URL");
    if text.starts_with('/') {
        return Err(no_url());
    }
    let (scheme, rest) = text.split_once("://").ok_or_else(no_url)?;
    if scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("wss") {
        return Err(Refusal::malformed(
            "for TLS use CONNECT: an https URL here would be sent in clear",
        ));
    }
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("ws") {
        return Err(Refusal::malformed("only http URLs are served"));
    }
    if rest.contains('#') {
        return Err(Refusal::malformed("a fragment in the target"));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(end).ok_or_else(no_url)?;
    let (host, port) = split_port(authority)?;
    let target = Target {
        host: parse_host(host)?,
        port: port.map_or(Ok(Port::HTTP), parse_port)?,
    };
    Ok(Absolute { target, rest })
}

/// Holds the Host header of a CONNECT to its authority; it may lack the port.
pub(crate) fn agree_authority(target: &Target, host: &str) -> Result<(), Refusal> {
    let (host, port) = split_port(host)?;
    let port = port.map_or(Ok(target.port), parse_port)?;
    agree(target, host, port)
}

/// Holds the Host header of a plain request to its URL; without a port it means port 80.
pub(crate) fn agree_absolute(target: &Target, host: &str) -> Result<(), Refusal> {
    let (host, port) = split_port(host)?;
    let port = port.map_or(Ok(Port::HTTP), parse_port)?;
    agree(target, host, port)
}

fn agree(target: &Target, host: &str, port: Port) -> Result<(), Refusal> {
    if parse_host(host)? == target.host && port == target.port {
        Ok(())
    } else {
        Err(Refusal::misdirected(
            Cause::Host,
            "the Host header names another host than the target",
        ))
    }
}

/// The part before and the part behind the last colon that is not inside square brackets.
fn split_port(text: &str) -> Result<(&str, Option<&str>), Refusal> {
    if text.contains('@') {
        return Err(Refusal::malformed("user information in the target"));
    }
    Ok(match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    })
}

fn parse_host(text: &str) -> Result<Host, Refusal> {
    Host::parse(text.as_bytes())
        .map_err(|error| Refusal::malformed(format!("the host is malformed: {error}")))
}

fn parse_port(text: &str) -> Result<Port, Refusal> {
    Port::parse(text).ok_or_else(|| Refusal::malformed("the port must be 1 to 65535, in digits"))
}

#[cfg(test)]
mod tests;
