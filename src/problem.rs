//! What went wrong, as a person sees it on standard error, with the exit code that belongs to it.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use moat_policy::diagnostic::{Diagnostic, Severity};

use crate::exit::Exit;
use crate::output::{is_coloured, printable};

/// The most findings that are written out for a person; the others are counted.
pub(crate) const MOST_SHOWN: usize = 50;

/// A command could not do what was asked.
#[derive(Debug)]
pub(crate) struct Problem {
    exit: Exit,
    text: Text,
}

#[derive(Debug)]
enum Text {
    /// One sentence and, where there is one, a way out.
    Message {
        message: String,
        hint: Option<String>,
    },
    /// The findings about policy files.
    Findings(Vec<Diagnostic>),
    /// Text in its final form, plain and with colour.
    Rendered { plain: String, coloured: String },
}

impl Problem {
    /// The command line, the configuration or a file of it is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::message(Exit::Usage, message.into())
    }

    /// The operation failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::message(Exit::Failed, message.into())
    }

    /// A policy does not load.
    pub(crate) fn policy(findings: Vec<Diagnostic>) -> Self {
        Self {
            exit: Exit::Usage,
            text: Text::Findings(findings),
        }
    }

    /// What the command line grammar says about a mistake.
    pub(crate) fn grammar(error: &clap::Error) -> Self {
        let rendered = error.render();
        let raw = rendered.to_string();
        let plain = lines(&raw);
        // What was typed is in it too; where it could move the cursor colours are forgone.
        let coloured = if plain.trim_end() == raw.trim_end() {
            rendered.ansi().to_string()
        } else {
            plain.clone()
        };
        Self {
            exit: Exit::Usage,
            text: Text::Rendered { plain, coloured },
        }
    }

    /// Adds what to do about it.
    pub(crate) fn with_hint(mut self, text: impl Into<String>) -> Self {
        match &mut self.text {
            Text::Message { hint, .. } => *hint = Some(text.into()),
            Text::Rendered { plain, coloured } => {
                let hint = format!("\nhint: {}", lines(&text.into()));
                for text in [plain, coloured] {
                    text.truncate(text.trim_end().len());
                    text.push_str(&hint);
                }
            }
            Text::Findings(_) => {}
        }
        self
    }

    /// The exit code.
    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    /// The text without colour, for tests.
    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        self.render(Colour::Off)
    }

    /// The text as a terminal shows it, for tests.
    #[cfg(test)]
    pub(crate) fn coloured(&self) -> String {
        self.render(Colour::On)
    }

    /// The text without excerpts, one line for each problem: for logs and records.
    pub(crate) fn summary(&self) -> String {
        match &self.text {
            Text::Message { message, hint } => {
                let hint = hint.iter().map(|hint| format!("; {hint}"));
                std::iter::once(message.clone()).chain(hint).collect()
            }
            Text::Findings(findings) => {
                let (shown, more) = shown(findings);
                let lines: Vec<String> = shown.into_iter().map(summary).chain(more).collect();
                lines.join("\n")
            }
            Text::Rendered { plain, .. } => plain.clone(),
        }
    }

    /// Writes the text to standard error, with colour where a person reads it there.
    pub(crate) fn report(&self) {
        let text = self.render(Colour::of_stderr());
        // Where standard error is gone there is nobody left to tell.
        let _ = writeln!(io::stderr(), "{}", text.trim_end());
    }

    fn message(exit: Exit, message: String) -> Self {
        let hint = None;
        Self {
            exit,
            text: Text::Message { message, hint },
        }
    }

    fn render(&self, colour: Colour) -> String {
        match &self.text {
            Text::Message { message, hint } => {
                let mut text = title(colour, message);
                if let Some(hint) = hint {
                    // Writing to a `String` cannot fail.
                    let _ = write!(text, "\nhint: {}", lines(hint).replace('\n', "\n      "));
                }
                text
            }
            Text::Findings(findings) => render_findings(findings, colour),
            Text::Rendered { plain, coloured } => {
                let text = match colour {
                    Colour::Off => plain,
                    Colour::On => coloured,
                };
                text.trim_end().to_owned()
            }
        }
    }
}

/// Writes one line for people to standard error: progress, warnings.
pub(crate) fn note(text: impl std::fmt::Display) {
    // Where standard error is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{}", lines(&text.to_string()));
}

