//! The one door: a policy verdict becomes a [`Permit`] or a [`Refusal`], with one record either
//! way. Nothing is dialled without a permit, and this is the only file that makes one.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use moat_policy::address::AddressClass;
use moat_policy::host::{Host, HostName};
use moat_policy::port::Port;
use moat_policy::record::{Actor, Cause, EndedBy, Event, Protocol};
use moat_policy::request::{Request, Surface, Target};
use moat_policy::verdict::{AddressVerdict, Basis, Effect, Grant, Rule, TlsRule, Verdict};

use crate::config::{AuditOnFailure, Mode};
use crate::id::EventId;
use crate::record::{Entry, Lost, Traffic};
use crate::refusal::Refusal;
use crate::reply;
use crate::worker::{Loaded, Worker};

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

/// What is left of a permit once it has been used: enough for the tunnel and the close record.
#[derive(Debug)]
pub(crate) struct Ticket {
    asked: Asked,
    loaded: Arc<Loaded>,
    rule: Option<Arc<Rule>>,
    basis: Basis,
    effect: Effect,
    enforced: bool,
    grant: Grant,
    since: Instant,
    address: IpAddr,
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
            asked: self.asked,
            loaded: self.loaded,
            rule: self.rule,
            basis: self.basis,
            effect: self.effect,
            enforced: self.enforced,
            grant: self.grant,
            since: self.since,
            address,
        }
    }
}

impl Ticket {
    /// Gives the permit back, for one more dial: only when not a byte of the request was sent.
    pub(crate) fn unspent(self) -> Permit {
        Permit {
            asked: self.asked,
            loaded: self.loaded,
            rule: self.rule,
            basis: self.basis,
            effect: self.effect,
            enforced: self.enforced,
            grant: self.grant,
            since: self.since,
        }
    }

    /// The address of the connection that it was used for.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// What the tunnel must hold the client to.
    pub(crate) fn grant(&self) -> Grant {
        self.grant
    }

    /// Where it leads.
    pub(crate) fn target(&self) -> &Target {
        &self.asked.target
    }
}

/// Asks the policy. A refusal has its record already; a permit gets its own once its addresses
/// are judged ([`addresses`]) or cannot be had ([`unreached`]).
pub(crate) fn request(
    worker: &Worker,
    asked: Asked,
    path: Option<&str>,
    method: Option<&str>,
) -> Result<Permit, Refusal> {
    let loaded = worker.policy();
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
                let refusal = Refusal::verdict(&verdict);
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

/// Whether observing lets a refusal pass: one by default or an `ask`, never an explicit one.
fn is_overruled(worker: &Worker, verdict: &Verdict<'_>) -> bool {
    let soft = match verdict.basis {
        Basis::Default => true,
        Basis::Rule => verdict.effect == Effect::Ask,
        Basis::Guarded(_) => false,
    };
    worker.config().mode == Mode::Observe && soft
}

/// What was sent: an HTTP status, or the code of a SOCKS reply.
fn status(protocol: Protocol, refusal: &Refusal) -> u16 {
    if protocol == Protocol::Socks5 {
        reply::socks_code(refusal).into()
    } else {
        refusal.status
    }
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
    let is_own = worker.shared.interfaces.hold(address);
    if worker
        .shared
        .own
        .holds(address, target.port.number(), is_own)
    {
        return Some(Refusal::guarded(AddressClass::Listener, address));
    }
    if matches!(target.host, Host::Address(_)) && !is_own {
        return None; // `decide` judged the literal itself.
    }
    let policy = &permit.loaded.policy;
    let verdict = policy.judge_address(
        Surface::Net,
        address,
        target.port,
        is_own,
        SystemTime::now(),
    );
    match verdict {
        AddressVerdict::Open => None,
        AddressVerdict::Guarded(class) => Some(Refusal::guarded(class, address)),
        AddressVerdict::Refused(rule) => Some(Refusal::address_rule(rule, address)),
    }
}

/// Records a permit whose name did not resolve, or whose addresses could not be reached after
/// [`addresses`] had recorded the decision.
pub(crate) fn unreached(worker: &Worker, permit: &Permit, refusal: &Refusal) {
    worker.meter().failed(refusal.cause);
    if refusal.cause == Cause::Dns && recorded(worker, permit, None).is_err() {
        tracing::debug!("a decision was lost");
    }
    let traffic = Traffic {
        up: 0,
        down: 0,
        duration: permit.since.elapsed(),
        ended_by: EndedBy::Moat,
    };
    let entry = Entry {
        event: Event::Close,
        effect: Some(permit.effect),
        enforced: permit.enforced,
        status: Some(status(permit.asked.protocol, refusal)),
        cause: refusal.cause,
        rule: permit.rule.clone(),
        reason: Some(refusal.detail.clone()),
        address: refusal.address,
        traffic: Some(traffic),
        ..entry(&permit.asked, &permit.loaded)
    };
    let _ = worker.recorder().push(entry); // The recorder counts what is lost.
}

/// Whether the policy that permitted a tunnel also allows another target, asked as a connection.
pub(crate) fn allows(worker: &Worker, ticket: &Ticket, target: &Target) -> bool {
    let policy = &ticket.loaded.policy;
    let verdict = policy.decide(&Request::connection(target, SystemTime::now()));
    verdict.effect == Effect::Allow || is_overruled(worker, &verdict)
}

/// Whether the policy in force now would still let an open tunnel be made.
pub(crate) fn still_allows(worker: &Worker, ticket: &Ticket) -> bool {
    let policy = &worker.policy().policy;
    let (target, now) = (&ticket.asked.target, SystemTime::now());
    let verdict = policy.decide(&Request::connection(target, now));
    if verdict.effect != Effect::Allow && !is_overruled(worker, &verdict) {
        return false;
    }
    let own = worker.shared.interfaces.hold(ticket.address);
    if matches!(target.host, Host::Address(_)) && !own {
        return true;
    }
    let verdict = policy.judge_address(Surface::Net, ticket.address, target.port, own, now);
    matches!(verdict, AddressVerdict::Open)
}

/// Records a refusal that comes after a permit was used: a second decision of the same request.
pub(crate) fn refused_late(worker: &Worker, ticket: &Ticket, refusal: &Refusal) {
    refused(worker, &ticket.asked, &ticket.loaded, refusal);
}

/// Notes that a request is through: its tunnel is open, or its upstream has answered.
pub(crate) fn established(worker: &Worker, ticket: &Ticket) {
    worker.meter().established(ticket.since.elapsed());
}

/// Records the end of an allowed request.
pub(crate) fn closed(
    worker: &Worker,
    ticket: &Ticket,
    cause: Cause,
    (up, down): (u64, u64),
    ended_by: EndedBy,
) {
    let traffic = Traffic {
        up,
        down,
        duration: ticket.since.elapsed(),
        ended_by,
    };
    let entry = Entry {
        event: Event::Close,
        effect: Some(Effect::Allow),
        enforced: ticket.enforced,
        cause,
        rule: ticket.rule.clone(),
        address: Some(ticket.address),
        traffic: Some(traffic),
        ..entry(&ticket.asked, &ticket.loaded)
    };
    let _ = worker.recorder().push(entry); // The recorder counts what is lost.
    worker.meter().moved(up, down);
    if is_upstreams(cause) {
        worker.meter().failed(cause);
    }
    let by_rule = ticket
        .rule
        .as_ref()
        .filter(|rule| rule.effect == Effect::Allow);
    let host = by_rule.and_then(|_| ticket.asked.target.host.name());
    worker.meter().host(host.map(HostName::as_str), up, down);
}

/// Whether an end with this cause is the upstream's fault.
fn is_upstreams(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Connect | Cause::Dns | Cause::Timeout | Cause::Upstream
    )
}

