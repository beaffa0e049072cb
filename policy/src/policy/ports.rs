//! From port to the rules of one key, in time that does not grow with their number.
//!
//! The entries of a key cut the ports into intervals. All ports of an interval have the same
//! lowest ranks and the same grant, its cell. Most keys cut the ports alike (80 and 443), so that
//! the cuts are shared and stay in the processor's cache.

use std::collections::HashMap;

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

/// One key's ports in a [`PortTable`].
#[derive(Clone, Copy, Debug)]
pub(super) struct PortMap {
    cut: u32,
    /// Where the cells of this key begin.
    cells: u32,
}

/// How the ports are cut: the first port of each interval, ascending from 0, and which of the
/// key's cells belongs to it.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Cut {
    starts: Vec<u16>,
    /// As long as `starts`; `None` for an interval without entries.
    cells: Vec<Option<u32>>,
}

/// The ports of all keys.
#[derive(Debug, Default)]
pub(super) struct PortTable {
    cuts: Vec<Cut>,
    cells: Vec<Cell>,
}

impl PortTable {
    /// What a key says about a port.
    pub(super) fn find(&self, map: PortMap, port: Port) -> Option<&Cell> {
        let cut = self.cuts.get(map.cut as usize)?;
        let after = cut.starts.partition_point(|&start| start <= port.number());
        let offset = (*cut.cells.get(after.checked_sub(1)?)?)?;
        self.cells.get(map.cells as usize + offset as usize)
    }
}

/// Fills a [`PortTable`].
#[derive(Debug, Default)]
pub(super) struct PortTableBuilder {
    table: PortTable,
    known: HashMap<Cut, u32>,
}

impl PortTableBuilder {
    /// Files the entries of one key, in any order: each a cell of its own and its ports.
    pub(super) fn file(&mut self, entries: &[(Cell, &PortSet)]) -> PortMap {
        let cells_at = index(self.table.cells.len());
        let (starts, cells) = painted(entries);
        let mut cut = Cut::default();
        let mut seen = HashMap::new();
        for (start, cell) in starts.into_iter().zip(cells) {
            let place = (cell != Cell::EMPTY).then(|| {
                *seen.entry(cell).or_insert_with(|| {
                    self.table.cells.push(cell);
                    index(self.table.cells.len()) - 1 - cells_at
                })
            });
            if cut.cells.last() != Some(&place) {
                cut.starts.push(start);
                cut.cells.push(place);
            }
        }
        let next = index(self.table.cuts.len());
        let cut = *self.known.entry(cut).or_insert_with_key(|cut| {
            self.table.cuts.push(cut.clone());
            next
        });
        PortMap {
            cut,
            cells: cells_at,
        }
    }

    pub(super) fn build(self) -> PortTable {
        self.table
    }
}

/// Sizes are bounded far below this by the limits on files and entries; a table that could not be
/// addressed would answer with nothing, which is a refusal.
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
