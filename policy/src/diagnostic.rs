//! One problem of a policy, as data. Rendering is the binary's part.

use std::fmt;

use crate::source::{SourceFile, Span};

pub mod code;

pub use code::explain;

/// The most bytes of a message or its help. Both repeat what is written, which may be long.
const LONGEST: usize = 2_000;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "exit codes depend on each of them")]
pub enum Severity {
    /// The policy loads; somebody should look.
    Warning,
    /// The policy does not load.
    Error,
}

impl Severity {
    /// The word used in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One problem, with its place and what to do about it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Diagnostic {
    /// Stable code, for example `P012`; `moat why --code P012` explains it.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong: lower case, no full stop, user input in backticks.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The text it is about.
    pub source: SourceFile,
    /// Where in that text.
    pub span: Span,
}

impl Diagnostic {
    /// A problem that keeps the policy from loading.
    pub fn error(
        code: &'static str,
        source: &SourceFile,
        span: Span,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: shortened(message.into()),
            help: None,
            source: source.clone(),
            span,
        }
    }

    /// A finding that somebody should look at.
    pub fn warning(
        code: &'static str,
        source: &SourceFile,
        span: Span,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, source, span, message)
        }
    }

    /// The same with the way out.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(shortened(help.into()));
        self
    }
}

impl fmt::Display for Diagnostic {
    /// One line, and a second one for the help: for logs and tests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}[{}]: {}",
            self.source.name,
            self.span.line,
            self.span.column,
            self.severity.as_str(),
            self.code,
            self.message
        )?;
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

/// A text of bounded length, which says by its end that it was longer.
fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

/// Puts problems in the order in which a reader meets them: by file, then by place.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| {
        (&a.source.name, a.span.start, a.code).cmp(&(&b.source.name, b.span.start, b.code))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_a_long_text_is_cut_between_two_characters() {
        let source = SourceFile::new("p.yaml", "");
        let long = "ü".repeat(5_000);
        let problem = Diagnostic::error("P015", &source, Span::default(), format!("x{long}"));
        let problem = problem.with_help(long);
        assert_eq!(problem.message.len(), LONGEST - 1 + '…'.len_utf8());
        assert!(problem.message.ends_with("ü…"));
        assert_eq!(problem.help.unwrap().chars().count(), 1_001);
    }
}
