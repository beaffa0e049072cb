//! What a decision costs, and whether it is the right one.
//!
//! Requests are drawn near the rules, so that about half of them match and the others miss late.
//! Every size is asked by the same number of different requests: once by a few that recur, as the
//! hosts of one agent do, and once by many, of which each finds the processor's cache cold.

mod generate;
mod oracle;
mod shape;

use std::hint::black_box;
use std::io::Write;
use std::time::{Instant, SystemTime};

use anyhow::{Context, ensure};
use moat_policy::entry::EntryList;
use moat_policy::policy::{Defaults, Policy};
use moat_policy::request::Request;
use moat_policy::verdict::Effect;

use generate::Numbers;
use oracle::Oracle;
use shape::{Asked, Shape};

const RECURRING: usize = 256;
const COLD: usize = 4_096;
/// Decisions between two looks at the clock, which costs as much as one of them.
const BATCH: usize = 64;
/// The sizes take turns, so that whatever else the machine does meets them alike.
const TURNS: usize = 40;
/// How often a turn asks the requests that recur.
const PASSES: usize = 50;

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
    let mut all = Vec::new();
    for shape in Shape::ALL {
        let rows = measure(shape)?;
        if arguments.json {
            all.push(serde_json::json!({ "shape": shape.name(), "sizes": json(&rows) }));
        } else {
            writeln!(out, "{}", shape.name())?;
            write(&mut out, &rows)?;
        }
    }
    if arguments.json {
        let report = serde_json::json!({
            "decide": all, "recurring_requests": RECURRING, "cold_requests": COLD,
        });
        writeln!(out, "{report:#}")?;
    }
    Ok(())
}

/// How many rules, and the median times for requests that recur and for many.
type Row = (usize, [f64; 2]);

fn first(rows: &[Row]) -> [f64; 2] {
    rows.first().map_or([f64::NAN; 2], |&(_, medians)| medians)
}

fn json(rows: &[Row]) -> Vec<serde_json::Value> {
    let [first_recurring, first_cold] = first(rows);
    let row = |&(rules, [recurring, cold]): &Row| {
        serde_json::json!({
            "rules": rules,
            "median_ns": recurring,
            "ratio": recurring / first_recurring,
            "cold_median_ns": cold,
            "cold_ratio": cold / first_cold,
        })
    };
    rows.iter().map(row).collect()
}

fn write(out: &mut impl Write, rows: &[Row]) -> std::io::Result<()> {
    let [first_recurring, first_cold] = first(rows);
    for &(rules, [recurring, cold]) in rows {
        writeln!(
            out,
            "{rules:>9}  {recurring:>6.1} ns {:.2}x  cold cache {cold:>6.1} ns {:.2}x",
            recurring / first_recurring,
            cold / first_cold,
        )?;
    }
    Ok(())
}

fn policy(lists: Vec<EntryList>) -> anyhow::Result<Policy> {
    let defaults = Defaults {
        net: Effect::Deny,
        fetch: Effect::Deny,
    };
    Policy::build(lists, defaults, "bench".into()).context("the generated policy does not build")
}

/// One size: its policy, its requests, and the times of a decision in nanoseconds.
struct Subject {
    rules: usize,
    policy: Policy,
    asked: Vec<Asked>,
    recurring: Vec<f64>,
    cold: Vec<f64>,
}

impl Subject {
    fn new(shape: Shape, rules: usize) -> anyhow::Result<Self> {
        let (lists, asked) = shape.generate(rules, COLD)?;
        Ok(Self {
            rules,
            policy: policy(lists)?,
            asked,
            recurring: Vec::new(),
            cold: Vec::new(),
        })
    }

    fn turn(&mut self) -> anyhow::Result<()> {
        let few = self.asked.get(..RECURRING).context("enough requests")?;
        time(&self.policy, &self.asked, &mut self.cold)?;
        for _ in 0..PASSES {
            time(&self.policy, few, &mut self.recurring)?;
        }
        Ok(())
    }
}

/// The median times of every size of a shape.
fn measure(shape: Shape) -> anyhow::Result<Vec<Row>> {
    let mut subjects: Vec<Subject> = shape
        .sizes()
        .into_iter()
        .map(|rules| Subject::new(shape, rules))
        .collect::<Result<_, _>>()?;
    for _ in 0..TURNS {
        for subject in &mut subjects {
            subject.turn()?;
        }
    }
    subjects
        .into_iter()
        .map(|subject| {
            let medians = [median(subject.recurring)?, median(subject.cold)?];
            Ok((subject.rules, medians))
        })
        .collect()
}

fn time(policy: &Policy, asked: &[Asked], times: &mut Vec<f64>) -> anyhow::Result<()> {
    for batch in asked.chunks(BATCH) {
        let start = Instant::now();
        for asked in batch {
            let request = black_box(asked).request();
            black_box(policy.decide(&request));
        }
        let decisions = u32::try_from(batch.len())?;
        times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(decisions));
    }
    Ok(())
}

fn median(mut times: Vec<f64>) -> anyhow::Result<f64> {
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
    let policy = policy(generate::lists(&patterns)?)?;
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
