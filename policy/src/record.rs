//! One decision or close as data: what the record file holds, one JSON line each.
//!
//! Nothing here comes from a body, a header value, a query or a path.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::verdict::Effect;

/// The version of the record schema.
pub const SCHEMA_VERSION: u8 = 1;

/// What happened.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// A request was judged.
    Decision,
    /// An allowed request ended.
    Close,
    /// A policy was loaded anew, or failed to.
    Reload,
    /// The proxy started.
    Start,
    /// The proxy ended.
    Stop,
}

/// The closed set of causes: why a decision or an end is what it is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// A rule of the policy.
    Policy,
    /// No rule: the default.
    Default,
    /// A guarded address.
    Guarded,
    /// The input is not what the protocol allows.
    Malformed,
    /// The server name of a `ClientHello` is not the permitted host, or TLS was required.
    Sni,
    /// The Host header names another host than the target.
    Host,
    /// A limit of connections, size or time on the client's side.
    Limit,
    /// The client did not prove who it is.
    Auth,
    /// The name could not be resolved.
    Dns,
    /// No address could be reached.
    Connect,
    /// Something took too long.
    Timeout,
    /// The upstream broke the protocol or the connection.
    Upstream,
    /// The client broke the connection.
    Client,
    /// The record could not be written.
    Audit,
    /// The proxy is draining or the policy was replaced.
    Shutdown,
    /// An ordinary end.
    Done,
}

impl Cause {
    /// Every cause, in the order of declaration.
    pub const ALL: [Self; 16] = [
        Self::Policy,
        Self::Default,
        Self::Guarded,
        Self::Malformed,
        Self::Sni,
        Self::Host,
        Self::Limit,
        Self::Auth,
        Self::Dns,
        Self::Connect,
        Self::Timeout,
        Self::Upstream,
        Self::Client,
        Self::Audit,
        Self::Shutdown,
        Self::Done,
    ];

    /// The word used in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Default => "default",
            Self::Guarded => "guarded",
            Self::Malformed => "malformed",
            Self::Sni => "sni",
            Self::Host => "host",
            Self::Limit => "limit",
            Self::Auth => "auth",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Upstream => "upstream",
            Self::Client => "client",
            Self::Audit => "audit",
            Self::Shutdown => "shutdown",
            Self::Done => "done",
        }
    }
}

/// How a request came in.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP CONNECT.
    Connect,
    /// Plain HTTP in absolute form.
    Http,
    /// SOCKS5.
    Socks5,
    /// Not known yet when it ended.
    Unknown,
}

impl Protocol {
    /// The word used in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Http => "http",
            Self::Socks5 => "socks5",
            Self::Unknown => "unknown",
        }
    }
}

/// How much a line matters to somebody who watches.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// The ordinary course.
    #[default]
    Info,
    /// Something was refused, or would have been.
    Warning,
    /// The proxy cannot do what it should: load a policy, or keep the record.
    Error,
}

impl Severity {
    /// The severity of an event with this verdict and cause.
    pub const fn of(event: Event, effect: Option<Effect>, cause: Cause) -> Self {
        match (event, effect, cause) {
            (Event::Reload, _, Cause::Done) => Self::Info,
            (Event::Reload, ..) | (_, _, Cause::Audit) => Self::Error,
            (Event::Decision, Some(Effect::Deny | Effect::Ask), _) => Self::Warning,
            (Event::Decision | Event::Close | Event::Start | Event::Stop, ..) => Self::Info,
        }
    }
}

/// Who ended a connection.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EndedBy {
    /// The client closed or reset.
    Client,
    /// The upstream closed or reset.
    Upstream,
    /// Moat: a refusal, a time-out, a drain.
    Moat,
}

/// One line of the record. Fields that do not apply are left out of the JSON, except `host`,
/// which is `null` where it could not be parsed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// [`SCHEMA_VERSION`].
    pub v: u8,
    /// RFC 3339 with microseconds, UTC.
    pub ts: Cow<'static, str>,
    /// Number of the line within this process, from 1, without gaps in the file.
    pub seq: u64,
    /// The request's id, in base32; a request and its close share it.
    pub id: Cow<'static, str>,
    /// What happened.
    pub event: Event,
    /// How it came in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The client, as far as known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// The host asked for.
    pub host: Option<Arc<str>>,
    /// The port asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The method, one of the registered ones or `OTHER`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Cow<'static, str>>,
    /// The address dialled, or the one that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// False where observing let through what the policy refuses.
    pub enforced: bool,
    /// Why.
    pub cause: Cause,
    /// How much it matters.
    #[serde(default)]
    pub severity: Severity,
    /// The HTTP status or SOCKS reply sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The id of the rule's group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Arc<str>>,
    /// `file:line` of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'static, str>>,
    /// More words: the rule's own reason, the address class, the reload error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
    /// The digest of the policy that judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<str>>,
    /// Bytes from the client to the upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_up: Option<u64>,
    /// Bytes from the upstream to the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_down: Option<u64>,
    /// From the decision to the end, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Who ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
}

impl Record {
    /// A line with nothing in it but what every line has.
    pub fn new(ts: String, seq: u64, id: String, event: Event, cause: Cause) -> Self {
        Self {
            v: SCHEMA_VERSION,
            ts: ts.into(),
            seq,
            id: id.into(),
            event,
            protocol: None,
            actor: None,
            host: None,
            port: None,
            method: None,
            address: None,
            effect: None,
            enforced: true,
            cause,
            severity: Severity::of(event, None, cause),
            status: None,
            rule: None,
            source: None,
            reason: None,
            policy: None,
            bytes_up: None,
            bytes_down: None,
            duration_ms: None,
            ended_by: None,
        }
    }
}

/// Who asked.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Actor {
    /// Address and port of the client, or `unix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Cow<'static, str>>,
}

#[cfg(test)]
mod tests;
