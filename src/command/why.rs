//! `moat why`: what was asked, what decided, and what would change it.

mod change;

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use moat_policy::diagnostic::explain;
use moat_policy::explain::explain as explain_verdict;
use moat_policy::record::{Event, Protocol, Record};
use moat_policy::request::{Surface, Wire};
use moat_policy::request_text::Asked;
use moat_policy::verdict::Effect;
use serde::Serialize;

use crate::answer::Answer;
use crate::context::Context;
use crate::exit::Exit;
use crate::layers::Layers;
use crate::output::Output;
use crate::places::{MACHINE_POLICY, Places};
use crate::problem::Problem;
use crate::record_file::{self, Line, Lines};
use crate::state;

/// Say what was asked, which rule decided and what would change it.
///
/// The id is that of a refusal: it is in the answer that the client got, and in the record.
/// Records of running proxies are searched, and the default record file with its rotated ones.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("what").required(true).args(["id", "code"])))]
pub(crate) struct Arguments {
    /// The id of a request, such as `K7Q2FXMA`.
    id: Option<String>,

    /// Explain the code of a policy finding instead, such as `P006`.
    #[arg(long, value_name = "CODE")]
    code: Option<String>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What `--json` prints of a request.
#[derive(Debug, Serialize)]
struct Found<'a> {
    id: &'a str,
    records: &'a [Record],
    change: Option<String>,
    today: &'a [String],
}

/// What `--json` prints of a code.
#[derive(Debug, Serialize)]
struct Explained<'a> {
    code: &'a str,
    text: &'a str,
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    match (&arguments.code, &arguments.id) {
        (Some(code), _) => explain_code(code, arguments.json, context.output),
        (None, Some(id)) => explain_request(id, arguments.json, context),
        (None, None) => Err(Problem::usage("an id or `--code` is needed")),
    }
}

fn explain_code(code: &str, json: bool, output: &mut Output) -> Result<Exit, Problem> {
    let code = code.to_uppercase();
    // Findings are shown as `error[P006]`; people copy what they see.
    let code = code.trim_start_matches("MOAT::");
    let text = explain(code).ok_or_else(|| {
        Problem::usage(format!("there is no code `{code}`"))
            .with_hint("codes stand in brackets in what `moat lint` shows, such as `error[P006]`")
    })?;
    if json {
        output.json(&Explained { code, text })?;
    } else {
        for line in text.lines() {
            output.line(line);
        }
    }
    Ok(Exit::Ok)
}

fn explain_request(id: &str, json: bool, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let files = record_file::installed(&context.places)?;
    let mut records = Vec::new();
    let mut origin = None;
    for file in &files {
        search(file, id, &mut records)?;
        if !records.is_empty() {
            origin = origin.or(Some(file));
        }
    }
    let (Some(first), Some(origin)) = (records.first(), origin) else {
        let searched: Vec<_> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        return Err(Problem::failed(format!("no record has the id `{id}`"))
            .with_hint(format!("searched: {}", searched.join(", "))));
    };
    let change = records.iter().find_map(change::of);
    let today = today(first, origin, context)?;
    if json {
        context.output.json(&Found {
            id: &first.id,
            records: &records,
            change,
            today: &today,
        })?;
        return Ok(Exit::Ok);
    }
    for record in &records {
        show(record, context.output);
    }
    if let Some(change) = change {
        row(context.output, "change", &change);
    }
    for line in today {
        row(context.output, "today", &line);
    }
    Ok(Exit::Ok)
}

/// What the installed policy says of the same target now, and what came close to it. The proxy
/// may have judged by other files, and by method and path, which no record holds.
fn today(record: &Record, origin: &Path, context: &Context<'_>) -> Result<Vec<String>, Problem> {
    let refused = record.effect.is_some_and(|effect| effect != Effect::Allow);
    let asked = record_file::authority(record).and_then(|target| Asked::parse(&target).ok());
    let Some(asked) = asked.filter(|_| refused) else {
        return Ok(Vec::new());
    };
    let asked = match record.protocol {
        Some(Protocol::Http) => asked.travelling(Wire::Clear),
        _ => asked,
    };
    let loaded = Layers::of_proxy(&context.places, &named_by(origin, &context.places)?).load()?;
    let explanation = explain_verdict(&loaded.compiled, &asked.request(Surface::Net, context.now));
    let answer = Answer::explained("", Surface::Net, &asked.target, &explanation);
    let mut lines = vec![answer.line(&asked.target)];
    lines.extend(explanation.near.iter().map(|near| format!("close: {near}")));
    Ok(lines)
}

