//! From port to the rules of one key, in time that does not grow with their number.
//!
//! The entries of a key cut the ports into intervals. All ports of an interval have the same
//! lowest ranks and the same grant, its cell. Most keys have one entry and cut the ports as many
//! others do (80 and 443), so that their cells differ in one rank: the cuts are shared and stay in
//! the processor's cache, and the rank stands in the key's answer.

use std::collections::HashMap;
use std::num::NonZero;

use super::condition::Conditional;
use super::exclusions::Set;
use crate::port::{Port, PortSet};

/// The place of an entry in the order in which verdicts name rules: 0 first.
pub(super) type Rank = u32;

/// No entry.
pub(super) const NONE: Rank = Rank::MAX;

/// What at least one of the allowing entries grants.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Grants {
    /// `tls: any`.
    pub(super) tls_any: bool,
    /// The default of the port.
    pub(super) tls_by_port: bool,
    /// `sni: any`.
    pub(super) sni_any: bool,
}

/// What the entries that match say together: the lowest rank of each kind, [`NONE`] without one,
/// and the widest grant of the allowing ones.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Cell {
    pub(super) deny: Rank,
    pub(super) ask: Rank,
    /// The lowest rank among the asks of the project layer.
    pub(super) project_ask: Rank,
    pub(super) allow: Rank,
    pub(super) grants: Grants,
}

impl Cell {
    pub(super) const EMPTY: Self = Self {
        deny: NONE,
        ask: NONE,
        project_ask: NONE,
        allow: NONE,
        grants: Grants {
            tls_any: false,
            tls_by_port: false,
            sni_any: false,
        },
    };

    /// The rank of what one entry says alone.
    pub(super) fn rank(&self) -> Option<Rank> {
        [self.deny, self.ask, self.allow]
            .into_iter()
            .find(|&rank| rank != NONE)
    }

    /// The same with another rank.
    pub(super) fn with_rank(&self, rank: Rank) -> Self {
        let put = |old| if old == NONE { NONE } else { rank };
        Self {
            deny: put(self.deny),
            ask: put(self.ask),
            project_ask: put(self.project_ask),
            allow: put(self.allow),
            grants: self.grants,
        }
    }

    /// Adds what other entries say.
    pub(super) fn merge(&mut self, other: &Self) {
        self.deny = self.deny.min(other.deny);
        self.ask = self.ask.min(other.ask);
        self.project_ask = self.project_ask.min(other.project_ask);
        self.allow = self.allow.min(other.allow);
        self.grants.tls_any |= other.grants.tls_any;
        self.grants.tls_by_port |= other.grants.tls_by_port;
        self.grants.sni_any |= other.grants.sni_any;
    }
}

/// What one key says, by port: a place in a [`PortTable`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// One more than the number of the cut, so that no answer takes no room.
    cut: NonZero<u32>,
    /// The rank of the key's one entry, or where the cells of several begin.
    at: u32,
}

/// What needs a closer look.
#[derive(Debug, Default)]
pub(super) struct More {
    /// The entries without conditions of the lists that exclude the same.
    pub(super) guarded: Vec<(Set, Answer)>,
    /// The entries with methods, paths or an end.
    pub(super) conditional: Option<Conditional>,
}

/// How the ports are cut: the first port of each interval, ascending from 0, and what is said in
/// it.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Cut {
    starts: Vec<u16>,
    /// As long as `starts`.
    said: Vec<Said>,
}

/// What is said in one interval.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Said {
    Nothing,
    /// This, with the rank of the answer.
    One(Cell),
    /// The cell so many behind the first of the answer.
    Several(u32),
}

/// The ports of all keys.
#[derive(Debug, Default)]
pub(super) struct PortTable {
    cuts: Vec<(Cut, Option<Box<More>>)>,
    cells: Vec<Cell>,
}

impl PortTable {
    /// What a key says about a port without a closer look, and what needs one.
    pub(super) fn find(&self, answer: Answer, port: Port) -> (Option<Cell>, Option<&More>) {
        let number = answer.cut.get() as usize - 1;
        let Some((cut, more)) = self.cuts.get(number) else {
            return (None, None);
        };
        let after = cut.starts.partition_point(|&start| start <= port.number());
        let said = after.checked_sub(1).and_then(|at| cut.said.get(at));
        let cell = match said {
            None | Some(Said::Nothing) => None,
            Some(Said::One(cell)) => Some(cell.with_rank(answer.at)),
            Some(&Said::Several(offset)) => {
                let at = answer.at as usize + offset as usize;
                self.cells.get(at).copied()
            }
        };
        (cell, more.as_deref())
    }
}

/// Fills a [`PortTable`].
#[derive(Debug, Default)]
pub(super) struct PortTableBuilder {
    table: PortTable,
    known: HashMap<Cut, Answer>,
}

impl PortTableBuilder {
    /// Files the entries of one key, in any order: each a cell of its own and its ports.
    pub(super) fn file(&mut self, entries: &[(Cell, &PortSet)]) -> Answer {
        let (cut, at) = self.cut(entries);
        if let Some(&known) = self.known.get(&cut) {
            return Answer { at, ..known };
        }
        let answer = self.push(cut.clone(), at, None);
        self.known.insert(cut, answer);
        answer
    }

