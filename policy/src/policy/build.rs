//! Filing the entries of a policy into its tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::condition::{self, Filed, MAX_TRIED};
use super::exclusions::{Exclusions, Set};
use super::ports::{Answer, Cell, More, NONE, PortTableBuilder, Rank};
use super::tables::{Index, Ranked, Tables, cell_of, range_of};
use crate::address::table::RangeTable;
use crate::entry::{Entry, EntryList};
use crate::host::table::{NameTableBuilder, Place};
use crate::host::{Pattern, TooManyGlobs};
use crate::port::PortSet;
use crate::request::Surface;
use crate::verdict::Rule;

/// Why lists that are right one by one make no policy.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[error("{message}")]
pub struct BuildError {
    /// The entry at fault; for an exclusion the first entry of its list.
    pub rule: Option<Arc<Rule>>,
    /// What is wrong: lower case, no full stop.
    pub message: &'static str,
    /// What to write instead.
    pub help: &'static str,
}

impl BuildError {
    fn too_many_tried(lists: &[EntryList], at: Option<Ranked>) -> Self {
        Self {
            rule: at.and_then(|at| rule(lists, at)),
            message: "too many entries for one host that would have to be tried for every request",
            help: "for one host, 1,000 combinations of ports, methods and exclusions are taken, and 1,000 entries whose paths have the same text in front of their first `*`; put several paths into one entry, or several entries into one list",
        }
    }

    fn too_many_globs(list: Option<&EntryList>, entry: usize) -> Self {
        let entry = list.and_then(|list| list.entries.get(entry));
        Self {
            rule: entry.map(|entry| Arc::clone(&entry.rule)),
            message: "too many patterns that would have to be tried for every request",
            help: "write the last labels out, have at most one `*` in a label, or use `*.` in front; of the others 1,000 are taken",
        }
    }
}

impl Tables {
    pub(super) fn build(lists: &[EntryList]) -> Result<Self, BuildError> {
        let exclusions = Exclusions::build(lists)
            .map_err(|list| BuildError::too_many_globs(lists.get(list), 0))?;
        let ranked = ranked(lists);
        let mut ports = PortTableBuilder::default();
        let net = index(lists, &ranked, Surface::Net, &exclusions, &mut ports)?;
        let fetch = index(lists, &ranked, Surface::Fetch, &exclusions, &mut ports)?;
        Ok(Self {
            rules: ranked.iter().filter_map(|&at| rule(lists, at)).collect(),
            ranked,
            net,
            fetch,
            ports: ports.build(),
            exclusions,
        })
    }
}

fn rule(lists: &[EntryList], at: Ranked) -> Option<Arc<Rule>> {
    let list = lists.get(at.list as usize)?;
    let entry = list.entries.get(at.entry as usize)?;
    Some(Arc::clone(&entry.rule))
}

/// All entries, most trusted layer first, then in the order of lists and entries.
fn ranked(lists: &[EntryList]) -> Vec<Ranked> {
    let mut order: Vec<_> = lists.iter().enumerate().collect();
    order.sort_by_key(|(_, list)| std::cmp::Reverse(list.layer));
    let numbers = |(number, list): (usize, &EntryList)| {
        let list_number = u32::try_from(number).ok();
        (0..list.entries.len()).filter_map(move |entry| {
            Some(Ranked {
                list: list_number?,
                entry: u32::try_from(entry).ok()?,
            })
        })
    };
    order.into_iter().flat_map(numbers).collect()
}

/// The entries of one pattern while they are collected.
#[derive(Debug, Default)]
struct Collected<'e> {
    plain: Vec<(Cell, &'e PortSet)>,
    guarded: BTreeMap<Set, Vec<(Cell, &'e PortSet)>>,
    conditional: Vec<Filed<'e>>,
}

fn index<'e>(
    lists: &'e [EntryList],
    ranked: &[Ranked],
    surface: Surface,
    exclusions: &Exclusions,
    ports: &mut PortTableBuilder,
) -> Result<Index, BuildError> {
    let mut names = NameTableBuilder::new();
    let mut ranges = RangeTable::default();
    let mut collected: Vec<Collected<'e>> = Vec::new();
    let mut last_glob = (None, 0);
    for (rank, at) in ranked.iter().enumerate() {
        let (list_number, entry_number) = (at.list as usize, at.entry as usize);
        let Some(list) = lists
            .get(list_number)
            .filter(|list| list.surface == surface)
        else {
            continue;
        };
        let Some(entry) = list.entries.get(entry_number) else {
            continue;
        };
        let full = |TooManyGlobs| BuildError::too_many_globs(Some(list), entry_number);
        let fresh = Place::try_from(collected.len()).map_err(|_| full(TooManyGlobs))?;
        let rank = Rank::try_from(rank).map_err(|_| full(TooManyGlobs))?;
        if matches!(entry.pattern, Pattern::Glob(_)) {
            last_glob = (Some(list), entry_number);
        }
        let place = match range_of(&entry.pattern) {
            Some(range) => ranges.file(&range, fresh),
            None => names
                .file(&entry.pattern, fresh)
                .map_err(full)?
                .unwrap_or(fresh),
        };
        if place == fresh {
            collected.push(Collected::default());
        }
        if let Some(collected) = collected.get_mut(place as usize) {
            collected.add(list, entry, rank, exclusions.set(at.list));
        }
    }
    let file = |one: Collected<'_>| {
        one.file(ports)
            .map_err(|rank| BuildError::too_many_tried(lists, ranked.get(rank as usize).copied()))
    };
    let answers: Vec<_> = collected.into_iter().map(file).collect::<Result<_, _>>()?;
    let names = names
        .build(|place| answers.get(place as usize).copied())
        .map_err(|TooManyGlobs| BuildError::too_many_globs(last_glob.0, last_glob.1))?;
    Ok(Index {
        names,
        ranges,
        answers,
    })
}

impl<'e> Collected<'e> {
    fn add(&mut self, list: &EntryList, entry: &'e Entry, rank: Rank, excluded: Option<Set>) {
        debug_assert_ne!(rank, NONE, "ranks are counted from 0, far below the mark");
        let cell = cell_of(list, entry, rank);
        if entry.http.is_some() || entry.until.is_some() {
            return self.conditional.push(Filed {
                rank,
                cell,
                entry,
                excluded,
            });
        }
        let filed = (cell, &entry.ports);
        match excluded {
            None => self.plain.push(filed),
            Some(set) => self.guarded.entry(set).or_default().push(filed),
        }
    }

    /// Files them; or answers with the one that is too many.
    fn file(self, ports: &mut PortTableBuilder) -> Result<Answer, Rank> {
        if self.guarded.is_empty() && self.conditional.is_empty() {
            return Ok(ports.file(&self.plain));
        }
        let first = |entries: &[(Cell, &PortSet)]| entries.iter().find_map(|(cell, _)| cell.rank());
        if let Some(entries) = self.guarded.values().nth(MAX_TRIED) {
            return Err(first(entries).unwrap_or(NONE));
        }
        let mut guarded: Vec<_> = self.guarded.iter().collect();
        guarded.sort_by_key(|(_, entries)| first(entries));
        let conditional = match self.conditional.as_slice() {
            [] => None,
            entries => Some(condition::file(entries)?),
        };
        let more = More {
            guarded: guarded
                .into_iter()
                .map(|(&set, entries)| (set, ports.file(entries)))
                .collect(),
            conditional,
        };
        Ok(ports.file_with(&self.plain, more))
    }
}
