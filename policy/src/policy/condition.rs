//! The entries of one key that have methods, paths or an end.
//!
//! Entries that differ only in their end are one group, which knows the best of those that have not
//! ended. Of many groups with paths only those are tried whose path begins as the request's does.

mod path;

use std::collections::HashMap;
use std::time::SystemTime;

use super::exclusions::Set;
use super::ports::{Cell, Rank};
use crate::entry::Entry;
use crate::http::RequestPath;
use crate::port::PortSet;
use path::PathIndex;

/// The most groups that are tried for one request of one key.
pub(super) const MAX_TRIED: usize = 1_000;
/// So many groups with paths are tried one by one at once.
const FEW: usize = 8;

/// Entries of one key that say the same under the same conditions, but for their end.
#[derive(Debug)]
pub(super) struct Group {
    /// One of the entries, whose methods and paths are those of all.
    pub(super) entry: Rank,
    /// What takes hosts out of the entries again.
    pub(super) excluded: Option<Set>,
    /// What each of them says, but for its rank.
    cell: Cell,
    /// The ends, the latest first (`None` is never), each with the lowest rank up to it.
    ends: Box<[(Option<SystemTime>, Rank)]>,
}

impl Group {
    /// What the entries that have not ended say, and when the last of them ends.
    pub(super) fn at(&self, now: SystemTime) -> Option<(Cell, Option<SystemTime>)> {
        let runs = |end: Option<SystemTime>| end.is_none_or(|end| end > now);
        let running = self.ends.partition_point(|&(end, _)| runs(end));
        let &(_, rank) = self.ends.get(running.checked_sub(1)?)?;
        let &(last, _) = self.ends.first()?;
        Some((self.cell.with_rank(rank), last))
    }
}

/// All groups of one key.
#[derive(Debug)]
pub(super) struct Conditional {
    tried: Box<[Group]>,
    paths: Option<Box<PathIndex>>,
}

impl Conditional {
    /// Calls back with every group that could match a request with this path.
    pub(super) fn each(&self, path: Option<&RequestPath<'_>>, mut found: impl FnMut(&Group)) {
        self.tried.iter().for_each(&mut found);
        if let Some(paths) = &self.paths {
            paths.each(path.and_then(RequestPath::readings), found);
        }
    }

    /// Whether the path of a request matters to what is tried.
    pub(super) fn asks_for_path(&self) -> bool {
        self.paths.is_some()
    }
}

/// What groups differ in.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Key<'e> {
    excluded: Option<Set>,
    cell: Cell,
    ports: &'e PortSet,
    methods: &'e [Box<str>],
    paths: &'e [Box<str>],
}

/// An entry to be filed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filed<'e> {
    pub(super) rank: Rank,
    pub(super) cell: Cell,
    pub(super) entry: &'e Entry,
    pub(super) excluded: Option<Set>,
}

impl<'e> Filed<'e> {
    fn key(&self) -> Key<'e> {
        let http = self.entry.http.as_ref();
        Key {
            excluded: self.excluded,
            cell: self.cell.with_rank(0),
            ports: &self.entry.ports,
            methods: http.map_or(&[], |http| http.methods()),
            paths: http.map_or(&[], |http| http.paths()),
        }
    }

    fn denies(&self) -> bool {
        self.cell.deny == self.rank
    }
}

/// Entries that are one group.
type Gathered<'e> = Vec<Filed<'e>>;

/// The groups of entries, in the order of their best ranks.
fn gather<'e>(
    entries: impl Iterator<Item = Filed<'e>>,
    key: impl Fn(&Filed<'e>) -> Key<'e>,
) -> Vec<Gathered<'e>> {
    let mut groups: Vec<Gathered<'e>> = Vec::new();
    let mut known: HashMap<Key<'e>, usize> = HashMap::new();
    for entry in entries {
        let fresh = groups.len();
        let at = *known.entry(key(&entry)).or_insert(fresh);
        match groups.get_mut(at) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups
}

fn group(mut entries: Gathered<'_>) -> Option<Group> {
    let first = *entries.first()?;
    // The latest end first, and of equal ones the best rank.
    entries.sort_by_key(|one| {
        let end = one.entry.until;
        (end.is_some(), std::cmp::Reverse(end), one.rank)
    });
    let mut ends: Vec<(Option<SystemTime>, Rank)> = Vec::new();
    for one in entries {
        let best = ends
            .last()
            .map_or(one.rank, |&(_, best)| best.min(one.rank));
        ends.push((one.entry.until, best));
    }
    Some(Group {
        entry: first.rank,
        excluded: first.excluded,
        cell: first.cell,
        ends: ends.into(),
    })
}

/// Files the entries of one key, best rank first; or answers with the one that is too many.
pub(super) fn file(entries: &[Filed<'_>]) -> Result<Conditional, Rank> {
    let with_paths = |one: &&Filed<'_>| !one.key().paths.is_empty();
    let without = entries.iter().filter(|one| !with_paths(one)).copied();
    let mut tried = gather(without, Filed::key);
    let mut pathed = gather(entries.iter().filter(with_paths).copied(), Filed::key);
    let mut paths = None;
    if pathed.len() <= FEW {
        tried.append(&mut pathed);
    } else {
        // Where no path can be read, denies match whatever their paths are.
        let denies = entries.iter().filter(with_paths).filter(|one| one.denies());
        let unread = gather(denies.copied(), |one| Key {
            paths: &[],
            ..one.key()
        });
        check(&unread)?;
        paths = Some(Box::new(PathIndex::build(pathed, unread)?));
    }
    check(&tried)?;
    Ok(Conditional {
        tried: tried.into_iter().filter_map(group).collect(),
        paths,
    })
}

/// Refuses more groups than are tried.
fn check(groups: &[Gathered<'_>]) -> Result<(), Rank> {
    match groups.get(MAX_TRIED).and_then(|group| group.first()) {
        Some(first) => Err(first.rank),
        None => Ok(()),
    }
}
