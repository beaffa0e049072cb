//! The request on its way to an origin, over a kept connection or a fresh one.

use std::future::pending;
use std::rc::Rc;

use http::request;
use hyper::body::Incoming;
use hyper::{Request, Response};
use moat_policy::record::{Cause, EndedBy};

use super::Exchange;
use crate::authorize::{self, Checked, Permit, Ticket};
use crate::connect;
use crate::forward::body::Upload;
use crate::pool::{ENDED, Upstream};
use crate::refusal::Refusal;
use crate::worker::Worker;

impl Exchange {
    /// Sends the request. A connection of the pool that turns out to have ended is replaced by a
    /// fresh one, once, where nobody can tell: not a byte of the request was written, or its method
    /// lets it be repeated and it has no body that was read (RFC 9110, section 9.2.2).
    pub(super) async fn send(
        &self,
        parts: request::Parts,
    ) -> Result<(Upstream, Response<Incoming>), Refusal> {
        let upstream = self.upstream.take();
        let mut upstream = upstream.ok_or_else(|| Refusal::upstream(ENDED))?;
        let spare = self.reused.then(|| parts.clone());
        let error = match upstream.send(self.request(parts, &upstream)).await {
            Ok(response) => return Ok((upstream, response)),
            Err(error) => error,
        };
        let line = &upstream.line;
        let may_repeat = |parts: &request::Parts| {
            let is_unseen = !line.has_begun() || parts.method.is_idempotent();
            is_unseen && !line.has_heard() && self.moved.is_replayable()
        };
        let Some(parts) = spare.filter(may_repeat) else {
            return Err(upstream.fault(&error));
        };
        drop(upstream);
        let mut upstream = self.replace().await?;
        match upstream.send(self.request(parts, &upstream)).await {
            Ok(response) => Ok((upstream, response)),
            Err(error) => Err(upstream.fault(&error)),
        }
    }

    fn request(&self, parts: request::Parts, upstream: &Upstream) -> Request<Upload> {
        let upload = Upload::new(Rc::clone(&self.moved), Rc::clone(&upstream.line));
        Request::from_parts(parts, upload)
    }

    /// Dials anew, by a permit of its own. Until that is used up the first ticket stays, so that the
    /// exchange has its record wherever it is cut.
    async fn replace(&self) -> Result<Upstream, Refusal> {
        let permit = match &*self.ticket.borrow() {
            Some(ticket) => authorize::renew(&self.worker, ticket, &self.checked)?,
            None => return Err(Refusal::upstream(ENDED)),
        };
        // A client that leaves ends all of this.
        match dial(&self.worker, permit, &self.checked, pending()).await {
            Ok((upstream, ticket)) => {
                self.ticket.replace(Some(ticket));
                Ok(upstream)
            }
            Err(refusal) => {
                // The record of the end is written.
                self.ticket.take();
                Err(refusal)
            }
        }
    }
}

/// A fresh upstream connection.
pub(super) async fn dial(
    worker: &Worker,
    permit: Permit,
    checked: &Checked,
    gone: impl Future<Output = ()>,
) -> Result<(Upstream, Ticket), Refusal> {
    let (stream, ticket) = connect::reach(worker, permit, checked, gone).await?;
    match Upstream::new(stream, ticket.address()).await {
        Ok(upstream) => Ok((upstream, ticket)),
        Err(refusal) => {
            authorize::closed(worker, &ticket, Cause::Upstream, (0, 0), EndedBy::Upstream);
            Err(refusal)
        }
    }
}
