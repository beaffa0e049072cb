//! The system's hosts file, read again when it has changed.

use std::fs;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use moat_policy::host::HostName;
use tokio::time::Instant;

/// Where the system keeps it.
pub(super) const SYSTEM: &str = "/etc/hosts";
/// How long a look at the file's state is good for.
pub(super) const RECHECK: Duration = Duration::from_secs(1);
const MAX_SIZE: u64 = 16 * 1024 * 1024;

/// A file and what it looked like when it was read.
#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    looked: Option<Instant>,
    seen: Option<(SystemTime, u64)>,
}

impl Watched {
    /// A file that has not been looked at.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            looked: None,
            seen: None,
        }
    }

    /// Its content if it has changed since the last call; looks at most once a second.
    pub(super) fn changed(&mut self, now: Instant) -> Option<io::Result<String>> {
        if self.looked.is_some_and(|looked| now < looked + RECHECK) {
            return None;
        }
        let first = self.looked.is_none();
        self.looked = Some(now);
        let seen = fs::metadata(&self.path)
            .and_then(|data| Ok((data.modified()?, data.len())))
            .ok();
        if !first && seen == self.seen {
            return None;
        }
        self.seen = seen;
        Some(self.read())
    }

    fn read(&self) -> io::Result<String> {
        let mut text = Vec::new();
        fs::File::open(&self.path)?
            .take(MAX_SIZE)
            .read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// The names of a hosts file.
#[derive(Debug)]
pub(super) struct HostsFile {
    file: Watched,
    names: HashMap<HostName, Arc<[IpAddr]>, RandomState>,
}

impl HostsFile {
    /// The file at this path, which need not exist.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            file: Watched::new(path),
            names: HashMap::default(),
        }
    }

    /// The addresses that the file gives to this name.
    pub(super) fn lookup(&mut self, name: &HostName, now: Instant) -> Option<Arc<[IpAddr]>> {
        match self.file.changed(now) {
            Some(Ok(text)) => self.names = parse(&text),
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => self.names.clear(),
            Some(Err(error)) => tracing::warn!(%error, "the hosts file cannot be read"),
            None => {}
        }
        self.names.get(name).map(Arc::clone)
    }
}

/// Reads lines of an address and its names; what is neither is skipped, as every resolver does.
fn parse(text: &str) -> HashMap<HostName, Arc<[IpAddr]>, RandomState> {
    let mut found: HashMap<HostName, Vec<IpAddr>, RandomState> = HashMap::default();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else {
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

#[cfg(test)]
mod tests;
