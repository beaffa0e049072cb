use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use moat_policy::record::{Cause, Event, Record};

use super::{Place, Sink, Writer};
use crate::record::{Entry, Health, Recorder};

/// What the next calls of `write` do.
#[derive(Clone, Copy)]
enum Act {
    /// Takes this many bytes at most.
    Take(usize),
    /// The disk is full.
    Fail,
}

/// A file that does as it is told, then takes everything.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    acts: VecDeque<Act>,
    places: VecDeque<Place>,
    health: Option<Arc<Health>>,
    /// Each finished file, and the one that is written.
    files: Vec<Vec<u8>>,
    /// What the health said whenever a write began.
    failing: Vec<bool>,
}

impl Sink for Scripted {
    fn prepare(&mut self, _length: u64) -> io::Result<Place> {
        let mut script = self.0.lock().unwrap();
        let failing = script.health.as_ref().unwrap().is_failing();
        script.failing.push(failing);
        let place = script.places.pop_front().unwrap_or(Place::Same);
        if place == Place::Fresh || script.files.is_empty() {
            script.files.push(Vec::new());
        }
        Ok(place)
    }
}

impl Write for Scripted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut script = self.0.lock().unwrap();
        let count = match script.acts.pop_front() {
            Some(Act::Fail) => return Err(io::ErrorKind::StorageFull.into()),
            Some(Act::Take(most)) => most.min(bytes.len()),
            None => bytes.len(),
        };
        let file = script.files.last_mut().unwrap();
        file.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes this many events through the script, and gives back what became of them.
fn write(events: usize, acts: &[Act], places: &[Place]) -> (Recorder, Scripted) {
    let (recorder, queue) = Recorder::bounded();
    let sink = Scripted::default();
    {
        let mut script = sink.0.lock().unwrap();
        script.acts.extend(acts);
        script.places.extend(places);
        script.health = Some(Arc::clone(recorder.health()));
    }
    for _ in 0..events {
        recorder
            .push(Entry::of_proxy(Event::Start, Cause::Done, None))
            .unwrap();
    }
    let health = Arc::clone(recorder.health());
    let closing = Arc::new(AtomicBool::new(true));
    let mut writer = Writer::new(queue, sink.clone(), health, closing);
    writer.retry = Duration::ZERO;
    writer.run();
    (recorder, sink)
}

fn numbers(file: &[u8]) -> Vec<u64> {
    let lines = std::str::from_utf8(file).unwrap().lines();
    lines
        .map(|line| serde_json::from_str::<Record>(line).unwrap().seq)
        .collect()
}

#[test]
fn every_event_is_a_line_with_the_next_number() {
    let (recorder, sink) = write(3, &[], &[]);
    let script = sink.0.lock().unwrap();
    assert_eq!(numbers(&script.files[0]), [1, 2, 3]);
    assert_eq!(recorder.health().written(), 3);
    assert_eq!(recorder.health().queued(), 0);
}

#[test]
fn a_full_disk_loses_nothing_and_is_known_until_it_is_over() {
    let acts = [Act::Take(40), Act::Fail, Act::Fail, Act::Take(7)];
    let (recorder, sink) = write(3, &acts, &[]);
    let script = sink.0.lock().unwrap();
    assert_eq!(numbers(&script.files[0]), [1, 2, 3]);
    assert_eq!(script.failing, [false, true, true]);
    assert!(recorder.is_ready());
    assert_eq!(
        (recorder.health().written(), recorder.health().lost()),
        (3, 0)
    );
}

#[test]
fn a_line_that_was_cut_by_a_move_is_written_whole_into_the_new_file() {
    let acts = [Act::Take(10), Act::Fail];
    let (_, sink) = write(2, &acts, &[Place::Same, Place::Fresh]);
    let script = sink.0.lock().unwrap();
    assert_eq!(script.files[0].len(), 10);
    assert_eq!(numbers(&script.files[1]), [1, 2]);
}

#[test]
fn a_whole_line_in_the_old_file_is_not_written_twice() {
    let (_, plain) = write(1, &[], &[]);
    let line = plain.0.lock().unwrap().files[0].len();
    let acts = [Act::Take(line + 5), Act::Fail];
    let (_, sink) = write(3, &acts, &[Place::Same, Place::Fresh]);
    let script = sink.0.lock().unwrap();
    assert_eq!(numbers(&script.files[1]), [2, 3]);
}

#[test]
fn a_full_queue_loses_the_newest_and_counts_it() {
    let (recorder, queue) = Recorder::bounded();
    let mut kept = 0;
    while recorder
        .push(Entry::of_proxy(Event::Start, Cause::Done, None))
        .is_ok()
    {
        kept += 1;
    }
    assert_eq!(recorder.health().queued(), kept);
    assert_eq!(recorder.health().lost(), 1);
    drop(queue);
}
