//! The one door: a policy verdict becomes a [`Permit`] or a [`Refusal`], with one record either
//! way. Nothing is dialled without a permit, and this is the only file that makes one.

mod outcome;

use std::cell::Cell;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use moat_policy::address::{AddressClass, is_localhost_name, readings};
use moat_policy::host::Host;
use moat_policy::port::Port;
use moat_policy::record::{Actor, Protocol};
use moat_policy::request::{Request, Surface, Target, Wire};
use moat_policy::verdict::{AddressVerdict, Basis, Effect, Grant, Rule, Verdict};

pub(crate) use self::outcome::{
    closed, established, left, refused_anew, refused_late, unreached, unread, unresolved,
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
    /// What the policy may know of a plain HTTP request; of a connection it knows nothing more.
    pub(crate) exact: Option<Box<Exact>>,
}

/// Method and path as the client sent them: for the policy alone, never for a record.
#[derive(Clone)]
pub(crate) struct Exact {
    /// The method.
    pub(crate) method: Box<str>,
    /// The path without the query; `None` for `*`.
    pub(crate) path: Option<Box<str>>,
}

impl fmt::Debug for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exact")
    }
}

impl Asked {
    fn wire(&self) -> Wire {
        if self.protocol == Protocol::Http {
            Wire::Clear
        } else {
            Wire::Unseen
        }
    }

    fn question(&self, now: SystemTime) -> Request<'_> {
        let exact = self.exact.as_deref();
        Request {
            surface: Surface::Net,
            target: &self.target,
            method: exact.map(|exact| &*exact.method),
            path: exact.and_then(|exact| exact.path.as_deref()),
            wire: self.wire(),
            now,
        }
    }
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
pub(crate) fn request(worker: &Worker, asked: Asked) -> Result<Permit, Refusal> {
    let loaded = worker.policy();
    let since = Instant::now();
    let answered = ask(worker, &asked, &loaded);
    worker.meter().decided(since.elapsed());
    let (verdict, enforced) = match answered {
        Ok(answered) => answered,
        Err(refusal) => {
            refused(worker, &asked, &loaded, &refusal);
            return Err(refusal);
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

/// What a policy says to a request, and whether that is enforced; or why the request ends here.
fn ask<'l>(
    worker: &Worker,
    asked: &Asked,
    loaded: &'l Loaded,
) -> Result<(Verdict<'l>, bool), Refusal> {
    if let Some(address) = own_listener(worker, &asked.target) {
        // No policy is asked: whatever it says, the reply must not name an entry that would help.
        return Err(Refusal::guarded(AddressClass::Listener, address));
    }
    let verdict = loaded.policy.decide(&asked.question(SystemTime::now()));
    match verdict.effect {
        Effect::Allow => Ok((verdict, true)),
        Effect::Ask | Effect::Deny | Effect::Pass => {
            if is_overruled(worker, &verdict, asked.wire()) {
                return Ok((verdict, false));
            }
            Err(Refusal::verdict(&verdict, asked.wire()).under(&loaded.policy))
        }
    }
}

/// A second permit for a request whose first one led to a connection that had ended: the same
/// question, asked anew. The addresses are judged anew too. It has a record of its own only where
/// it is a refusal, or where another policy decided.
pub(crate) fn renew(
    worker: &Worker,
    ticket: &Ticket,
    checked: &Checked,
) -> Result<Permit, Refusal> {
    let first = &ticket.permit;
    let mut permit = request(worker, first.asked.clone())?;
    permit.since = first.since;
    if permit.generation() == first.generation() {
        judge_all(worker, &permit, &checked.addresses)?;
    } else {
        addresses(worker, &permit, &checked.addresses)?;
    }
    Ok(permit)
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

/// Whether observing lets a refusal pass: one by default or an `ask`, never an explicit one, and
/// nothing in clear where TLS is required.
fn is_overruled(worker: &Worker, verdict: &Verdict<'_>, wire: Wire) -> bool {
    let soft = match verdict.basis {
        Basis::Default => true,
        Basis::Rule => verdict.effect == Effect::Ask,
        Basis::Guarded(_) | Basis::Clear => false,
    };
    worker.config().mode == Mode::Observe && soft && !verdict.grant.refuses(wire)
}

/// Judges every address that the target led to. One that is refused refuses them all.
pub(crate) fn addresses(
    worker: &Worker,
    permit: &Permit,
    answers: &Arc<[IpAddr]>,
) -> Result<Checked, Refusal> {
    judge_all(worker, permit, answers)?;
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

/// Refuses a permit of which one address is refused, with a record.
fn judge_all(worker: &Worker, permit: &Permit, answers: &[IpAddr]) -> Result<(), Refusal> {
    let (asked, loaded) = (&permit.asked, &permit.loaded);
    let mut refusals = answers
        .iter()
        .filter_map(|&address| judge(worker, asked, loaded, address));
    let Some(refusal) = refusals.next() else {
        return Ok(());
    };
    refused(worker, asked, loaded, &refusal);
    Err(refusal)
}

fn judge(worker: &Worker, asked: &Asked, loaded: &Loaded, address: IpAddr) -> Option<Refusal> {
    let target = &asked.target;
    if is_listener(&worker.shared, address, target.port) {
        return Some(Refusal::guarded(AddressClass::Listener, address));
    }
    let own = |address| worker.shared.interfaces.hold(address);
    if matches!(target.host, Host::Address(_)) && !readings(address).any(own) {
        return None; // `decide` judged the literal itself.
    }
    let policy = &loaded.policy;
    match policy.judge_address(&asked.question(SystemTime::now()), address, &own) {
        AddressVerdict::Open => None,
        AddressVerdict::Guarded(class) => Some(Refusal::guarded(class, address).under(policy)),
        AddressVerdict::Refused(rule) => Some(Refusal::address_rule(rule, address)),
    }
}

/// Whether the policy that permitted a tunnel also allows another target, asked as a connection.
pub(crate) fn allows(worker: &Worker, ticket: &Ticket, target: &Target) -> bool {
    let policy = &ticket.permit.loaded.policy;
    let verdict = policy.decide(&Request::connection(target, SystemTime::now()));
    verdict.effect == Effect::Allow || is_overruled(worker, &verdict, Wire::Unseen)
}

/// Whether the policy in force now would still let an open tunnel or exchange be made, and if not,
/// why.
pub(crate) fn recheck(worker: &Worker, ticket: &Ticket) -> Result<(), Refusal> {
    let loaded = worker.policy();
    if loaded.generation == ticket.permit.generation() {
        return Ok(());
    }
    let asked = &ticket.permit.asked;
    ask(worker, asked, &loaded)?;
    judge(worker, asked, &loaded, ticket.address).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests;
