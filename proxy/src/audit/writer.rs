//! The writer's loop: queued events into lines, lines into the sink, in groups.
//!
//! When the sink fails, nothing that was queued is dropped: the same bytes are tried again every
//! second, and meanwhile the queue fills up, which the data path sees.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::line;
use crate::limit::Quiet;
use crate::record::{Entry, Health, Message};

/// After the first event of a group, how long others may join it. A busy proxy then wakes the
/// writer a hundred times a second and not for every request.
const GROUP: Duration = Duration::from_millis(10);
/// Bytes of one write, about.
const BATCH: usize = 256 << 10;
/// Between two attempts after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Where lines go.
pub(super) trait Sink: Write + Send {
    /// Gets ready for this many bytes that belong together.
    fn prepare(&mut self, length: u64) -> io::Result<Place>;
}

/// Whether a sink still writes where it did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// Behind what was written last.
    Same,
    /// At the beginning of a line, elsewhere.
    Fresh,
}

impl Sink for Box<dyn Sink> {
    fn prepare(&mut self, length: u64) -> io::Result<Place> {
        (**self).prepare(length)
    }
}

/// A sink that only goes on.
pub(super) struct Stream(pub(super) Box<dyn Write + Send>);

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Sink for Stream {
    fn prepare(&mut self, _length: u64) -> io::Result<Place> {
        Ok(Place::Same)
    }
}

/// The writer.
pub(super) struct Writer<S> {
    queue: Receiver<Message>,
    sink: S,
    health: Arc<Health>,
    closing: Arc<AtomicBool>,
    /// The number of the last line.
    seq: u64,
    /// Lines that are not wholly written yet.
    lines: Vec<u8>,
    /// How many.
    count: u64,
    /// How much of `lines` is written: at most its length.
    done: usize,
    retry: Duration,
    log: Quiet,
}

impl<S: Sink> Writer<S> {
    /// A writer; it ends once `closing` is set, the queue is empty and everything is written.
    pub(super) fn new(
        queue: Receiver<Message>,
        sink: S,
        health: Arc<Health>,
        closing: Arc<AtomicBool>,
    ) -> Self {
        Self {
            queue,
            sink,
            health,
            closing,
            seq: 0,
            lines: Vec::new(),
            count: 0,
            done: 0,
            retry: RETRY,
            log: Quiet::default(),
        }
    }

    /// Works until told to close.
    pub(super) fn run(mut self) {
        while let Some(entry) = self.first() {
            self.take(entry);
            if !self.is_closing() {
                std::thread::park_timeout(GROUP);
            }
            loop {
                self.gather();
                if self.lines.is_empty() {
                    break;
                }
                while let Err(error) = self.write_out() {
                    self.health.set_failing(true);
                    self.log.say(
                        || tracing::error!(%error, "cannot write the record; trying every second"),
                    );
                    std::thread::park_timeout(self.retry);
                }
                if self.health.is_failing() {
                    self.health.set_failing(false);
                    tracing::info!("the record is written again");
                }
            }
        }
    }

    /// Waits for the next event; `None` once there will be no more.
    fn first(&mut self) -> Option<Entry> {
        loop {
            let message = if self.is_closing() {
                self.queue.try_recv().ok()?
            } else {
                self.queue.recv().ok()?
            };
            if let Message::Entry(entry) = message {
                return Some(*entry);
            }
        }
    }

    /// Takes what has come meanwhile, up to one batch.
    fn gather(&mut self) {
        while self.lines.len() < BATCH {
            match self.queue.try_recv() {
                Ok(Message::Entry(entry)) => self.take(*entry),
                Ok(Message::Wake) => {}
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, entry: Entry) {
        match line::append(&mut self.lines, entry, self.seq + 1) {
            Ok(()) => {
                self.seq += 1;
                self.count += 1;
            }
            // Writing to memory does not fail; if it did, the event counts as lost.
            Err(error) => {
                self.health.add_lost();
                tracing::error!(%error, "cannot format an event");
            }
        }
    }

    fn write_out(&mut self) -> io::Result<()> {
        let left = self.lines.len() - self.done;
        let place = self.sink.prepare(u64::try_from(left).unwrap_or(u64::MAX))?;
        if place == Place::Fresh {
            // What is written of a line is elsewhere now: the whole line again.
            let written = self.lines.iter().take(self.done);
            let tail = written.rev().take_while(|&&byte| byte != b'\n').count();
            self.done -= tail;
        }
        while let Some(rest) = self.lines.get(self.done..).filter(|rest| !rest.is_empty()) {
            match self.sink.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.sink.flush()?;
        self.health.add_written(self.count);
        self.lines.clear();
        (self.count, self.done) = (0, 0);
        Ok(())
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests;
