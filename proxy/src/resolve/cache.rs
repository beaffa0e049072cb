//! Answers for as long as they hold: bounded, and never stale.

use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use moat_policy::host::HostName;
use tokio::time::Instant;

use super::Answer;

const LONGEST: Duration = Duration::from_mins(5);
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST_FAILURE: Duration = Duration::from_secs(2);
/// How many names each of the two halves holds.
const HALF: usize = 2048;

/// The answers of one worker. What was not used while one half filled up is forgotten first.
#[derive(Debug, Default)]
pub(super) struct Cache {
    young: HashMap<HostName, Kept, RandomState>,
    old: HashMap<HostName, Kept, RandomState>,
}

#[derive(Debug)]
struct Kept {
    answer: Answer,
    until: Instant,
}

impl Cache {
    /// The answer for this name, if it still holds.
    pub(super) fn get(&mut self, name: &HostName, now: Instant) -> Option<Answer> {
        if let Some(kept) = self.young.get(name) {
            return (now < kept.until).then(|| kept.answer.clone());
        }
        let kept = self.old.remove(name)?;
        if kept.until <= now {
            return None;
        }
        let answer = kept.answer.clone();
        self.keep(name.clone(), kept);
        Some(answer)
    }

    /// Keeps an answer for its time to live: 1 s to 5 min, and a failure at most 2 s.
    pub(super) fn put(&mut self, name: HostName, answer: Answer, ttl: Duration, now: Instant) {
        let longest = if answer.is_ok() {
            LONGEST
        } else {
            LONGEST_FAILURE
        };
        let until = now + ttl.clamp(SHORTEST, longest);
        self.old.remove(&name);
        self.keep(name, Kept { answer, until });
    }

    fn keep(&mut self, name: HostName, kept: Kept) {
        if self.young.len() >= HALF && !self.young.contains_key(&name) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(name, kept);
    }
}

#[cfg(test)]
mod tests;
