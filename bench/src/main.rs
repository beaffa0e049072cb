//! Measures what a decision, a refusal and an idle tunnel cost.
#![forbid(unsafe_code)]

mod client;
mod decide;
mod deny;
mod idle;
mod proxy;
mod report;

use clap::{Parser, Subcommand};

/// Load generator and referee of Moat.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    measure: Measure,
}

#[derive(Debug, Subcommand)]
enum Measure {
    /// The time of a decision at 10, 1,000 and 100,000 patterns, or the agreement with an oracle.
    Decide(decide::Arguments),
    /// The growth of a proxy that refuses a thousand requests each second.
    Deny(deny::Arguments),
    /// The memory of idle tunnels.
    Idle(idle::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().measure {
        Measure::Decide(arguments) => decide::run(&arguments),
        Measure::Deny(arguments) => deny::run(&arguments),
        Measure::Idle(arguments) => idle::run(&arguments),
    }
}
