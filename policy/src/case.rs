//! The policy's own `tests:`: requests with the effect that each must have.

use std::time::SystemTime;

use crate::compile::Compiled;
use crate::document::Case;
use crate::source::SourceFile;
use crate::verdict::{Effect, Verdict};

/// What became of one row of `tests:`.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'c> {
    /// The row.
    pub case: &'c Case,
    /// The file that holds it.
    pub source: &'c SourceFile,
    /// What the policy says.
    pub verdict: Verdict<'c>,
}

impl Outcome<'_> {
    /// Whether the policy says what the row expects.
    pub fn holds(&self) -> bool {
        self.verdict.effect == self.case.expect
    }

    /// What the policy says.
    pub fn effect(&self) -> Effect {
        self.verdict.effect
    }
}

/// Asks the whole policy, every layer of it, the tests of every file.
pub fn run(compiled: &Compiled, now: SystemTime) -> Vec<Outcome<'_>> {
    let mut outcomes = Vec::new();
    for layer in &compiled.layers {
        for case in &layer.document.tests {
            let request = case.asked.request(case.surface, now);
            outcomes.push(Outcome {
                case,
                source: &layer.document.source,
                verdict: compiled.policy.decide(&request),
            });
        }
    }
    outcomes
}

#[cfg(test)]
mod tests;
