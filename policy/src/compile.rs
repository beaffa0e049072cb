//! Policy files to the policy that is asked.
//!
//! Everything that a single file cannot know happens here: whose allows count, which default
//! holds, what ports and presets stand for. How a request finds its rule is the part of
//! [`crate::policy`].

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::diagnostic::{self, Diagnostic, code};
use crate::document::{Document, EntryBody, Group, GroupEntry, GroupList, HostEntry};
use crate::entry::{self, Entry, EntryList, Exclusion};
use crate::layer::{self, Allows, LayerDocument, LayerInput, Origin};
use crate::parse::parse;
use crate::policy::{BuildError, Policy};
use crate::port::PortSet;
use crate::preset::{self, Preset, Purpose};
use crate::source::{SourceFile, Span};
use crate::verdict::{Effect, Rule};

/// What holds where no policy file exists.
pub const BUILT_IN: &str = "\
# What holds while there is no policy file: deny everything but what a coding agent
# needs to install and build. `moat preset show default` lists it.
version: 1
allow:
  - id: default
    reason: what a coding agent needs to install and build
    net:
      - preset: default
";

/// The most entries that presets may be written out to, all mentions together.
const MOST_EXPANDED: usize = 20_000;

/// How many problems of presets are reported.
const MOST_PROBLEMS: usize = 10;

/// How many hexadecimal digits of the digest are kept.
const DIGEST_DIGITS: usize = 12;

/// A policy, and what it was made of.
#[derive(Debug)]
pub struct Compiled {
    /// The policy, ready to be asked.
    pub policy: Policy,
    /// What was ignored because of the layers, in the order of the files. Other findings come
    /// from [`crate::lint::lint`].
    pub warnings: Vec<Diagnostic>,
    /// The files, in the order in which they were given.
    pub layers: Vec<LayerDocument>,
}

/// The built-in default as a file of the user.
pub fn built_in() -> LayerInput {
    LayerInput {
        origin: Origin::User,
        source: SourceFile::new("built-in default", BUILT_IN),
    }
}

/// Reads files and puts them on top of one another. Their order does not matter, only their
/// origins; no file at all is a policy that allows nothing.
///
/// # Errors
/// All errors of all files.
pub fn compile(inputs: Vec<LayerInput>) -> Result<Compiled, Vec<Diagnostic>> {
    let gathered = gather(inputs)?;
    let (defaults, mut warnings) = layer::defaults(&gathered.layers);
    warnings.extend(gathered.warnings);
    let digest = digest(&gathered.layers, &gathered.presets);
    diagnostic::sort(&mut warnings);
    let policy = Policy::build(gathered.lists, defaults, digest)
        .map_err(|error| vec![unbuildable(&error, &gathered.layers)])?
        .with_exclusive(layer::is_exclusive(&gathered.layers));
    Ok(Compiled {
        policy,
        warnings,
        layers: gathered.layers,
    })
}

/// What the matcher does not take, at the line that it stands on.
fn unbuildable(error: &BuildError, layers: &[LayerDocument]) -> Diagnostic {
    let rule = error.rule.as_deref();
    let written = layers.iter().find(|layer| {
        rule.is_some_and(|rule| {
            layer.origin.layer() == rule.layer && layer.document.source.name == rule.file
        })
    });
    let (source, span) = match (written, rule) {
        (Some(layer), Some(rule)) => {
            let source = layer.document.source.clone();
            let span = source.line(usize::try_from(rule.line).unwrap_or(usize::MAX));
            (source, span)
        }
        _ => (SourceFile::new("policy", ""), Span::default()),
    };
    Diagnostic::error(code::PATTERNS, &source, span, error.message).with_help(error.help)
}

/// The lists of one file by itself, before they are filed: what two versions of a file are
/// compared by.
///
/// # Errors
/// All errors of the file.
pub fn lists(input: LayerInput) -> Result<Vec<EntryList>, Vec<Diagnostic>> {
    gather(vec![input]).map(|gathered| gathered.lists)
}

/// What the files say together, before it is filed.
struct Gathered {
    layers: Vec<LayerDocument>,
    warnings: Vec<Diagnostic>,
    lists: Vec<EntryList>,
    presets: HashMap<Arc<str>, Preset>,
}

