//! Entries that say what another one says already, or that a deny takes back.
//!
//! The wider entry of a name is found by the name's own tails, so that the time does not grow
//! with the square of the entries.

use std::collections::HashMap;

use ipnet::IpNet;

use super::written;
use crate::compile::Filed;
use crate::diagnostic::{Diagnostic, code};
use crate::entry::Entry;
use crate::host::Pattern;
use crate::request::Surface;
use crate::source::Span;
use crate::verdict::Effect;

/// The most candidates that are looked at for one entry.
const MOST: usize = 64;

/// One entry of one list.
#[derive(Clone, Copy)]
struct Seen<'f> {
    list: &'f Filed<'f>,
    entry: &'f Entry,
    span: Span,
}

/// What an entry can be found by.
#[derive(Eq, Hash, PartialEq)]
enum Key<'f> {
    Any,
    Name(&'f str),
    Glob(&'f str),
    Range(IpNet),
    Localhost,
}

pub(super) fn find(filed: &[Filed<'_>]) -> Vec<Diagnostic> {
    let mut index: HashMap<Key<'_>, Vec<Seen<'_>>> = HashMap::new();
    for list in filed {
        for (entry, &span) in list.list.entries.iter().zip(&list.spans) {
            let rows = index.entry(own_key(&entry.pattern)).or_default();
            rows.push(Seen { list, entry, span });
        }
    }
    let mut findings = Vec::new();
    for list in filed {
        for (entry, span) in written(list) {
            findings.extend(look(&index, &Seen { list, entry, span }));
        }
    }
    findings
}

fn look(index: &HashMap<Key<'_>, Vec<Seen<'_>>>, one: &Seen<'_>) -> Option<Diagnostic> {
    let keys = wider_keys(&one.entry.pattern);
    let rows = || {
        let found = keys.iter().filter_map(|key| index.get(key)).flatten();
        found.take(MOST).filter(|other| one.lies_in(other))
    };
    if one.list.list.effect != Effect::Deny {
        let denied = rows().find(|other| other.list.list.effect == Effect::Deny);
        if let Some(deny) = denied {
            return Some(one.finding(
                code::DENIED,
                deny,
                "is denied by",
                "remove it, or narrow the deny: a deny always wins",
            ));
        }
    }
    let twin = rows().find(|other| {
        let same = other.list.list.effect == one.list.list.effect;
        same && other.list.layer.origin >= one.list.layer.origin && one.comes_after(other)
    })?;
    Some(one.finding(
        code::COVERED,
        twin,
        "says nothing that is not said by",
        "remove it",
    ))
}

impl Seen<'_> {
    /// Whether whatever this entry matches, the other one surely matches too.
    fn lies_in(&self, other: &Self) -> bool {
        let (narrow, wide) = (self.entry, other.entry);
        let same_place = std::ptr::eq(narrow, wide);
        let surfaces = other.list.list.surface == Surface::Net
            || self.list.list.surface == other.list.list.surface;
        let until = match (narrow.until, wide.until) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(narrow), Some(wide)) => wide >= narrow,
        };
        let grants = wide.effect_is_plain(narrow);
        !same_place
            && surfaces
            && until
            && grants
            && (wide.http.is_none() || wide.http == narrow.http)
            && wide.pattern.covers(&narrow.pattern)
            && wide.ports.covers(&narrow.ports)
            && other.excludes_nothing_of(&narrow.pattern)
    }

    /// Whether the exclusions of this entry's list surely leave the pattern alone.
    fn excludes_nothing_of(&self, pattern: &Pattern) -> bool {
        let exclusions = &self.list.list.exclusions;
        let is_apart = |other: &Pattern| {
            let is_glob = |one: &Pattern| matches!(one, Pattern::Glob(_));
            !is_glob(pattern) && !is_glob(other) && !pattern.covers(other) && !other.covers(pattern)
        };
        exclusions.len() <= MOST && exclusions.iter().all(|one| is_apart(&one.pattern))
    }

    /// Of two entries that say the same only the later one is superfluous.
    fn comes_after(&self, other: &Self) -> bool {
        let mutual = other.lies_in(self);
        let place = |seen: &Self| {
            let origin = std::cmp::Reverse(seen.list.layer.origin);
            let name = seen.list.layer.document.source.name.to_string();
            (origin, name, seen.span.start)
        };
        !mutual || place(self) > place(other)
    }

    fn finding(&self, code: &'static str, other: &Self, says: &str, help: &str) -> Diagnostic {
        let rule = &other.entry.rule;
        let preset = rule
            .preset
            .as_ref()
            .map(|name| format!(" of preset `{name}`"));
        let message = format!(
            "`{}` {says} `{}`{} in {}:{}",
            self.entry.rule.entry,
            rule.entry,
            preset.unwrap_or_default(),
            rule.file,
            rule.line
        );
        let source = &self.list.layer.document.source;
        Diagnostic::warning(code, source, self.span, message).with_help(help)
    }
}

impl Entry {
    /// Whether the entry grants at least what the other does about TLS and server names.
    fn effect_is_plain(&self, other: &Self) -> bool {
        self.rule.effect != Effect::Allow
            || other.rule.effect != Effect::Allow
            || (self.tls == other.tls && self.sni == other.sni)
    }
}

fn own_key(pattern: &Pattern) -> Key<'_> {
    match pattern {
        Pattern::Exact(name) | Pattern::Below(name) | Pattern::AtOrBelow(name) => {
            Key::Name(name.as_str())
        }
        Pattern::Glob(glob) => Key::Glob(glob),
        Pattern::AnyName => Key::Any,
        Pattern::Range(range) => Key::Range(range.trunc()),
        Pattern::Localhost => Key::Localhost,
    }
}

/// The keys under which everything that could cover the pattern is found, but for other globs.
fn wider_keys(pattern: &Pattern) -> Vec<Key<'_>> {
    let mut keys = match pattern {
        Pattern::Exact(name) | Pattern::Below(name) | Pattern::AtOrBelow(name) => {
            tails(name.as_str())
        }
        Pattern::Glob(glob) => {
            let mut keys = tails(crate::host::relation::literal_tail(glob));
            keys.push(Key::Glob(glob));
            keys
        }
        Pattern::AnyName => Vec::new(),
        Pattern::Range(range) => {
            let lengths = (0..=range.prefix_len()).rev();
            let wider = lengths.filter_map(|length| IpNet::new(range.addr(), length).ok());
            return wider.map(|range| Key::Range(range.trunc())).collect();
        }
        Pattern::Localhost => return vec![Key::Localhost],
    };
    keys.push(Key::Any);
    keys
}

fn tails(name: &str) -> Vec<Key<'_>> {
    let mut keys = Vec::new();
    let mut rest = Some(name).filter(|name| !name.is_empty());
    while let Some(name) = rest {
        keys.push(Key::Name(name));
        rest = name.split_once('.').map(|(_, tail)| tail);
    }
    keys
}
