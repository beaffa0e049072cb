//! `moat lint`: every error of a policy and what somebody should look at.

use std::path::PathBuf;

use clap::Args;
use moat_policy::compile::compile;
use moat_policy::diagnostic::{Diagnostic, Severity};
use moat_policy::lint::lint;
use serde::Serialize;

use crate::context::Context;
use crate::exit::Exit;
use crate::layers::Layers;
use crate::problem::{Problem, note, report_findings};

/// Show every error of the policy, and what somebody should look at.
///
/// Without files the installed policy is read: the machine's, the user's, the project's.
/// Exits 0 when there is nothing or only warnings, 1 when there are errors.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Policy files, in place of the user's and the project's.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The same as FILE, as other commands spell it; repeatable.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,

    /// Print one JSON object with all findings.
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report<'a> {
    errors: usize,
    warnings: usize,
    findings: Vec<Finding<'a>>,
}

#[derive(Debug, Serialize)]
struct Finding<'a> {
    code: &'static str,
    severity: &'static str,
    file: &'a str,
    line: u32,
    column: u32,
    text: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

/// Runs the verb.
pub(crate) fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<Exit, Problem> {
    let mut named = arguments.files;
    named.extend(arguments.policy);
    let texts = Layers::of_command(&context.places, &named)?.read()?;
    for warning in &texts.warnings {
        note(format_args!("warning: {warning}"));
    }
    let files = texts.inputs.len();
    let findings = match compile(texts.inputs) {
        Err(errors) => errors,
        Ok(compiled) => {
            let mut findings = lint(&compiled, context.now);
            findings.extend(compiled.warnings);
            moat_policy::diagnostic::sort(&mut findings);
            findings
        }
    };
    let errors = count(&findings, Severity::Error);
    let warnings = count(&findings, Severity::Warning);
    if arguments.json {
        context.output.json(&Report {
            errors,
            warnings,
            findings: findings.iter().map(Finding::new).collect(),
        })?;
    } else {
        report_findings(&findings);
        context.output.line(summary(files, errors, warnings));
    }
    Ok(if errors == 0 { Exit::Ok } else { Exit::Failed })
}

fn count(findings: &[Diagnostic], severity: Severity) -> usize {
    let of_it = findings
        .iter()
        .filter(|finding| finding.severity == severity);
    of_it.count()
}

fn summary(files: usize, errors: usize, warnings: usize) -> String {
    let files = plural(files, "file");
    match (errors, warnings) {
        (0, 0) => format!("{files}, nothing found"),
        (0, _) => format!("{files}, {}", plural(warnings, "warning")),
        (_, 0) => format!("{files}, {}", plural(errors, "error")),
        (_, _) => format!(
            "{files}, {} and {}",
            plural(errors, "error"),
            plural(warnings, "warning")
        ),
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word}")
    } else {
        format!("{count} {word}s")
    }
}

impl<'a> Finding<'a> {
    fn new(finding: &'a Diagnostic) -> Self {
        Self {
            code: finding.code,
            severity: finding.severity.as_str(),
            file: &finding.source.name,
            line: finding.span.line,
            column: finding.span.column,
            text: finding.source.slice(finding.span),
            message: &finding.message,
            help: finding.help.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests;
