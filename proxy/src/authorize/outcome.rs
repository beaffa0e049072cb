//! What becomes of requests, as records and as metrics: one decision each, one close for each that
//! was allowed, and a second decision where a refusal comes late.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use moat_policy::host::HostName;
use moat_policy::record::{Cause, EndedBy, Event, Protocol};
use moat_policy::verdict::{Basis, Effect};

use super::{Asked, Permit, Ticket, Unread};
use crate::config::AuditOnFailure;
use crate::record::{Entry, Lost, Traffic};
use crate::refusal::Refusal;
use crate::reply;
use crate::worker::{Loaded, Worker};

/// Records a permit whose name did not resolve, so that its addresses were never judged: an allow,
/// and its end. Without a record it is no allow; the refusal to send comes back.
pub(crate) fn unresolved(worker: &Worker, permit: &Permit, refusal: Refusal) -> Refusal {
    if recorded(worker, permit, None).is_err() {
        let refusal = Refusal::unrecorded();
        refused(worker, &permit.asked, &permit.loaded, &refusal);
        return refusal;
    }
    unreached(worker, permit, &refusal);
    refusal
}

/// Records the end of a permit whose addresses could not be reached.
pub(crate) fn unreached(worker: &Worker, permit: &Permit, refusal: &Refusal) {
    // A client that left is nobody's failure, and was sent nothing.
    let has_left = refusal.cause == Cause::Client;
    if !has_left {
        worker.meter().failed(refusal.cause);
    }
    let traffic = Traffic {
        up: 0,
        down: 0,
        duration: permit.since.elapsed(),
        ended_by: if has_left {
            EndedBy::Client
        } else {
            EndedBy::Moat
        },
    };
    let entry = Entry {
        status: (!has_left).then(|| status(permit.asked.protocol, refusal)),
        reason: Some(refusal.detail.clone()),
        address: refusal.address,
        ..close(permit, refusal.cause, traffic)
    };
    let _ = worker.recorder().push(entry); // The recorder counts what is lost.
}

/// Records a refusal that comes after a permit was used: a second decision of the same request.
/// `sent` is what says so, where the client has not been answered already.
pub(crate) fn refused_late(worker: &Worker, ticket: &Ticket, refusal: &Refusal, sent: Option<u16>) {
    let permit = &ticket.permit;
    refused_with(worker, &permit.asked, &permit.loaded, refusal, sent);
}

/// Records that the policy in force now refuses what another one permitted: a second decision of
/// the same request.
pub(crate) fn refused_anew(worker: &Worker, ticket: &Ticket, refusal: &Refusal) {
    refused(worker, &ticket.permit.asked, &worker.policy(), refusal);
}

/// Notes that a request is through, and what it was answered: its tunnel is open, or its upstream
/// has answered.
pub(crate) fn established(worker: &Worker, ticket: &Ticket, status: u16) {
    ticket.answered(status);
    worker.meter().established(ticket.permit.since.elapsed());
}

/// Records the end of an allowed request, and counts it as a failure where the upstream's it is.
pub(crate) fn closed(
    worker: &Worker,
    ticket: &Ticket,
    cause: Cause,
    moved: (u64, u64),
    ended_by: EndedBy,
) {
    ended(worker, ticket, cause, moved, ended_by);
    if is_upstreams(cause) {
        worker.meter().failed(cause);
    }
}

/// Records the end of a tunnel, in which silence is nobody's failure.
pub(crate) fn left(
    worker: &Worker,
    ticket: &Ticket,
    cause: Cause,
    moved: (u64, u64),
    ended_by: EndedBy,
) {
    ended(worker, ticket, cause, moved, ended_by);
    if cause == Cause::Upstream {
        worker.meter().failed(cause);
    }
}

fn ended(
    worker: &Worker,
    ticket: &Ticket,
    cause: Cause,
    (up, down): (u64, u64),
    ended_by: EndedBy,
) {
    let permit = &ticket.permit;
    let traffic = Traffic {
        up,
        down,
        duration: permit.since.elapsed(),
        ended_by,
    };
    let entry = Entry {
        address: Some(ticket.address),
        status: ticket.status.get(),
        ..close(permit, cause, traffic)
    };
    let _ = worker.recorder().push(entry); // The recorder counts what is lost.
    let rule = permit.rule.as_ref();
    let by_rule = rule.filter(|rule| rule.effect == Effect::Allow);
    let host = by_rule.and_then(|_| permit.asked.target.host.name());
    worker.meter().host(host.map(HostName::as_str), up, down);
}

/// Whether an end with this cause is the upstream's fault.
fn is_upstreams(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Connect | Cause::Dns | Cause::Timeout | Cause::Upstream
    )
}

/// Records a refusal of what no policy was asked about, and what is sent to say so.
pub(crate) fn unread(worker: &Worker, unread: Unread, refusal: &Refusal, sent: Option<u16>) {
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
        status: sent,
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

pub(super) fn refused(worker: &Worker, asked: &Asked, loaded: &Loaded, refusal: &Refusal) {
    let sent = Some(status(asked.protocol, refusal));
    refused_with(worker, asked, loaded, refusal, sent);
}

fn refused_with(
    worker: &Worker,
    asked: &Asked,
    loaded: &Loaded,
    refusal: &Refusal,
    sent: Option<u16>,
) {
    count_refusal(worker, asked.protocol, refusal);
    let entry = Entry {
        effect: Some(refusal.effect),
        cause: refusal.cause,
        status: sent,
        rule: refusal.rule.clone(),
        reason: Some(refusal.detail.clone()),
        address: refusal.address,
        ..entry(asked, loaded)
    };
    let _ = worker.recorder().push(entry); // The recorder counts what is lost.
}

pub(super) fn recorded(
    worker: &Worker,
    permit: &Permit,
    address: Option<IpAddr>,
) -> Result<(), Lost> {
    let cause = match permit.basis {
        Basis::Rule => Cause::Policy,
        Basis::Default => Cause::Default,
        Basis::Guarded(_) => Cause::Guarded,
        Basis::Clear => Cause::Sni,
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

/// The end of an allowed request, under what policy said of it.
fn close(permit: &Permit, cause: Cause, traffic: Traffic) -> Entry {
    Entry {
        event: Event::Close,
        effect: Some(permit.effect),
        enforced: permit.enforced,
        cause,
        rule: permit.rule.clone(),
        traffic: Some(traffic),
        ..entry(&permit.asked, &permit.loaded)
    }
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

/// What was sent: an HTTP status, or the code of a SOCKS reply.
fn status(protocol: Protocol, refusal: &Refusal) -> u16 {
    if protocol == Protocol::Socks5 {
        reply::socks_code(refusal).into()
    } else {
        refusal.status
    }
}
