//! The record file: where it goes, and the one thread that writes it.
//!
//! What is recorded is decided in `authorize`; how a line looks, in [`line`].

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Thread;
use std::time::Duration;

use crate::config::AuditTo;
use crate::error::{BindError, RunError};
use crate::record::{Message, Recorder};

mod line;
mod rotate;
mod writer;

pub(crate) use line::timestamp;
use rotate::RotatingFile;
use writer::{Sink, Writer};

/// How long the end of the proxy waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(3);

/// A record that is open and not written yet.
pub(crate) struct Audit {
    recorder: Recorder,
    work: Option<(Receiver<Message>, Box<dyn Sink>)>,
}

/// The writer at work.
#[derive(Debug)]
pub(crate) struct Running {
    recorder: Recorder,
    thread: Option<Thread>,
    closing: Arc<AtomicBool>,
    /// Gone when the writer has ended.
    ended: Receiver<()>,
}

/// Opens where records go.
pub(crate) fn open(
    to: &AuditTo,
    stdout: Option<Box<dyn Write + Send>>,
) -> Result<Audit, BindError> {
    let sink: Box<dyn Sink> = match to {
        AuditTo::Off => {
            return Ok(Audit {
                recorder: Recorder::off(),
                work: None,
            });
        }
        AuditTo::File(path) => {
            let file = RotatingFile::open(path).map_err(|source| BindError::Audit {
                path: path.display().to_string(),
                source,
            })?;
            Box::new(file)
        }
        AuditTo::Stdout => {
            let stdout = stdout.ok_or_else(|| BindError::Audit {
                path: "-".to_owned(),
                source: io::Error::other("no standard output was given"),
            })?;
            Box::new(writer::Stream(stdout))
        }
    };
    let (recorder, queue) = Recorder::bounded();
    Ok(Audit {
        recorder,
        work: Some((queue, sink)),
    })
}

impl Audit {
    /// The way to the record.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Starts the writer.
    pub(crate) fn start(self) -> Result<Running, RunError> {
        let closing = Arc::new(AtomicBool::new(false));
        let (ends, ended) = sync_channel(0);
        let thread = match self.work {
            None => None,
            Some((queue, sink)) => {
                let health = Arc::clone(self.recorder.health());
                let writer = Writer::new(queue, sink, health, Arc::clone(&closing));
                let thread = std::thread::Builder::new()
                    .name("moat-record".to_owned())
                    .spawn(move || {
                        let _ends = ends;
                        writer.run();
                    })
                    .map_err(|source| RunError::Start {
                        what: "the writer of the record",
                        source,
                    })?;
                Some(thread.thread().clone())
            }
        };
        Ok(Running {
            recorder: self.recorder,
            thread,
            closing,
            ended,
        })
    }
}

impl Running {
    /// Lets the writer finish what is queued, for a short time; what is left then is lost.
    pub(crate) fn close(self) {
        self.closing.store(true, Ordering::Release);
        self.recorder.wake();
        if let Some(thread) = &self.thread {
            thread.unpark();
        }
        if self.ended.recv_timeout(LAST_LINES) == Err(RecvTimeoutError::Timeout) {
            let lost = self.recorder.health().queued();
            self.recorder.health().give_up();
            tracing::error!(lost, "ended before the record could be written");
        }
    }
}
