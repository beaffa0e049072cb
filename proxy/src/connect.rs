//! The CONNECT door: authority, permit, addresses, dial, 200, tunnel.

use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use moat_policy::record::{Actor, Cause, EndedBy, Protocol};
use moat_policy::request::Target;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::authorize::{self, Asked, Checked, Permit, Ticket, Unread};
use crate::client::ClientStream;
use crate::dial::dial;
use crate::head::{Framing, Head};
use crate::refusal::Refusal;
use crate::reply::{self, Form, Reply, Then};
use crate::tunnel::{self, Ends, Opening};
use crate::worker::Worker;
use crate::{linger, target};

/// What a CONNECT asks for, read out of its head.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Where to, or why not, with the target as far as it could be read.
    target: Result<Target, (Option<Target>, Refusal)>,
    form: Form,
}

impl Wanted {
    /// Reads authority and Host.
    pub(crate) fn new(head: &Head<'_>) -> Self {
        Self {
            target: Self::read(head),
            form: if head.json { Form::Json } else { Form::Text },
        }
    }

    fn read(head: &Head<'_>) -> Result<Target, (Option<Target>, Refusal)> {
        let target = target::parse_authority(head.target).map_err(|fault| (None, fault))?;
        let fault = match head.host {
            // The bytes behind the head are the tunnel's (RFC 9110, section 9.3.6).
            _ if head.body != Framing::Empty => Refusal::malformed("a CONNECT has no body"),
            None => return Ok(target),
            Some(host) => match target::agree_authority(&target, host) {
                Ok(()) => return Ok(target),
                Err(fault) => fault,
            },
        };
        Err((Some(target), fault))
    }
}

/// Serves one CONNECT; the connection ends with it.
pub(crate) async fn serve(
    worker: &Worker,
    mut stream: ClientStream,
    actor: Arc<Actor>,
    wanted: Wanted,
    early: BytesMut,
) {
    let mut unread = Unread::new(worker, Protocol::Connect, &actor);
    let id = unread.id;
    let opened = match wanted.target {
        Err((target, refusal)) => {
            unread.method = Some("CONNECT");
            unread.target.clone_from(&target);
            authorize::unread(worker, unread, &refusal, Some(refusal.status));
            Err((target, refusal))
        }
        Ok(target) => {
            let asked = Asked {
                id,
                protocol: Protocol::Connect,
                actor,
                target: target.clone(),
                method: Some("CONNECT"),
                exact: None,
            };
            // Boxed: what it needs while it looks up and dials is not kept for the tunnel's life.
            let opened = Box::pin(open(worker, asked, left(&stream, &early))).await;
            opened.map_err(|refusal| (Some(target), refusal))
        }
    };
    match opened {
        // Nobody hears an answer.
        Err((_, refusal)) if refusal.cause == Cause::Client => {}
        Err((target, refusal)) => {
            drop(early);
            let reply = Reply {
                refusal: &refusal,
                target: target.as_ref(),
                id,
                form: wanted.form,
                then: Then::Close,
            };
            linger::say(&mut stream, &reply.to_bytes()).await;
        }
        Ok((upstream, ticket)) => {
            let ends = Ends {
                client: stream,
                early: early.into(),
                upstream,
                late: Vec::new(),
            };
            carry(worker, ticket, ends, reply::ESTABLISHED, 200).await;
        }
    }
}

/// Tells the client that its tunnel is open, in the words of its door, and carries the tunnel.
pub(crate) async fn carry(
    worker: &Worker,
    ticket: Ticket,
    mut ends: Ends,
    answer: &[u8],
    status: u16,
) {
    let told = tell(worker, &mut ends.client, answer).await;
    if let Err((cause, by)) = told {
        authorize::left(worker, &ticket, cause, (0, 0), by);
        return;
    }
    authorize::established(worker, &ticket, status);
    tunnel::serve(worker, ticket, ends, Opening::Judged).await;
}

/// Sends the answer; a client that takes nothing is waited for no longer than a silent tunnel.
async fn tell(
    worker: &Worker,
    client: &mut ClientStream,
    answer: &[u8],
) -> Result<(), (Cause, EndedBy)> {
    // Flushed: TLS may hold back what its socket does not take at once.
    let said = async { client.write_all(answer).await.and(client.flush().await) };
    tokio::select! {
        biased;
        said = tokio::time::timeout(worker.config().timeouts.idle, said) => match said {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err((Cause::Client, EndedBy::Client)),
            Err(_) => Err((Cause::Timeout, EndedBy::Moat)),
        },
        () = worker.drain().over() => Err((Cause::Shutdown, EndedBy::Moat)),
    }
}

/// Resolves when a client that waits for its tunnel has left. One that ends its sending before it
/// has sent anything through the tunnel has, too.
pub(crate) async fn left(client: &ClientStream, early: &[u8]) {
    if early.is_empty() {
        client.deserted().await;
    } else {
        client.gone().await;
    }
}

/// From a parsed request to a connected upstream, while the client is there: what every door does.
pub(crate) async fn open(
    worker: &Worker,
    asked: Asked,
    gone: impl Future<Output = ()>,
) -> Result<(TcpStream, Ticket), Refusal> {
    let mut gone = pin!(gone);
    let (permit, checked) = judge(worker, asked, gone.as_mut()).await?;
    reach(worker, permit, &checked, gone).await
}

/// From a parsed request to judged addresses, while the client is there. The decision is recorded
/// either way.
pub(crate) async fn judge(
    worker: &Worker,
    asked: Asked,
    gone: impl Future<Output = ()>,
) -> Result<(Permit, Checked), Refusal> {
    let permit = authorize::request(worker, asked)?;
    let resolved = tokio::select! {
        biased;
        resolved = worker.resolver.resolve(&permit) => resolved,
        refusal = in_vain(worker, gone) => Err(refusal),
    };
    let answers = resolved.map_err(|refusal| authorize::unresolved(worker, &permit, refusal))?;
    let checked = authorize::addresses(worker, &permit, &answers)?;
    Ok((permit, checked))
}

/// From judged addresses to a connected upstream, while the client is there.
pub(crate) async fn reach(
    worker: &Worker,
    permit: Permit,
    checked: &Checked,
    gone: impl Future<Output = ()>,
) -> Result<(TcpStream, Ticket), Refusal> {
    let started = Instant::now();
    let limit = worker.config().timeouts.connect;
    let dialled = dial(permit, checked, limit, in_vain(worker, gone)).await;
    worker.meter().dialled(started.elapsed());
    match dialled {
        Ok(dialled) => Ok(dialled),
        Err((permit, refusal)) => {
            authorize::unreached(worker, &permit, &refusal);
            Err(refusal)
        }
    }
}

/// Resolves when nobody waits for an upstream any more, and says why.
async fn in_vain(worker: &Worker, gone: impl Future<Output = ()>) -> Refusal {
    tokio::select! {
        biased;
        () = worker.drain().over() => Refusal::shutting_down(),
        () = gone => Refusal::left(),
    }
}
