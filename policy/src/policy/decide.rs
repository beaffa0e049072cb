//! The order of effects, and the strictest of several answers.

use std::net::IpAddr;
use std::sync::Arc;

use super::Policy;
use super::ports::{NONE, Rank};
use super::tables::{Asked, Found, LOCALHOST, Opens};
use crate::address::{
    AddressClass, Embedded, canonical, class_of, is_localhost_name, is_metadata_name, severity,
};
use crate::host::{Host, HostName};
use crate::port::Port;
use crate::request::Surface;
use crate::verdict::{
    AddressVerdict, Basis, Effect, Grant, Layer, Rule, SniRule, TlsRule, Verdict,
};

/// What the entries decide for one name or address.
#[derive(Clone, Copy, Debug)]
enum Settled {
    Deny(Rank),
    Ask(Rank),
    Allow(Rank),
    /// No entry matches.
    Nothing,
}

impl Policy {
    pub(super) fn judge(&self, host: &Host, asked: &Asked<'_>) -> Verdict<'_> {
        match host {
            Host::Name(name) if is_localhost_name(name) => {
                let [localhost, _] = LOCALHOST;
                self.judge_literal(localhost, asked)
            }
            Host::Name(name) => self.judge_name(name, asked),
            Host::Address(address) => self.judge_literal(*address, asked),
        }
    }

    fn judge_name(&self, name: &HostName, asked: &Asked<'_>) -> Verdict<'_> {
        let found = self.tables.name(&self.lists, name, asked);
        let settled = self.settle(&found);
        if matches!(settled, Settled::Nothing) && is_metadata_name(name) {
            return guarded(AddressClass::Metadata, asked.port);
        }
        self.verdict(settled, &found, asked)
    }

    /// An address written as such needs an entry, and so does each guarded address inside it.
    fn judge_literal(&self, address: IpAddr, asked: &Asked<'_>) -> Verdict<'_> {
        let outer = canonical(address);
        let mut strictest = self.judge_reading(outer, asked);
        for inner in Embedded::of(outer) {
            let inner = IpAddr::V4(inner);
            let verdict = self.judge_reading(inner, asked);
            // A public address inside needs no entry, as a public answer of a name needs none.
            if class_of(inner).is_some() || verdict.rule.is_some() {
                strictest = stricter(strictest, verdict);
            }
        }
        if let Some(rank) = self.denied_as_written(address, outer, asked) {
            let denied = self.verdict(Settled::Deny(rank), &Found::NOTHING, asked);
            strictest = stricter(strictest, denied);
        }
        strictest
    }

    fn judge_reading(&self, address: IpAddr, asked: &Asked<'_>) -> Verdict<'_> {
        let found = self.reading(address, asked);
        let settled = self.settle(&found);
        match (settled, class_of(address)) {
            (Settled::Nothing, Some(class)) => guarded(class, asked.port),
            _ => self.verdict(settled, &found, asked),
        }
    }

    /// What the entries say about one reading of an address. Nothing opens a class that is closed.
    fn reading(&self, address: IpAddr, asked: &Asked<'_>) -> Found {
        let opens = match class_of(address) {
            Some(AddressClass::Metadata) => Opens::Literal,
            Some(class) if !class.is_openable() => Opens::Nothing,
            Some(_) | None => Opens::Range,
        };
        if LOCALHOST.contains(&address) {
            self.tables.addresses(&self.lists, &LOCALHOST, asked, opens)
        } else {
            self.tables.addresses(&self.lists, &[address], asked, opens)
        }
    }

    /// A deny of the IPv6 range around an IPv4-mapped address denies it too.
    fn denied_as_written(&self, address: IpAddr, outer: IpAddr, asked: &Asked<'_>) -> Option<Rank> {
        if address == outer {
            return None;
        }
        let opens = Opens::Nothing;
        let found = self.tables.addresses(&self.lists, &[address], asked, opens);
        Some(found.cell.deny).filter(|&rank| rank != NONE)
    }

    pub(super) fn judge_answer(
        &self,
        address: IpAddr,
        own: &dyn Fn(IpAddr) -> bool,
        asked: &Asked<'_>,
    ) -> AddressVerdict<'_> {
        let outer = canonical(address);
        if let Some(rank) = self.denied_as_written(address, outer, asked) {
            return self.refused(rank);
        }
        let mut answer = self.answer(outer, own, asked);
        for inner in Embedded::of(outer) {
            let inner = self.answer(IpAddr::V4(inner), own, asked);
            answer = match (answer, inner) {
                (AddressVerdict::Refused(_), _) => answer,
                (_, AddressVerdict::Refused(_)) | (AddressVerdict::Open, _) => inner,
                (AddressVerdict::Guarded(outer), AddressVerdict::Guarded(class))
                    if severity(class) > severity(outer) =>
                {
                    inner
                }
                (AddressVerdict::Guarded(_), _) => answer,
            };
        }
        answer
    }

    fn answer(
        &self,
        address: IpAddr,
        own: &dyn Fn(IpAddr) -> bool,
        asked: &Asked<'_>,
    ) -> AddressVerdict<'_> {
        match self.settle(&self.reading(address, asked)) {
            Settled::Deny(rank) | Settled::Ask(rank) => self.refused(rank),
            Settled::Allow(_) => AddressVerdict::Open,
            Settled::Nothing => {
                let own = || own(address).then_some(AddressClass::Own);
                let class = class_of(address).or_else(own);
                class.map_or(AddressVerdict::Open, AddressVerdict::Guarded)
            }
        }
    }

    fn refused(&self, rank: Rank) -> AddressVerdict<'_> {
        match self.rule(rank) {
            Some(rule) => AddressVerdict::Refused(rule),
            // A rank without a rule cannot be; were it so, the address would stay shut.
            None => AddressVerdict::Guarded(AddressClass::Reserved),
        }
    }

    /// Any deny; then a project's ask; then an ask of a layer that is more trusted than the
    /// allow's; then an allow; then an ask.
    fn settle(&self, found: &Found) -> Settled {
        let cell = &found.cell;
        if cell.deny != NONE {
            return Settled::Deny(cell.deny);
        }
        if cell.project_ask != NONE {
            return Settled::Ask(cell.project_ask);
        }
        match (cell.ask, cell.allow) {
            (NONE, NONE) => Settled::Nothing,
            (NONE, allow) => Settled::Allow(allow),
            (ask, NONE) => Settled::Ask(ask),
            (ask, allow) if self.layer(ask) > self.layer(allow) => Settled::Ask(ask),
            (_, allow) => Settled::Allow(allow),
        }
    }

    fn layer(&self, rank: Rank) -> Option<Layer> {
        let (list, _) = self.tables.entry(&self.lists, rank)?;
        Some(list.layer)
    }

    fn rule(&self, rank: Rank) -> Option<&Arc<Rule>> {
        self.tables.rules.get(rank as usize)
    }

    fn verdict(&self, settled: Settled, found: &Found, asked: &Asked<'_>) -> Verdict<'_> {
        let (effect, basis, rank) = match settled {
            Settled::Deny(rank) => (Effect::Deny, Basis::Rule, Some(rank)),
            Settled::Ask(rank) => (Effect::Ask, Basis::Rule, Some(rank)),
            Settled::Allow(rank) => (Effect::Allow, Basis::Rule, Some(rank)),
            Settled::Nothing => match asked.surface {
                Surface::Net => (self.defaults.net, Basis::Default, None),
                Surface::Fetch => (self.defaults.fetch, Basis::Default, None),
            },
        };
        Verdict {
            effect,
            basis,
            rule: rank.and_then(|rank| self.rule(rank)),
            grant: match settled {
                Settled::Allow(_) => grant(found, asked.port),
                Settled::Deny(_) | Settled::Ask(_) | Settled::Nothing => narrowest(asked.port),
            },
        }
    }
}

/// The widest of what the matching allow entries grant.
fn grant(found: &Found, port: Port) -> Grant {
    let grants = found.cell.grants;
    let narrowest = narrowest(port);
    let tls = if grants.tls_any {
        TlsRule::Any
    } else if grants.tls_by_port {
        narrowest.tls
    } else {
        TlsRule::Require
    };
    Grant {
        tls,
        sni: if grants.sni_any {
            SniRule::Any
        } else {
            SniRule::Match
        },
        until: found.until.filter(|_| !found.endless),
    }
}

/// The defaults of a port.
fn narrowest(port: Port) -> Grant {
    Grant {
        tls: if port == Port::HTTPS {
            TlsRule::Require
        } else {
            TlsRule::Any
        },
        sni: SniRule::Match,
        until: None,
    }
}

fn guarded<'p>(class: AddressClass, port: Port) -> Verdict<'p> {
    Verdict {
        effect: Effect::Deny,
        basis: Basis::Guarded(class),
        rule: None,
        grant: narrowest(port),
    }
}

/// The stricter of two verdicts on one request; of two equal ones the one that says more, and of two
/// guarded classes the one that is harder to open. What both allow is what both grant.
fn stricter<'p>(one: Verdict<'p>, other: Verdict<'p>) -> Verdict<'p> {
    let says = |basis| match basis {
        Basis::Default => (0, 0),
        Basis::Guarded(class) => (1, severity(class)),
        Basis::Rule | Basis::Clear => (2, 0),
    };
    let weight = |verdict: &Verdict<'_>| (verdict.effect, says(verdict.basis));
    let mut stricter = if weight(&other) > weight(&one) {
        other
    } else {
        one
    };
    let (first, second) = (one.grant, other.grant);
    if stricter.effect == Effect::Allow {
        let both = first.tls == TlsRule::Any && second.tls == TlsRule::Any;
        stricter.grant = Grant {
            tls: if both { TlsRule::Any } else { TlsRule::Require },
            sni: if first.sni == second.sni {
                first.sni
            } else {
                SniRule::Match
            },
            until: match (first.until, second.until) {
                (Some(first), Some(second)) => Some(first.min(second)),
                (first, second) => first.or(second),
            },
        };
    }
    stricter
}
