//! Questions to name servers: both address families at once, and of the answers only what
//! belongs to the name.

mod sockets;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use moat_policy::host::HostName;
use tokio::time::{Instant, sleep_until};

use self::sockets::Sockets;
use super::{Answer, Failure};

/// How many aliases are followed from the name that was asked for.
const MAX_ALIASES: usize = 8;
/// How many addresses a name may have: all are checked, and all are kept.
const MAX_ADDRESSES: usize = 128;
/// How long the second family may take once the first one has given addresses, so that a server
/// that swallows questions for one family does not delay every name.
const GRACE: Duration = Duration::from_millis(500);
/// For how long the addresses of one family alone are good, while the other one did not answer.
const PARTIAL: Duration = Duration::from_secs(10);
/// What a failure says about its own duration if it says nothing.
const FAILURE: Duration = Duration::from_secs(2);

/// An answer and for how long it holds.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) answer: Answer,
    pub(super) ttl: Duration,
}

/// What one family gave.
#[derive(Debug)]
struct Family {
    addresses: Result<Vec<IpAddr>, Failure>,
    ttl: Duration,
}

impl Family {
    fn failed(failure: Failure) -> Self {
        Self {
            addresses: Err(failure),
            ttl: FAILURE,
        }
    }
}

/// A set of name servers that can be asked.
#[derive(Clone)]
pub(super) struct Client(Rc<hickory_resolver::Resolver<Sockets>>);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// A client of these servers, within one worker's runtime.
    pub(super) fn new(servers: &[SocketAddr], limit: Duration) -> io::Result<Self> {
        let sockets = Sockets::new(servers);
        let servers: Vec<_> = servers.iter().map(name_server).collect();
        let count = u32::try_from(servers.len().clamp(1, 3)).unwrap_or(1);
        let config = ResolverConfig::from_parts(None, Vec::new(), servers);
        let mut builder = hickory_resolver::Resolver::builder_with_config(config, sockets);
        let options = builder.options_mut();
        options.cache_size = 0;
        options.use_hosts_file = ResolveHosts::Never;
        options.ndots = 0;
        options.attempts = 1;
        options.preserve_intermediates = true;
        options.num_concurrent_reqs = 1;
        // One attempt means two tries; all servers must have their turn within the limit.
        options.timeout =
            (limit / (2 * count)).clamp(Duration::from_millis(100), Duration::from_secs(2));
        let resolver = builder
            .build()
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self(Rc::new(resolver)))
    }

    /// Asks for both families. If one fails while the other gives addresses, those count.
    pub(super) async fn ask(&self, name: &HostName, limit: Duration) -> Found {
        let mut v6 = pin!(self.family(name, RecordType::AAAA));
        let mut v4 = pin!(self.family(name, RecordType::A));
        let mut late = pin!(sleep_until(Instant::now() + limit));
        let (mut six, mut four) = (None, None);
        while six.is_none() || four.is_none() {
            let found = tokio::select! {
                family = &mut v6, if six.is_none() => six.insert(family),
                family = &mut v4, if four.is_none() => four.insert(family),
                () = &mut late => break,
            };
            let grace = Instant::now() + GRACE;
            if found.addresses.is_ok() && grace < late.deadline() {
                late.as_mut().reset(grace);
            }
        }
        combine(
            six.unwrap_or_else(|| Family::failed(Failure::TimedOut)),
            four.unwrap_or_else(|| Family::failed(Failure::TimedOut)),
        )
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that resolves"
    )]
    async fn family(&self, name: &HostName, kind: RecordType) -> Family {
        // Absolute: no search list may turn it into another name. By its labels, since the reader
        // of texts refuses some that DNS carries, such as `-a`.
        let labels = name.as_str().split('.').map(str::as_bytes);
        let Ok(asked) = Name::from_labels(labels) else {
            return Family::failed(Failure::NoSuchName);
        };
        match self.0.lookup(asked.clone(), kind).await {
            Ok(lookup) => match follow(&asked, lookup.answers()) {
                Ok((addresses, ttl)) => Family {
                    addresses: Ok(addresses),
                    ttl,
                },
                Err(failure) => Family::failed(failure),
            },
            Err(error) => from_error(&error),
        }
    }
}

