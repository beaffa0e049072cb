//! Entries of `net` and `fetch`.

use std::time::SystemTime;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Reader, within, written};
use crate::diagnostic::{Diagnostic, code};
use crate::document::{EntryBody, GroupEntry, HostEntry};
use crate::entry::{self, EntryError, ParsedEntry};
use crate::gate::Node;
use crate::host::Pattern;
use crate::port::PortSet;
use crate::preset;
use crate::source::SourceFile;
use crate::verdict::{SniRule, TlsRule};

/// How many presets that do not exist are reported.
const MOST_UNKNOWN: usize = 10;

impl Reader<'_> {
    pub(super) fn entry(&mut self, written: &written::Entry, node: Node<'_>) -> Option<GroupEntry> {
        match written {
            written::Entry::Text(text) => {
                self.same(text, node);
                let body = match entry::parse(text) {
                    Ok(parsed) => body_of(parsed),
                    Err(error) => {
                        self.problems.push(problem(self.source, node, &error));
                        return None;
                    }
                };
                Some(GroupEntry {
                    text: text.as_str().into(),
                    span: node.span(),
                    body,
                })
            }
            written::Entry::Fields(fields) => self.fields(fields, node),
        }
    }

    fn fields(&mut self, fields: &written::EntryFields, node: Node<'_>) -> Option<GroupEntry> {
        if fields.binaries.is_some() {
            self.disagree(node);
        }
        let before = self.problems.len();
        let until = self.until(fields, node);
        let (text, body) = match (&fields.preset, &fields.host, &fields.cidr) {
            (Some(name), None, None) => self.preset(name, fields, until, node)?,
            (None, Some(_), None) | (None, None, Some(_)) => {
                self.host_entry(fields, until, node)?
            }
            (None, None, None) => {
                let message = "the entry names nothing";
                self.at_key(
                    node,
                    "",
                    message,
                    "give it a `host`, a `cidr` or a `preset`",
                );
                return None;
            }
            _ => {
                let message = "the entry names several things";
                let help = "an entry has one of `host`, `cidr` and `preset`: write several entries";
                self.at_key(node, "", message, help);
                return None;
            }
        };
        (self.problems.len() == before).then(|| GroupEntry {
            text,
            span: node.span(),
            body,
        })
    }

    fn preset(
        &mut self,
        name: &str,
        fields: &written::EntryFields,
        until: Option<SystemTime>,
        node: Node<'_>,
    ) -> Option<(Box<str>, EntryBody)> {
        let at = node.get("preset")?;
        self.same(name, at);
        if !self.is_preset(name, at) {
            return None;
        }
        let others = [
            (fields.ports.is_some(), "ports"),
            (fields.methods.is_some(), "methods"),
            (fields.paths.is_some(), "paths"),
            (fields.tls.is_some(), "tls"),
            (fields.sni.is_some(), "sni"),
        ];
        if let Some((_, key)) = others.iter().find(|(is_set, _)| *is_set) {
            let message = format!("`{key}` beside `preset`");
            let help = "beside a preset only `until` can stand; write its hosts out to narrow them";
            self.at_key(node, key, &message, help);
            return None;
        }
        let body = EntryBody::Preset {
            name: name.into(),
            until,
        };
        Some((format!("preset {name}").into(), body))
    }

    /// Whether the preset exists; if not that is a problem. Each name is looked up once, and only
    /// so many that do not exist, so that no file can make the reading long.
    fn is_preset(&mut self, name: &str, at: Node<'_>) -> bool {
        if self.presets.contains(name) {
            return true;
        }
        if self.unknown_presets >= MOST_UNKNOWN {
            return false;
        }
        let Err(error) = preset::find(name) else {
            return self.presets.insert(name.into());
        };
        self.unknown_presets = self.unknown_presets.saturating_add(1);
        let problem = Diagnostic::error(code::PRESET, self.source, at.span(), error.to_string());
        let help = error.help().unwrap_or_default();
        self.problems.push(problem.with_help(help));
        false
    }

    fn host_entry(
        &mut self,
        fields: &written::EntryFields,
        until: Option<SystemTime>,
        node: Node<'_>,
    ) -> Option<(Box<str>, EntryBody)> {
        let before = self.problems.len();
        let pattern = self.named(fields, node);
        let ports = self.ports(fields, node);
        let http = self.http(fields, node);
        let tls = match fields.tls {
            None => None,
            Some(written::Tls::Require) => Some(TlsRule::Require),
            Some(written::Tls::Any) => Some(TlsRule::Any),
            Some(written::Tls::Terminate) => {
                let help = "remove it: a rule is never loaded with a part of it ignored";
                self.problem_at(
                    node,
                    "tls",
                    code::LATER,
                    "`terminate` is not supported yet",
                    help,
                );
                None
            }
        };
        let sni = fields.sni.map(|sni| match sni {
            written::Sni::Match => SniRule::Match,
            written::Sni::Any => SniRule::Any,
        });
        let pattern = pattern?;
        if self.problems.len() > before {
            return None;
        }
        let text = match &ports {
            None => pattern.to_string(),
            Some(ports) => format!("{pattern}:{ports}"),
        };
        let body = EntryBody::Host(HostEntry {
            pattern,
            ports,
            http,
            tls,
            sni,
            until,
        });
        Some((text.into(), body))
    }

    /// The pattern of `host` or `cidr`: names under the one, addresses under the other.
    fn named(&mut self, fields: &written::EntryFields, node: Node<'_>) -> Option<Pattern> {
        let (key, text) = match (&fields.host, &fields.cidr) {
            (Some(text), _) => ("host", text),
            (None, Some(text)) => ("cidr", text),
            (None, None) => return None,
        };
        let at = node.get(key)?;
        self.same(text, at);
        let pattern = match Pattern::parse(text) {
            Ok(pattern) => pattern,
            Err(error) => {
                self.problems.push(problem(self.source, at, &error));
                return None;
            }
        };
        let is_range = matches!(pattern, Pattern::Range(_));
        if is_range == (key == "cidr") {
            return Some(pattern);
        }
        let (message, help) = if is_range {
            (
                "an address under `host`",
                format!("write `cidr: \"{text}\"`"),
            )
        } else {
            ("a name under `cidr`", format!("write `host: \"{text}\"`"))
        };
        self.problem(code::ENTRY, at.span(), message, &help);
        None
    }

    fn ports(&mut self, fields: &written::EntryFields, node: Node<'_>) -> Option<PortSet> {
        let written = fields.ports.as_ref()?;
        let at = node.get("ports")?;
        let nodes: Vec<Node<'_>> = match at.text() {
            Some(_) => vec![at],
            None => at.items().collect(),
        };
        if nodes.len() != written.0.len() {
            self.disagree(at);
            return None;
        }
        if nodes.is_empty() {
            let help = "remove it for the default ports, or write \"*\" for every port";
            self.problem_at(node, "ports", code::ENTRY, "`ports` names no port", help);
            return None;
        }
        let mut ranges = Vec::new();
        for (text, at) in written.0.iter().zip(nodes) {
            self.same(text, at);
            match entry::parse_ports(text) {
                Ok(ports) => ranges.extend(ports.pairs()),
                Err(error) => self.problems.push(problem(self.source, at, &error)),
            }
        }
        Some(PortSet::from_ranges(ranges))
    }

    /// The time at which the entry ends; one that cannot be read is a problem.
    fn until(&mut self, fields: &written::EntryFields, node: Node<'_>) -> Option<SystemTime> {
        let text = fields.until.as_ref()?;
        let at = node.get("until")?;
        self.same(text, at);
        if let Ok(time) = OffsetDateTime::parse(text, &Rfc3339) {
            return Some(time.into());
        }
        let message = format!("`{}` is no time", crate::shape::shorten(text));
        let help = "write it as 2026-12-31T00:00:00Z, with a zone";
        self.problem(code::UNTIL, at.span(), message, help);
        None
    }

    fn at_key(&mut self, node: Node<'_>, key: &str, message: &str, help: &str) {
        self.problem_at(node, key, code::ENTRY, message, help);
    }

    /// A problem at a key of a mapping; at the mapping's begin where there is no such key.
    pub(super) fn problem_at(
        &mut self,
        node: Node<'_>,
        key: &str,
        code: &'static str,
        message: &str,
        help: &str,
    ) {
        let span = node
            .pair(key)
            .map_or_else(|| node.span().first(self.source), |(key, _)| key.span());
        self.problem(code, span, message, help);
    }
}

fn body_of(parsed: ParsedEntry) -> EntryBody {
    let ParsedEntry {
        negated,
        pattern,
        ports,
    } = parsed;
    if negated {
        return EntryBody::Exclusion { pattern, ports };
    }
    EntryBody::Host(HostEntry {
        pattern,
        ports,
        http: None,
        tls: None,
        sni: None,
        until: None,
    })
}

/// An error of the entry grammar as a problem of the file.
pub(super) fn problem(source: &SourceFile, at: Node<'_>, error: &EntryError) -> Diagnostic {
    let span = within(source, at, &error.range);
    Diagnostic::error(code::ENTRY, source, span, error.message.clone())
        .with_help(error.help.clone())
}
