//! Names to addresses: the only file that resolves anything.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use moat_policy::host::{Host, HostName};

use crate::authorize::Permit;
use crate::refusal::Refusal;

/// One worker's resolver.
pub(crate) struct Resolver {
    inner: TokioResolver,
    limit: Duration,
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl Resolver {
    /// A resolver that asks these servers, or the system's where there are none.
    pub(crate) fn new(servers: &[SocketAddr], limit: Duration) -> io::Result<Self> {
        let servers: Vec<NameServerConfig> = if servers.is_empty() {
            let (system, _) = hickory_resolver::system_conf::read_system_conf()
                .map_err(|error| io::Error::other(error.to_string()))?;
            system.name_servers().to_vec()
        } else {
            servers.iter().map(name_server).collect()
        };
        let config = ResolverConfig::from_parts(None, Vec::new(), servers);
        let provider = TokioRuntimeProvider::default();
        let mut builder = hickory_resolver::Resolver::builder_with_config(config, provider);
        let options = builder.options_mut();
        options.cache_size = 0;
        options.use_hosts_file = ResolveHosts::Never;
        options.ndots = 0;
        options.attempts = 1;
        options.preserve_intermediates = true;
        options.num_concurrent_reqs = 1;
        let inner = builder
            .build()
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { inner, limit })
    }

    /// The addresses of a permitted target: its own, or every answer for its name.
    pub(crate) async fn resolve(&self, permit: &Permit) -> Result<Vec<IpAddr>, Refusal> {
        let name = match &permit.target().host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) if is_localhost(name) => {
                return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
            }
            Host::Name(name) => name,
        };
        match tokio::time::timeout(self.limit, self.query(name)).await {
            Ok(answer) => answer,
            Err(_) => Err(Refusal::dns(
                "the name servers did not answer in time",
                true,
            )),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that resolves"
    )]
    async fn query(&self, name: &HostName) -> Result<Vec<IpAddr>, Refusal> {
        let absolute = Name::from_ascii(format!("{name}."))
            .map_err(|_| Refusal::dns("the name cannot be asked for", false))?;
        let (v4, v6) = tokio::join!(
            self.inner.lookup(absolute.clone(), RecordType::A),
            self.inner.lookup(absolute, RecordType::AAAA),
        );
        let mut found = Vec::new();
        for answer in [v4, v6].into_iter().flatten() {
            for record in answer.answers() {
                match record.data {
                    RData::A(address) => found.push(IpAddr::V4(address.0)),
                    RData::AAAA(address) => found.push(IpAddr::V6(address.0)),
                    _ => {}
                }
            }
        }
        if found.is_empty() {
            return Err(Refusal::dns("the name has no address", false));
        }
        Ok(found)
    }
}

fn name_server(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

/// `localhost` and the names under it are this host (RFC 6761, section 6.3).
fn is_localhost(name: &HostName) -> bool {
    let name = name.as_str();
    name == "localhost" || name.ends_with(".localhost")
}