fn gather(inputs: Vec<LayerInput>) -> Result<Gathered, Vec<Diagnostic>> {
    let mut layers = Vec::with_capacity(inputs.len());
    let mut problems = Vec::new();
    for LayerInput { origin, source } in inputs {
        match parse(&source) {
            Ok(document) => layers.push(LayerDocument { origin, document }),
            Err(found) => problems.extend(found),
        }
    }
    problems.extend(layer::misplaced(&layers));
    let exclusive = layer::is_exclusive(&layers);
    let mut warnings = Vec::new();
    for layer in &layers {
        let allows = layer::allows(layer, exclusive);
        warnings.extend(ignored(&layer.document, allows));
    }
    let mut compiler = Compiler::run(&layers);
    problems.append(&mut compiler.problems);
    if !problems.is_empty() {
        diagnostic::sort(&mut problems);
        return Err(problems);
    }
    let Compiler { filed, presets, .. } = compiler;
    Ok(Gathered {
        lists: filed.into_iter().map(|filed| filed.list).collect(),
        presets,
        warnings,
        layers,
    })
}

/// One list with the places of its entries: what findings and explanations point at.
#[derive(Debug)]
pub(crate) struct Filed<'l> {
    pub(crate) list: EntryList,
    /// One for each entry of the list.
    pub(crate) spans: Vec<Span>,
    /// The file that holds it.
    pub(crate) layer: &'l LayerDocument,
}

/// The lists that count, with presets written out, of files that compile.
pub(crate) fn file(layers: &[LayerDocument]) -> Vec<Filed<'_>> {
    Compiler::run(layers).filed
}

/// One finding for all allow groups of a file that do not count.
fn ignored(document: &Document, allows: Allows) -> Option<Diagnostic> {
    let mut groups = document
        .groups
        .iter()
        .filter(|group| group.effect == Effect::Allow);
    let first = groups.next()?;
    let count = groups.count().saturating_add(1);
    let (code, why, help) = match allows {
        Allows::Count => return None,
        Allows::Untrusted => (
            code::UNTRUSTED_ALLOW,
            "nobody has trusted this file",
            "read them, and `moat allow` what you agree with",
        ),
        Allows::Exclusive => (
            code::EXCLUSIVE_ALLOW,
            "the machine's policy is exclusive",
            "only the machine's policy can allow; ask whoever keeps it",
        ),
    };
    let groups = if count == 1 {
        "allow group does"
    } else {
        "allow groups do"
    };
    let message = format!("{count} {groups} not count: {why}");
    let finding = Diagnostic::warning(code, &document.source, first.id_span, message);
    Some(finding.with_help(help))
}

#[derive(Default)]
struct Compiler<'l> {
    filed: Vec<Filed<'l>>,
    presets: HashMap<Arc<str>, Preset>,
    /// How many entries the presets were written out to.
    expanded: usize,
    problems: Vec<Diagnostic>,
}

/// What the entries of one list have in common.
struct Frame<'l> {
    layer: &'l LayerDocument,
    group: &'l Group,
}

impl<'l> Compiler<'l> {
    fn run(layers: &'l [LayerDocument]) -> Self {
        let exclusive = layer::is_exclusive(layers);
        let mut compiler = Self::default();
        for layer in layers {
            let allows = layer::allows(layer, exclusive) == Allows::Count;
            for group in &layer.document.groups {
                if group.effect == Effect::Allow && !allows {
                    continue;
                }
                for list in &group.lists {
                    compiler.list(&Frame { layer, group }, list);
                }
            }
        }
        compiler
    }

    fn list(&mut self, frame: &Frame<'l>, list: &GroupList) {
        let mut compiled = EntryList {
            effect: frame.group.effect,
            layer: frame.layer.origin.layer(),
            surface: list.surface,
            entries: Vec::with_capacity(list.entries.len()),
            exclusions: Vec::new(),
        };
        let mut spans = Vec::with_capacity(list.entries.len());
        for entry in &list.entries {
            match &entry.body {
                EntryBody::Host(host) => compiled.entries.push(frame.host(entry, host)),
                EntryBody::Exclusion { pattern, ports } => compiled.exclusions.push(Exclusion {
                    pattern: pattern.clone(),
                    ports: ports.clone().unwrap_or_else(PortSet::all),
                }),
                EntryBody::Preset { name, until } => {
                    let entries = self.preset(frame, entry.span, name, *until);
                    compiled.entries.extend(entries);
                }
            }
            spans.resize(compiled.entries.len(), entry.span);
        }
        if !compiled.entries.is_empty() {
            self.filed.push(Filed {
                list: compiled,
                spans,
                layer: frame.layer,
            });
        }
    }

