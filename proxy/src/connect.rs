//! The CONNECT door: authority, permit, addresses, dial, 200, tunnel.

use std::sync::Arc;

use bytes::BytesMut;
use moat_policy::record::{Actor, Cause, EndedBy, Protocol};
use moat_policy::request::Target;
use tokio::io::AsyncWriteExt as _;

use crate::authorize::{self, Asked};
use crate::dial::dial;
use crate::id::EventId;
use crate::refusal::Refusal;
use crate::stream::ClientStream;
use crate::worker::Worker;
use crate::{reply, target, tunnel};

/// Serves one CONNECT; the connection ends with it.
pub(crate) async fn serve(
    worker: &Worker,
    mut stream: ClientStream,
    actor: Arc<Actor>,
    authority: &str,
    early: BytesMut,
) {
    let id = worker.next_id();
    let target = match target::parse_authority(authority) {
        Ok(target) => target,
        Err(refusal) => return refuse(stream, &refusal, None, id).await,
    };
    let asked = Asked {
        id,
        protocol: Protocol::Connect,
        actor,
        target,
        method: Some("CONNECT"),
    };
    let target = asked.target.clone();
    match open(worker, asked).await {
        Err(refusal) => refuse(stream, &refusal, Some(&target), id).await,
        Ok((upstream, ticket)) => {
            if stream.write_all(reply::ESTABLISHED).await.is_err() {
                authorize::closed(worker, &ticket, Cause::Client, (0, 0), EndedBy::Client);
                return;
            }
            let end = tunnel::run(stream, upstream, early).await;
            authorize::closed(worker, &ticket, Cause::Done, (end.up, end.down), end.by);
        }
    }
}

/// From a parsed request to a connected upstream: what every door does.
pub(crate) async fn open(
    worker: &Worker,
    asked: Asked,
) -> Result<(tokio::net::TcpStream, authorize::Ticket), Refusal> {
    let permit = authorize::request(worker, asked, None, None)?;
    let answers = match worker.resolver.resolve(&permit).await {
        Ok(answers) => answers,
        Err(refusal) => {
            authorize::unreached(worker, &permit, &refusal);
            return Err(refusal);
        }
    };
    let checked = authorize::addresses(worker, &permit, &answers)?;
    match dial(permit, &checked, worker.config().timeouts.connect).await {
        Ok(dialled) => Ok(dialled),
        Err((permit, refusal)) => {
            authorize::unreached(worker, &permit, &refusal);
            Err(refusal)
        }
    }
}

async fn refuse(mut stream: ClientStream, refusal: &Refusal, target: Option<&Target>, id: EventId) {
    let bytes = reply::refusal(refusal, target, id);
    drop(stream.write_all(&bytes).await);
    drop(stream.shutdown().await);
}
