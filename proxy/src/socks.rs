//! The SOCKS5 door (RFC 1928): CONNECT by name or address, without authentication. Everything
//! else is refused with the code that the protocol has for it.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use moat_policy::host::Host;
use moat_policy::port::Port;
use moat_policy::record::{Actor, Cause, Protocol};
use moat_policy::request::Target;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::authorize::{self, Asked, Unread};
use crate::client::ClientStream;
use crate::connect;
use crate::linger;
use crate::refusal::Refusal;
use crate::reply;
use crate::tunnel::Ends;
use crate::worker::Worker;

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: &[u8] = &[VERSION, 0xff];
const CONNECT: u8 = 1;

/// Reply codes (RFC 1928, section 6).
mod code {
    pub(super) const SUCCEEDED: u8 = 0;
    pub(super) const FAILURE: u8 = 1;
    pub(super) const COMMAND: u8 = 7;
    pub(super) const ADDRESS_TYPE: u8 = 8;
}

/// A handshake that ends here, and the bytes that say so, if there are any.
struct Failed {
    refusal: Refusal,
    /// The one among the bytes that tells why.
    code: Option<u8>,
    reply: Vec<u8>,
}

impl Failed {
    fn new(code: u8, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            refusal: Refusal::malformed(detail),
            code: Some(code),
            reply: answer(code).to_vec(),
        }
    }

    /// Before the first reply of the protocol there is no code to say it with.
    fn silent(refusal: Refusal) -> Self {
        Self {
            refusal,
            code: None,
            reply: Vec::new(),
        }
    }
}

/// Serves one SOCKS client; the connection ends with it. `early` begins with the first byte.
pub(crate) async fn serve(
    worker: &Worker,
    mut stream: ClientStream,
    actor: Arc<Actor>,
    mut early: BytesMut,
) {
    let limit = worker.config().timeouts.head;
    let read = tokio::select! {
        biased;
        read = tokio::time::timeout(limit, handshake(&mut stream, &mut early)) => {
            read.unwrap_or_else(|_| Err(Failed::silent(Refusal::head_too_slow())))
        }
        () = worker.drain().over() => Err(Failed::silent(Refusal::shut_down_unread())),
    };
    let unread = Unread::new(worker, Protocol::Socks5, &actor);
    let id = unread.id;
    let target = match read {
        Ok(target) => target,
        Err(failed) => {
            authorize::unread(worker, unread, &failed.refusal, failed.code.map(u16::from));
            return linger::say(&mut stream, &failed.reply).await;
        }
    };
    let asked = Asked {
        id,
        protocol: Protocol::Socks5,
        actor,
        target,
        method: None,
        exact: None,
    };
    let gone = connect::left(&stream, &early);
    match Box::pin(connect::open(worker, asked, gone)).await {
        // Nobody hears an answer.
        Err(refusal) if refusal.cause == Cause::Client => {}
        Err(refusal) => linger::say(&mut stream, &answer(reply::socks_code(&refusal))).await,
        Ok((upstream, ticket)) => {
            let ends = Ends {
                client: stream,
                early: early.into(),
                upstream,
                late: Vec::new(),
            };
            let code = code::SUCCEEDED;
            connect::carry(worker, ticket, ends, &answer(code), code.into()).await;
        }
    }
}

