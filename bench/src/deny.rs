//! Refused CONNECTs at a steady rate: the proxy's memory and descriptors must not grow.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::client;
use crate::proxy::Proxy;
use crate::report;

/// What counts as no growth: the noise of the allocator and of pages that are touched late.
const MOST_KIB: u64 = 512;

/// How refusals are measured.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The binary to measure.
    #[arg(long, value_name = "PATH", default_value = "target/release/moat")]
    moat: PathBuf,
    /// For how many seconds, after five that warm it up.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// How many each second.
    #[arg(long, default_value_t = 1000)]
    rate: u32,
    /// Where to keep the result, for example `bench/results/deny.json`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const WARM_UP: u32 = 5;

/// Asks a fresh proxy for names that it refuses, and weighs it before and after.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let policy = "version: 1\nallow: [{id: bench, net: [\"allowed.test\"]}]\n";
    let proxy = Proxy::start(&arguments.moat, policy)?;
    ask(&proxy, arguments.rate, WARM_UP)?;
    let (before, open) = (proxy.memory()?, proxy.descriptors()?);
    let begun = Instant::now();
    ask(&proxy, arguments.rate, arguments.seconds)?;
    let took = begun.elapsed();
    let (after, still_open) = (proxy.memory()?, proxy.descriptors()?);
    let growth = after.saturating_sub(before);
    let result = serde_json::json!({
        "refused": u64::from(arguments.rate) * u64::from(arguments.seconds),
        "seconds": (took.as_secs_f64() * 10.0).round() / 10.0,
        "rss_before_kib": before,
        "rss_after_kib": after,
        "growth_kib": growth,
        "descriptors_before": open,
        "descriptors_after": still_open,
    });
    report::give(&result, arguments.out.as_deref())?;
    ensure!(growth <= MOST_KIB, "the proxy grew by {growth} KiB");
    Ok(())
}

/// Asks at this rate; a start that comes late is caught up with.
fn ask(proxy: &Proxy, rate: u32, seconds: u32) -> anyhow::Result<()> {
    let begun = Instant::now();
    for number in 0..rate * seconds {
        let due = Duration::from_secs(1) * number / rate;
        if let Some(early) = due.checked_sub(begun.elapsed()) {
            thread::park_timeout(early);
        }
        // Names that never come again, as a client that leaks data by names would send.
        client::refused(proxy.address, &format!("{number:x}.denied.test:443"))?;
    }
    Ok(())
}
