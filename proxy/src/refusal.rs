//! Why a request was not carried out: one type for every door, from which the reply, the record
//! and the metrics are made.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use moat_policy::address::AddressClass;
use moat_policy::policy::Policy;
use moat_policy::record::Cause;
use moat_policy::request::Wire;
use moat_policy::verdict::{Basis, Effect, Rule, Verdict};

/// A request that ends here.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// Why, out of the closed set of the record.
    pub(crate) cause: Cause,
    /// The HTTP status; SOCKS derives its code from the cause.
    pub(crate) status: u16,
    /// What policy said: an upstream failure is still an `allow`.
    pub(crate) effect: Effect,
    /// The rule that decided.
    pub(crate) rule: Option<Arc<Rule>>,
    /// The class of a guarded address.
    pub(crate) class: Option<AddressClass>,
    /// The address that was refused or could not be reached.
    pub(crate) address: Option<IpAddr>,
    /// Whether only the machine's policy could allow it.
    pub(crate) exclusive: bool,
    /// Whether it was to be sent in clear where TLS is required, so that no allow alone helps.
    pub(crate) needs_tls: bool,
    /// What happened, for the client: never a path, another rule or an internal.
    pub(crate) detail: Cow<'static, str>,
    /// The error type of the `Proxy-Status` header (RFC 9209, section 2.3).
    pub(crate) error: &'static str,
}

