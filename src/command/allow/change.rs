//! All edits of one command, one after another, on one text.

use moat_policy::compile;
use moat_policy::edit::{self, Edit, EditError};

use crate::problem::Problem;
use crate::rewrite::Rewrite;

/// What all edits come to.
pub(super) struct Outcome {
    /// The new text, if it differs.
    pub(super) text: Option<String>,
    /// What each edit did, or why it did nothing.
    pub(super) notes: Vec<String>,
}

/// Edits the text of a file; nothing is written.
pub(super) fn apply(file: &Rewrite, edits: &[Edit]) -> Result<Outcome, Problem> {
    let load = |text: &str| compile::lists(file.layer(text));
    let name = file.path().display().to_string();
    let mut new: Option<String> = None;
    let mut notes = Vec::new();
    for edit in edits {
        let text = new.as_deref().or_else(|| file.text());
        let edited = edit::apply(text, edit, &load).map_err(|error| refused(&name, error))?;
        if edited.changed {
            new = Some(edited.text);
            notes.push(edited.summary);
        } else {
            notes.push(format!("nothing to change: {}", edited.summary));
        }
    }
    Ok(Outcome { text: new, notes })
}

/// An edit that was refused.
pub(super) fn refused(name: &str, error: EditError) -> Problem {
    let help = error.help();
    let mends_file = matches!(error, EditError::Unsafe(_) | EditError::Breaks(_));
    let problem = if let EditError::Broken(findings) = error {
        return Problem::policy(findings);
    } else if mends_file {
        Problem::failed(format!("{name}: {error}"))
    } else {
        Problem::usage(error.to_string())
    };
    match help {
        Some(help) => problem.with_hint(help),
        None => problem,
    }
}
