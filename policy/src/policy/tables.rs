//! The compiled entries, and the gathering of what those that match say.

use std::cell::OnceCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::SystemTime;

use ipnet::IpNet;

use super::condition::Group;
use super::exclusions::{Exclusions, Subject};
use super::ports::{Answer, Cell, Grants, NONE, PortTable, Rank};
use crate::address::table::{Fit as RangeFit, RangeTable};
use crate::entry::{Entry, EntryList};
use crate::host::table::{Fit as NameFit, NameTable};
use crate::host::{HostName, Pattern};
use crate::http::{Match, RequestPath};
use crate::port::Port;
use crate::request::{Request, Surface};
use crate::verdict::{Effect, Layer, Rule, SniRule, TlsRule};

/// What patterns are held against.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hosts<'a> {
    Name(&'a HostName),
    /// The spellings of one address: two for the loopback address, which is one resource.
    Addresses(&'a [IpAddr]),
}

/// The loopback address in both families: what `localhost` is.
pub(super) const LOCALHOST: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];

/// The range that an address pattern stands for. `localhost` is filed under one of its addresses,
/// since both are asked for.
pub(super) fn range_of(pattern: &Pattern) -> Option<IpNet> {
    match pattern {
        Pattern::Range(range) => Some(*range),
        Pattern::Localhost => Some(IpNet::from(IpAddr::V4(Ipv4Addr::LOCALHOST))),
        Pattern::Exact(_)
        | Pattern::Below(_)
        | Pattern::AtOrBelow(_)
        | Pattern::Glob(_)
        | Pattern::AnyName => None,
    }
}

/// One question, beside the host.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) surface: Surface,
    pub(super) port: Port,
    pub(super) now: SystemTime,
    method: Option<&'a str>,
    path: Option<&'a str>,
    /// The path as rules judge it, read when the first rule needs it.
    read: OnceCell<Option<RequestPath<'a>>>,
}

impl<'a> Asked<'a> {
    pub(super) fn request(request: &Request<'a>) -> Self {
        Self {
            surface: request.surface,
            port: request.target.port,
            now: request.now,
            method: request.method,
            path: request.path,
            read: OnceCell::new(),
        }
    }

    fn read(&self) -> Option<&RequestPath<'a>> {
        let read = || self.path.map(RequestPath::new);
        self.read.get_or_init(read).as_ref()
    }

    /// Whether method and path are those of an entry. What is unknown never widens.
    fn meets(&self, effect: Effect, entry: &Entry) -> bool {
        let Some(http) = &entry.http else {
            return true;
        };
        match http.judge(self.method, self.read()) {
            Match::Yes => true,
            Match::No => false,
            Match::Unknown => effect == Effect::Deny,
        }
    }
}

/// What the entries that match say together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) cell: Cell,
    /// Whether an allow without end matched.
    pub(super) endless: bool,
    /// The latest end of the others.
    pub(super) until: Option<SystemTime>,
}

impl Found {
    pub(super) const NOTHING: Self = Self {
        cell: Cell::EMPTY,
        endless: false,
        until: None,
    };

    /// Whether there is anything to add.
    fn gains(&self, cell: &Cell, until: Option<SystemTime>) -> bool {
        let mut with = *self;
        with.add(cell, until);
        with != *self
    }

    fn add(&mut self, cell: &Cell, until: Option<SystemTime>) {
        self.cell.merge(cell);
        if cell.allow != NONE {
            self.endless |= until.is_none();
            self.until = self.until.max(until);
        }
    }
}

/// The lists of one surface.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) names: NameTable<Answer>,
    pub(super) ranges: RangeTable,
    /// By place, for the ranges.
    pub(super) answers: Vec<Answer>,
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    pub(super) list: u32,
    pub(super) entry: u32,
}

/// Everything that is compiled.
#[derive(Debug)]
pub(super) struct Tables {
    /// By rank: most trusted layer first, then in the order of lists and entries.
    pub(super) ranked: Vec<Ranked>,
    /// By rank too: a verdict borrows from here and so reads no entry.
    pub(super) rules: Vec<Arc<Rule>>,
    pub(super) net: Index,
    pub(super) fetch: Index,
    pub(super) ports: PortTable,
    pub(super) exclusions: Exclusions,
}

impl Tables {
    /// What all entries say about a name. A name of a metadata service is opened by itself alone.
    pub(super) fn name(&self, lists: &[EntryList], name: &HostName, asked: &Asked<'_>) -> Found {
        let mut found = Found::NOTHING;
        let subject = Subject::new(Hosts::Name(name));
        let special = crate::address::is_metadata_name(name);
        for index in self.indexes(asked.surface) {
            index.names.each(name, |answer, fit| {
                let whole = !special || fit == NameFit::Exact;
                self.gather(lists, answer, &subject, asked, whole, &mut found);
            });
        }
        found
    }

