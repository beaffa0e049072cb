//! The second witness: what the loader makes of the texts before and after.

use std::collections::HashMap;
use std::time::SystemTime;

use super::{Edit, Item, Section};
use crate::entry::{Entry, EntryList};
use crate::host::Pattern;
use crate::port::PortSet;
use crate::request::Surface;
use crate::verdict::Effect;

/// What an edit may change about the compiled lists.
pub(super) struct Change<'e> {
    edit: &'e Edit,
    section: Section,
    entries: &'e [(Pattern, PortSet)],
}

impl<'e> Change<'e> {
    pub(super) fn new(edit: &'e Edit, section: Section, entries: &'e [(Pattern, PortSet)]) -> Self {
        Self {
            edit,
            section,
            entries,
        }
    }

    /// Whether the difference of the lists is this change, all of it and nothing else.
    pub(super) fn is_all(&self, before: &[EntryList], after: &[EntryList]) -> bool {
        let mut counts: HashMap<String, (i64, &EntryList, &Entry)> = HashMap::new();
        for (lists, weight) in [(before, -1), (after, 1)] {
            for list in lists {
                for entry in &list.entries {
                    counts
                        .entry(identity(list, entry))
                        .or_insert((0, list, entry))
                        .0 += weight;
                }
            }
        }
        counts.retain(|_, (count, ..)| *count != 0);
        let weight = match self.edit {
            Edit::Add { .. } => 1,
            Edit::Remove { .. } => -1,
        };
        let all_ours = counts.values().all(|(count, list, entry)| {
            count.signum() == weight
                && self.is_ours(list, entry)
                && self
                    .entries
                    .iter()
                    .any(|(pattern, ports)| *pattern == entry.pattern && *ports == entry.ports)
        });
        let complete = self.entries.iter().all(|(pattern, ports)| {
            counts
                .values()
                .any(|(_, _, entry)| entry.pattern == *pattern && entry.ports == *ports)
        });
        all_ours && complete
    }

    /// Whether an entry is one that this edit could have written.
    fn is_ours(&self, list: &EntryList, entry: &Entry) -> bool {
        let preset = match self.edit {
            Edit::Add { item, .. } | Edit::Remove { item, .. } => matches!(item, Item::Preset(_)),
        };
        let until = match self.edit {
            Edit::Add { until, .. } => same_second(*until, entry.until),
            Edit::Remove { .. } => true,
        };
        until
            && list.effect == effect(self.section)
            && list.surface == Surface::Net
            && entry.rule.preset.is_some() == preset
            && entry.http.is_none()
            && entry.tls.is_none()
            && entry.sni.is_none()
            && (list.exclusions.is_empty() || matches!(self.edit, Edit::Remove { .. }))
    }
}

/// Times are written in whole seconds.
fn same_second(one: Option<SystemTime>, two: Option<SystemTime>) -> bool {
    let seconds = |time: SystemTime| {
        time.duration_since(SystemTime::UNIX_EPOCH)
            .map(|since| since.as_secs())
            .ok()
    };
    one.map(seconds) == two.map(seconds)
}

/// Everything about an entry but its place in the file.
fn identity(list: &EntryList, entry: &Entry) -> String {
    format!(
        "{:?} {:?} {} {:?} {:?} {} {:?} {:?} {:?} {:?} {:?}",
        list.effect,
        list.surface,
        entry.rule.id,
        entry.rule.preset,
        entry.pattern,
        entry.ports,
        entry.http,
        entry.tls,
        entry.sni,
        entry.until,
        list.exclusions,
    )
}

/// Where all the entries stand already, without a condition that the new ones would not have.
pub(super) fn standing(
    lists: &[EntryList],
    section: Section,
    entries: &[(Pattern, PortSet)],
    until: Option<SystemTime>,
) -> Option<String> {
    let mut place = None;
    for (pattern, ports) in entries {
        let found = of(lists, section)
            .filter(|(list, _)| list.exclusions.is_empty())
            .map(|(_, entry)| entry)
            .find(|entry| {
                entry.pattern == *pattern
                    && entry.ports.covers(ports)
                    && entry.http.is_none()
                    && entry.tls.is_none()
                    && entry.sni.is_none()
                    && lasts(entry.until, until)
            })?;
        place = Some(found);
    }
    place.map(|entry| {
        let rule = &entry.rule;
        match &rule.preset {
            Some(preset) => format!("group `{}`, line {}, preset `{preset}`", rule.id, rule.line),
            None => format!("group `{}`, line {}", rule.id, rule.line),
        }
    })
}

/// Why there is nothing to remove.
pub(super) fn absence(
    lists: &[EntryList],
    section: Section,
    item: &Item,
    entries: &[(Pattern, PortSet)],
) -> String {
    let near = of(lists, section)
        .map(|(_, entry)| entry)
        .find(|entry| entries.iter().any(|(pattern, _)| entry.pattern == *pattern))
        .filter(|_| matches!(item, Item::Entry { .. }));
    let Some(entry) = near else {
        return format!("`{item}` is not in `{section}`");
    };
    let rule = &entry.rule;
    match &rule.preset {
        Some(preset) => format!(
            "`{item}` is not in `{section}` by itself: the preset `{preset}` of group `{}` holds it; \
             `moat deny {item}` refuses it all the same",
            rule.id
        ),
        None => format!(
            "`{item}` is not in `{section}`; group `{}` has `{}` in line {}",
            rule.id, rule.entry, rule.line
        ),
    }
}

fn of(lists: &[EntryList], section: Section) -> impl Iterator<Item = (&EntryList, &Entry)> {
    lists
        .iter()
        .filter(move |list| list.effect == effect(section) && list.surface == Surface::Net)
        .flat_map(|list| list.entries.iter().map(move |entry| (list, entry)))
}

const fn effect(section: Section) -> Effect {
    match section {
        Section::Allow => Effect::Allow,
        Section::Deny => Effect::Deny,
    }
}

fn lasts(standing: Option<SystemTime>, wanted: Option<SystemTime>) -> bool {
    match (standing, wanted) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(standing), Some(wanted)) => standing >= wanted,
    }
}
