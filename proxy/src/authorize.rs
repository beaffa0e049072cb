//! The one door: a policy verdict becomes a [`Permit`] or a [`Refusal`], with one record either
//! way. Nothing is dialled without a permit, and this is the only file that makes one.

mod outcome;

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use moat_policy::address::{AddressClass, is_localhost_name, readings};
use moat_policy::host::Host;
use moat_policy::port::Port;
use moat_policy::record::{Actor, Protocol};
use moat_policy::request::{Request, Surface, Target};
use moat_policy::verdict::{AddressVerdict, Basis, Effect, Grant, Rule, TlsRule, Verdict};

pub(crate) use self::outcome::{
    closed, established, left, refused_late, unreached, unread, unresolved,
};
use self::outcome::{recorded, refused};
use crate::config::Mode;
use crate::dial;
use crate::id::EventId;
use crate::refusal::Refusal;
use crate::worker::{Loaded, Shared, Worker};

/// One request, as its door read it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Shown in replies and records.
    pub(crate) id: EventId,
    /// The door.
    pub(crate) protocol: Protocol,
    /// Who asks.
    pub(crate) actor: Arc<Actor>,
    /// Where to.
    pub(crate) target: Target,
    /// The method for the record: a registered one or `OTHER`.
    pub(crate) method: Option<&'static str>,
}

/// A request that no policy is asked about, since it could not be read or breaks its protocol.
#[derive(Debug)]
pub(crate) struct Unread {
    /// Shown in the reply and the record.
    pub(crate) id: EventId,
    /// The door, as far as it got.
    pub(crate) protocol: Protocol,
    /// Who asked.
    pub(crate) actor: Arc<Actor>,
    /// Where to, if that much could be read.
    pub(crate) target: Option<Target>,
    /// A registered method or `OTHER`, if it could be read.
    pub(crate) method: Option<&'static str>,
}

impl Unread {
    /// With an id of its own and nothing read.
    pub(crate) fn new(worker: &Worker, protocol: Protocol, actor: &Arc<Actor>) -> Self {
        Self {
            id: worker.next_id(),
            protocol,
            actor: Arc::clone(actor),
            target: None,
            method: None,
        }
    }
}

/// What a policy let through, for one request and one dial. It cannot be copied; a dial or a
/// check-out from the pool consumes it.
#[derive(Debug)]
#[must_use]
pub(crate) struct Permit {
    asked: Asked,
    loaded: Arc<Loaded>,
    rule: Option<Arc<Rule>>,
    basis: Basis,
    /// What policy said, which observing may have overruled.
    effect: Effect,
    enforced: bool,
    grant: Grant,
    since: Instant,
}

/// Addresses of a permitted target, each of them judged. Made only here.
#[derive(Debug)]
pub(crate) struct Checked {
    addresses: Arc<[IpAddr]>,
    port: Port,
}

impl Checked {
    /// The addresses with the target's port, in the order in which they are to be tried.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        let port = self.port.number();
        let addresses = self.addresses.iter();
        addresses.map(move |&address| SocketAddr::new(address, port))
    }
}

/// A permit that has been used: enough for the tunnel and the close record.
#[derive(Debug)]
pub(crate) struct Ticket {
    permit: Permit,
    address: IpAddr,
    /// What the client was answered, once it was.
    status: Cell<Option<u16>>,
}

impl Permit {
    /// Where it leads.
    pub(crate) fn target(&self) -> &Target {
        &self.asked.target
    }

    /// Which policy judged.
    pub(crate) fn generation(&self) -> u64 {
        self.loaded.generation
    }

    /// Whether it still holds: past its rule's `until` it is void.
    pub(crate) fn is_valid(&self, now: SystemTime) -> bool {
        self.grant.until.is_none_or(|until| now < until)
    }

    /// Uses it up for a connection to this address.
    pub(crate) fn into_ticket(self, address: IpAddr) -> Ticket {
        Ticket {
            permit: self,
            address,
            status: Cell::new(None),
        }
    }
}

impl Ticket {
    /// Gives the permit back, for one more dial: only when not a byte of the request was sent.
    pub(crate) fn unspent(self) -> Permit {
        self.permit
    }

    /// The address of the connection that it was used for.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// What the tunnel must hold the client to.
    pub(crate) fn grant(&self) -> Grant {
        self.permit.grant
    }

    /// Where it leads.
    pub(crate) fn target(&self) -> &Target {
        self.permit.target()
    }

    /// Notes what the client is answered, for the close record.
    pub(crate) fn answered(&self, status: u16) {
        self.status.set(Some(status));
    }
}

/// Asks the policy. A refusal has its record already; a permit gets its own once its addresses
/// are judged ([`addresses`]) or cannot be had ([`unresolved`]).
pub(crate) fn request(
    worker: &Worker,
    asked: Asked,
    path: Option<&str>,
    method: Option<&str>,
) -> Result<Permit, Refusal> {
    let loaded = worker.policy();
    if let Some(address) = own_listener(worker, &asked.target) {
        // No policy is asked: whatever it says, the reply must not name an entry that would help.
        let refusal = Refusal::guarded(AddressClass::Listener, address);
        refused(worker, &asked, &loaded, &refusal);
        return Err(refusal);
    }
    let since = Instant::now();
    let verdict = loaded.policy.decide(&Request {
        surface: Surface::Net,
        target: &asked.target,
        method,
        path,
        now: SystemTime::now(),
    });
    worker.meter().decided(since.elapsed());
    let enforced = match verdict.effect {
        Effect::Allow if is_clear(&asked, &verdict) => {
            let refusal = Refusal::tls_required(&verdict);
            refused(worker, &asked, &loaded, &refusal);
            return Err(refusal);
        }
        Effect::Allow => true,
        Effect::Ask | Effect::Deny | Effect::Pass => {
            if !is_overruled(worker, &verdict) {
                let refusal = Refusal::verdict(&verdict).under(&loaded.policy);
                refused(worker, &asked, &loaded, &refusal);
                return Err(refusal);
            }
            false
        }
    };
    let rule = verdict.rule.map(Arc::clone);
    let (basis, effect, grant) = (verdict.basis, verdict.effect, verdict.grant);
    Ok(Permit {
        asked,
        loaded,
        rule,
        basis,
        effect,
        enforced,
        grant,
        since,
    })
}

