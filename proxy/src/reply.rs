//! Every response that Moat makes itself.

use std::fmt::Write as _;

use moat_policy::request::Target;

use crate::id::EventId;
use crate::refusal::Refusal;

/// The answer to a CONNECT that is through.
pub(crate) const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// The bytes of a refusal in HTTP/1.1, which ends the connection.
pub(crate) fn refusal(refusal: &Refusal, target: Option<&Target>, id: EventId) -> Vec<u8> {
    let what = target.map_or_else(String::new, |target| format!("{target} "));
    let body = format!("{what}{}\n", refusal.detail);
    let mut text = String::with_capacity(512);
    let status = refusal.status;
    let _ = write!(
        text,
        "HTTP/1.1 {status} {what}{}\r\nMoat-Decision: {}\r\nMoat-Id: {id}\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        refusal.detail,
        refusal.effect,
        body.len(),
    );
    text.into_bytes()
}
