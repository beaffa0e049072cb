//! `moat test`: the policy's own tests.

use std::path::PathBuf;

use clap::Args;
use moat_policy::case::{self, Outcome};
use serde::Serialize;

use crate::answer::Answer;
use crate::context::Context;
use crate::exit::Exit;
use crate::layers::Layers;
use crate::problem::Problem;

/// Run the tests that policy files hold under `tests:`.
///
/// All layers are judged together, so a test also notices what another file changes.
/// Exits 0 when all hold, 1 when one does not.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Policy files, in place of the user's and the project's.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The same as FILE, as other commands spell it; repeatable.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,

    /// Print one JSON object for each test.
    #[arg(long)]
    json: bool,
}

/// One test as `--json` shows it.
#[derive(Debug, Serialize)]
struct Tested {
    holds: bool,
    source: String,
    expect: &'static str,
    #[serde(flatten)]
    answer: Answer,
}

/// Runs the verb.
pub(crate) fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let mut named = arguments.files;
    named.extend(arguments.policy);
    let loaded = Layers::of_command(&context.places, &named)?.load()?;
    loaded.report();
    let outcomes = case::run(&loaded.compiled, context.now);
    let failed = outcomes.iter().filter(|outcome| !outcome.holds()).count();
    for outcome in &outcomes {
        let tested = Tested::new(outcome);
        if arguments.json {
            context.output.json(&tested)?;
        } else if !tested.holds {
            context.output.line(tested.failure());
        }
    }
    if !arguments.json {
        context.output.line(summary(outcomes.len(), failed));
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

fn summary(all: usize, failed: usize) -> String {
    match (all, failed) {
        (0, _) => "there are no tests; write them under `tests:` in a policy file".to_owned(),
        (_, 0) => format!("{all} held"),
        (_, _) => format!("{} held, {failed} failed", all.saturating_sub(failed)),
    }
}

impl Tested {
    fn new(outcome: &Outcome<'_>) -> Self {
        let case = outcome.case;
        Self {
            holds: outcome.holds(),
            source: format!("{}:{}", outcome.source.name, case.span.line),
            expect: case.expect.as_str(),
            answer: Answer::new(
                &case.text,
                case.surface,
                &case.asked.target,
                &outcome.verdict,
            ),
        }
    }

    fn failure(&self) -> String {
        let answer = &self.answer;
        format!(
            "failed {}: {} {} is {}, not {}, {}",
            self.source,
            answer.kind(),
            answer.request(),
            answer.effect(),
            self.expect,
            answer.because()
        )
    }
}

#[cfg(test)]
mod tests;
