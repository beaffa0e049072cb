//! Shows a change to a policy and asks whether it is meant.

use std::collections::HashSet;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::time::SystemTime;

use moat_policy::compile::compile;
use moat_policy::diagnostic::Diagnostic;
use moat_policy::lint::lint;
use similar::TextDiff;

use crate::context::Context;
use crate::output::{Output, printable};
use crate::problem::{self, Problem};
use crate::rewrite::{Lock, Rewrite};

/// Whether `--yes` stands on the command line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Yes {
    /// It does.
    Given,
    /// It does not.
    Absent,
}

impl From<bool> for Yes {
    fn from(flag: bool) -> Self {
        if flag { Self::Given } else { Self::Absent }
    }
}

impl From<Yes> for Lock {
    /// Where nobody is asked, nothing has to wait for an answer.
    fn from(yes: Yes) -> Self {
        match yes {
            Yes::Given => Self::Now,
            Yes::Absent => Self::AtTheEnd,
        }
    }
}

/// Whether a person can be asked.
pub(crate) fn at_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Shows what a new text changes and what is to be looked at in it, asks, and writes it.
pub(crate) fn put(
    file: Rewrite,
    text: &str,
    yes: Yes,
    context: &mut Context<'_>,
) -> Result<Answer, Problem> {
    show(context.output, &file, text);
    problem::report_findings(&new_findings(&file, text, context.now));
    let path = file.path().to_owned();
    let answer = consent(yes, &path)?;
    match answer {
        Answer::No => context.output.line("nothing was changed"),
        Answer::Yes => {
            file.write(text)?;
            let path = path.display();
            context.output.line(format_args!("wrote {path}"));
        }
    }
    Ok(answer)
}

/// Writes the difference that a new text makes.
fn show(output: &mut Output, file: &Rewrite, text: &str) {
    let before = file.text().unwrap_or_default();
    for line in difference(file.path(), before, text).lines() {
        output.line(line);
    }
    output.flush();
}

/// What is to be looked at in a new text and was not in the old one.
fn new_findings(file: &Rewrite, text: &str, now: SystemTime) -> Vec<Diagnostic> {
    let of = |text: &str| {
        let input = file.layer(text);
        compile(vec![input]).map_or_else(|problems| problems, |compiled| lint(&compiled, now))
    };
    let old = file.text().map(of).unwrap_or_default();
    let known: HashSet<_> = old.iter().map(about).collect();
    let mut new = of(text);
    new.retain(|finding| !known.contains(&about(finding)));
    new
}

/// What a finding says of which text. Places move with every line that comes before them, and so
/// do messages that name one.
fn about(finding: &Diagnostic) -> (&str, &str) {
    (finding.code, finding.source.slice(finding.span))
}

/// Asks whether the change is meant, unless `--yes` said so.
fn consent(yes: Yes, path: &Path) -> Result<Answer, Problem> {
    if yes == Yes::Given {
        return Ok(Answer::Yes);
    }
    if !at_terminal() {
        return Err(
            Problem::usage("there is no terminal to ask at whether the change is meant")
                .with_hint("`--yes` makes the change without asking"),
        );
    }
    ask(&format!("write this to {}?", path.display()))
}

/// The difference in the form of `diff -u`. A carriage return at the end of a line is left out.
fn difference(path: &Path, before: &str, after: &str) -> String {
    let name = path.display().to_string();
    let name = printable(&name);
    let plain = |text: &str| text.replace("\r\n", "\n");
    TextDiff::from_lines(&plain(before), &plain(after))
        .unified_diff()
        .context_radius(3)
        .header(&name, &name)
        .to_string()
}

/// Asks a question that is answered with yes or no; anything but yes is no.
pub(crate) fn ask(question: &str) -> Result<Answer, Problem> {
    let mut error = io::stderr();
    let asked = write!(error, "{} [y/N] ", printable(question)).and_then(|()| error.flush());
    let mut line = String::new();
    asked
        .and_then(|()| io::stdin().lock().read_line(&mut line))
        .map_err(|error| Problem::failed(format!("cannot ask: {error}")))?;
    Ok(read(&line))
}

/// What a person answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// It is meant.
    Yes,
    /// It is not.
    No,
}

fn read(line: &str) -> Answer {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        _ => Answer::No,
    }
}

#[cfg(test)]
mod tests;
