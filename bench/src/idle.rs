//! Idle tunnels: what each costs the proxy in memory, and whether all of them still work.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::client;
use crate::proxy::Proxy;
use crate::report;

/// The bar of the project: proxy memory for an idle tunnel.
const MOST_KIB: f64 = 8.0;

/// How idle tunnels are measured.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The binary to measure.
    #[arg(long, value_name = "PATH", default_value = "target/release/moat")]
    moat: PathBuf,
    /// How many tunnels; each takes two descriptors here and two in the proxy.
    #[arg(long, default_value_t = 5000)]
    tunnels: u32,
    /// Where to keep the result, for example `bench/results/idle.json`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Opens the tunnels through a fresh proxy, weighs it, and echoes through each.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    raise_descriptors()?;
    let origin = TcpListener::bind("127.0.0.1:0")?;
    let target = origin.local_addr()?.to_string();
    let policy = "version: 1\nallow: [{id: bench, net: [\"127.0.0.1/32:*\"]}]\n";
    let proxy = Proxy::start(&arguments.moat, policy)?;
    drop((client::tunnel(proxy.address, &target)?, origin.accept()?));
    let before = proxy.memory()?;
    let mut tunnels = Vec::new();
    for number in 0..arguments.tunnels {
        let near = client::tunnel(proxy.address, &target);
        let near = near.with_context(|| format!("tunnel {number}"))?;
        tunnels.push((near, origin.accept()?.0));
    }
    let held = proxy.memory()?;
    let mut echoed = 0_u32;
    for (near, far) in &mut tunnels {
        echoed += u32::from(echo(near, far).is_ok());
    }
    let after = proxy.memory()?;
    let each = |memory: u64| {
        let grown = u32::try_from(memory.saturating_sub(before)).unwrap_or(u32::MAX);
        (f64::from(grown) / f64::from(arguments.tunnels) * 100.0).round() / 100.0
    };
    let result = serde_json::json!({
        "tunnels": arguments.tunnels,
        "rss_before_kib": before,
        "rss_idle_kib": held,
        "rss_after_echo_kib": after,
        "kib_per_idle_tunnel": each(held),
        "kib_per_tunnel_after_echo": each(after),
        "echoed": echoed,
    });
    report::give(&result, arguments.out.as_deref())?;
    ensure!(echoed == arguments.tunnels, "not every tunnel echoed");
    ensure!(
        each(after) < MOST_KIB,
        "a tunnel costs {MOST_KIB} KiB or more"
    );
    Ok(())
}

/// Sends some bytes through a tunnel and back.
fn echo(near: &mut TcpStream, far: &mut TcpStream) -> anyhow::Result<()> {
    let sent = [b'm'; 64];
    let mut got = [0; 64];
    near.write_all(&sent)?;
    far.read_exact(&mut got)?;
    far.write_all(&got)?;
    got = [0; 64];
    near.read_exact(&mut got)?;
    ensure!(got == sent, "another answer");
    Ok(())
}

/// As many descriptors as the machine allows, for this process and the proxy that it starts.
fn raise_descriptors() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}
