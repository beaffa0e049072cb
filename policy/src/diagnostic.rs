//! One problem of a policy, as data. Rendering is the binary's part.

use crate::source::{SourceFile, Span};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "exit codes depend on each of them")]
pub enum Severity {
    /// The policy loads; somebody should look.
    Warning,
    /// The policy does not load.
    Error,
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
