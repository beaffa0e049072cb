//! What the `!` strings of one list take out of it again: a small table of its own.

use std::net::IpAddr;

use crate::address::table::RangeTable;
use crate::entry::Exclusion;
use crate::host::table::{NameTable, NameTableBuilder, Place};
use crate::host::{HostName, TooManyGlobs};
use crate::port::{Port, PortSet};

use super::tables::Subject;

/// The exclusions of one list.
#[derive(Debug)]
pub(super) struct Exclusions {
    names: NameTable<Place>,
    ranges: RangeTable,
    /// By place: the ports of all exclusions of that pattern.
    ports: Vec<PortSet>,
}

impl Exclusions {
    /// `None` for a list without exclusions.
    pub(super) fn build(written: &[Exclusion]) -> Result<Option<Self>, TooManyGlobs> {
        if written.is_empty() {
            return Ok(None);
        }
        let mut names = NameTableBuilder::new();
        let mut ranges = RangeTable::default();
        let mut ports: Vec<PortSet> = Vec::new();
        for exclusion in written {
            let fresh = Place::try_from(ports.len()).map_err(|_| TooManyGlobs)?;
            let place = match super::tables::range_of(&exclusion.pattern) {
                Some(range) => ranges.file(&range, fresh),
                None => names.file(&exclusion.pattern, fresh)?.unwrap_or(fresh),
            };
            match ports.get_mut(place as usize) {
                Some(known) => {
                    *known = PortSet::from_ranges(known.pairs().chain(exclusion.ports.pairs()));
                }
                None => ports.push(exclusion.ports.clone()),
            }
        }
        Ok(Some(Self {
            names: names.build(Some)?,
            ranges,
            ports,
        }))
    }

    /// Whether the list says nothing about this host and port.
    pub(super) fn cover(&self, subject: &Subject<'_>, port: Port) -> bool {
        match subject {
            Subject::Name(name) => self.cover_name(name, port),
            Subject::Addresses(addresses) => addresses
                .iter()
                .any(|&address| self.cover_address(address, port)),
        }
    }

    fn cover_name(&self, name: &HostName, port: Port) -> bool {
        let mut covered = false;
        self.names
            .each(name, |place, _| covered |= self.has_port(place, port));
        covered
    }

    fn cover_address(&self, address: IpAddr, port: Port) -> bool {
        let mut covered = false;
        self.ranges
            .each(address, |place, _| covered |= self.has_port(place, port));
        covered
    }

    fn has_port(&self, place: Place, port: Port) -> bool {
        self.ports
            .get(place as usize)
            .is_some_and(|ports| ports.contains(port))
    }
}