impl Refusal {
    fn plain(
        cause: Cause,
        status: u16,
        effect: Effect,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            cause,
            status,
            effect,
            rule: None,
            class: None,
            address: None,
            exclusive: false,
            needs_tls: false,
            detail: detail.into(),
            error: default_error(cause),
        }
    }

    fn with_error(self, error: &'static str) -> Self {
        Self { error, ..self }
    }

    /// Remembers what the policy that decided lets others change.
    pub(crate) fn under(self, policy: &Policy) -> Self {
        Self {
            exclusive: policy.is_exclusive(),
            ..self
        }
    }

    /// The input breaks its protocol.
    pub(crate) fn malformed(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::plain(Cause::Malformed, 400, Effect::Deny, detail)
    }

    /// A head over its size or number of headers.
    pub(crate) fn head_too_large() -> Self {
        Self::plain(
            Cause::Limit,
            431,
            Effect::Deny,
            "the head is larger than 16 KiB or 100 headers",
        )
        .with_error("http_request_error")
    }

    /// A head that did not arrive in time.
    pub(crate) fn head_too_slow() -> Self {
        Self::plain(
            Cause::Timeout,
            408,
            Effect::Deny,
            "the head did not arrive in time",
        )
        .with_error("http_request_error")
    }

    /// The name in TLS or in the Host header is not the permitted host.
    pub(crate) fn misdirected(cause: Cause, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::plain(cause, 421, Effect::Deny, detail)
    }

    /// Policy said no to what travels like this, or asks and nobody can answer.
    pub(crate) fn verdict(verdict: &Verdict<'_>, wire: Wire) -> Self {
        let (cause, class) = match verdict.basis {
            Basis::Rule => (Cause::Policy, None),
            Basis::Default => (Cause::Default, None),
            Basis::Guarded(class) => (Cause::Guarded, Some(class)),
            Basis::Clear => (Cause::Sni, None),
        };
        let detail = match (verdict.effect, class, verdict.rule) {
            _ if verdict.basis == Basis::Clear => {
                Cow::Borrowed("denied: this port is for TLS, and the request is plain HTTP")
            }
            (Effect::Ask, _, Some(rule)) => Cow::Owned(format!(
                "needs an approval by rule {}, and nobody can answer",
                rule.id
            )),
            (Effect::Ask, _, None) => {
                Cow::Borrowed("needs an approval by default, and nobody can answer")
            }
            (_, Some(class), _) => Cow::Owned(format!("denied: {class} addresses are guarded")),
            (_, None, Some(rule)) => Cow::Owned(format!("denied by rule {}", rule.id)),
            (_, None, None) => Cow::Borrowed("denied by default"),
        };
        Self {
            rule: verdict.rule.map(Arc::clone),
            class,
            needs_tls: verdict.grant.refuses(wire),
            ..Self::plain(cause, 403, verdict.effect, detail)
        }
    }

    /// The client left in the middle of a request.
    pub(crate) fn cut_off() -> Self {
        Self::plain(Cause::Client, 400, Effect::Deny, "the body ends too early")
            .with_error("http_request_error")
    }

    /// The client left before there was an answer. Nobody hears this.
    pub(crate) fn left() -> Self {
        Self::plain(Cause::Client, 400, Effect::Allow, "the client left")
            .with_error("http_request_error")
    }

    /// A permitted name leads to an address that is guarded.
    pub(crate) fn guarded(class: AddressClass, address: IpAddr) -> Self {
        Self {
            class: Some(class),
            address: Some(address),
            ..Self::plain(
                Cause::Guarded,
                403,
                Effect::Deny,
                format!("denied: it leads to {address}, and {class} addresses are guarded"),
            )
        }
    }

    /// A permitted name leads to an address that an entry refuses.
    pub(crate) fn address_rule(rule: &Arc<Rule>, address: IpAddr) -> Self {
        Self {
            rule: Some(Arc::clone(rule)),
            address: Some(address),
            ..Self::plain(
                Cause::Policy,
                403,
                rule.effect,
                format!(
                    "denied: it leads to {address}, which rule {} names",
                    rule.id
                ),
            )
        }
    }

    /// The name did not resolve: 502, or 504 where the servers did not answer in time.
    pub(crate) fn dns(detail: impl Into<Cow<'static, str>>, timed_out: bool) -> Self {
        let status = if timed_out { 504 } else { 502 };
        let error = if timed_out {
            "dns_timeout"
        } else {
            "dns_error"
        };
        Self::plain(Cause::Dns, status, Effect::Allow, detail).with_error(error)
    }

    /// No checked address could be reached: 502, or 504 where that took too long.
    pub(crate) fn connect(detail: impl Into<Cow<'static, str>>, timed_out: bool) -> Self {
        let (cause, status, error) = if timed_out {
            (Cause::Timeout, 504, "connection_timeout")
        } else {
            (Cause::Connect, 502, "destination_unavailable")
        };
        Self::plain(cause, status, Effect::Allow, detail).with_error(error)
    }

    /// The upstream broke the protocol.
    pub(crate) fn upstream(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::plain(Cause::Upstream, 502, Effect::Allow, detail).with_error("http_protocol_error")
    }

    /// The upstream was connected, and then nothing moved for too long.
    pub(crate) fn stalled() -> Self {
        Self::plain(
            Cause::Timeout,
            504,
            Effect::Allow,
            "the origin did not answer in time",
        )
        .with_error("http_response_timeout")
    }

    /// The record cannot be kept, and without one nothing is allowed.
    pub(crate) fn unrecorded() -> Self {
        Self::plain(
            Cause::Audit,
            503,
            Effect::Deny,
            "the record cannot be written",
        )
    }

    /// Every place for a client is taken.
    pub(crate) fn over_limit() -> Self {
        Self::plain(
            Cause::Limit,
            503,
            Effect::Deny,
            "the proxy has as many connections as it may have",
        )
    }

    /// The proxy comes to its end while the request is on its way.
    pub(crate) fn shutting_down() -> Self {
        Self::plain(
            Cause::Shutdown,
            503,
            Effect::Allow,
            "the proxy is shutting down",
        )
    }

    /// The proxy comes to its end before a request was read, so that nothing was allowed.
    pub(crate) fn shut_down_unread() -> Self {
        Self {
            effect: Effect::Deny,
            ..Self::shutting_down()
        }
    }

    /// The proxy has no descriptor, port or memory left for one more connection.
    pub(crate) fn exhausted() -> Self {
        Self::plain(
            Cause::Limit,
            503,
            Effect::Allow,
            "the proxy has no room for another connection",
        )
    }
}

/// The error type that most refusals of a cause have.
fn default_error(cause: Cause) -> &'static str {
    if matches!(cause, Cause::Policy | Cause::Default) {
        "http_request_denied"
    } else if cause == Cause::Guarded {
        "destination_ip_prohibited"
    } else if matches!(
        cause,
        Cause::Malformed | Cause::Sni | Cause::Host | Cause::Auth
    ) {
        "http_request_error"
    } else {
        "proxy_internal_error"
    }
}
