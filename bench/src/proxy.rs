//! A Moat of our own, started on loopback and ended again.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};

/// A running proxy; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Proxy {
    child: Child,
    folder: tempfile::TempDir,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Proxy {
    /// Starts this binary with a policy and waits until it listens.
    pub(crate) fn start(moat: &Path, policy: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("policy.yaml");
        std::fs::write(&file, policy)?;
        let mut child = Command::new(moat)
            .args(["proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(["--audit", "off", "--max-connections", "9000", "--policy"])
            .arg(&file)
            .env("XDG_STATE_HOME", folder.path())
            .env("MOAT_HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{}`", moat.display()))?;
        let output = child.stdout.take().context("no output")?;
        let address = BufReader::new(output)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let address = line.strip_prefix("listening on http://")?;
                address.trim().parse().ok()
            });
        let Some(address) = address else {
            let status = child.wait()?;
            bail!("the proxy ended before it listened: {status}");
        };
        Ok(Self {
            child,
            folder,
            address,
        })
    }

    /// Its resident memory in KiB.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read `{path}`"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_ascii_whitespace().next());
        Ok(number.context("no VmRSS")?.parse()?)
    }

    /// How many descriptors it has open.
    pub(crate) fn descriptors(&self) -> anyhow::Result<usize> {
        let path = format!("/proc/{}/fd", self.child.id());
        Ok(std::fs::read_dir(path)?.count())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        drop(self.child.kill());
        drop(self.child.wait());
        let _ = &self.folder;
    }
}
