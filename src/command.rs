//! One verb a file: its arguments and a function.

pub(crate) mod generate;
pub(crate) mod preset;

use crate::cli::Verb;
use crate::context::Context;
use crate::exit::Exit;
use crate::problem::Problem;

/// Does what was asked.
pub(crate) fn run(verb: Verb, context: &mut Context<'_>) -> Result<Exit, Problem> {
    match verb {
        Verb::Generate(arguments) => generate::run(arguments, context),
        Verb::Preset(arguments) => preset::run(arguments, context),
    }
}