    /// The entries that a preset stands for. A built-in list that cannot be read is an error of
    /// the file that names it: a part of it would be another policy than the one that was meant.
    fn preset(
        &mut self,
        frame: &Frame<'_>,
        span: Span,
        name: &Arc<str>,
        until: Option<SystemTime>,
    ) -> Vec<Entry> {
        let source = &frame.layer.document.source;
        let found = match self.presets.entry(Arc::clone(name)) {
            Slot::Occupied(slot) => slot.into_mut(),
            Slot::Vacant(slot) => match preset::find(name) {
                Ok(preset) => slot.insert(preset),
                Err(error) => {
                    let problem = Diagnostic::error(code::PRESET, source, span, error.to_string());
                    self.problems.push(problem);
                    return Vec::new();
                }
            },
        };
        if found.purpose == Purpose::Deny && frame.group.effect == Effect::Allow {
            let message = format!("the preset `{name}` lists what to refuse");
            let problem = Diagnostic::error(code::PRESET, source, span, message);
            self.problems
                .push(problem.with_help("name it in a `deny` group"));
            return Vec::new();
        }
        self.expanded = self.expanded.saturating_add(found.entries.len());
        if self.expanded > MOST_EXPANDED {
            let message = "the presets of this policy stand for too many entries";
            let problem = Diagnostic::error(code::TOO_LARGE, source, span, message);
            if self.problems.len() < MOST_PROBLEMS {
                self.problems
                    .push(problem.with_help("name each preset once"));
            }
            return Vec::new();
        }
        let mut entries = Vec::with_capacity(found.entries.len());
        for row in &found.entries {
            let text = row.entry();
            match entry::parse(&text) {
                Ok(parsed) if !parsed.negated => entries.push(Entry {
                    pattern: parsed.pattern,
                    ports: frame.ports(parsed.ports),
                    http: None,
                    tls: None,
                    sni: None,
                    until,
                    rule: frame.rule(&text, span, Some(name)),
                }),
                Ok(_) | Err(_) => {
                    let message = format!("the preset `{name}` holds `{text}`, which is no entry");
                    self.problems
                        .push(Diagnostic::error(code::PRESET, source, span, message));
                }
            }
        }
        entries
    }
}

impl Frame<'_> {
    fn host(&self, entry: &GroupEntry, host: &HostEntry) -> Entry {
        Entry {
            pattern: host.pattern.clone(),
            ports: self.ports(host.ports.clone()),
            http: host.http.clone(),
            tls: host.tls,
            sni: host.sni,
            until: host.until,
            rule: self.rule(&entry.text, entry.span, None),
        }
    }

    /// Ports left out are those of the web where something is let through, else every port.
    fn ports(&self, written: Option<PortSet>) -> PortSet {
        written.unwrap_or_else(|| default_ports(self.group.effect))
    }

    fn rule(&self, text: &str, span: Span, preset: Option<&Arc<str>>) -> Arc<Rule> {
        Arc::new(Rule {
            id: Arc::clone(&self.group.id),
            effect: self.group.effect,
            layer: self.layer.origin.layer(),
            reason: self.group.reason.clone(),
            entry: text.into(),
            preset: preset.cloned(),
            file: Arc::clone(&self.layer.document.source.name),
            line: span.line,
        })
    }
}

/// What an entry without ports means in a group of this effect.
pub fn default_ports(effect: Effect) -> PortSet {
    match effect {
        Effect::Allow => PortSet::web(),
        Effect::Pass | Effect::Ask | Effect::Deny => PortSet::all(),
    }
}

/// The same texts with the same trust and the same presets have the same digest.
fn digest(layers: &[LayerDocument], presets: &HashMap<Arc<str>, Preset>) -> Arc<str> {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(text.as_bytes());
    };
    let mut texts: Vec<_> = layers
        .iter()
        .map(|layer| (layer.origin, &layer.document.source.text))
        .collect();
    texts.sort();
    for (origin, text) in texts {
        part(&format!("{origin:?}"));
        part(text);
    }
    let mut names: Vec<_> = presets.keys().collect();
    names.sort();
    for name in names {
        part(name);
        for entry in presets.get(name).map_or(&[][..], |preset| &preset.entries) {
            part(&entry.entry());
        }
    }
    let mut digits = format!("{:x}", hash.finalize());
    digits.truncate(DIGEST_DIGITS);
    digits.into()
}

#[cfg(test)]
mod tests;
