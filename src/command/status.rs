//! `moat status`: what running proxies say about themselves.

mod metric;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::admin;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;
use crate::state::{self, Running};

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
    detail: String,
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
        return Err(state::nobody());
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
    let (ready, detail) = match running.admin {
        None => (false, "it has no admin listener".to_owned()),
        Some(address) => match admin::fetch(address, "/readyz") {
            Ok(answer) => (answer.status == 200, answer.body.trim().to_owned()),
            Err(error) => (false, error.to_string()),
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
        metrics,
    }
}

fn show(status: &Status, output: &mut Output) {
    let Status { pid, started, .. } = status;
    output.line(format_args!(
        "proxy {pid}, moat {}, since {started}",
        status.version
    ));
    let ready = if status.ready { "yes" } else { "NO" };
    let mut row = |name: &str, value: &str| output.line(format_args!("  {name:<10} {value}"));
    if status.detail.is_empty() {
        row("ready", ready);
    } else {
        for (index, line) in status.detail.lines().enumerate() {
            let first = match line {
                "ready" => ready.to_owned(),
                why => format!("{ready}: {why}"),
            };
            row(
                if index == 0 { "ready" } else { "" },
                if index == 0 { &first } else { line },
            );
        }
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
    match &status.record {
        Some(record) => row("record", &record.display().to_string()),
        None => row("record", "no file"),
    }
    for (name, value) in metric::rows(&status.metrics) {
        row(name, &value);
    }
}

#[cfg(test)]
mod tests;
