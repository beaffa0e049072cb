//! A second matcher, written apart from the first: maps of strings, nothing shared.

use std::collections::HashMap;

use moat_policy::verdict::Effect;

use super::generate;

/// The patterns of each kind by the text that a name must have.
pub(super) struct Oracle {
    exact: HashMap<String, Vec<usize>>,
    below: HashMap<String, Vec<usize>>,
    /// By the labels after the one with the star; the text is the whole pattern.
    globs: HashMap<String, Vec<(String, usize)>>,
}

impl Oracle {
    pub(super) fn new(patterns: &[String]) -> Self {
        let mut oracle = Self {
            exact: HashMap::new(),
            below: HashMap::new(),
            globs: HashMap::new(),
        };
        for (number, pattern) in patterns.iter().enumerate() {
            oracle.file(pattern, number);
        }
        oracle
    }

    fn file(&mut self, pattern: &str, number: usize) {
        if let Some(tail) = pattern.strip_prefix("**.") {
            self.exact.entry(tail.to_owned()).or_default().push(number);
            self.below.entry(tail.to_owned()).or_default().push(number);
        } else if let Some(tail) = pattern.strip_prefix("*.") {
            self.below.entry(tail.to_owned()).or_default().push(number);
        } else if let Some((_, rest)) = pattern.rsplit_once('*') {
            let tail = rest.split_once('.').map_or("", |(_, tail)| tail);
            let globs = self.globs.entry(tail.to_owned()).or_default();
            globs.push((pattern.to_owned(), number));
        } else {
            let exact = self.exact.entry(pattern.to_owned()).or_default();
            exact.push(number);
        }
    }

    /// The effect for a host and port, and the number of the pattern that decides.
    pub(super) fn decide(&self, host: &str, port: u16) -> (Effect, Option<u32>) {
        let mut found: Vec<usize> = self.exact.get(host).cloned().unwrap_or_default();
        let mut rest = host;
        while let Some((_, tail)) = rest.split_once('.') {
            found.extend(self.below.get(tail).into_iter().flatten());
            let globs = self.globs.get(tail).into_iter().flatten();
            found.extend(
                globs
                    .filter(|(glob, _)| like(glob, host))
                    .map(|(_, at)| *at),
            );
            rest = tail;
        }
        found.sort_unstable();
        let web = port == 80 || port == 443;
        for effect in [Effect::Deny, Effect::Allow, Effect::Ask] {
            let first = found
                .iter()
                .find(|&&at| generate::effect(at) == effect && (web || effect != Effect::Allow));
            if let Some(&at) = first {
                return (effect, u32::try_from(at).ok());
            }
        }
        (Effect::Deny, None)
    }
}

/// Whether a text is like a pattern with one star, which stands for one or more characters but dots.
fn like(pattern: &str, text: &str) -> bool {
    let Some((front, end)) = pattern.split_once('*') else {
        return pattern == text;
    };
    text.strip_prefix(front)
        .and_then(|rest| rest.strip_suffix(end))
        .is_some_and(|middle| !middle.is_empty() && !middle.contains('.'))
}
