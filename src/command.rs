//! One verb a file: its arguments and a function.

pub(crate) mod allow;
pub(crate) mod check;
pub(crate) mod edit;
pub(crate) mod env;
pub(crate) mod generate;
pub(crate) mod lint;
pub(crate) mod log;
pub(crate) mod preset;
pub(crate) mod proxy;
pub(crate) mod status;
pub(crate) mod test;
pub(crate) mod why;

use crate::cli::Verb;
use crate::context::Context;
use crate::exit::Exit;
use crate::problem::Problem;

/// Does what was asked.
pub(crate) fn run(verb: Verb, context: &mut Context<'_>) -> Result<Exit, Problem> {
    match verb {
        Verb::Allow(arguments) => allow::allow(&arguments, context),
        Verb::Deny(arguments) => allow::deny(&arguments, context),
        Verb::Edit(arguments) => edit::run(arguments, context),
        Verb::Check(arguments) => check::run(&arguments, context),
        Verb::Env(arguments) => env::run(&arguments, context),
        Verb::Generate(arguments) => generate::run(arguments, context),
        Verb::Lint(arguments) => lint::run(arguments, context),
        Verb::Log(arguments) => log::run(&arguments, context),
        Verb::Preset(arguments) => preset::run(arguments, context),
        Verb::Proxy(arguments) => proxy::run(arguments, context),
        Verb::Status(arguments) => status::run(&arguments, context),
        Verb::Test(arguments) => test::run(arguments, context),
        Verb::Why(arguments) => why::run(&arguments, context),
    }
}
