//! One client connection, from its first byte to its end.

use std::sync::Arc;

use moat_policy::record::Actor;
use tokio::io::AsyncWriteExt as _;

use crate::head::{self, First};
use crate::stream::ClientStream;
use crate::worker::Worker;
use crate::{connect, reply};

/// Serves one connected client.
pub(crate) async fn serve(worker: &Worker, mut stream: ClientStream, actor: Arc<Actor>) {
    match head::read(&mut stream).await {
        Ok(First::Connect { authority, rest }) => {
            connect::serve(worker, stream, actor, &authority, rest).await;
        }
        Ok(First::Nothing) => {}
        Err(refusal) => {
            let bytes = reply::refusal(&refusal, None, worker.next_id());
            drop(stream.write_all(&bytes).await);
        }
    }
}
