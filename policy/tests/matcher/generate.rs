//! Patterns, and hosts close to them, out of a small seed.

use std::sync::Arc;

use moat_policy::entry::{Entry, EntryList, parse};
use moat_policy::port::PortSet;
use moat_policy::request::Surface;
use moat_policy::verdict::{Effect, Layer, Rule};

/// Numbers that look random and are the same on every machine (xorshift, Marsaglia 2003).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

fn word(numbers: &mut Numbers, variety: usize) -> String {
    let front = numbers.pick(&["api", "cdn", "a", "static", "x-y", "my_db"]);
    format!("{front}{}", numbers.below(variety))
}

/// A pattern; the larger the variety, the fewer collide.
pub(crate) fn pattern(numbers: &mut Numbers, variety: usize) -> String {
    let tail = format!(
        "{}.{}",
        word(numbers, variety),
        numbers.pick(&["test", "example", "co.example", "internal.test"])
    );
    let label = word(numbers, variety);
    match numbers.below(12) {
        0..=4 => format!("{label}.{tail}"),
        5 => tail,
        6 => format!("*.{tail}"),
        7 => format!("**.{label}.{tail}"),
        8 => format!("{label}-*.{tail}"),
        9 => format!("*-{label}.{tail}"),
        10 => format!("{label}.*.{tail}"),
        _ => format!("*.{label}-*-x.{tail}"),
    }
}

/// A host that matches the pattern or nearly does.
pub(crate) fn host_near(numbers: &mut Numbers, pattern: &str) -> String {
    let mut host = String::new();
    for c in pattern.trim_start_matches("**.").chars() {
        if c == '*' {
            host.push_str(numbers.pick(&["q", "z9", "a", "eu-1"]));
        } else {
            host.push(c);
        }
    }
    match numbers.below(10) {
        0 => format!("www.{host}"),
        1 => format!("a.b.{host}"),
        2 => host.split_once('.').unwrap().1.to_owned(),
        3 => format!("x{host}"),
        4 => host.replacen('-', ".", 1),
        5 => format!("{host}.test"),
        _ => host,
    }
}

/// One list of `net` with a rule for each pattern.
pub(crate) fn list(effect: Effect, patterns: &[String]) -> EntryList {
    let entry = |(index, text): (usize, &String)| Entry {
        pattern: parse(text).unwrap().pattern,
        ports: PortSet::web(),
        http: None,
        tls: None,
        sni: None,
        until: None,
        rule: rule(effect, Layer::User, text, index),
    };
    EntryList {
        effect,
        layer: Layer::User,
        surface: Surface::Net,
        entries: patterns.iter().enumerate().map(entry).collect(),
        exclusions: Vec::new(),
    }
}

pub(crate) fn rule(effect: Effect, layer: Layer, text: &str, index: usize) -> Arc<Rule> {
    Arc::new(Rule {
        id: "generated".into(),
        effect,
        layer,
        reason: None,
        entry: text.into(),
        preset: None,
        file: "generated".into(),
        line: u32::try_from(index).unwrap() + 1,
    })
}
