//! What each cause means, and what a person can do about it.

use moat_policy::address::classify;
use moat_policy::explain::opening_entries;
use moat_policy::host::Host;
use moat_policy::record::{Cause, Record};
use moat_policy::verdict::Effect;

use crate::record_file;

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
                "what was sent is not TLS for the permitted host",
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
            let entries = entries(record, &record_file::host(record)?);
            Some(format!(
                "`moat allow {entries}`, unless the rule is in a more trusted file than yours"
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
        let host = match record.address {
            Some(address) => Host::Address(address),
            None => record_file::host(record)?,
        };
        if let Host::Address(address) = host
            && let Some(class) = classify(address)
            && !class.is_openable()
        {
            return Some(format!("nothing: {class} addresses are never dialled"));
        }
        let entries = entries(record, &host);
        Some(format!(
            "an entry for the address, if it may be reached at all: `moat allow {entries}`"
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
    let entries = entries(record, &record_file::host(record)?);
    Some(format!(
        "`moat allow {entries}` or `moat allow --id {}`",
        record.id
    ))
}

fn of_cause(record: &Record) -> Option<String> {
    Why::of(record.cause).remedy.map(str::to_owned)
}

/// The entries that open one host on the record's port, as `moat allow` takes them.
fn entries(record: &Record, host: &Host) -> String {
    opening_entries(host, record_file::port(record)).join(" ")
}
