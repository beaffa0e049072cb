//! The first bytes that a client sends into a tunnel: they must fit what was permitted before one
//! of them goes upstream.
//!
//! It judges bytes; it does not know sockets and time.

use moat_policy::host::Host;
use moat_policy::port::Port;
use moat_policy::record::Cause;
use moat_policy::request::Target;
use moat_policy::verdict::{Grant, SniRule, TlsRule};

use crate::head::MAX_HEADERS;
use crate::hello::{self, Hello};
use crate::refusal::Refusal;

/// The most that is collected before a verdict.
pub(crate) const LIMIT: usize = hello::LIMIT;
/// A fatal `access_denied` (RFC 8446, section 6.2), for a client whose hello is refused.
pub(crate) const ALERT: &[u8] = &[21, 3, 3, 0, 2, 2, 49];

/// The first byte of a hello of SSL 2 (RFC 5246, appendix E.2): the highest bit, then the length,
/// of which no server reads more than 16 KiB.
const SSL2_SHORTEST: u8 = 0x80;
const SSL2_LONGEST: u8 = 0xbf;

/// What the first bytes are held against.
pub(crate) struct Greeting<'a> {
    /// Where the tunnel leads.
    pub(crate) target: &'a Target,
    /// What came with the permit.
    pub(crate) grant: Grant,
    /// Whether another target is allowed by itself.
    pub(crate) allowed: &'a dyn Fn(&Target) -> bool,
}

/// How far they have been looked at: however they come, none is looked at again with each that
/// follows.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    hello: hello::Reader,
    /// How many bytes of an HTTP head have been looked at.
    lines: usize,
}

/// The verdict on them.
#[derive(Debug)]
pub(crate) enum Judged {
    /// It takes more bytes.
    More,
    /// They may go upstream.
    Pass,
    /// The tunnel must end.
    Refuse(Refusal),
}

/// Whether the first bytes are those of TLS.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Start {
    /// A TLS server would read on.
    Tls,
    /// It would not.
    Other,
    /// It takes more bytes to tell.
    Unclear,
}

/// Whether these bytes are taken for TLS: no other protocol begins like this that a TLS server
/// would answer.
pub(crate) fn is_tls(seen: &[u8]) -> bool {
    start(seen) == Start::Tls
}

/// Some servers skip a warning in front of the hello, and some still read the hello of SSL 2, which
/// has no place for a name. Both must not look like something that is no TLS at all.
fn start(seen: &[u8]) -> Start {
    match *seen {
        [hello::HANDSHAKE, ..] | [20..=24, hello::VERSION, ..] => Start::Tls,
        [
            SSL2_SHORTEST..=SSL2_LONGEST,
            _,
            hello::CLIENT_HELLO,
            version,
            ..,
        ] if version <= hello::VERSION => Start::Tls,
        [20..=24 | SSL2_SHORTEST..=SSL2_LONGEST]
        | [SSL2_SHORTEST..=SSL2_LONGEST, _]
        | [SSL2_SHORTEST..=SSL2_LONGEST, _, hello::CLIENT_HELLO] => Start::Unclear,
        _ => Start::Other,
    }
}

