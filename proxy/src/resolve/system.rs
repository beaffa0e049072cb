//! What the system says about names: its hosts file, and the name servers to ask.
//!
//! Files are read at the start and, when they have changed, by a task beside the data path;
//! workers only load a pointer.

mod servers;

use std::convert::Infallible;
use std::fs;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use moat_policy::host::HostName;
use rustix::net::{AddressFamily, SocketType};

const HOSTS: &str = "/etc/hosts";
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// How often the files are looked at.
const RECHECK: Duration = Duration::from_secs(1);
const MAX_SIZE: u64 = 16 * 1024 * 1024;

type Hosts = HashMap<HostName, Arc<[IpAddr]>, RandomState>;

/// Both files as last read. Shared by all workers; asking takes no lock.
#[derive(Debug)]
pub(crate) struct SystemNames {
    hosts: ArcSwap<Hosts>,
    servers: ArcSwap<NameServers>,
    /// Locked by whoever reads the files, never by whoever asks.
    files: Mutex<Files>,
}

/// Name servers, in the order in which they are asked. One at least.
#[derive(Debug)]
pub(super) struct NameServers(pub(super) Vec<SocketAddr>);

#[derive(Debug)]
struct Files {
    hosts: Watched,
    servers: Watched,
}

impl SystemNames {
    /// As the system has them now.
    pub(crate) fn new() -> io::Result<Self> {
        Self::of(HOSTS.into(), RESOLV_CONF.into())
    }

    /// Out of these files; only a resolver configuration that is there and unreadable is an error.
    fn of(hosts: PathBuf, servers: PathBuf) -> io::Result<Self> {
        let mut files = Files {
            hosts: Watched::new(hosts),
            servers: Watched::new(servers),
        };
        let text = files.servers.changed().unwrap_or_else(|| Ok(String::new()));
        let first = read_servers(&files.servers.path, text)?;
        let names = Self {
            hosts: ArcSwap::default(),
            servers: ArcSwap::from_pointee(NameServers(first)),
            files: Mutex::new(files),
        };
        names.look();
        Ok(names)
    }

    /// The addresses that the hosts file gives to this name.
    pub(super) fn lookup(&self, name: &HostName) -> Option<Arc<[IpAddr]>> {
        self.hosts.load().get(name).map(Arc::clone)
    }

    /// The name servers in force; another list is another pointer.
    pub(super) fn servers(&self) -> Arc<NameServers> {
        self.servers.load_full()
    }

    /// Reads the files again whenever they change, for as long as it is polled.
    pub(crate) async fn follow(&self) -> Infallible {
        loop {
            tokio::time::sleep(RECHECK).await;
            self.look();
        }
    }

    /// Takes over what has changed. A file that cannot be read any more changes nothing.
    fn look(&self) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match files.hosts.changed() {
            Some(Ok(text)) => self.hosts.store(Arc::new(parse(&text))),
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                self.hosts.store(Arc::default());
            }
            Some(Err(error)) => tracing::warn!(%error, "the hosts file cannot be read"),
            None => {}
        }
        let text = files.servers.changed();
        match text.map(|text| read_servers(&files.servers.path, text)) {
            Some(Ok(servers)) => self.servers.store(Arc::new(NameServers(servers))),
            Some(Err(error)) => {
                tracing::warn!(%error, "the name servers of the system are unclear");
            }
            None => {}
        }
    }
}

/// A file and what it looked like when it was read.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    looked: bool,
    /// Time and size, if it was there.
    seen: Option<(SystemTime, u64)>,
}

impl Watched {
    /// A file that has not been looked at.
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            looked: false,
            seen: None,
        }
    }

    /// Its content if it has changed since the last call.
    fn changed(&mut self) -> Option<io::Result<String>> {
        let seen = fs::metadata(&self.path)
            .and_then(|data| Ok((data.modified()?, data.len())))
            .ok();
        let is_first = !std::mem::replace(&mut self.looked, true);
        let before = std::mem::replace(&mut self.seen, seen);
        (is_first || before != seen).then(|| self.read())
    }

    fn read(&self) -> io::Result<String> {
        let mut text = Vec::new();
        fs::File::open(&self.path)?
            .take(MAX_SIZE)
            .read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// Reads lines of an address and its names; what is neither is skipped, as every resolver does.
/// The interface in a link-local address is left out: such an address is guarded with it or
/// without, and a name that has one must not be asked for elsewhere.
fn parse(text: &str) -> Hosts {
    let mut found: HashMap<HostName, Vec<IpAddr>, RandomState> = HashMap::default();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let Some(address) = words.next().and_then(address) else {
            continue;
        };
        for name in words.filter_map(|word| HostName::parse(word).ok()) {
            let addresses = found.entry(name).or_default();
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    found
        .into_iter()
        .map(|(name, addresses)| (name, addresses.into()))
        .collect()
}

fn address(text: &str) -> Option<IpAddr> {
    match text.split_once('%') {
        None => text.parse().ok(),
        Some((address, _)) => address.parse::<Ipv6Addr>().ok().map(IpAddr::from),
    }
}

/// The servers in a resolver configuration. One that is not there names none.
fn read_servers(path: &Path, text: io::Result<String>) -> io::Result<Vec<SocketAddr>> {
    let text = match text {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let (servers, skipped) = servers::parse(&text, index);
    for line in skipped {
        let place = format!("{}:{}", path.display(), line.line);
        tracing::warn!(
            "{place}: name server `{}` is not asked: {}",
            line.text,
            line.problem
        );
    }
    if servers::wants_tcp(&text) {
        let path = path.display();
        tracing::warn!("{path}: `use-vc` is not followed: servers are asked over UDP first");
    }
    Ok(servers)
}

/// The number of an interface of this host.
fn index(name: &str) -> Option<u32> {
    let socket = rustix::net::socket(AddressFamily::INET6, SocketType::DGRAM, None).ok()?;
    rustix::net::netdevice::name_to_index(socket, name).ok()
}

#[cfg(test)]
mod tests;