    /// Files the entries of one key that has others too, which need a closer look.
    pub(super) fn file_with(&mut self, entries: &[(Cell, &PortSet)], more: More) -> Answer {
        let (cut, at) = self.cut(entries);
        self.push(cut, at, Some(Box::new(more)))
    }

    fn push(&mut self, cut: Cut, at: u32, more: Option<Box<More>>) -> Answer {
        self.table.cuts.push((cut, more));
        let cut = NonZero::new(index(self.table.cuts.len())).unwrap_or(NonZero::<u32>::MAX);
        Answer { cut, at }
    }

    /// How the entries cut the ports, and what their answer begins with.
    fn cut(&mut self, entries: &[(Cell, &PortSet)]) -> (Cut, u32) {
        let one = match entries {
            [(cell, _)] => cell.rank(),
            _ => None,
        };
        let at = one.unwrap_or_else(|| index(self.table.cells.len()));
        let (starts, cells) = painted(entries);
        let mut cut = Cut::default();
        let mut seen = HashMap::new();
        for (start, cell) in starts.into_iter().zip(cells) {
            let said = if cell == Cell::EMPTY {
                Said::Nothing
            } else if one.is_some() {
                Said::One(cell.with_rank(0))
            } else {
                Said::Several(*seen.entry(cell).or_insert_with(|| {
                    self.table.cells.push(cell);
                    index(self.table.cells.len()) - 1 - at
                }))
            };
            if cut.said.last() != Some(&said) {
                cut.starts.push(start);
                cut.said.push(said);
            }
        }
        (cut, at)
    }

    pub(super) fn build(self) -> PortTable {
        self.table
    }
}

/// A place in a table. Each takes 16 bytes or more, so that the limits on files and entries, and
/// memory after them, end far below the highest: no entry is lost here, a deny least of all.
fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The first port of each interval, and its merged cell.
fn painted(entries: &[(Cell, &PortSet)]) -> (Vec<u16>, Vec<Cell>) {
    let mut starts = vec![0];
    for (_, ports) in entries {
        for &(low, high) in ports.ranges() {
            starts.push(low);
            starts.extend(high.checked_add(1));
        }
    }
    starts.sort_unstable();
    starts.dedup();
    let mut cells = vec![Cell::EMPTY; starts.len()];
    // Each field is painted on its own, best rank first, so that every interval is painted once.
    let mut field = |rank: fn(&Cell) -> Rank, set: fn(&mut Cell, &Cell)| {
        paint(entries, &starts, &mut cells, rank, set);
    };
    field(|cell| cell.deny, |old, new| old.deny = new.deny);
    field(|cell| cell.ask, |old, new| old.ask = new.ask);
    field(
        |cell| cell.project_ask,
        |old, new| old.project_ask = new.project_ask,
    );
    field(|cell| cell.allow, |old, new| old.allow = new.allow);
    field(
        |cell| if cell.grants.tls_any { 0 } else { NONE },
        |old, _| old.grants.tls_any = true,
    );
    field(
        |cell| if cell.grants.tls_by_port { 0 } else { NONE },
        |old, _| old.grants.tls_by_port = true,
    );
    field(
        |cell| if cell.grants.sni_any { 0 } else { NONE },
        |old, _| old.grants.sni_any = true,
    );
    (starts, cells)
}

/// Gives every interval the value of the entry with the lowest rank that covers it.
fn paint(
    entries: &[(Cell, &PortSet)],
    starts: &[u16],
    cells: &mut [Cell],
    rank: fn(&Cell) -> Rank,
    set: fn(&mut Cell, &Cell),
) {
    let mut order: Vec<_> = entries
        .iter()
        .filter(|(cell, _)| rank(cell) != NONE)
        .collect();
    order.sort_by_key(|(cell, _)| rank(cell));
    if order.is_empty() {
        return;
    }
    // The next interval, at or after this one, without paint.
    let mut next: Vec<usize> = (0..=starts.len()).collect();
    for (cell, ports) in order {
        for &(low, high) in ports.ranges() {
            let end = starts.partition_point(|&start| start <= high);
            let mut at = unpainted(&mut next, starts.partition_point(|&start| start < low));
            while at < end {
                if let Some(old) = cells.get_mut(at) {
                    set(old, cell);
                }
                if let Some(link) = next.get_mut(at) {
                    *link = at + 1;
                }
                at = unpainted(&mut next, at + 1);
            }
        }
    }
}

/// Follows the links and shortens them on the way.
fn unpainted(next: &mut [usize], from: usize) -> usize {
    let mut at = from;
    while let Some(&link) = next.get(at) {
        if link == at {
            break;
        }
        let further = next.get(link).copied().unwrap_or(link);
        if let Some(slot) = next.get_mut(at) {
            *slot = further;
        }
        at = link;
    }
    at
}

#[cfg(test)]
mod tests;
