//! The compiled entries, and the gathering of what those that match say.

use std::cell::OnceCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::SystemTime;

use ipnet::IpNet;

use super::exclusions::Exclusions;
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
pub(super) enum Subject<'a> {
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
            method: request.method,
            path: request.path,
            ..Self::address(request.surface, request.target.port, request.now)
        }
    }

    pub(super) fn address(surface: Surface, port: Port, now: SystemTime) -> Self {
        Self {
            surface,
            port,
            now,
            method: None,
            path: None,
            read: OnceCell::new(),
        }
    }

    /// Whether the conditions of an entry hold. What is unknown never widens.
    fn meets(&self, effect: Effect, entry: &Entry) -> bool {
        if entry.until.is_some_and(|until| until <= self.now) {
            return false;
        }
        let Some(http) = &entry.http else {
            return true;
        };
        let path = self.read.get_or_init(|| self.path.map(RequestPath::new));
        match http.judge(self.method, path.as_ref()) {
            Match::Yes => true,
            Match::No => false,
            Match::Unknown => effect == Effect::Deny,
        }
    }
}

/// What the entries that match say together.
#[derive(Clone, Copy, Debug)]
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
    /// By list.
    pub(super) exclusions: Vec<Option<Exclusions>>,
}

impl Tables {
    /// What all entries say about a name. A name of a metadata service is opened by itself alone.
    pub(super) fn name(&self, lists: &[EntryList], name: &HostName, asked: &Asked<'_>) -> Found {
        let mut found = Found::NOTHING;
        let special = crate::address::is_metadata_name(name);
        for index in self.indexes(asked.surface) {
            index.names.each(name, |answer, fit| {
                let whole = !special || fit == NameFit::Exact;
                let subject = Subject::Name(name);
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
        let subject = Subject::Addresses(addresses);
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
        let mut add = |cell: &Cell, until| {
            if whole {
                found.add(cell, until);
            } else {
                let deny = Cell {
                    deny: cell.deny,
                    ..Cell::EMPTY
                };
                found.add(&deny, until);
            }
        };
        let (plain, more) = self.ports.find(answer, asked.port);
        if let Some(cell) = plain {
            add(&cell, None);
        }
        let Some(more) = more else {
            return;
        };
        for &(list, answer) in &more.guarded {
            if let (Some(cell), _) = self.ports.find(answer, asked.port)
                && !self.excludes(list, subject, asked.port)
            {
                add(&cell, None);
            }
        }
        for &rank in &more.conditional {
            let Some((ranked, list, entry)) = self.entry(lists, rank) else {
                continue;
            };
            if entry.ports.contains(asked.port)
                && asked.meets(list.effect, entry)
                && !self.excludes(ranked.list, subject, asked.port)
            {
                add(&cell_of(list, entry, rank), entry.until);
            }
        }
    }

    /// The entry with a rank, its place and its list.
    pub(super) fn entry<'p>(
        &self,
        lists: &'p [EntryList],
        rank: Rank,
    ) -> Option<(Ranked, &'p EntryList, &'p Entry)> {
        let ranked = *self.ranked.get(rank as usize)?;
        let list = lists.get(ranked.list as usize)?;
        let entry = list.entries.get(ranked.entry as usize)?;
        Some((ranked, list, entry))
    }

    fn excludes(&self, list: u32, subject: &Subject<'_>, port: Port) -> bool {
        self.exclusions
            .get(list as usize)
            .and_then(Option::as_ref)
            .is_some_and(|exclusions| exclusions.cover(subject, port))
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