/// Writes findings to standard error as they are rendered for people.
pub(crate) fn report_findings(findings: &[Diagnostic]) {
    if !findings.is_empty() {
        let _ = writeln!(
            io::stderr(),
            "{}",
            render_findings(findings, Colour::of_stderr())
        );
    }
}

/// A finding in one line.
fn summary(finding: &Diagnostic) -> String {
    finding.to_string().replace("\n  help: ", "; ")
}

/// The findings that a person is shown, and how many there are beside them. Of many the errors
/// come first: they keep the policy from loading.
pub(crate) fn shown(findings: &[Diagnostic]) -> (Vec<&Diagnostic>, Option<String>) {
    let mut shown: Vec<&Diagnostic> = findings.iter().collect();
    let more = findings.len().saturating_sub(MOST_SHOWN);
    if more == 0 {
        return (shown, None);
    }
    shown.sort_by_key(|finding| Reverse(finding.severity));
    shown.truncate(MOST_SHOWN);
    let word = if more == 1 { "finding" } else { "findings" };
    let rest = format!("and {more} more {word}; `moat lint --json` prints every one");
    (shown, Some(rest))
}

/// Every finding that is shown with its place and an excerpt, a blank line between them.
fn render_findings(findings: &[Diagnostic], colour: Colour) -> String {
    let (shown, more) = shown(findings);
    let rendered = shown.into_iter();
    let rendered: Vec<String> = rendered
        .map(|finding| render_finding(finding, colour))
        .chain(more)
        .collect();
    rendered.join("\n\n")
}

fn render_finding(finding: &Diagnostic, colour: Colour) -> String {
    let excerpt = Excerpt::of(finding);
    let message = printable(&finding.message);
    let name = printable(&finding.source.name);
    let help = finding.help.as_deref().map(lines);
    let snippet = Snippet::source(excerpt.text)
        .line_start(excerpt.line)
        .path(name)
        .annotation(AnnotationKind::Primary.span(excerpt.start..excerpt.end));
    let mut group = Group::with_title(
        level(finding.severity)
            .primary_title(message)
            .id(finding.code),
    )
    .element(snippet);
    if let Some(help) = help {
        group = group.element(Level::HELP.message(help));
    }
    colour.renderer().render(&[group])
}

/// The lines that a span touches: a policy may be large, and only these are shown.
struct Excerpt<'a> {
    text: &'a str,
    line: usize,
    start: usize,
    end: usize,
}

impl<'a> Excerpt<'a> {
    /// How much of the line before and of the span is shown at most: an entry has 320 bytes.
    const LIMIT: usize = 400;

    fn of(finding: &'a Diagnostic) -> Self {
        let text: &str = &finding.source.text;
        let start = floor(text, finding.span.start);
        let end = floor(text, finding.span.end.clamp(start, start + Self::LIMIT));
        let (before, after) = text.split_at_checked(start).unwrap_or((text, ""));
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let from = floor(text, line_start.max(start.saturating_sub(Self::LIMIT)));
        let rest = after.get(end - start..).unwrap_or("");
        let to = rest.find('\n').map_or(text.len(), |at| end + at);
        let to = floor(text, to.min(end + Self::LIMIT));
        Self {
            text: text.get(from..to).unwrap_or(""),
            line: finding.span.line.max(1) as usize,
            start: start - from,
            end: end - from,
        }
    }
}

/// The last character boundary at or before a byte of the text.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    }
}

fn title(colour: Colour, message: &str) -> String {
    let group = Group::with_title(Level::ERROR.primary_title(lines(message)));
    colour.renderer().render(&[group])
}

/// Text of several lines, each of them made printable.
fn lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(printable).collect();
    lines.join("\n")
}

/// Whether text for people is coloured; colour never carries meaning alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Colour {
    Off,
    On,
}

impl Colour {
    /// On where standard error is a terminal and nobody asked for none.
    fn of_stderr() -> Self {
        if is_coloured(&io::stderr()) {
            Self::On
        } else {
            Self::Off
        }
    }

    const fn renderer(self) -> Renderer {
        match self {
            Self::Off => Renderer::plain(),
            Self::On => Renderer::styled(),
        }
    }
}

#[cfg(test)]
mod tests;
