//! What each cause means, and what a person can do about it.

use std::net::IpAddr;

use moat_policy::address::classify;
use moat_policy::record::{Cause, Record};
use moat_policy::verdict::Effect;

/// A cause in words.
pub(super) struct Why {
    pub(super) words: &'static str,
    /// What changes it, where that is the same for every such record.
    remedy: Option<&'static str>,
}

impl Why {
    pub(super) fn of(cause: Cause) -> Self {
        let (words, remedy) = match cause {
            Cause::Policy => ("a rule of the policy", None),
            Cause::Default => ("no rule matches, so the default holds", None),
            Cause::Guarded => ("the address is guarded", None),
            Cause::Malformed => (
                "the client sent what the protocol does not allow",
                Some("the client has to send it otherwise; no policy lets it pass"),
            ),
            Cause::Sni => (
                "the tunnel's first bytes are not TLS for the permitted host",
                Some(
                    "connect by the name that TLS asks for; an entry with `sni: any` lets other \
                     names pass, one with `tls: any` other protocols",
                ),
            ),
            Cause::Host => (
                "the Host header names another host than the request's target",
                Some("the client has to name the same host in both; no policy lets it pass"),
            ),
            Cause::Limit => (
                "a limit of connections, size or time was reached",
                Some("see `--max-connections` and `--head-timeout` of `moat proxy`"),
            ),
            Cause::Auth => ("the client did not prove who it is", None),
            Cause::Dns => (
                "the name could not be looked up",
                Some("see whether the name exists; `--dns` of `moat proxy` names other servers"),
            ),
            Cause::Connect => (
                "no address of the host could be reached",
                Some("see whether the host is up; the policy allows it"),
            ),
            Cause::Timeout => (
                "something took too long",
                Some("see `--connect-timeout` and `--idle-timeout` of `moat proxy`"),
            ),
            Cause::Upstream => ("the server broke the protocol or the connection", None),
            Cause::Client => ("the client broke the connection", None),
            Cause::Audit => (
                "the record could not be written",
                Some("make room for the record file, or see `--audit-on-failure`"),
            ),
            Cause::Shutdown => ("the proxy ended, or its policy was replaced", None),
            Cause::Done => ("an ordinary end", None),
            _ => ("a cause that this version does not know", None),
        };
        Self { words, remedy }
    }
}

/// What would change the answer; `None` where nothing needs to be changed.
pub(super) fn of(record: &Record) -> Option<String> {
    match record.effect {
        Some(Effect::Deny) => of_deny(record),
        Some(Effect::Ask) if record.cause == Cause::Policy => {
            let entry = entry(record.host.as_deref()?, record.port);
            Some(format!(
                "`moat allow {entry}`, unless the rule is in a more trusted file than yours"
            ))
        }
        Some(Effect::Ask) => of_default(record),
        Some(Effect::Allow | Effect::Pass) | None => of_cause(record),
    }
}

fn of_deny(record: &Record) -> Option<String> {
    if record.cause == Cause::Default {
        of_default(record)
    } else if record.cause == Cause::Guarded {
        let host = record.host.as_deref().and_then(|host| host.parse().ok());
        let address: Option<IpAddr> = record.address.or(host);
        if let Some(class) = address.and_then(classify)
            && !class.is_openable()
        {
            return Some(format!("nothing: {class} addresses are never dialled"));
        }
        let address = address.map(|address| address.to_string());
        let entry = entry(address.as_deref().or(record.host.as_deref())?, record.port);
        Some(format!(
            "an entry for the address, if it may be reached at all: `moat allow {entry}`"
        ))
    } else if record.cause == Cause::Policy {
        let source = record.source.as_deref();
        let place = source.map_or_else(String::new, |source| format!(" at {source}"));
        Some(format!(
            "only the rule itself{place}: a deny is absolute, no allow overrules it"
        ))
    } else {
        of_cause(record)
    }
}

fn of_default(record: &Record) -> Option<String> {
    let entry = entry(record.host.as_deref()?, record.port);
    Some(format!(
        "`moat allow {entry}` or `moat allow --id {}`",
        record.id
    ))
}

fn of_cause(record: &Record) -> Option<String> {
    Why::of(record.cause).remedy.map(str::to_owned)
}

/// Host and port as an authority writes them.
pub(super) fn target(record: &Record) -> Option<String> {
    let host = record.host.as_deref()?;
    let host = bracketed(host);
    Some(match record.port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    })
}

/// The entry that a policy would need; 80 and 443 go without saying.
fn entry(host: &str, port: Option<u16>) -> String {
    match port {
        None | Some(80 | 443) => host.to_owned(),
        Some(port) => format!("{}:{port}", bracketed(host)),
    }
}

fn bracketed(host: &str) -> String {
    if matches!(host.parse(), Ok(IpAddr::V6(_))) {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}
