//! Moving bytes between a client and its upstream.

use bytes::BytesMut;
use moat_policy::record::EndedBy;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::stream::ClientStream;

/// What went through, and who ended it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Bytes from the client.
    pub(crate) up: u64,
    /// Bytes to the client.
    pub(crate) down: u64,
    /// Who ended it.
    pub(crate) by: EndedBy,
}

/// Relays until both directions are at their end.
pub(crate) async fn run(mut client: ClientStream, mut upstream: TcpStream, early: BytesMut) -> End {
    let first = u64::try_from(early.len()).unwrap_or(u64::MAX);
    if upstream.write_all(&early).await.is_err() {
        return End {
            up: 0,
            down: 0,
            by: EndedBy::Upstream,
        };
    }
    match tokio::io::copy_bidirectional(&mut client, &mut upstream).await {
        Ok((up, down)) => End {
            up: up.saturating_add(first),
            down,
            by: EndedBy::Client,
        },
        Err(_) => End {
            up: first,
            down: 0,
            by: EndedBy::Upstream,
        },
    }
}
