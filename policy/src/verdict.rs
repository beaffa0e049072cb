//! What a policy answers, by which rule, at which line.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::address::AddressClass;
use crate::request::Wire;

/// What happens with a request. The order is by strictness: deny > ask > pass > allow.
#[derive(
    Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new effect must be thought about everywhere"
)]
pub enum Effect {
    /// It goes through.
    Allow,
    /// No opinion: the agent's own prompt decides. Only a default of the hook's kinds.
    Pass,
    /// A person decides; without one it is refused.
    Ask,
    /// It is refused.
    Deny,
}

impl Effect {
    /// The word used in policies, records and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Pass => "pass",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a policy file comes from, lowest trust first: the order is by trust.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new layer must be thought about everywhere"
)]
pub enum Layer {
    /// `.moat.yaml` at the root of the project.
    Project,
    /// The user's `policy.yaml`, the command line, and the built-in default.
    User,
    /// The signed bundle.
    Bundle,
    /// `/etc/moat/policy.yaml`.
    Machine,
}

impl Layer {
    /// The word used in records and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::Bundle => "bundle",
            Self::Machine => "machine",
        }
    }
}

/// One entry of a policy, as a verdict names it. Shared: a clone copies a pointer.
#[derive(Debug, Eq, PartialEq)]
pub struct Rule {
    /// The id of the group that holds the entry.
    pub id: Arc<str>,
    /// The group's effect.
    pub effect: Effect,
    /// The layer of its file.
    pub layer: Layer,
    /// The reason written in the group.
    pub reason: Option<Arc<str>>,
    /// The entry as written, for example `*.example.com:443`; for a preset the entry inside it.
    pub entry: Box<str>,
    /// The preset that holds the entry, if it is not written in the file itself.
    pub preset: Option<Arc<str>>,
    /// The file, as it was named to the loader.
    pub file: Arc<str>,
    /// The line of the entry (of the preset's mention), from 1.
    pub line: u32,
}

/// Whether a tunnel must speak TLS.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the proxy must know each of them")]
pub enum TlsRule {
    /// What does not begin with a TLS `ClientHello` is refused: the default on port 443.
    Require,
    /// Anything may pass: the default on every other port.
    Any,
}

/// What the server name of a `ClientHello` is held against.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the proxy must know each of them")]
pub enum SniRule {
    /// It must be there and be the permitted host: the default.
    Match,
    /// It may be absent or another.
    Any,
}

/// What comes with an allow. Where several allow entries match, each is a grant of its own, so
/// the widest of them holds; the order of entries changes nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Grant {
    /// Whether the tunnel must speak TLS.
    pub tls: TlsRule,
    /// What the server name is held against.
    pub sni: SniRule,
    /// When the last matching entry runs out; `None` for never.
    pub until: Option<SystemTime>,
}

impl Grant {
    /// Whether what travels like this breaks the grant before a byte of it is seen.
    pub fn refuses(&self, wire: Wire) -> bool {
        wire == Wire::Clear && self.tls == TlsRule::Require
    }
}

/// Why a verdict is what it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "records and replies must name each of them"
)]
pub enum Basis {
    /// A rule matched.
    Rule,
    /// No rule matched: the default of the kind.
    Default,
    /// The literal address is of a guarded class and no address entry opens it.
    Guarded(AddressClass),
    /// A rule allows the host, and only with TLS, and the request would be sent in clear.
    Clear,
}

/// The answer to a [`crate::request::Request`].
#[derive(Clone, Copy, Debug)]
pub struct Verdict<'p> {
    /// What happens.
    pub effect: Effect,
    /// Why.
    pub basis: Basis,
    /// The rule that decided; `None` for a default and for a guarded address.
    pub rule: Option<&'p Arc<Rule>>,
    /// What an allow grants; for other effects the defaults of the port.
    pub grant: Grant,
}

impl Verdict<'_> {
    /// An allow that is held against how the request travels.
    pub(crate) fn held_to(self, wire: Wire) -> Self {
        if self.effect == Effect::Allow && self.grant.refuses(wire) {
            return Self {
                effect: Effect::Deny,
                basis: Basis::Clear,
                ..self
            };
        }
        self
    }
}

/// The answer for one address that a permitted name resolved to.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new answer must be thought about everywhere"
)]
pub enum AddressVerdict<'p> {
    /// It may be dialled.
    Open,
    /// Its class is guarded and no address entry opens it for this port.
    Guarded(AddressClass),
    /// An entry of a deny (or ask) group names it.
    Refused(&'p Arc<Rule>),
}