/// The policy files of the proxy that writes this record now, without the machine's; none for the
/// installed ones.
fn named_by(record: &Path, places: &Places) -> Result<Vec<PathBuf>, Problem> {
    let directory = places.running();
    let all = state::running(&directory).map_err(|error| state::unreadable(&directory, &error))?;
    let writer = all
        .into_iter()
        .find(|running| running.record.as_deref() == Some(record));
    let files = writer.map(|running| running.policy).unwrap_or_default();
    let is_named = |file: &PathBuf| file != Path::new(MACHINE_POLICY);
    Ok(files.into_iter().filter(is_named).collect())
}

/// Adds every record of a file and its rotated ones that has the id.
fn search(file: &Path, id: &str, found: &mut Vec<Record>) -> Result<(), Problem> {
    let failed = |error| record_file::unreadable(file, &error);
    for path in record_file::with_rotated(file).map_err(failed)? {
        let mut lines = match Lines::open(&path) {
            Ok(lines) => lines,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(record_file::unreadable(&path, &error)),
        };
        while let Some(line) = lines.next().map_err(failed)? {
            if let Line::Record(record, _) = line
                && record.id.eq_ignore_ascii_case(id)
            {
                found.push(*record);
            }
        }
    }
    Ok(())
}

fn row(output: &mut Output, name: &str, value: &str) {
    output.line(format_args!("{name:<8} {value}"));
}

fn show(record: &Record, output: &mut Output) {
    output.line(format_args!("{} {}", record.id, record.ts));
    row(output, "asked", &asked(record));
    if record.event == Event::Close {
        row(output, "ended", &ended(record));
    } else {
        row(output, "answer", &answer(record));
    }
    row(output, "cause", cause(record));
    if let Some(rule) = &record.rule {
        let at = record.source.as_deref();
        let at = at.map_or_else(String::new, |source| format!(" at {source}"));
        row(output, "rule", &format!("`{rule}`{at}"));
    }
    if let Some(reason) = &record.reason {
        row(output, "reason", reason);
    }
    if let Some(address) = record.address {
        row(output, "address", &address.to_string());
    }
}

fn asked(record: &Record) -> String {
    let mut words = Vec::new();
    let method = record.method.as_deref();
    let method = method.filter(|_| record.protocol != Some(Protocol::Connect));
    words.extend(method.map(str::to_owned));
    words.push(record_file::authority(record).unwrap_or_else(|| "something unreadable".to_owned()));
    if let Some(protocol) = record.protocol {
        words.push(format!("by {}", protocol.as_str()));
    }
    if let Some(client) = record
        .actor
        .as_ref()
        .and_then(|actor| actor.client.as_deref())
    {
        words.push(format!("from {client}"));
    }
    words.join(" ")
}

fn answer(record: &Record) -> String {
    let effect = record.effect.map_or("refused", |effect| effect.as_str());
    let observed = if record.enforced {
        ""
    } else {
        ", not enforced: the proxy observes"
    };
    let status = record.status;
    let status = status.map_or_else(String::new, |status| format!(", status {status}"));
    format!("{effect}{observed}{status}")
}

fn ended(record: &Record) -> String {
    let up = record.bytes_up.unwrap_or(0);
    let down = record.bytes_down.unwrap_or(0);
    let took = record.duration_ms.unwrap_or(0);
    format!("after {took} ms, {up} bytes up, {down} bytes down")
}

/// The cause in words.
fn cause(record: &Record) -> &'static str {
    change::Why::of(record.cause).words
}

#[cfg(test)]
mod tests;
