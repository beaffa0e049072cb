//! `moat preset`: the host lists that come with Moat, and what is in them.

mod explain;
mod name;

use clap::{Args, Subcommand};
use moat_policy::preset::{self, Access, Preset, PresetEntry, PresetError, Purpose};
use serde::Serialize;

pub(crate) use self::name::PresetName;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// List the host lists that a policy can name, and say what is in them.
///
/// A policy takes one in with `preset: NAME`, or `moat allow --preset NAME`.
/// Parts that are opted into have names of their own, such as `npm/optional`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all presets and their parts.
    List {
        /// Write JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the hosts of a preset, those that it includes among them.
    Show {
        /// The preset, such as `npm` or `npm/optional`.
        #[arg(value_parser = PresetName, hide_possible_values = true)]
        name: String,

        /// Write JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say why a preset holds what it holds and what it leaves out, or which presets hold a host.
    Explain {
        /// A preset, or a host name.
        #[arg(value_name = "NAME|HOST", value_parser = PresetName, hide_possible_values = true)]
        subject: String,

        /// Write JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the verb.
pub(crate) fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let output = &mut *context.output;
    match arguments.what {
        What::List { json } => list(output, json),
        What::Show { name, json } => show(output, &find(&name)?, json),
        What::Explain { subject, json } if subject.contains('.') => {
            explain::host(output, &subject, json)
        }
        What::Explain { subject, json } => explain::preset(output, &find(&subject)?, json),
    }
}

/// One line of the list.
#[derive(Serialize)]
struct Row {
    name: String,
    summary: String,
    version: String,
    purpose: Purpose,
    hosts: usize,
    writable: usize,
}

fn list(output: &mut Output, json: bool) -> Result<Exit, Problem> {
    let rows = all()?.into_iter().map(|preset| Row {
        hosts: preset.entries.len(),
        writable: writable(&preset.entries),
        summary: summary(&preset),
        name: preset.name,
        version: preset.version,
        purpose: preset.purpose,
    });
    let rows: Vec<Row> = rows.collect();
    if json {
        output.json(&rows)?;
        return Ok(Exit::Ok);
    }
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    output.line(format_args!(
        "{:width$}  hosts  writable  checked     what it is",
        "name"
    ));
    for row in rows {
        output.line(format_args!(
            "{:width$}  {:>5}  {:>8}  {}  {}",
            row.name, row.hosts, row.writable, row.version, row.summary
        ));
    }
    Ok(Exit::Ok)
}

/// What it is; of a part also what it has that the preset itself has not.
fn summary(preset: &Preset) -> String {
    if !preset.name.contains('/') {
        return preset.summary.clone();
    }
    let own = preset.entries.iter();
    let mut reasons: Vec<&str> = own
        .filter(|entry| entry.preset == preset.name)
        .map(|entry| entry.why.as_str())
        .collect();
    reasons.dedup();
    format!("{}: {}", preset.summary, reasons.join("; "))
}

fn show(output: &mut Output, preset: &Preset, json: bool) -> Result<Exit, Problem> {
    if json {
        output.json(preset)?;
        return Ok(Exit::Ok);
    }
    let lengths = preset.entries.iter().map(|entry| entry.entry().len());
    let hosts = lengths.max().unwrap_or(0).max("host".len());
    output.line(format_args!(
        "{:hosts$}  {:12}  {:6}  preset",
        "host", "whose", "access"
    ));
    for entry in &preset.entries {
        output.line(format_args!(
            "{:hosts$}  {:12}  {:6}  {}",
            entry.entry(),
            entry.class.as_str(),
            entry.access.as_str(),
            entry.preset
        ));
    }
    Ok(Exit::Ok)
}

fn writable(entries: &[PresetEntry]) -> usize {
    entries
        .iter()
        .filter(|entry| entry.access == Access::Write)
        .count()
}

/// Every preset and every part, in the order of their names.
fn all() -> Result<Vec<Preset>, Problem> {
    let names = preset::all_names().map_err(|error| problem(&error))?;
    names.iter().map(|name| find(name)).collect()
}

fn find(name: &str) -> Result<Preset, Problem> {
    preset::find(name).map_err(|error| problem(&error))
}

fn problem(error: &PresetError) -> Problem {
    let problem = Problem::usage(error.to_string());
    match error.help() {
        Some(help) => problem.with_hint(help),
        None => problem,
    }
}

#[cfg(test)]
mod tests;
