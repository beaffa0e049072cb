//! Every response that Moat makes itself.
//!
//! Clients differ in what they show of a refused request: some only the reason phrase, some a
//! header, some the body. So host, verdict, rule and the way out stand in each of them.

use std::fmt::{self, Write as _};

use moat_policy::explain::opening_entries;
use moat_policy::host::Host;
use moat_policy::record::Cause;
use moat_policy::request::Target;
use moat_policy::verdict::{Effect, Layer};

use crate::id::EventId;
use crate::refusal::Refusal;

/// The answer to a CONNECT that is through.
pub(crate) const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// What a client of SOCKS4 is told, the one version that is told apart and not served: rejected.
pub(crate) const SOCKS4_REJECTED: &[u8] = &[0, 0x5b, 0, 0, 0, 0, 0, 0];

/// Longest reason phrase; a longer one loses its hint first.
const MAX_REASON: usize = 400;

/// One refusal on its way to a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    /// Why.
    pub(crate) refusal: &'a Refusal,
    /// What was asked for, if it could be read.
    pub(crate) target: Option<&'a Target>,
    /// The id under which the record has it.
    pub(crate) id: EventId,
    /// How the body is written.
    pub(crate) form: Form,
    /// Whether the connection goes on.
    pub(crate) then: Then,
}

/// How the body of a refusal is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Form {
    /// For people.
    #[default]
    Text,
    /// For programs that said they accept JSON.
    Json,
    /// Not at all: the answer to HEAD.
    Bare,
}

/// What becomes of the connection after a refusal.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Then {
    /// It ends.
    #[default]
    Close,
    /// The next request may follow.
    KeepAlive,
}

/// The bytes of a refusal as text, which ends the connection.
pub(crate) fn refusal(refusal: &Refusal, target: Option<&Target>, id: EventId) -> Vec<u8> {
    let reply = Reply {
        refusal,
        target,
        id,
        form: Form::Text,
        then: Then::Close,
    };
    reply.to_bytes()
}

impl Reply<'_> {
    /// The whole response as HTTP/1.1 puts it on the wire.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let refusal = self.refusal;
        let body = match self.form {
            Form::Text => self.text(),
            Form::Json => self.json(),
            Form::Bare => String::new(),
        };
        let mut out = String::with_capacity(body.len() + 512);
        let summary = self.summary();
        let _ = write!(
            out,
            "HTTP/1.1 {} {}\r\n",
            refusal.status,
            self.reason(&summary)
        );
        let _ = write!(
            out,
            "Proxy-Status: moat; error={}; details=\"{}\"\r\n",
            refusal.error,
            Quoted(&summary)
        );
        let _ = write!(out, "Moat-Decision: {}\r\n", refusal.effect);
        if let Some(rule) = &refusal.rule {
            let _ = write!(out, "Moat-Rule: {}\r\n", Visible(&rule.id));
        }
        let _ = write!(out, "Moat-Id: {}\r\n", self.id);
        if refusal.status == 503 {
            out.push_str("Retry-After: 1\r\n");
        }
        out.push_str(match self.form {
            Form::Text | Form::Bare => "Content-Type: text/plain; charset=utf-8\r\n",
            Form::Json => "Content-Type: application/json\r\n",
        });
        if self.form != Form::Bare {
            let _ = write!(out, "Content-Length: {}\r\n", body.len());
        }
        out.push_str(match self.then {
            Then::Close => "Connection: close\r\n\r\n",
            Then::KeepAlive => "Connection: keep-alive\r\n\r\n",
        });
        out.push_str(&body);
        out.into_bytes()
    }

    /// What happened, in one line: host and verdict.
    fn summary(&self) -> String {
        let detail = &self.refusal.detail;
        match self.target {
            Some(target) if self.refusal.status == 403 => format!("{target} {detail}"),
            Some(target) => format!("{target}: {detail}"),
            None => detail.clone().into_owned(),
        }
    }

    /// The reason phrase: the summary and the way out, as far as there is room.
    fn reason(&self, summary: &str) -> String {
        let mut reason = Visible(summary).to_string();
        let before = reason.len();
        if let Some(command) = self.way_out().command() {
            let _ = write!(reason, "; {}", Visible(&command));
        }
        if reason.len() > MAX_REASON {
            reason.truncate(before.min(MAX_REASON));
        }
        reason
    }

    fn text(&self) -> String {
        let mut text = format!("moat: {}\n", self.summary());
        if let Some(reason) = self.rule_reason() {
            let _ = writeln!(text, "reason: {reason}");
        }
        if self.is_policy() {
            text.push_str(
                "This is the policy of the machine or its owner, not a fault of the network: \
                 retrying, or another way to the same host, will not work.\n",
            );
        }
        text.push_str(&self.hint());
        let _ = writeln!(text, "id: {}", self.id);
        text
    }

    fn json(&self) -> String {
        let refusal = self.refusal;
        let mut body = serde_json::json!({
            "error": refusal.error,
            "message": self.summary(),
            "decision": refusal.effect.as_str(),
            "cause": refusal.cause.as_str(),
            "status": refusal.status,
            "id": self.id.to_string(),
            "policy": self.is_policy(),
            "host": self.target.map(|target| target.host.to_string()),
            "port": self.target.map(|target| target.port.number()),
            "rule": refusal.rule.as_ref().map(|rule| rule.id.to_string()),
            "reason": self.rule_reason(),
            "hint": self.hint().trim_end(),
        });
        if let Some(fields) = body.as_object_mut() {
            fields.retain(|_, value| !value.is_null() && value != "");
        }
        format!("{body}\n")
    }

    /// What a person can do, and what the client has to do besides.
    fn hint(&self) -> String {
        let mut hint = self.way_out().sentence(self.id);
        if self.refusal.needs_tls {
            hint.push_str("This port is for TLS: the URL has to begin with `https:`.\n");
        }
        hint
    }

    fn rule_reason(&self) -> Option<&str> {
        self.refusal.rule.as_ref()?.reason.as_deref()
    }

    fn is_policy(&self) -> bool {
        matches!(
            self.refusal.cause,
            Cause::Policy | Cause::Default | Cause::Guarded
        )
    }

    fn way_out(&self) -> WayOut {
        let refusal = self.refusal;
        let Some(target) = self.target.filter(|_| self.is_policy()) else {
            return WayOut::None;
        };
        if let Some(class) = refusal.class {
            return if !class.is_openable() {
                WayOut::Never
            } else if refusal.exclusive {
                WayOut::Machine
            } else {
                WayOut::Allow(address_entry(refusal, target))
            };
        }
        let allow_wins = refusal.rule.as_ref().is_none_or(|rule| {
            // An allow overrules neither a deny nor the ask of a layer that is not the user's.
            rule.effect == Effect::Ask && rule.layer == Layer::User
        });
        if allow_wins && refusal.exclusive {
            WayOut::Machine
        } else if allow_wins {
            WayOut::Allow(entries(&target.host, target))
        } else {
            WayOut::Rule
        }
    }
}

