//! `moat check`: what the policy says of requests, without making them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use moat_policy::explain::explain;
use moat_policy::request::Surface;
use moat_policy::request_text::Asked;
use moat_policy::verdict::Effect;

use crate::answer::Answer;
use crate::context::Context;
use crate::exit::Exit;
use crate::layers::Layers;
use crate::problem::Problem;

/// Say what the policy makes of requests, without making them.
///
/// A request is a host, `HOST:PORT` or a URL; without a port it is 443.
/// Nothing is looked up: an address that a name leads to is judged when the proxy dials it.
/// Of an https URL method and path are not known, as in the proxy.
///
/// Exits 0 for allow, 2 for deny, 3 for ask; of several requests the strictest counts.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  moat check example.com
  moat check https://example.com/ example.org:22 --json
  moat check --policy ci.yaml http://example.com/path")]
pub(crate) struct Arguments {
    /// A host, HOST:PORT or a URL.
    #[arg(value_name = "REQUEST", required = true)]
    requests: Vec<String>,

    /// Which kind of request it is.
    #[arg(long, value_enum, default_value = "net")]
    kind: Kind,

    /// Policy file in place of the user's and the project's; repeatable.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,

    /// Print one JSON object for each request.
    #[arg(long)]
    json: bool,
}

/// The kinds of requests that a policy judges.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Kind {
    /// Any connection.
    Net,
    /// A read-only fetch tool of an agent.
    Fetch,
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let surface = match arguments.kind {
        Kind::Net => Surface::Net,
        Kind::Fetch => Surface::Fetch,
    };
    let asked = read_all(&arguments.requests)?;
    let loaded = Layers::of_command(&context.places, &arguments.policy)?.load()?;
    loaded.report();
    let mut strictest = Effect::Allow;
    for (text, asked) in &asked {
        let request = asked.request(surface, context.now);
        let explanation = explain(&loaded.compiled, &request);
        strictest = strictest.max(explanation.verdict.effect);
        let answer = Answer::explained(text, surface, &asked.target, &explanation);
        if arguments.json {
            context.output.json(&answer)?;
        } else {
            context.output.line(answer.line(&asked.target));
            for line in answer.ways_out() {
                context.output.line(format_args!("      {line}"));
            }
        }
    }
    Ok(match strictest {
        Effect::Allow => Exit::Ok,
        Effect::Pass | Effect::Ask => Exit::Ask,
        Effect::Deny => Exit::Deny,
    })
}

/// Every request, or all that cannot be read at once.
fn read_all(requests: &[String]) -> Result<Vec<(&String, Asked)>, Problem> {
    let mut asked = Vec::new();
    let mut wrong = Vec::new();
    let mut hints = Vec::new();
    for text in requests {
        match Asked::parse(text) {
            Ok(request) => asked.push((text, request)),
            Err(error) => {
                wrong.push(format!("`{text}` is no request: {error}"));
                if !hints.contains(&error.help) {
                    hints.push(error.help);
                }
            }
        }
    }
    if wrong.is_empty() {
        Ok(asked)
    } else {
        Err(Problem::usage(wrong.join("\n")).with_hint(hints.join("\n")))
    }
}

#[cfg(test)]
mod tests;
