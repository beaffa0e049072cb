//! What the `!` strings of lists take out of them again: one table for all lists.
//!
//! Lists that exclude the same share a set. A host is looked up once for all of them, when the
//! first entry of a list with exclusions matches it.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::tables::{Hosts, range_of};
use crate::address::table::RangeTable;
use crate::entry::{EntryList, Exclusion};
use crate::host::TooManyGlobs;
use crate::host::table::{NameTable, NameTableBuilder, Place};
use crate::port::{Port, PortSet};

/// The number of the exclusions that a list has.
pub(super) type Set = u32;

/// How many exclusions of one host are kept; one that more cover is looked up again instead.
const ROOM: usize = 24;

/// The exclusions of all lists.
#[derive(Debug)]
pub(super) struct Exclusions {
    names: NameTable<Place>,
    ranges: RangeTable,
    /// By place: the sets that hold the pattern, ascending, and the ports for which they do.
    sets: Vec<Vec<(Set, PortSet)>>,
    /// By list.
    lists: Vec<Option<Set>>,
}

/// The exclusions that cover one host, whatever the port.
#[derive(Debug)]
pub(super) struct Hits {
    places: [Place; ROOM],
    count: usize,
}

/// A host, and its exclusions once they were asked for.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) hosts: Hosts<'a>,
    hits: OnceCell<Hits>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(hosts: Hosts<'a>) -> Self {
        Self {
            hosts,
            hits: OnceCell::new(),
        }
    }
}

impl Exclusions {
    /// The exclusions of the lists; or the number of the list that has too many.
    pub(super) fn build(lists: &[EntryList]) -> Result<Self, usize> {
        let mut builder = Builder::new();
        for (number, list) in lists.iter().enumerate() {
            builder
                .add(&list.exclusions)
                .map_err(|TooManyGlobs| number)?;
        }
        let last = builder.lists.iter().rposition(Option::is_some);
        let names = builder.names.build(Some);
        Ok(Self {
            names: names.map_err(|TooManyGlobs| last.unwrap_or(0))?,
            ranges: builder.ranges,
            sets: builder.sets,
            lists: builder.lists,
        })
    }

    /// What a list excludes, if anything.
    pub(super) fn set(&self, list: u32) -> Option<Set> {
        self.lists.get(list as usize).copied().flatten()
    }

    /// Whether the lists with these exclusions say nothing about this host and port.
    pub(super) fn cover(&self, subject: &Subject<'_>, set: Set, port: Port) -> bool {
        let hits = subject.hits.get_or_init(|| self.hits(&subject.hosts));
        if let Some(places) = hits.places.get(..hits.count) {
            return places.iter().any(|&place| self.holds(place, set, port));
        }
        let mut covered = false;
        self.each(&subject.hosts, |place| {
            covered |= self.holds(place, set, port);
        });
        covered
    }

    fn hits(&self, hosts: &Hosts<'_>) -> Hits {
        let mut hits = Hits {
            places: [0; ROOM],
            count: 0,
        };
        self.each(hosts, |place| {
            if let Some(free) = hits.places.get_mut(hits.count) {
                *free = place;
            }
            hits.count += 1;
        });
        hits
    }

    fn each(&self, hosts: &Hosts<'_>, mut found: impl FnMut(Place)) {
        match hosts {
            Hosts::Name(name) => self.names.each(name, |place, _| found(place)),
            Hosts::Addresses(addresses) => {
                for &address in *addresses {
                    self.ranges.each(address, |place, _| found(place));
                }
            }
        }
    }

    fn holds(&self, place: Place, set: Set, port: Port) -> bool {
        let Some(sets) = self.sets.get(place as usize) else {
            return false;
        };
        sets.binary_search_by_key(&set, |&(set, _)| set)
            .ok()
            .and_then(|at| sets.get(at))
            .is_some_and(|(_, ports)| ports.contains(port))
    }
}

/// Exclusions as they are told apart: patterns and ports in order.
type Written = Vec<(String, PortSet)>;

struct Builder {
    names: NameTableBuilder,
    ranges: RangeTable,
    sets: Vec<Vec<(Set, PortSet)>>,
    lists: Vec<Option<Set>>,
    known: HashMap<Written, Set>,
}

impl Builder {
    fn new() -> Self {
        Self {
            names: NameTableBuilder::new(),
            ranges: RangeTable::default(),
            sets: Vec::new(),
            lists: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Adds what the next list excludes.
    fn add(&mut self, exclusions: &[Exclusion]) -> Result<(), TooManyGlobs> {
        if exclusions.is_empty() {
            self.lists.push(None);
            return Ok(());
        }
        let written = |one: &Exclusion| (one.pattern.to_string(), one.ports.clone());
        let mut key: Written = exclusions.iter().map(written).collect();
        key.sort_by(|(one, ports), (other, others)| {
            (one, ports.ranges()).cmp(&(other, others.ranges()))
        });
        let fresh = Set::try_from(self.known.len()).map_err(|_| TooManyGlobs)?;
        let set = *self.known.entry(key).or_insert(fresh);
        self.lists.push(Some(set));
        if set == fresh {
            for exclusion in exclusions {
                self.file(exclusion, set)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, exclusion: &Exclusion, set: Set) -> Result<(), TooManyGlobs> {
        let fresh = Place::try_from(self.sets.len()).map_err(|_| TooManyGlobs)?;
        let place = match range_of(&exclusion.pattern) {
            Some(range) => self.ranges.file(&range, fresh),
            None => self.names.file(&exclusion.pattern, fresh)?.unwrap_or(fresh),
        };
        if place == fresh {
            self.sets.push(Vec::new());
        }
        let Some(sets) = self.sets.get_mut(place as usize) else {
            return Ok(());
        };
        match sets.last_mut() {
            Some((last, known)) if *last == set => {
                *known = PortSet::from_ranges(known.pairs().chain(exclusion.ports.pairs()));
            }
            _ => sets.push((set, exclusion.ports.clone())),
        }
        Ok(())
    }
}
