//! Measures what a decision, a refusal and an idle tunnel cost.
#![forbid(unsafe_code)]

mod decide;

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
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().measure {
        Measure::Decide(arguments) => decide::run(&arguments),
    }
}
