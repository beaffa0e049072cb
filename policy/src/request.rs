//! What is asked of a policy.

use std::fmt;
use std::time::SystemTime;

use crate::host::Host;
use crate::port::Port;

/// Where a request wants to go.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Target {
    /// The host, normalised.
    pub host: Host,
    /// The port.
    pub port: Port,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Which list of the policy judges a request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new surface must be thought about everywhere"
)]
pub enum Surface {
    /// Any connection.
    Net,
    /// A read-only fetch tool of an agent; what `net` allows, `fetch` allows too.
    Fetch,
}

/// How the bytes of a request travel, as far as that is known before they do.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new way must be held against every grant"
)]
pub enum Wire {
    /// Not seen yet: a tunnel, in which TLS may follow. A grant holds it to its rule later.
    #[default]
    Unseen,
    /// In clear, as plain HTTP.
    Clear,
}

/// One request, with what is known of it. What is not known is `None`, and never widens: an
/// allow or ask entry that needs it does not match, a deny entry that needs it does.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Which list judges it.
    pub surface: Surface,
    /// Host and port.
    pub target: &'a Target,
    /// The method, where it is visible (plain HTTP), as sent: methods are case-sensitive.
    pub method: Option<&'a str>,
    /// The path as sent, from its first `/` and without the query, where it is visible.
    pub path: Option<&'a str>,
    /// How it travels.
    pub wire: Wire,
    /// The time at which entries with `until` are judged.
    pub now: SystemTime,
}

impl<'a> Request<'a> {
    /// A connection of which only host and port are known, as in a tunnel.
    pub fn connection(target: &'a Target, now: SystemTime) -> Self {
        Self {
            surface: Surface::Net,
            target,
            method: None,
            path: None,
            wire: Wire::Unseen,
            now,
        }
    }
}
