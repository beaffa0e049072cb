//! What a decision costs, and whether it is the right one.
//!
//! Requests are drawn near the patterns, so that about half of them match and the others miss late.
//! Every size is asked by the same number of different requests.

mod generate;
mod oracle;

use std::hint::black_box;
use std::io::Write;
use std::time::{Instant, SystemTime};

use anyhow::{Context, ensure};
use moat_policy::policy::{Defaults, Policy};
use moat_policy::request::{Request, Target};
use moat_policy::verdict::Effect;

use generate::Numbers;
use oracle::Oracle;

const SIZES: [usize; 3] = [10, 1_000, 100_000];
const REQUESTS: usize = 4_096;
/// Decisions between two looks at the clock, which costs as much as one of them.
const BATCH: usize = 64;
const ROUNDS: usize = 200;

/// How to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compares 100,000 patterns and 1,000,000 hosts with a second, hash-based matcher.
    #[arg(long)]
    verify: bool,
    /// How many patterns `--verify` takes.
    #[arg(long, default_value_t = 100_000, requires = "verify")]
    patterns: usize,
    /// How many hosts `--verify` takes.
    #[arg(long, default_value_t = 1_000_000, requires = "verify")]
    hosts: usize,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// Measures or verifies, and prints what came out.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if arguments.verify {
        let report = verify(arguments.patterns, arguments.hosts)?;
        writeln!(out, "{report:#}")?;
        return Ok(());
    }
    let mut medians = Vec::new();
    for size in SIZES {
        medians.push((size, measure(size)?));
    }
    let first = medians.first().map_or(f64::NAN, |&(_, median)| median);
    if arguments.json {
        let rows: Vec<_> = medians
            .iter()
            .map(|&(size, median)| {
                serde_json::json!({
                    "patterns": size, "median_ns": median, "ratio": median / first,
                })
            })
            .collect();
        writeln!(out, "{:#}", serde_json::json!({ "decide": rows }))?;
    } else {
        for (size, median) in medians {
            let ratio = median / first;
            writeln!(out, "{size:>7} patterns  {median:>6.1} ns  {ratio:.2}x")?;
        }
    }
    Ok(())
}

fn policy(patterns: &[String]) -> anyhow::Result<Policy> {
    let defaults = Defaults {
        net: Effect::Deny,
        fetch: Effect::Deny,
    };
    let lists = generate::lists(patterns)?;
    Policy::build(lists, defaults, "bench".into()).context("the generated policy does not build")
}

/// The median time of a decision in nanoseconds.
fn measure(size: usize) -> anyhow::Result<f64> {
    let mut numbers = Numbers::new(0x6d6f_6174);
    let patterns: Vec<String> = (0..size).map(|_| generate::pattern(&mut numbers)).collect();
    let policy = policy(&patterns)?;
    let targets: Vec<Target> = (0..REQUESTS)
        .map(|_| generate::target_near(&mut numbers, &patterns))
        .collect::<Result<_, _>>()?;
    let mut times = Vec::with_capacity(ROUNDS * REQUESTS / BATCH);
    for _ in 0..ROUNDS {
        for batch in targets.chunks(BATCH) {
            let start = Instant::now();
            for target in batch {
                let request = Request::connection(black_box(target), SystemTime::UNIX_EPOCH);
                black_box(policy.decide(&request));
            }
            let batch_length = u32::try_from(batch.len())?;
            times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(batch_length));
        }
    }
    times.sort_by(f64::total_cmp);
    times
        .get(times.len() / 2)
        .copied()
        .context("nothing was measured")
}

/// Asks both matchers about every host; the first difference is an error.
fn verify(patterns: usize, hosts: usize) -> anyhow::Result<serde_json::Value> {
    let mut numbers = Numbers::new(0x6f72_6163);
    let patterns: Vec<String> = (0..patterns)
        .map(|_| generate::pattern(&mut numbers))
        .collect();
    let policy = policy(&patterns)?;
    let oracle = Oracle::new(&patterns);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..hosts {
        let target = generate::target_near(&mut numbers, &patterns)?;
        let request = Request::connection(&target, SystemTime::UNIX_EPOCH);
        let verdict = policy.decide(&request);
        let line = verdict.rule.map(|rule| rule.line);
        let want = oracle.decide(&target.host.to_string(), target.port.number());
        ensure!(
            (verdict.effect, line) == want,
            "{target}: {:?} and not {want:?}",
            (verdict.effect, line)
        );
        *counts.entry(verdict.effect.as_str()).or_insert(0_usize) += 1;
    }
    Ok(serde_json::json!({
        "verify": {
            "patterns": patterns.len(),
            "hosts": hosts,
            "differences": 0,
            "verdicts": counts,
        }
    }))
}
