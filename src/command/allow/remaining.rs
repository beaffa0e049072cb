//! What an entry does not lift: a rule that refuses it all the same.

use std::path::Path;
use std::time::SystemTime;

use moat_policy::edit::Item;
use moat_policy::host::{Host, Pattern};
use moat_policy::policy::Policy;
use moat_policy::port::{Port, PortSet};
use moat_policy::request::{Request, Target};
use moat_policy::verdict::{Effect, Rule};

use crate::problem;

/// Says which rules refuse what was allowed, but for those of the file whose findings were shown.
pub(super) fn note(policy: &Policy, items: &[Item], shown: Option<&Path>, now: SystemTime) {
    for item in items {
        let rule = refusing(policy, item, now);
        let Some(rule) = rule.filter(|rule| shown != Some(Path::new(&*rule.file))) else {
            continue;
        };
        problem::note(format_args!(
            "note: `{item}` is still refused, by {} group `{}` in {}:{}",
            rule.effect, rule.id, rule.file, rule.line
        ));
    }
}

/// The rule that refuses an item that names one host.
fn refusing<'p>(policy: &'p Policy, item: &Item, now: SystemTime) -> Option<&'p Rule> {
    let Item::Entry { pattern, ports } = item else {
        return None;
    };
    let host = match pattern {
        Pattern::Exact(name) => Host::Name(name.clone()),
        Pattern::Range(range) if range.prefix_len() == range.max_prefix_len() => {
            Host::Address(range.addr())
        }
        Pattern::Below(_)
        | Pattern::AtOrBelow(_)
        | Pattern::Glob(_)
        | Pattern::AnyName
        | Pattern::Range(_)
        | Pattern::Localhost => return None,
    };
    let port = match ports.as_ref().map(PortSet::ranges) {
        Some(&[(low, _), ..]) => Port::from_number(low)?,
        Some(&[]) | None => Port::HTTPS,
    };
    let target = Target { host, port };
    let verdict = policy.decide(&Request::connection(&target, now));
    match verdict.effect {
        Effect::Allow | Effect::Pass => None,
        Effect::Ask | Effect::Deny => verdict.rule.map(AsRef::as_ref),
    }
}

#[cfg(test)]
mod tests;
