//! The `moat` binary: grammar, wiring and output.
#![forbid(unsafe_code)]

mod admin;
mod answer;
#[cfg(test)]
mod bed;
mod cli;
mod command;
mod context;
mod duration;
mod exit;
mod layers;
mod log;
mod output;
mod places;
mod policy_file;
mod problem;
mod record_file;
mod review;
mod rewrite;
mod state;

use std::process::ExitCode;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

fn main() -> ExitCode {
    let mut output = Output::stdout();
    let result = run(&mut output).and_then(|exit| output.finish().map(|()| exit));
    let exit = result.unwrap_or_else(|problem| {
        problem.report();
        problem.exit()
    });
    exit.into()
}

/// From what was typed to what it comes to.
fn run(output: &mut Output) -> Result<Exit, Problem> {
    let Some(verb) = cli::parse(std::env::args_os(), output)? else {
        return Ok(Exit::Ok);
    };
    let mut context = Context::from_environment(output)?;
    command::run(verb, &mut context)
}