/// Whether a request would be sent in clear where its rule requires TLS.
fn is_clear(asked: &Asked, verdict: &Verdict<'_>) -> bool {
    asked.protocol == Protocol::Http && verdict.grant.tls == TlsRule::Require
}

/// The address of a target that is a listener of this proxy by its own spelling. Names that lead
/// to one are found once they are resolved.
fn own_listener(worker: &Worker, target: &Target) -> Option<IpAddr> {
    let shared = &worker.shared;
    let holds = |address: &IpAddr| is_listener(shared, *address, target.port);
    match &target.host {
        Host::Address(address) => Some(*address).filter(holds),
        Host::Name(name) if is_localhost_name(name) => {
            let both = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            both.into_iter().find(holds)
        }
        Host::Name(_) => None,
    }
}

/// Whether a connection to this address and port would arrive at this proxy, by way of a gateway
/// to the IPv4 address inside it too.
fn is_listener(shared: &Shared, address: IpAddr, port: Port) -> bool {
    let number = port.number();
    let is_local = |address| {
        shared.interfaces.hold(address)
            || shared.own.take_all(number) && dial::is_kept_here(address)
    };
    readings(address).any(|address| shared.own.holds(address, number, is_local(address)))
}

/// Whether observing lets a refusal pass: one by default or an `ask`, never an explicit one.
fn is_overruled(worker: &Worker, verdict: &Verdict<'_>) -> bool {
    let soft = match verdict.basis {
        Basis::Default => true,
        Basis::Rule => verdict.effect == Effect::Ask,
        Basis::Guarded(_) => false,
    };
    worker.config().mode == Mode::Observe && soft
}

/// Judges every address that the target led to. One that is refused refuses them all.
pub(crate) fn addresses(
    worker: &Worker,
    permit: &Permit,
    answers: &Arc<[IpAddr]>,
) -> Result<Checked, Refusal> {
    for &address in answers.iter() {
        if let Some(refusal) = judge(worker, permit, address) {
            refused(worker, &permit.asked, &permit.loaded, &refusal);
            return Err(refusal);
        }
    }
    // With one address it is clear already which one will be dialled.
    let address = match **answers {
        [only] => Some(only),
        _ => None,
    };
    if recorded(worker, permit, address).is_err() {
        let refusal = Refusal::unrecorded();
        refused(worker, &permit.asked, &permit.loaded, &refusal);
        return Err(refusal);
    }
    Ok(Checked {
        addresses: Arc::clone(answers),
        port: permit.asked.target.port,
    })
}

fn judge(worker: &Worker, permit: &Permit, address: IpAddr) -> Option<Refusal> {
    let target = &permit.asked.target;
    if is_listener(&worker.shared, address, target.port) {
        return Some(Refusal::guarded(AddressClass::Listener, address));
    }
    let own = |address| worker.shared.interfaces.hold(address);
    if matches!(target.host, Host::Address(_)) && !readings(address).any(own) {
        return None; // `decide` judged the literal itself.
    }
    let policy = &permit.loaded.policy;
    let verdict = policy.judge_address(Surface::Net, address, target.port, &own, SystemTime::now());
    match verdict {
        AddressVerdict::Open => None,
        AddressVerdict::Guarded(class) => Some(Refusal::guarded(class, address).under(policy)),
        AddressVerdict::Refused(rule) => Some(Refusal::address_rule(rule, address)),
    }
}

/// Whether the policy that permitted a tunnel also allows another target, asked as a connection.
pub(crate) fn allows(worker: &Worker, ticket: &Ticket, target: &Target) -> bool {
    let policy = &ticket.permit.loaded.policy;
    let verdict = policy.decide(&Request::connection(target, SystemTime::now()));
    verdict.effect == Effect::Allow || is_overruled(worker, &verdict)
}

/// Whether the policy in force now would still let an open tunnel be made.
pub(crate) fn still_allows(worker: &Worker, ticket: &Ticket) -> bool {
    let loaded = worker.policy();
    if loaded.generation == ticket.permit.generation() {
        return true;
    }
    let policy = &loaded.policy;
    let (target, now) = (ticket.target(), SystemTime::now());
    let verdict = policy.decide(&Request::connection(target, now));
    if verdict.effect != Effect::Allow && !is_overruled(worker, &verdict) {
        return false;
    }
    let own = |address| worker.shared.interfaces.hold(address);
    if matches!(target.host, Host::Address(_)) && !readings(ticket.address).any(own) {
        return true;
    }
    let verdict = policy.judge_address(Surface::Net, ticket.address, target.port, &own, now);
    matches!(verdict, AddressVerdict::Open)
}

#[cfg(test)]
mod tests;