impl Greeting<'_> {
    /// Whether a tunnel with this grant is judged at all.
    pub(crate) fn is_needed(grant: Grant, port: Port) -> bool {
        grant.sni == SniRule::Match || grant.tls == TlsRule::Require || port == Port::HTTP
    }

    /// Judges all that has come so far, which begins with what had come at the last call. `ended`
    /// says that no more will come; then the answer is never [`Judged::More`]. How the bytes were
    /// cut on their way makes no difference.
    pub(crate) fn judge(&self, progress: &mut Progress, all: &[u8], ended: bool) -> Judged {
        let seen = all.get(..LIMIT).unwrap_or(all);
        let judged = if seen.is_empty() {
            if ended { Judged::Pass } else { Judged::More }
        } else if is_tls(seen) {
            self.judge_tls(&mut progress.hello, seen)
        } else if start(seen) == Start::Unclear && !ended {
            Judged::More
        } else if self.grant.tls == TlsRule::Require {
            refuse(Cause::Sni, "the tunnel must speak TLS, and does not")
        } else if self.target.port == Port::HTTP {
            self.judge_http(&mut progress.lines, seen)
        } else {
            Judged::Pass
        };
        match judged {
            Judged::More if all.len() > LIMIT => Judged::Refuse(Refusal::malformed(
                "the first message of the tunnel is larger than 16 KiB",
            )),
            Judged::More if ended => Judged::Refuse(Refusal::malformed(
                "the first message of the tunnel ends too early",
            )),
            judged @ (Judged::More | Judged::Pass | Judged::Refuse(_)) => judged,
        }
    }

    fn judge_tls(&self, hello: &mut hello::Reader, seen: &[u8]) -> Judged {
        if self.grant.sni == SniRule::Any && self.grant.tls == TlsRule::Any {
            return Judged::Pass;
        }
        match hello.read(seen) {
            Ok(None) => Judged::More,
            Err(error) => refuse(Cause::Sni, error.to_string()),
            Ok(Some(_)) if self.grant.sni == SniRule::Any => Judged::Pass,
            Ok(Some(hello)) => self.judge_name(&hello),
        }
    }

    fn judge_name(&self, hello: &Hello) -> Judged {
        let fits = match (&hello.server_name, &self.target.host) {
            (None, Host::Name(_)) => {
                return refuse(Cause::Sni, "the TLS ClientHello carries no server name");
            }
            (None, Host::Address(_)) => true,
            (Some(name @ Host::Name(_)), Host::Address(_)) => (self.allowed)(&Target {
                host: name.clone(),
                port: self.target.port,
            }),
            (Some(name), host) => name == host,
        };
        if fits {
            return Judged::Pass;
        }
        let outer = if hello.has_ech { "outer " } else { "" };
        let name = hello.server_name.as_ref();
        let name = name.map_or_else(String::new, |name| format!(" `{name}`"));
        refuse(
            Cause::Sni,
            format!("the {outer}TLS server name{name} is not the permitted host"),
        )
    }

    fn judge_http(&self, lines: &mut usize, seen: &[u8]) -> Judged {
        let end = match end_of_head(lines, seen) {
            Ok(Some(end)) => end,
            Ok(None) => return Judged::More,
            Err(Ambiguous) => return refuse(Cause::Host, NOT_HTTP),
        };
        match self.names_target(seen.get(..end).unwrap_or_default()) {
            Some(true) => Judged::Pass,
            Some(false) => refuse(
                Cause::Host,
                "the request in the tunnel does not name the permitted host",
            ),
            None => refuse(Cause::Host, NOT_HTTP),
        }
    }

    /// Whether a whole head is for the target; `None` where it is no head.
    fn names_target(&self, head: &[u8]) -> Option<bool> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        if request.parse(head) != Ok(httparse::Status::Complete(head.len())) {
            return None;
        }
        let path = request.path?;
        let direct = path.starts_with('/') || (path == "*" && request.method == Some("OPTIONS"));
        if !direct && !self.is_authority(absolute(path)?) {
            return Some(false);
        }
        let mut hosts = request
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("host"));
        let (host, second) = (hosts.next(), hosts.next());
        Some(second.is_none() && host.is_some_and(|host| self.is_authority(host.value)))
    }

    /// Whether this is the target, with its port or without.
    fn is_authority(&self, text: &[u8]) -> bool {
        let suffix = format!(":{}", self.target.port);
        let host = text.strip_suffix(suffix.as_bytes()).unwrap_or(text);
        Host::parse(host).is_ok_and(|host| host == self.target.host)
    }
}

const NOT_HTTP: &str = "a tunnel to port 80 must begin with TLS or an HTTP/1 request";

/// The authority of an absolute `http` URI.
fn absolute(uri: &str) -> Option<&[u8]> {
    let (scheme, rest) = uri.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    rest.split(['/', '?']).next().map(str::as_bytes)
}

/// Lines that could be read in more than one way.
struct Ambiguous;

/// Where the head ends, if it does. Its lines can be read in one way only: each ends in CR LF, and
/// none continues another. `looked` is how much of it was looked at before.
fn end_of_head(looked: &mut usize, seen: &[u8]) -> Result<Option<usize>, Ambiguous> {
    let first = std::mem::replace(looked, seen.len());
    for (at, &byte) in seen.iter().enumerate().skip(first) {
        let before = seen.get(..at).unwrap_or_default();
        match byte {
            b'\n' if !before.ends_with(b"\r") => return Err(Ambiguous),
            b'\n' if before.ends_with(b"\r\n\r") => return Ok(Some(at + 1)),
            b' ' | b'\t' if before.ends_with(b"\r\n") => return Err(Ambiguous),
            _ if at == 0 && !byte.is_ascii_alphabetic() => return Err(Ambiguous),
            _ => {}
        }
    }
    Ok(None)
}

fn refuse(cause: Cause, detail: impl Into<std::borrow::Cow<'static, str>>) -> Judged {
    Judged::Refuse(Refusal::misdirected(cause, detail))
}

#[cfg(test)]
mod tests;