/// A reply. Its address is not the one that was dialled from, which is nobody's business.
fn answer(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

fn ended() -> Failed {
    Failed::silent(Refusal::malformed("the SOCKS handshake ends too early"))
}

/// Reads both messages of the handshake and takes them out of the buffer.
async fn handshake(stream: &mut ClientStream, buffer: &mut BytesMut) -> Result<Target, Failed> {
    let length = loop {
        match methods(buffer)? {
            Some(length) => break length,
            None => more(stream, buffer).await?,
        }
    };
    buffer.advance(length);
    let sent = stream.write_all(&[VERSION, NO_AUTHENTICATION]).await;
    sent.map_err(|_| ended())?;
    loop {
        match request(buffer)? {
            Some((target, length)) => {
                buffer.advance(length);
                return Ok(target);
            }
            None => more(stream, buffer).await?,
        }
    }
}

async fn more(stream: &mut ClientStream, buffer: &mut BytesMut) -> Result<(), Failed> {
    match stream.read_buf(buffer).await {
        Ok(1..) => Ok(()),
        Ok(0) | Err(_) => Err(ended()),
    }
}

/// The first message: the length of a whole one that offers to go without authentication.
fn methods(bytes: &[u8]) -> Result<Option<usize>, Failed> {
    match bytes.first() {
        None | Some(&VERSION) => {}
        Some(_) => {
            return Err(Failed {
                refusal: Refusal::malformed("only SOCKS version 5 is served"),
                code: reply::SOCKS4_REJECTED.get(1).copied(),
                reply: reply::SOCKS4_REJECTED.to_vec(),
            });
        }
    }
    let Some(&count) = bytes.get(1) else {
        return Ok(None);
    };
    let length = 2 + usize::from(count);
    let Some(offered) = bytes.get(2..length) else {
        return Ok(None);
    };
    if offered.contains(&NO_AUTHENTICATION) {
        return Ok(Some(length));
    }
    Err(Failed {
        refusal: Refusal::malformed("the SOCKS client insists on authentication"),
        code: NO_METHOD.get(1).copied(),
        reply: NO_METHOD.to_vec(),
    })
}

/// The second message: its target and its length.
fn request(bytes: &[u8]) -> Result<Option<(Target, usize)>, Failed> {
    let (Some(&version), Some(&command)) = (bytes.first(), bytes.get(1)) else {
        return Ok(None);
    };
    if version != VERSION {
        return Err(Failed::new(code::FAILURE, "the SOCKS version changes"));
    }
    if command != CONNECT {
        return Err(Failed::new(
            code::COMMAND,
            "of the SOCKS commands only CONNECT is served",
        ));
    }
    let (Some(&reserved), Some(&kind)) = (bytes.get(2), bytes.get(3)) else {
        return Ok(None);
    };
    if reserved != 0 {
        return Err(Failed::new(code::FAILURE, "the SOCKS request is malformed"));
    }
    let (host, length) = match kind {
        1 => match bytes.get(4..8).and_then(|bytes| bytes.first_chunk::<4>()) {
            Some(&octets) => (Host::Address(Ipv4Addr::from(octets).into()), 8),
            None => return Ok(None),
        },
        4 => match bytes.get(4..20).and_then(|bytes| bytes.first_chunk::<16>()) {
            Some(&octets) => (Host::Address(Ipv6Addr::from(octets).into()), 20),
            None => return Ok(None),
        },
        3 => match name(bytes)? {
            Some(named) => named,
            None => return Ok(None),
        },
        _ => {
            return Err(Failed::new(
                code::ADDRESS_TYPE,
                "the SOCKS address is of no known type",
            ));
        }
    };
    let port = bytes.get(length..length + 2);
    let Some(&port) = port.and_then(|bytes| bytes.first_chunk::<2>()) else {
        return Ok(None);
    };
    let port = Port::from_number(u16::from_be_bytes(port))
        .ok_or_else(|| Failed::new(code::FAILURE, "the port must be 1 to 65535"))?;
    Ok(Some((Target { host, port }, length + 2)))
}

/// A name, and where it ends.
fn name(bytes: &[u8]) -> Result<Option<(Host, usize)>, Failed> {
    let Some(&count) = bytes.get(4) else {
        return Ok(None);
    };
    let end = 5 + usize::from(count);
    let Some(text) = bytes.get(5..end) else {
        return Ok(None);
    };
    match Host::parse(text) {
        Ok(host) => Ok(Some((host, end))),
        Err(error) => Err(Failed::new(code::FAILURE, error.to_string())),
    }
}

#[cfg(test)]
mod tests;
