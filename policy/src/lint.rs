//! Findings: what loads, and probably is not what somebody meant.
//!
//! A finding has a stable code and never changes a verdict. What keeps a file from loading is
//! found earlier, what does not count because of the layers is in
//! [`crate::compile::Compiled::warnings`].

use std::time::SystemTime;

use crate::compile::{self, Compiled, Filed};
use crate::diagnostic::{self, Diagnostic, code};
use crate::entry::Entry;
use crate::source::Span;
use crate::verdict::{Effect, TlsRule};

mod overlap;
mod width;

/// The findings of a policy at a time, in the order of its files.
pub fn lint(compiled: &Compiled, now: SystemTime) -> Vec<Diagnostic> {
    let filed = compile::file(&compiled.layers);
    let mut findings = Vec::new();
    for list in &filed {
        for (entry, span) in written(list) {
            let one = Finder { list, entry, span };
            findings.extend(one.expired(now));
            if list.list.effect == Effect::Allow {
                findings.extend(one.too_wide());
                findings.extend(one.guarded());
                findings.extend(one.unseen());
            }
        }
    }
    findings.extend(overlap::find(&filed));
    diagnostic::sort(&mut findings);
    findings.dedup();
    findings
}

/// The entries that stand in the file itself, with their places.
fn written<'f>(list: &'f Filed<'_>) -> impl Iterator<Item = (&'f Entry, Span)> {
    let entries = list.list.entries.iter().zip(list.spans.iter().copied());
    entries.filter(|(entry, _)| entry.rule.preset.is_none())
}

/// Looks at one entry.
struct Finder<'f> {
    list: &'f Filed<'f>,
    entry: &'f Entry,
    span: Span,
}

impl Finder<'_> {
    fn finding(&self, code: &'static str, message: String, help: &str) -> Diagnostic {
        let source = &self.list.layer.document.source;
        Diagnostic::warning(code, source, self.span, message).with_help(help)
    }

    /// Methods and paths are seen in clear alone.
    fn unseen(&self) -> Option<Diagnostic> {
        self.entry.http.as_ref()?;
        let requires_tls = match self.entry.tls {
            Some(rule) => rule == TlsRule::Require,
            None => self
                .entry
                .ports
                .ranges()
                .iter()
                .all(|&ports| ports == (443, 443)),
        };
        let message = || {
            let entry = &self.entry.rule.entry;
            format!(
                "`{entry}` can never match: its methods or paths are seen in plain HTTP alone, and it requires TLS"
            )
        };
        requires_tls.then(|| {
            let help = "leave methods and paths out, or let plain HTTP through with `tls: any` or another port";
            self.finding(code::UNSEEN, message(), help)
        })
    }

    fn expired(&self, now: SystemTime) -> Option<Diagnostic> {
        self.entry.until.filter(|until| *until <= now)?;
        let message = format!("the time of `{}` is over", self.entry.rule.entry);
        Some(self.finding(
            code::EXPIRED,
            message,
            "remove the entry, or set a later `until`",
        ))
    }
}

#[cfg(test)]
mod tests;
