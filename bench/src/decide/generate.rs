//! Patterns, and requests close to them, out of a small seed.

use std::sync::Arc;

use anyhow::Context;
use moat_policy::entry::{Entry, EntryList, parse};
use moat_policy::host::Host;
use moat_policy::port::{Port, PortSet};
use moat_policy::request::{Surface, Target};
use moat_policy::verdict::{Effect, Layer, Rule};

/// Numbers that look random and are the same on every machine (xorshift, Marsaglia 2003).
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).map_or(0, |number| number % end)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from.get(self.below(from.len()))
            .copied()
            .unwrap_or_default()
    }
}

/// Front and end of a word, and how many words there are.
fn word(numbers: &mut Numbers) -> String {
    let front = numbers.pick(&["api", "cdn", "a", "static", "x-y", "my_db", "registry"]);
    format!("{front}{}", numbers.below(4_000))
}

/// A pattern as policies have them: half exact names, a third wildcards, some globs.
pub(super) fn pattern(numbers: &mut Numbers) -> String {
    let tail = format!(
        "{}.{}",
        word(numbers),
        numbers.pick(&["test", "example", "co.example", "internal.test"])
    );
    let label = word(numbers);
    match numbers.below(16) {
        0..=7 => format!("{label}.{tail}"),
        8 => tail,
        9 | 10 => format!("*.{tail}"),
        11 | 12 => format!("**.{label}.{tail}"),
        13 => format!("{label}-*.{tail}"),
        14 => format!("*-{label}.{tail}"),
        _ => format!("{label}.*.{tail}"),
    }
}

/// What the entry of this number does: one in ten denies, one in ten asks.
pub(super) fn effect(number: usize) -> Effect {
    match number % 10 {
        3 => Effect::Deny,
        7 => Effect::Ask,
        _ => Effect::Allow,
    }
}

/// Three lists of one file; the line of a rule is the number of its pattern.
pub(super) fn lists(patterns: &[String]) -> anyhow::Result<Vec<EntryList>> {
    let mut lists = [Effect::Allow, Effect::Deny, Effect::Ask].map(|effect| EntryList {
        effect,
        layer: Layer::User,
        surface: Surface::Net,
        entries: Vec::new(),
        exclusions: Vec::new(),
    });
    for (number, text) in patterns.iter().enumerate() {
        let effect = effect(number);
        let list = lists.iter_mut().find(|list| list.effect == effect);
        let entry = entry(effect, text, number)?;
        list.context("a list for every effect")?.entries.push(entry);
    }
    Ok(lists.into())
}

pub(super) fn entry(effect: Effect, text: &str, number: usize) -> anyhow::Result<Entry> {
    Ok(Entry {
        pattern: parse(text)?.pattern,
        ports: if effect == Effect::Allow {
            PortSet::web()
        } else {
            PortSet::all()
        },
        http: None,
        tls: None,
        sni: None,
        until: None,
        rule: Arc::new(Rule {
            id: "bench".into(),
            effect,
            layer: Layer::User,
            reason: None,
            entry: text.into(),
            preset: None,
            file: "bench".into(),
            line: u32::try_from(number)?,
        }),
    })
}

/// A request for a host that matches one of the patterns, or nearly does.
pub(super) fn target_near(numbers: &mut Numbers, patterns: &[String]) -> anyhow::Result<Target> {
    let near = numbers.below(patterns.len());
    let pattern = patterns.get(near).context("no patterns")?;
    let mut host = String::new();
    for c in pattern.trim_start_matches("**.").chars() {
        if c == '*' {
            host.push_str(numbers.pick(&["q", "z9", "a", "eu-1", "build-7"]));
        } else {
            host.push(c);
        }
    }
    let word = numbers.below(1_000_000);
    let host = match numbers.below(12) {
        0 => format!("www{word}.{host}"),
        1 => format!("a.b{word}.{host}"),
        2 => host
            .split_once('.')
            .map_or("test", |(_, rest)| rest)
            .to_owned(),
        3 => format!("x{word}{host}"),
        4 => host.replacen('-', ".", 1),
        5 => format!("{host}{word}.test"),
        _ => host,
    };
    let port = [443, 443, 443, 80, 22]
        .get(numbers.below(5))
        .and_then(|&port| Port::from_number(port))
        .context("a port")?;
    Ok(Target {
        host: Host::parse(host.as_bytes())?,
        port,
    })
}