/// Records a refusal of what no policy was asked about.
pub(crate) fn unread(worker: &Worker, unread: Unread, refusal: &Refusal) {
    count_refusal(worker, unread.protocol, refusal);
    let entry = Entry {
        at: SystemTime::now(),
        id: unread.id,
        event: Event::Decision,
        protocol: Some(unread.protocol),
        actor: Some(unread.actor),
        target: unread.target,
        method: unread.method,
        address: None,
        effect: Some(refusal.effect),
        enforced: true,
        cause: refusal.cause,
        status: Some(status(unread.protocol, refusal)),
        rule: None,
        reason: Some(refusal.detail.clone()),
        policy: Some(Arc::clone(worker.policy().policy.digest())),
        traffic: None,
    };
    let _ = worker.recorder().push(entry); // The recorder counts what is lost.
}

fn count_refusal(worker: &Worker, protocol: Protocol, refusal: &Refusal) {
    worker.meter().decision(protocol, refusal.effect, true);
    worker.meter().refused(refusal.cause);
}

fn refused(worker: &Worker, asked: &Asked, loaded: &Loaded, refusal: &Refusal) {
    count_refusal(worker, asked.protocol, refusal);
    let entry = Entry {
        effect: Some(refusal.effect),
        cause: refusal.cause,
        status: Some(status(asked.protocol, refusal)),
        rule: refusal.rule.clone(),
        reason: Some(refusal.detail.clone()),
        address: refusal.address,
        ..entry(asked, loaded)
    };
    let _ = worker.recorder().push(entry); // The recorder counts what is lost.
}

fn recorded(worker: &Worker, permit: &Permit, address: Option<IpAddr>) -> Result<(), Lost> {
    let cause = match permit.basis {
        Basis::Rule => Cause::Policy,
        Basis::Default => Cause::Default,
        Basis::Guarded(_) => Cause::Guarded,
    };
    let entry = Entry {
        effect: Some(permit.effect),
        enforced: permit.enforced,
        cause,
        rule: permit.rule.clone(),
        address,
        ..entry(&permit.asked, &permit.loaded)
    };
    let kept = match worker.config().audit_on_failure {
        // What is queued while nothing can be written may never be.
        AuditOnFailure::Deny if !worker.recorder().is_ready() => Err(Lost),
        AuditOnFailure::Deny => worker.recorder().push(entry),
        AuditOnFailure::Continue => {
            let _ = worker.recorder().push(entry); // The recorder counts what is lost.
            Ok(())
        }
    };
    if kept.is_ok() {
        let (protocol, effect) = (permit.asked.protocol, permit.effect);
        worker.meter().decision(protocol, effect, permit.enforced);
    }
    kept
}

/// The part of an event that every event of a request shares.
fn entry(asked: &Asked, loaded: &Loaded) -> Entry {
    Entry {
        at: SystemTime::now(),
        id: asked.id,
        event: Event::Decision,
        protocol: Some(asked.protocol),
        actor: Some(Arc::clone(&asked.actor)),
        target: Some(asked.target.clone()),
        method: asked.method,
        address: None,
        effect: None,
        enforced: true,
        cause: Cause::Done,
        status: None,
        rule: None,
        reason: None,
        policy: Some(Arc::clone(loaded.policy.digest())),
        traffic: None,
    }
}

#[cfg(test)]
mod tests;
