//! The compiled, immutable policy and its one question: [`Policy::decide`].

mod build;
mod condition;
mod decide;
mod exclusions;
mod ports;
mod tables;

use std::net::IpAddr;
use std::sync::Arc;

use crate::entry::{Entry, EntryList};
use crate::request::Request;
use crate::verdict::{AddressVerdict, Effect, Verdict};

pub use build::BuildError;
use tables::{Asked, Tables};

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
    exclusive: bool,
    tables: Tables,
}

impl Policy {
    /// Builds the tables. The order of the lists changes no verdict's effect; among several
    /// matching rules of the deciding kind a verdict names the first of the most trusted layer.
    ///
    /// # Errors
    /// Patterns that cannot be found in bounded time, over their cap.
    pub fn build(
        lists: Vec<EntryList>,
        defaults: Defaults,
        digest: Arc<str>,
    ) -> Result<Self, BuildError> {
        Ok(Self {
            tables: Tables::build(&lists)?,
            lists,
            defaults,
            digest,
            exclusive: false,
        })
    }

    /// Says whether only the machine's file can allow, which changes no verdict: the lists that
    /// do not count are left out already.
    #[must_use]
    pub fn with_exclusive(self, exclusive: bool) -> Self {
        Self { exclusive, ..self }
    }

    /// Whether only the machine's file can allow: what a refusal must know to say what helps.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// A short digest of the sources, for records and `moat status`.
    pub fn digest(&self) -> &Arc<str> {
        &self.digest
    }

    /// The defaults of the two kinds.
    pub fn defaults(&self) -> Defaults {
        self.defaults
    }

    /// Everything that was written, in the order given to [`Policy::build`].
    pub fn lists(&self) -> &[EntryList] {
        &self.lists
    }

    /// Every positive entry with its list.
    pub fn entries(&self) -> impl Iterator<Item = (&EntryList, &Entry)> {
        self.lists
            .iter()
            .flat_map(|list| list.entries.iter().map(move |entry| (list, entry)))
    }

    /// Judges one request. Never fails: what is not known is refused.
    ///
    /// A literal address needs an address entry for its port, and is guarded by its class and by
    /// that of every address inside it. `localhost` and the names below it are the loopback address.
    /// What would be sent in clear is refused where all that allows it requires TLS.
    pub fn decide(&self, request: &Request<'_>) -> Verdict<'_> {
        self.judge(&request.target.host, &Asked::request(request))
            .held_to(request.wire)
    }

    /// Judges one address that a request would be sent to, for the port, method and path of the
    /// request: one that a permitted name resolved to, or a literal target. `own` says which
    /// addresses this host's interfaces have: the caller knows, and policy does not. It is asked of
    /// the address and of every IPv4 address inside it.
    pub fn judge_address(
        &self,
        request: &Request<'_>,
        address: IpAddr,
        own: &dyn Fn(IpAddr) -> bool,
    ) -> AddressVerdict<'_> {
        self.judge_answer(address, own, &Asked::request(request))
    }
}

#[cfg(test)]
mod tests;
