//! What a proxy's `/readyz` says, as far as `status` shows it.

use serde::{Deserialize, Serialize};

use crate::problem::MOST_SHOWN;

/// How a proxy is.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Health {
    /// `running`, `starting` or `draining`.
    pub(super) phase: String,
    pub(super) policy: Policy,
    pub(super) audit: Audit,
}

/// The policy in force, and the last attempt to replace it.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Policy {
    generation: u64,
    digest: String,
    loaded: String,
    failures: u64,
    error: Option<String>,
}

/// How the record goes.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Audit {
    failing: bool,
    queued: u64,
    written: u64,
    lost: u64,
}

impl Policy {
    /// Lines for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self {
            generation,
            digest,
            loaded,
            failures,
            error,
        } = self;
        let mut lines = vec![format!(
            "generation {generation}, digest {digest}, loaded {loaded}, failed reloads: {failures}"
        )];
        if let Some(error) = error {
            lines.push("the last reload FAILED, the policy before is in force:".to_owned());
            let shown = error.lines().take(MOST_SHOWN + 1);
            lines.extend(shown.map(|line| format!("  {line}")));
        }
        lines
    }
}

impl Audit {
    /// One line for people.
    pub(super) fn line(&self) -> String {
        let state = if self.failing {
            "it CANNOT be written; "
        } else {
            ""
        };
        format!(
            "{state}{} written, {} waiting, {} lost",
            self.written, self.queued, self.lost
        )
    }
}