    /// What all entries say about an address, in every spelling of it.
    pub(super) fn addresses(
        &self,
        lists: &[EntryList],
        addresses: &[IpAddr],
        asked: &Asked<'_>,
        opens: Opens,
    ) -> Found {
        let mut found = Found::NOTHING;
        let subject = Subject::new(Hosts::Addresses(addresses));
        for index in self.indexes(asked.surface) {
            for &address in addresses {
                index.ranges.each(address, |place, fit| {
                    let whole = match opens {
                        Opens::Range => true,
                        Opens::Literal => fit == RangeFit::Literal,
                        Opens::Nothing => false,
                    };
                    if let Some(&answer) = index.answers.get(place as usize) {
                        self.gather(lists, answer, &subject, asked, whole, &mut found);
                    }
                });
            }
        }
        found
    }

    fn indexes(&self, surface: Surface) -> impl Iterator<Item = &Index> {
        let fetch = match surface {
            Surface::Net => None,
            Surface::Fetch => Some(&self.fetch),
        };
        std::iter::once(&self.net).chain(fetch)
    }

    fn gather(
        &self,
        lists: &[EntryList],
        answer: Answer,
        subject: &Subject<'_>,
        asked: &Asked<'_>,
        whole: bool,
        found: &mut Found,
    ) {
        let (plain, more) = self.ports.find(answer, asked.port);
        if let Some(cell) = plain {
            found.add(&part(&cell, whole), None);
        }
        let Some(more) = more else {
            return;
        };
        for &(set, answer) in &more.guarded {
            if let (Some(cell), _) = self.ports.find(answer, asked.port) {
                let cell = part(&cell, whole);
                if found.gains(&cell, None) && !self.exclusions.cover(subject, set, asked.port) {
                    found.add(&cell, None);
                }
            }
        }
        if let Some(conditional) = &more.conditional {
            let path = if conditional.asks_for_path() {
                asked.read()
            } else {
                None
            };
            conditional.each(path, |group| {
                self.try_group(lists, group, subject, asked, whole, found);
            });
        }
    }

    fn try_group(
        &self,
        lists: &[EntryList],
        group: &Group,
        subject: &Subject<'_>,
        asked: &Asked<'_>,
        whole: bool,
        found: &mut Found,
    ) {
        let Some((cell, until)) = group.at(asked.now) else {
            return;
        };
        let cell = part(&cell, whole);
        if !found.gains(&cell, until) {
            return;
        }
        let Some((list, entry)) = self.entry(lists, group.entry) else {
            return;
        };
        let excluded = |set| self.exclusions.cover(subject, set, asked.port);
        if entry.ports.contains(asked.port)
            && asked.meets(list.effect, entry)
            && !group.excluded.is_some_and(excluded)
        {
            found.add(&cell, until);
        }
    }

    /// The entry with a rank, and its list.
    pub(super) fn entry<'p>(
        &self,
        lists: &'p [EntryList],
        rank: Rank,
    ) -> Option<(&'p EntryList, &'p Entry)> {
        let ranked = self.ranked.get(rank as usize)?;
        let list = lists.get(ranked.list as usize)?;
        let entry = list.entries.get(ranked.entry as usize)?;
        Some((list, entry))
    }
}

/// Which entries may open an address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Opens {
    /// Every range that holds it.
    Range,
    /// The address itself alone.
    Literal,
    /// None.
    Nothing,
}

/// What entries say whose pattern counts as a whole, or else only denies.
fn part(cell: &Cell, whole: bool) -> Cell {
    if whole {
        return *cell;
    }
    Cell {
        deny: cell.deny,
        ..Cell::EMPTY
    }
}

/// What one entry says alone.
pub(super) fn cell_of(list: &EntryList, entry: &Entry, rank: Rank) -> Cell {
    let mut cell = Cell::EMPTY;
    match list.effect {
        Effect::Deny => cell.deny = rank,
        Effect::Ask => {
            cell.ask = rank;
            if list.layer == Layer::Project {
                cell.project_ask = rank;
            }
        }
        Effect::Allow => {
            cell.allow = rank;
            cell.grants = Grants {
                tls_any: entry.tls == Some(TlsRule::Any),
                tls_by_port: entry.tls.is_none(),
                sni_any: entry.sni == Some(SniRule::Any),
            };
        }
        // No group passes: it is a default of other kinds.
        Effect::Pass => {}
    }
    cell
}
