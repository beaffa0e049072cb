//! Names to addresses: the only place that resolves anything.
//!
//! Each worker has its own cache and its own queries. The verdict on a name comes first: what is
//! not permitted is never asked for. It does not know which addresses may be dialled.

mod cache;
mod query;
mod system;

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use moat_policy::address::is_localhost_name;
use moat_policy::host::{Host, HostName};
use tokio::sync::watch;
use tokio::time::Instant;

use self::cache::Cache;
use self::query::{Client, Found};
use self::system::NameServers;
pub(crate) use self::system::SystemNames;
use crate::authorize::Permit;
use crate::metrics::{Lookup, Meter};
use crate::refusal::Refusal;

/// The addresses of a name, IPv6 and IPv4 in turns, or why there are none.
type Answer = Result<Arc<[IpAddr]>, Failure>;

/// Why a name has no addresses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Failure {
    /// The servers say that it does not exist.
    NoSuchName,
    /// It exists, and has no address.
    NoAddress,
    /// Its aliases do not come to an end.
    Aliases,
    /// It has more addresses than are checked.
    TooMany,
    /// The servers failed or could not be asked.
    Servers,
    /// The servers did not answer in time.
    TimedOut,
}

impl Failure {
    fn refusal(self) -> Refusal {
        let detail = match self {
            Self::NoSuchName => "the name does not exist",
            Self::NoAddress => "the name has no address",
            Self::Aliases => "the aliases of the name do not come to an end",
            Self::TooMany => "the name has too many addresses",
            Self::Servers => "the name servers failed",
            Self::TimedOut => "the name servers did not answer in time",
        };
        Refusal::dns(detail, self == Self::TimedOut)
    }
}

/// One worker's resolver.
#[derive(Debug)]
pub(crate) struct Resolver(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: Duration,
    cache: RefCell<Cache>,
    /// The queries that are under way; each is asked once for all that wait for it.
    flights: RefCell<HashMap<HostName, watch::Sender<Option<Answer>>, RandomState>>,
    servers: Servers,
    meter: Rc<Meter>,
}

/// Who is asked.
#[derive(Debug)]
enum Servers {
    /// These, and nobody else.
    Given(Client),
    /// The hosts file and the servers of the system.
    System {
        names: Arc<SystemNames>,
        /// The servers that were last asked, and their client.
        client: RefCell<(Arc<NameServers>, Client)>,
    },
}

impl Resolver {
    /// A resolver that asks these servers, or what the system says where that is given.
    pub(crate) fn new(
        servers: &[SocketAddr],
        system: Option<Arc<SystemNames>>,
        limit: Duration,
        meter: Rc<Meter>,
    ) -> io::Result<Self> {
        let servers = match system {
            None => Servers::Given(Client::new(servers, limit)?),
            Some(names) => {
                let servers = names.servers();
                let client = Client::new(&servers.0, limit)?;
                let client = RefCell::new((servers, client));
                Servers::System { names, client }
            }
        };
        Ok(Self(Rc::new(Inner {
            limit,
            cache: RefCell::default(),
            flights: RefCell::default(),
            servers,
            meter,
        })))
    }

    /// The addresses of a permitted target: its own, or every answer for its name.
    pub(crate) async fn resolve(&self, permit: &Permit) -> Result<Arc<[IpAddr]>, Refusal> {
        match &permit.target().host {
            Host::Address(address) => Ok(Arc::new([*address])),
            Host::Name(name) if is_localhost_name(name) => Ok(Arc::new([
                Ipv6Addr::LOCALHOST.into(),
                Ipv4Addr::LOCALHOST.into(),
            ])),
            Host::Name(name) => self.lookup(name).await.map_err(Failure::refusal),
        }
    }

    /// The servers that would be asked now.
    #[cfg(test)]
    fn asked(&self) -> Vec<SocketAddr> {
        let _ = self.0.client();
        match &self.0.servers {
            Servers::Given(_) => Vec::new(),
            Servers::System { client, .. } => client.borrow().0.0.clone(),
        }
    }

    async fn lookup(&self, name: &HostName) -> Answer {
        if let Servers::System { names, .. } = &self.0.servers
            && let Some(addresses) = names.lookup(name)
        {
            self.0.meter.looked_up(Lookup::Hit);
            return Ok(addresses);
        }
        if let Some(answer) = self.0.cache.borrow_mut().get(name, Instant::now()) {
            self.0.meter.looked_up(Lookup::Hit);
            return answer;
        }
        let mut answer = self.join(name);
        match answer.wait_for(Option::is_some).await {
            Ok(answer) => answer.clone().unwrap_or(Err(Failure::Servers)),
            Err(_) => Err(Failure::Servers),
        }
    }

    /// Waits with the others for a query that is under way, or starts one.
    fn join(&self, name: &HostName) -> watch::Receiver<Option<Answer>> {
        let mut flights = self.0.flights.borrow_mut();
        if let Some(flight) = flights.get(name) {
            self.0.meter.looked_up(Lookup::Joined);
            return flight.subscribe();
        }
        self.0.meter.looked_up(Lookup::Miss);
        let (sender, receiver) = watch::channel(None);
        flights.insert(name.clone(), sender.clone());
        let landing = Landing {
            inner: Rc::clone(&self.0),
            name: name.clone(),
        };
        tokio::task::spawn_local(async move {
            // A query that nobody waits for any more is given up.
            tokio::select! {
                () = sender.closed() => {}
                answer = landing.inner.ask(&landing.name) => {
                    sender.send_replace(Some(answer));
                }
            }
            drop(landing);
        });
        receiver
    }
}

/// Takes a query out of those under way, however it ends.
struct Landing {
    inner: Rc<Inner>,
    name: HostName,
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.inner.flights.borrow_mut().remove(&self.name);
    }
}

impl Inner {
    /// A client of the servers in force.
    fn client(&self) -> Client {
        let (names, client) = match &self.servers {
            Servers::Given(client) => return client.clone(),
            Servers::System { names, client } => (names, client),
        };
        let servers = names.servers();
        let mut known = client.borrow_mut();
        if !Arc::ptr_eq(&known.0, &servers) {
            match Client::new(&servers.0, self.limit) {
                Ok(client) => *known = (servers, client),
                Err(error) => tracing::warn!(%error, "the name servers cannot be used"),
            }
        }
        known.1.clone()
    }

    async fn ask(&self, name: &HostName) -> Answer {
        let client = self.client();
        let asked = Instant::now();
        let Found { answer, ttl } = client.ask(name, self.limit).await;
        self.meter.resolved(asked.elapsed());
        let kept = answer.clone();
        self.cache
            .borrow_mut()
            .put(name.clone(), kept, ttl, Instant::now());
        answer
    }
}

#[cfg(test)]
mod tests;
