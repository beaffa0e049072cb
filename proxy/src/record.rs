//! Decisions and closes on their way to the record: a bounded queue off the data path.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moat_policy::record::{Actor, Cause, EndedBy, Event, Protocol};
use moat_policy::request::Target;
use moat_policy::verdict::{Effect, Rule};
use tokio::sync::mpsc;

use crate::id::EventId;

/// How many events may wait for the writer.
const QUEUE: usize = 8192;

/// One event, as plain data; the writer formats it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) at: SystemTime,
    pub(crate) id: EventId,
    pub(crate) event: Event,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) actor: Option<Arc<Actor>>,
    /// What was asked for; `None` where it could not be parsed.
    pub(crate) target: Option<Target>,
    /// A registered method, or `OTHER`.
    pub(crate) method: Option<&'static str>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) effect: Option<Effect>,
    pub(crate) enforced: bool,
    pub(crate) cause: Cause,
    pub(crate) status: Option<u16>,
    pub(crate) rule: Option<Arc<Rule>>,
    pub(crate) reason: Option<Cow<'static, str>>,
    pub(crate) policy: Option<Arc<str>>,
    pub(crate) traffic: Option<Traffic>,
}

/// What an allowed request moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    /// Bytes from the client to the upstream.
    pub(crate) up: u64,
    /// Bytes from the upstream to the client.
    pub(crate) down: u64,
    /// From the decision to the end.
    pub(crate) duration: Duration,
    /// Who ended it.
    pub(crate) ended_by: EndedBy,
}

/// The event could not be queued: the writer is behind, or gone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Lost;

/// The data path's end of the queue.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    queue: Option<mpsc::Sender<Entry>>,
}

impl Recorder {
    /// A recorder that keeps nothing.
    pub(crate) fn off() -> Self {
        Self { queue: None }
    }

    /// A recorder and the writer's end of its queue.
    pub(crate) fn bounded() -> (Self, mpsc::Receiver<Entry>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (
            Self {
                queue: Some(sender),
            },
            receiver,
        )
    }

    /// Queues one event without waiting.
    pub(crate) fn push(&self, entry: Entry) -> Result<(), Lost> {
        match &self.queue {
            None => Ok(()),
            Some(queue) => queue.try_send(entry).map_err(|_| Lost),
        }
    }
}
