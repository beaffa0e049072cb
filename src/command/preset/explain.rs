//! Why a preset holds what it holds, and which presets hold a host.

use std::sync::Arc;
use std::time::SystemTime;

use moat_policy::entry::{self, Entry, EntryList};
use moat_policy::host::Host;
use moat_policy::policy::{Defaults, Policy};
use moat_policy::port::{Port, PortSet};
use moat_policy::preset::{Preset, PresetEntry};
use moat_policy::request::{Request, Surface, Target};
use moat_policy::verdict::{Effect, Layer, Rule};
use serde::Serialize;

use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Explains a preset.
pub(super) fn preset(output: &mut Output, preset: &Preset, json: bool) -> Result<Exit, Problem> {
    if json {
        output.json(preset)?;
        return Ok(Exit::Ok);
    }
    output.line(format_args!("{}: {}", preset.name, preset.summary));
    output.line(format_args!(
        "last checked {}, against {}",
        preset.version,
        preset.sources.join(", ")
    ));
    let mut reason = None;
    for entry in preset
        .entries
        .iter()
        .filter(|entry| entry.preset == preset.name)
    {
        if reason != Some(&entry.why) {
            output.line("");
            output.line(format_args!("{}:", entry.why));
            reason = Some(&entry.why);
        }
        let (class, access) = (entry.class, entry.access);
        output.line(format_args!("  {}  ({class}, {access})", entry.entry()));
    }
    section(output, "it includes:", &preset.includes);
    section(output, "notes:", &preset.notes);
    let others: Vec<String> = preset
        .parts
        .iter()
        .filter(|part| **part != preset.name)
        .cloned()
        .collect();
    section(output, "other parts:", &others);
    Ok(Exit::Ok)
}

fn section(output: &mut Output, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    output.line("");
    output.line(title);
    for line in lines {
        output.line(format_args!("  {line}"));
    }
}

/// A preset that holds the host, and the entry that matches it.
#[derive(Serialize)]
struct Holder {
    preset: String,
    #[serde(flatten)]
    entry: Held,
}

/// The entry as far as it matters here.
#[derive(Serialize)]
struct Held {
    host: String,
    class: &'static str,
    access: &'static str,
    why: String,
}

/// Names the presets that hold a host.
pub(super) fn host(output: &mut Output, text: &str, json: bool) -> Result<Exit, Problem> {
    let host = Host::parse(text.as_bytes())
        .map_err(|error| Problem::usage(format!("`{text}` is no host: {error}")))?;
    let target = Target {
        host,
        port: Port::HTTPS,
    };
    let mut holders = Vec::new();
    for preset in super::all()? {
        if let Some(entry) = holding(&preset, &target) {
            holders.push(Holder {
                preset: preset.name.clone(),
                entry: Held {
                    host: entry.entry(),
                    class: entry.class.as_str(),
                    access: entry.access.as_str(),
                    why: entry.why.clone(),
                },
            });
        }
    }
    if json {
        output.json(&holders)?;
    } else if holders.is_empty() {
        output.line(format_args!("no preset holds `{}`", target.host));
    } else {
        table(output, &holders);
    }
    Ok(Exit::Ok)
}

fn table(output: &mut Output, holders: &[Holder]) {
    let widest = |title: &str, length: fn(&Holder) -> usize| {
        let longest = holders.iter().map(length).max().unwrap_or(0);
        longest.max(title.len())
    };
    let presets = widest("preset", |holder| holder.preset.len());
    let hosts = widest("host", |holder| holder.entry.host.len());
    output.line(format_args!(
        "{:presets$}  {:hosts$}  {:12}  {:6}  why",
        "preset", "host", "whose", "access"
    ));
    for Holder { preset, entry } in holders {
        output.line(format_args!(
            "{preset:presets$}  {:hosts$}  {:12}  {:6}  {}",
            entry.host, entry.class, entry.access, entry.why
        ));
    }
}

/// The entry of a preset that matches: the policy's own matcher is asked.
fn holding<'p>(preset: &'p Preset, target: &Target) -> Option<&'p PresetEntry> {
    let entries = preset.entries.iter().enumerate();
    let compiled = entries.filter_map(|(at, entry)| {
        let parsed = entry::parse(&entry.entry()).ok()?;
        Some(Entry {
            pattern: parsed.pattern,
            ports: PortSet::all(),
            http: None,
            tls: None,
            sni: None,
            until: None,
            rule: Arc::new(rule(at, entry)),
        })
    });
    let list = EntryList {
        effect: Effect::Allow,
        layer: Layer::User,
        surface: Surface::Net,
        entries: compiled.collect(),
        exclusions: Vec::new(),
    };
    let defaults = Defaults {
        net: Effect::Deny,
        fetch: Effect::Deny,
    };
    let policy = Policy::build(vec![list], defaults, "preset".into()).ok()?;
    let verdict = policy.decide(&Request::connection(target, SystemTime::UNIX_EPOCH));
    let rule = verdict.rule.filter(|_| verdict.effect == Effect::Allow)?;
    preset.entries.get(usize::try_from(rule.line).ok()?)
}

/// A rule that leads back to its entry.
fn rule(at: usize, entry: &PresetEntry) -> Rule {
    Rule {
        id: entry.preset.as_str().into(),
        effect: Effect::Allow,
        layer: Layer::User,
        reason: None,
        entry: entry.entry().into(),
        preset: None,
        file: "".into(),
        line: u32::try_from(at).unwrap_or(u32::MAX),
    }
}
