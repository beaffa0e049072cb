//! What the fuzz targets try, as functions that the tests run too over the committed corpus.
//!
//! Each takes any bytes and answers with the property that did not hold.

mod document;

use std::fmt::Display;
use std::sync::Arc;
use std::time::SystemTime;

use crate::address::{Embedded, canonical};
use crate::entry::{self, Entry, EntryList, Exclusion};
use crate::host::Host;
use crate::http::HttpRule;
use crate::policy::{Defaults, Policy};
use crate::port::{Port, PortSet};
use crate::request::{Request, Surface, Target};
use crate::verdict::{Effect, Layer, Rule};

pub use document::document;

/// A property that did not hold, with the input that broke it.
pub type Broken = String;

/// A host that is read has one spelling, which is read as the same host.
pub fn host(data: &[u8]) -> Result<(), Broken> {
    let Ok(host) = Host::parse(data) else {
        return Ok(());
    };
    let text = host.to_string();
    let plain = !text.bytes().any(|byte| byte.is_ascii_uppercase()) && text.is_ascii();
    if !plain || Host::parse(text.as_bytes()).as_ref() != Ok(&host) {
        return Err(format!("{data:?} is read as {text}"));
    }
    Ok(())
}

/// An entry that is read has a normal form, which is read as the same entry; an error points into
/// the text.
pub fn pattern(data: &[u8]) -> Result<(), Broken> {
    let Ok(text) = std::str::from_utf8(data) else {
        return Ok(());
    };
    match entry::parse(text) {
        Ok(parsed) => {
            let normal = written(parsed.negated, &parsed.pattern, parsed.ports.as_ref());
            if entry::parse(&normal).as_ref() != Ok(&parsed) {
                return Err(format!("{text:?} is read as {normal}"));
            }
        }
        Err(error) => {
            if text.get(error.range.clone()).is_none() {
                return Err(format!("{text:?}: {:?} is outside", error.range));
            }
        }
    }
    Ok(())
}

fn written(negated: bool, pattern: impl Display, ports: Option<&PortSet>) -> String {
    let mark = if negated { "!" } else { "" };
    match ports {
        Some(ports) => format!("{mark}{pattern}:{ports}"),
        None => format!("{mark}{pattern}"),
    }
}

/// A policy says what its entries say one by one. The input is a line for each entry, `+` to allow,
/// `-` to deny or `?` to ask in front of it and exclusions (`!HOST`), paths and methods behind it,
/// and a line `HOST PORT` for each request, with a method and a path behind it or without.
pub fn decide(data: &[u8]) -> Result<(), Broken> {
    let Ok(text) = std::str::from_utf8(data) else {
        return Ok(());
    };
    let lists: Vec<EntryList> = text.lines().filter_map(list).take(64).collect();
    let alone: Vec<Policy> = lists
        .iter()
        .filter_map(|list| policy(vec![list.clone()]))
        .collect();
    let Some(together) = policy(lists) else {
        return Ok(());
    };
    for (target, rest) in text.lines().filter_map(target).take(64) {
        let request = Request {
            method: rest.iter().find(|word| !word.starts_with('/')).copied(),
            path: rest.iter().find(|word| word.starts_with('/')).copied(),
            ..Request::connection(&target, SystemTime::UNIX_EPOCH)
        };
        let effects: Vec<Option<Effect>> = alone
            .iter()
            .map(|policy| policy.decide(&request))
            .map(|verdict| verdict.rule.map(|_| verdict.effect))
            .collect();
        let has = |effect| effects.contains(&Some(effect));
        let want = [Effect::Deny, Effect::Allow, Effect::Ask]
            .into_iter()
            .find(|&effect| has(effect))
            .unwrap_or(Effect::Deny);
        let verdict = together.decide(&request);
        if verdict.effect != want && !holds_another(&target.host) {
            return Err(format!("{target}: {} and not {want}", verdict.effect));
        }
        if verdict.effect == Effect::Allow && verdict.rule.is_none() {
            return Err(format!("{target}: allowed by no rule"));
        }
    }
    Ok(())
}

/// An address inside another may be opened by another entry than the one around it.
fn holds_another(host: &Host) -> bool {
    match host {
        Host::Name(_) => false,
        Host::Address(address) => {
            let outer = canonical(*address);
            outer != *address || Embedded::of(outer).next().is_some()
        }
    }
}

fn policy(lists: Vec<EntryList>) -> Option<Policy> {
    let defaults = Defaults {
        net: Effect::Deny,
        fetch: Effect::Deny,
    };
    Policy::build(lists, defaults, "fuzz".into()).ok()
}

fn list(line: &str) -> Option<EntryList> {
    let (effect, text) = match (line.strip_prefix('+'), line.strip_prefix('-')) {
        (Some(text), _) => (Effect::Allow, text),
        (None, Some(text)) => (Effect::Deny, text),
        (None, None) => (Effect::Ask, line.strip_prefix('?')?),
    };
    let mut words = text.split_ascii_whitespace();
    let text = words.next()?;
    let parsed = entry::parse(text).ok().filter(|parsed| !parsed.negated)?;
    let (paths, words): (Vec<_>, Vec<_>) = words.partition(|word| word.starts_with('/'));
    let (exclusions, methods): (Vec<_>, Vec<_>) =
        words.into_iter().partition(|word| word.starts_with('!'));
    let http = HttpRule::parse(&methods, &paths).ok()?;
    let exclusions = exclusions
        .into_iter()
        .map(exclusion)
        .collect::<Option<_>>()?;
    let entry = Entry {
        pattern: parsed.pattern,
        ports: parsed.ports.unwrap_or_else(PortSet::all),
        http: (!methods.is_empty() || !paths.is_empty()).then_some(http),
        tls: None,
        sni: None,
        until: None,
        rule: Arc::new(Rule {
            id: "fuzz".into(),
            effect,
            layer: Layer::User,
            reason: None,
            entry: text.into(),
            preset: None,
            file: "fuzz".into(),
            line: 1,
        }),
    };
    Some(EntryList {
        effect,
        layer: Layer::User,
        surface: Surface::Net,
        entries: vec![entry],
        exclusions,
    })
}

fn exclusion(text: &str) -> Option<Exclusion> {
    let parsed = entry::parse(text).ok()?;
    Some(Exclusion {
        pattern: parsed.pattern,
        ports: parsed.ports.unwrap_or_else(PortSet::all),
    })
}

/// A target, and up to two words behind it.
fn target(line: &str) -> Option<(Target, Vec<&str>)> {
    let mut words = line.split_ascii_whitespace();
    let (host, port) = (words.next()?, words.next()?);
    let target = Target {
        host: Host::parse(host.as_bytes()).ok()?,
        port: Port::parse(port)?,
    };
    Some((target, words.take(2).collect()))
}
