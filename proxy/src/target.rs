//! What a client asks for: the strict parse of an authority.

use moat_policy::host::Host;
use moat_policy::port::Port;
use moat_policy::request::Target;

use crate::refusal::Refusal;

/// Reads `HOST:PORT` as CONNECT carries it (RFC 9112, section 3.2.3): the port is part of what is
/// approved, so it must be there.
pub(crate) fn parse_authority(text: &str) -> Result<Target, Refusal> {
    let (host, port) = split_port(text)
        .ok_or_else(|| Refusal::malformed("the target must be HOST:PORT, with a port"))?;
    Ok(Target {
        host: parse_host(host)?,
        port: parse_port(port)?,
    })
}

/// The part before and the part behind the last colon that is not inside square brackets.
fn split_port(text: &str) -> Option<(&str, &str)> {
    let (host, port) = text.rsplit_once(':')?;
    if port.contains(']') {
        None
    } else {
        Some((host, port))
    }
}

fn parse_host(text: &str) -> Result<Host, Refusal> {
    Host::parse(text.as_bytes()).map_err(|error| Refusal::malformed(error.to_string()))
}

fn parse_port(text: &str) -> Result<Port, Refusal> {
    Port::parse(text).ok_or_else(|| Refusal::malformed("the port must be 1 to 65535, in digits"))
}
