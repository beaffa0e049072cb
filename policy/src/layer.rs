//! Files of different trust on top of one another: whose allows count, and which default holds.

use crate::diagnostic::{Diagnostic, code};
use crate::document::{Document, Placed};
use crate::policy::Defaults;
use crate::source::SourceFile;
use crate::verdict::{Effect, Layer};

/// Where a file was found, and so how far it is trusted.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new origin must be thought about everywhere"
)]
pub enum Origin {
    /// The project's file, which nobody has trusted: it can only make things stricter.
    UntrustedProject,
    /// The project's file, trusted by its content.
    TrustedProject,
    /// The user's file, a file of the command line, or the built-in default.
    User,
    /// The signed bundle.
    Bundle,
    /// The machine's file.
    Machine,
}

impl Origin {
    /// The layer that verdicts name.
    pub const fn layer(self) -> Layer {
        match self {
            Self::UntrustedProject | Self::TrustedProject => Layer::Project,
            Self::User => Layer::User,
            Self::Bundle => Layer::Bundle,
            Self::Machine => Layer::Machine,
        }
    }
}

/// One policy text with its origin: what [`crate::compile::compile`] takes.
#[derive(Clone, Debug)]
pub struct LayerInput {
    /// Where it was found.
    pub origin: Origin,
    /// The text.
    pub source: SourceFile,
}

/// One file that was read, with its origin.
#[derive(Clone, Debug)]
pub struct LayerDocument {
    /// Where it was found.
    pub origin: Origin,
    /// What it says.
    pub document: Document,
}

/// Whether the allow groups of a file count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Allows {
    Count,
    /// Nobody has trusted the file.
    Untrusted,
    /// The machine's file is the only one that allows.
    Exclusive,
}

/// Whether the machine's file says that its allows are the only ones.
pub(crate) fn is_exclusive(layers: &[LayerDocument]) -> bool {
    layers
        .iter()
        .any(|layer| layer.origin == Origin::Machine && layer.document.exclusive.is_some())
}

/// Whether the allow groups of a file count.
pub(crate) fn allows(layer: &LayerDocument, exclusive: bool) -> Allows {
    match layer.origin {
        Origin::Machine => Allows::Count,
        _ if exclusive => Allows::Exclusive,
        Origin::UntrustedProject => Allows::Untrusted,
        Origin::TrustedProject | Origin::User | Origin::Bundle => Allows::Count,
    }
}

/// What only the machine's file may say.
pub(crate) fn misplaced(layers: &[LayerDocument]) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for LayerDocument { origin, document } in layers {
        if let Some(span) = document.exclusive.filter(|_| *origin != Origin::Machine) {
            let message = "`exclusive` in a file that is not the machine's";
            let problem = Diagnostic::error(code::EXCLUSIVE, &document.source, span, message);
            problems.push(problem.with_help("remove it: only /etc/moat/policy.yaml can say so"));
        }
    }
    problems
}

/// The defaults that hold, and those that were too loose to.
pub(crate) fn defaults(layers: &[LayerDocument]) -> (Defaults, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let exclusive = is_exclusive(layers);
    let mut one = |kind, unset| one_default(layers, exclusive, kind, unset, &mut findings);
    let (net, fetch) = (one("net", Effect::Deny), one("fetch", Effect::Ask));
    (Defaults { net, fetch }, findings)
}

/// The most trusted origin that sets the default decides; less trusted ones only tighten it.
/// Several files of one origin are united: the strictest of them speaks for all.
fn one_default(
    layers: &[LayerDocument],
    exclusive: bool,
    kind: &str,
    unset: Effect,
    findings: &mut Vec<Diagnostic>,
) -> Effect {
    let stated = |document: &Document| -> Option<Placed<Effect>> {
        let defaults = &document.defaults;
        if kind == "net" {
            defaults.net.clone()
        } else {
            defaults.fetch.clone()
        }
    };
    let mut set: Vec<(&LayerDocument, Placed<Effect>)> = layers
        .iter()
        .filter_map(|layer| Some((layer, stated(&layer.document)?)))
        .collect();
    // Stable: files of one origin keep their order.
    set.sort_by_key(|(layer, stated)| std::cmp::Reverse((layer.origin, stated.value)));
    let mut holds: Option<Effect> = None;
    for (layer, stated) in set {
        let floor = match (holds, layer.origin) {
            (Some(effect), _) => effect,
            // Nobody has trusted this file, so not even the built-in value gives way.
            (None, Origin::UntrustedProject) => unset,
            // A looser default would be an allow, and only the machine's file has those.
            (None, origin) if exclusive && origin != Origin::Machine => unset,
            (None, _) => stated.value,
        };
        if stated.value < floor {
            let message = format!(
                "`{kind}: {}` is looser than `{floor}`, which holds",
                stated.value
            );
            let source = &layer.document.source;
            let finding = Diagnostic::warning(code::LOOSE_DEFAULT, source, stated.span, message);
            findings.push(finding.with_help("a less trusted file can only tighten a default"));
        }
        holds = Some(floor.max(stated.value));
    }
    holds.unwrap_or(unset)
}

#[cfg(test)]
mod tests;
