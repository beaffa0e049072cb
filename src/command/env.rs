//! `moat env`: the variables that send a shell's or an editor's programs through a running proxy.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use clap::{Args, ValueEnum};

use crate::admin::reachable;
use crate::context::Context;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::state::{self, Running};

/// Print the variables that send programs through a running proxy.
///
/// For a POSIX shell: `eval "$(moat env)"`; for fish: `moat env | source`.
/// Programs that ignore these variables are not stopped by them.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// For which shell [default: that of $SHELL].
    #[arg(long, value_enum, conflicts_with = "json")]
    shell: Option<Shell>,

    /// Which proxy, by its process id, where several run.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,

    /// Print one JSON object with the variables.
    #[arg(long)]
    json: bool,
}

/// How a shell is told to export a variable.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Shell {
    /// sh, bash, zsh, dash, ksh.
    Sh,
    /// fish.
    Fish,
    /// csh, tcsh.
    Csh,
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let running = state::one(&context.places.running(), arguments.pid)?;
    let variables = variables(&proxy_url(&running)?);
    if arguments.json {
        context.output.json(&variables)?;
        return Ok(Exit::Ok);
    }
    let shell = arguments.shell.unwrap_or_else(Shell::of_user);
    for (name, value) in &variables {
        context.output.line(shell.export(name, value));
    }
    Ok(Exit::Ok)
}

/// The first listener that an ordinary client can use.
fn proxy_url(running: &Running) -> Result<String, Problem> {
    for scheme in ["http://", "https://"] {
        let found = running.listeners.iter().find_map(|listener| {
            let address: SocketAddr = listener.strip_prefix(scheme)?.parse().ok()?;
            Some(format!("{scheme}{}", reachable(address)))
        });
        if let Some(url) = found {
            return Ok(url);
        }
    }
    Err(Problem::failed(format!(
        "proxy {} listens on no TCP port, and variables cannot name a Unix socket",
        running.pid
    ))
    .with_hint("start it with `--listen 127.0.0.1:3128` too"))
}

/// Both spellings, since programs differ; only loopback goes around the proxy.
fn variables(url: &str) -> BTreeMap<String, String> {
    const AROUND: &str = "localhost,127.0.0.1,::1";
    let mut variables = BTreeMap::new();
    for (name, value) in [
        ("HTTP_PROXY", url),
        ("HTTPS_PROXY", url),
        ("ALL_PROXY", url),
        ("NO_PROXY", AROUND),
    ] {
        variables.insert(name.to_owned(), value.to_owned());
        variables.insert(name.to_lowercase(), value.to_owned());
    }
    // Node reads the variables only when it is told to.
    variables.insert("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
    variables
}

impl Shell {
    fn of_user() -> Self {
        let shell = std::env::var_os("SHELL").unwrap_or_default();
        match Path::new(&shell).file_name().and_then(|name| name.to_str()) {
            Some("fish") => Self::Fish,
            Some("csh" | "tcsh") => Self::Csh,
            _ => Self::Sh,
        }
    }

    /// One line that is safe to evaluate, whatever the value holds.
    fn export(self, name: &str, value: &str) -> String {
        match self {
            Self::Sh => format!("export {name}='{}'", value.replace('\'', r"'\''")),
            Self::Fish => {
                let value = value.replace('\\', r"\\").replace('\'', r"\'");
                format!("set -gx {name} '{value}'")
            }
            Self::Csh => {
                let value = value.replace('\'', r"'\''").replace('!', r"\!");
                format!("setenv {name} '{value}'")
            }
        }
    }
}

#[cfg(test)]
mod tests;
