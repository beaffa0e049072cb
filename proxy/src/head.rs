//! The first bytes of a connection: which protocol, and for CONNECT the parsed head.

use bytes::BytesMut;
use tokio::io::AsyncReadExt as _;

use crate::refusal::Refusal;
use crate::stream::ClientStream;

/// Largest head, in bytes.
pub(crate) const MAX_HEAD: usize = 16 * 1024;
/// Most headers in a head.
pub(crate) const MAX_HEADERS: usize = 100;

/// What the first bytes are, with every byte read so far.
#[derive(Debug)]
pub(crate) enum First {
    /// A CONNECT with its authority as sent; the rest are bytes that came behind the head.
    Connect {
        /// The request target.
        authority: String,
        /// Early data.
        rest: BytesMut,
    },
    /// The client left before it sent a byte.
    Nothing,
}

/// Reads until the protocol is known, and for CONNECT to the end of the head.
pub(crate) async fn read(stream: &mut ClientStream) -> Result<First, Refusal> {
    let mut buffer = BytesMut::with_capacity(1024);
    loop {
        match stream.read_buf(&mut buffer).await {
            Ok(0) | Err(_) if buffer.is_empty() => return Ok(First::Nothing),
            Ok(0) | Err(_) => return Err(Refusal::malformed("the head ends too early")),
            Ok(_) => {}
        }
        if let Some(first) = parse(&mut buffer)? {
            return Ok(first);
        }
        if buffer.len() > MAX_HEAD {
            return Err(Refusal::head_too_large());
        }
    }
}

fn parse(buffer: &mut BytesMut) -> Result<Option<First>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let end = match request.parse(buffer) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::head_too_large()),
        Err(error) => return Err(Refusal::malformed(error.to_string())),
    };
    if request.method != Some("CONNECT") {
        return Err(Refusal::malformed("only CONNECT is served here"));
    }
    let authority = request.path.unwrap_or_default().to_owned();
    let rest = buffer.split_off(end);
    Ok(Some(First::Connect { authority, rest }))
}
