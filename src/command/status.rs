//! `moat status`: what running proxies say about themselves.

mod health;
mod metric;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::admin::{self, AdminError};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;
use crate::state::{self, Running};

use health::Health;

/// Show the running proxies of this user, and whether they are ready.
///
/// Exits 0 when every one is ready, 1 when one is not or none runs.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Only the proxy with this process id.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,

    /// Print one JSON object for each proxy, with its counters.
    #[arg(long)]
    json: bool,
}

/// One proxy as `--json` shows it.
#[derive(Debug, Serialize)]
struct Status {
    pid: u32,
    started: String,
    version: String,
    listeners: Vec<String>,
    admin: Option<String>,
    record: Option<PathBuf>,
    policy: Vec<PathBuf>,
    enforced: bool,
    ready: bool,
    /// The phase, or why it does not answer.
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<Health>,
    metrics: BTreeMap<String, f64>,
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let directory = context.places.running();
    let mut all =
        state::running(&directory).map_err(|error| state::unreadable(&directory, &error))?;
    if let Some(pid) = arguments.pid {
        all.retain(|running| running.pid == pid);
    }
    if all.is_empty() {
        return Err(arguments.pid.map_or_else(state::nobody, state::not_running));
    }
    let mut exit = Exit::Ok;
    for running in all {
        let status = ask(running);
        if !status.ready {
            exit = Exit::Failed;
        }
        if arguments.json {
            context.output.json(&status)?;
        } else {
            show(&status, context.output);
        }
    }
    Ok(exit)
}

/// Asks the proxy's admin listener. What does not answer is not ready, whatever its file says.
fn ask(running: Running) -> Status {
    let (ready, detail, health) = match running.admin {
        None => (false, "it has no admin listener".to_owned(), None),
        Some(address) => match readiness(address) {
            Ok((ready, health)) => (ready, health.phase.clone(), Some(health)),
            Err(error) => (false, error.to_string(), None),
        },
    };
    let metrics = running
        .admin
        .and_then(|address| admin::fetch(address, "/metrics").ok())
        .map(|answer| metric::parse(&answer.body))
        .unwrap_or_default();
    Status {
        pid: running.pid,
        started: running.started,
        version: running.version,
        listeners: running.listeners,
        admin: running.admin.map(|address| format!("http://{address}")),
        record: running.record,
        policy: running.policy,
        enforced: !running.observe,
        ready,
        detail,
        health,
        metrics,
    }
}

fn readiness(address: SocketAddr) -> Result<(bool, Health), AdminError> {
    let answer = admin::fetch(address, "/readyz")?;
    let health = serde_json::from_str(&answer.body).map_err(|_| AdminError::Malformed)?;
    Ok((answer.status == 200, health))
}

fn show(status: &Status, output: &mut Output) {
    let Status { pid, started, .. } = status;
    output.line(format_args!(
        "proxy {pid}, moat {}, since {started}",
        status.version
    ));
    let mut row = |name: &str, value: &str| output.line(format_args!("  {name:<10} {value}"));
    if status.ready {
        row("ready", "yes");
    } else {
        row("ready", &format!("NO: {}", status.detail));
    }
    if !status.enforced {
        row("mode", "UNENFORCED: it observes");
    }
    for listener in &status.listeners {
        row("listener", listener);
    }
    if let Some(admin) = &status.admin {
        row("admin", admin);
    }
    if status.policy.is_empty() {
        row("policy", "built-in default");
    }
    for file in &status.policy {
        row("policy", &file.display().to_string());
    }
    let health = status.health.as_ref();
    for line in health
        .map(|health| health.policy.lines())
        .unwrap_or_default()
    {
        row("", &line);
    }
    match &status.record {
        Some(record) => row("record", &record.display().to_string()),
        None => row("record", "no file"),
    }
    if let Some(health) = health {
        row("", &health.audit.line());
    }
    for (name, value) in metric::rows(&status.metrics) {
        row(name, &value);
    }
}

#[cfg(test)]
mod tests;