fn from_error(error: &NetError) -> Family {
    if matches!(error, NetError::Timeout) {
        return Family::failed(Failure::TimedOut);
    }
    let NetError::Dns(DnsError::NoRecordsFound(none)) = error else {
        return Family::failed(Failure::Servers);
    };
    let failure = if none.response_code == ResponseCode::NXDomain {
        Failure::NoSuchName
    } else if none.response_code == ResponseCode::NoError {
        Failure::NoAddress
    } else {
        Failure::Servers
    };
    let ttl = none.negative_ttl.map(|ttl| Duration::from_secs(ttl.into()));
    Family {
        addresses: Err(failure),
        ttl: ttl.unwrap_or(FAILURE),
    }
}

/// From the name that was asked for along its aliases to addresses. Records of other names, which
/// a server may add, are nobody's answer.
fn follow(asked: &Name, records: &[Record]) -> Result<(Vec<IpAddr>, Duration), Failure> {
    let mut owner = asked;
    let mut ttl = u32::MAX;
    for _ in 0..=MAX_ALIASES {
        let mut addresses = Vec::new();
        let mut alias = None;
        for record in records.iter().filter(|record| record.name == *owner) {
            if let Some(address) = record.data.ip_addr() {
                addresses.push((address, record.ttl));
            } else if let RData::CNAME(target) = &record.data {
                alias = Some((&target.0, record.ttl));
            }
        }
        if !addresses.is_empty() {
            let least = addresses.iter().map(|&(_, ttl)| ttl).min();
            let ttl = Duration::from_secs(ttl.min(least.unwrap_or(0)).into());
            return Ok((
                addresses.into_iter().map(|(address, _)| address).collect(),
                ttl,
            ));
        }
        let Some((target, alias_ttl)) = alias else {
            return Err(Failure::NoAddress);
        };
        owner = target;
        ttl = ttl.min(alias_ttl);
    }
    Err(Failure::Aliases)
}

/// Both families in turns, IPv6 first (RFC 8305, section 4).
fn combine(six: Family, four: Family) -> Found {
    let (six_ttl, four_ttl) = (six.ttl, four.ttl);
    let (mut addresses, ttl) = match (six.addresses, four.addresses) {
        (Ok(six), Ok(four)) => (interleave(&six, &four), six_ttl.min(four_ttl)),
        (Ok(one), Err(other)) => (one, partial(other, six_ttl, four_ttl)),
        (Err(other), Ok(one)) => (one, partial(other, four_ttl, six_ttl)),
        (Err(six), Err(four)) => {
            return Found {
                answer: Err(worse(six, four)),
                ttl: six_ttl.min(four_ttl),
            };
        }
    };
    if addresses.len() > MAX_ADDRESSES {
        return Found {
            answer: Err(Failure::TooMany),
            ttl: FAILURE,
        };
    }
    let mut seen = Vec::with_capacity(addresses.len());
    addresses.retain(|address| {
        let is_new = !seen.contains(address);
        seen.push(*address);
        is_new
    });
    Found {
        answer: Ok(addresses.into()),
        ttl,
    }
}

/// For how long the addresses of one family hold when the other one has none.
fn partial(other: Failure, ttl: Duration, other_ttl: Duration) -> Duration {
    match other {
        // It has none, and that is an answer too.
        Failure::NoAddress | Failure::NoSuchName => ttl,
        Failure::Aliases | Failure::TooMany => ttl.min(other_ttl),
        Failure::Servers | Failure::TimedOut => ttl.min(PARTIAL),
    }
}

fn interleave(six: &[IpAddr], four: &[IpAddr]) -> Vec<IpAddr> {
    let longer = six.len().max(four.len());
    (0..longer)
        .flat_map(|at| [six.get(at), four.get(at)])
        .flatten()
        .copied()
        .collect()
}

/// Of two failures the one that says more: not knowing comes before knowing that there is none.
fn worse(one: Failure, other: Failure) -> Failure {
    let rank = |failure| match failure {
        Failure::TimedOut => 5,
        Failure::Servers => 4,
        Failure::TooMany => 3,
        Failure::Aliases => 2,
        Failure::NoSuchName => 1,
        Failure::NoAddress => 0,
    };
    if rank(one) >= rank(other) { one } else { other }
}

/// A server at this address, over UDP and TCP.
fn name_server(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

#[cfg(test)]
pub(super) mod tests;
