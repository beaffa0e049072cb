//! The last words on a connection, sent so that the client can read them.
//!
//! Closing a socket that holds unread bytes resets it, and a reset may overtake the answer. So the
//! sending side is shut first, and what the client still sends is thrown away for a bounded while.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use crate::scratch;

const MAX_DISCARDED: usize = 256 * 1024;
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Sends the bytes, ends the sending side and waits for the client to end its own.
pub(crate) async fn say<S>(stream: &mut S, bytes: &[u8])
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let last = async {
        stream.write_all(bytes).await?;
        stream.shutdown().await?;
        scratch::discard(stream, MAX_DISCARDED).await
    };
    // Whatever fails here: the connection ends either way, and its record is written.
    drop(tokio::time::timeout(MAX_WAIT, last).await);
}