/// What a person can do about a refusal.
#[derive(Debug)]
enum WayOut {
    /// Nothing that has to do with policy.
    None,
    /// Nothing: no entry opens it.
    Never,
    /// Allow this entry.
    Allow(String),
    /// Ask whoever keeps the machine's policy, which is exclusive.
    Machine,
    /// Change the rule that decided.
    Rule,
}

impl WayOut {
    /// The command for the reason phrase.
    fn command(&self) -> Option<String> {
        match self {
            Self::Allow(entry) => Some(format!("moat allow {entry}")),
            Self::None | Self::Never | Self::Machine | Self::Rule => None,
        }
    }

    fn sentence(&self, id: EventId) -> String {
        match self {
            Self::None => String::new(),
            Self::Never => "No entry of a policy opens this address.\n".to_owned(),
            Self::Allow(entry) => format!(
                "A person can allow it with `moat allow {entry}` or `moat allow --id {id}`.\n"
            ),
            Self::Machine => {
                "Only the machine's policy can allow it: ask whoever keeps that.\n".to_owned()
            }
            Self::Rule => format!(
                "An allow does not overrule this rule; `moat why {id}` tells a person what does.\n"
            ),
        }
    }
}

/// The entries that open a host for this target's port.
fn entries(host: &Host, target: &Target) -> String {
    opening_entries(host, target.port).join(" ")
}

/// The entries that open a guarded address: that address and those inside it, and never the name.
fn address_entry(refusal: &Refusal, target: &Target) -> String {
    match refusal.address {
        Some(address) => entries(&Host::Address(address), target),
        None => entries(&target.host, target),
    }
}

/// A text as header fields and reason phrases may carry it: printable ASCII.
struct Visible<'a>(&'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            f.write_char(if matches!(letter, ' '..='~') {
                letter
            } else {
                '?'
            })?;
        }
        Ok(())
    }
}

/// A text inside the quotes of a structured field (RFC 8941, section 3.3.3).
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in Visible(self.0).to_string().chars() {
            if matches!(letter, '"' | '\\') {
                f.write_char('\\')?;
            }
            f.write_char(letter)?;
        }
        Ok(())
    }
}

/// What a client gets while every place is taken.
pub(crate) fn over_limit(id: EventId) -> Vec<u8> {
    refusal(&Refusal::over_limit(), None, id)
}

/// The reply code of SOCKS5 for a refusal (RFC 1928, section 6).
pub(crate) fn socks_code(refusal: &Refusal) -> u8 {
    let cause = refusal.cause;
    let ruled = matches!(cause, Cause::Policy | Cause::Default | Cause::Guarded);
    if ruled || matches!(cause, Cause::Auth | Cause::Sni | Cause::Host) {
        2
    } else if cause == Cause::Dns {
        4
    } else if cause == Cause::Connect {
        5
    } else if cause == Cause::Timeout {
        6
    } else {
        1
    }
}

#[cfg(test)]
mod tests;
