//! The grammar of the command line, and nothing but the grammar.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::command::{
    allow, check, edit, env, generate, lint, log, preset, proxy, status, test, why,
};
use crate::output::Output;
use crate::problem::Problem;

/// An egress firewall for code that nobody has read.
///
/// One policy says which hosts, addresses and ports may be reached.
/// `moat proxy` is the way out that holds to it; the other commands write, test and explain the
/// policy and read what was recorded.
#[derive(Debug, Parser)]
#[command(
    name = "moat",
    version,
    disable_help_subcommand = true,
    after_long_help = "\
Exit codes: 0 ok or allow, 1 failed, 2 deny, 3 ask or pass, 64 usage, configuration or policy.

Start with `moat proxy`, then `eval \"$(moat env)\"` in another terminal, then `curl -I https://docs.rs/`."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// What can be done, one verb each.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Allow(allow::AllowArguments),
    Deny(allow::DenyArguments),
    Edit(edit::Arguments),
    Check(check::Arguments),
    Env(env::Arguments),
    Generate(generate::Arguments),
    Lint(lint::Arguments),
    Log(log::Arguments),
    Preset(preset::Arguments),
    Proxy(proxy::Arguments),
    Status(status::Arguments),
    Test(test::Arguments),
    Why(why::Arguments),
}

/// Reads a command line. `None` when it asked for help or the version, which is then written.
pub(crate) fn parse(
    words: impl IntoIterator<Item = OsString>,
    output: &mut Output,
) -> Result<Option<Verb>, Problem> {
    let words: Vec<OsString> = words.into_iter().collect();
    let parsed = Cli::command()
        .try_get_matches_from(&words)
        .and_then(|matches| {
            refuse_planted(&matches)?;
            Cli::from_arg_matches(&matches)
        });
    match parsed {
        Ok(cli) => Ok(Some(cli.verb)),
        Err(error) if is_answer(&error) => {
            let text = error.render();
            if output.is_coloured() {
                output.text(text.ansi());
            } else {
                output.text(text);
            }
            Ok(None)
        }
        Err(error) => {
            let problem = Problem::grammar(&error);
            Err(match variable_of(&error, &words) {
                Some(name) => problem.with_hint(format!(
                    "the value is that of the environment variable `{name}`; change or unset it"
                )),
                None => problem,
            })
        }
    }
}

/// The environment variable that a bad value comes from, where it was not typed.
fn variable_of(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    // It is named with its value: `--listen <ADDR>`.
    let flag = named.split(' ').next()?;
    let is_typed = words.iter().filter_map(|word| word.to_str()).any(|word| {
        word == flag
            || word
                .strip_prefix(flag)
                .is_some_and(|rest| rest.starts_with('='))
    });
    if is_typed {
        return None;
    }
    let grammar = Cli::command();
    let argument = grammar
        .find_subcommand("proxy")?
        .get_arguments()
        .find(|argument| argument.get_long() == flag.strip_prefix("--"))?;
    Some(argument.get_env()?.to_str()?.to_owned())
}

/// Whether clap's "error" is what the person asked for.
fn is_answer(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    )
}

/// An environment variable, which a project or an agent could plant, may move the record but not
/// turn it off.
fn refuse_planted(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(("proxy", proxy)) = matches.subcommand() else {
        return Ok(());
    };
    let planted = proxy.value_source("audit") == Some(ValueSource::EnvVariable);
    let off = proxy
        .get_one::<proxy::Audit>("audit")
        .is_some_and(proxy::Audit::keeps_nothing);
    if planted && off {
        return Err(Cli::command().error(
            ErrorKind::InvalidValue,
            "the environment variable `MOAT_AUDIT` cannot turn the record off or name a device; \
             write `--audit` on the command line",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
