//! What is added or removed, and how it is written.

use std::fmt;
use std::time::SystemTime;

use serde_yaml::{Mapping, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{EditError, Section};
use crate::entry::{self, ParsedEntry};
use crate::host::Pattern;
use crate::port::PortSet;
use crate::preset::{self, Purpose};

/// What an edit adds or removes.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a list holds these two")]
pub enum Item {
    /// A host or address, normalised.
    Entry {
        /// Which hosts.
        pattern: Pattern,
        /// Which ports; `None` where none are written.
        ports: Option<PortSet>,
    },
    /// A preset by its name.
    Preset(String),
}

impl Item {
    /// Reads an entry; `ports` are those of an option, for entries that write none themselves.
    pub fn parse(text: &str, ports: Option<&PortSet>) -> Result<Self, EditError> {
        let parsed = entry::parse(text).map_err(|error| EditError::Entry {
            text: text.to_owned(),
            error,
        })?;
        let ParsedEntry {
            negated: false,
            pattern,
            ports: own,
        } = parsed
        else {
            return Err(EditError::Exclusion(text.to_owned()));
        };
        Ok(Self::Entry {
            pattern,
            ports: own.or_else(|| ports.cloned()),
        })
    }

    /// The compiled entries that the item stands for.
    pub(super) fn entries(&self, section: Section) -> Result<Vec<(Pattern, PortSet)>, EditError> {
        let name = match self {
            Self::Entry { pattern, ports } => {
                return Ok(vec![(pattern.clone(), filled(ports.clone(), section))]);
            }
            Self::Preset(name) => name,
        };
        let preset = preset::find(name)?;
        if preset.purpose == Purpose::Deny && section == Section::Allow {
            return Err(EditError::Purpose {
                name: name.clone(),
                section,
            });
        }
        let entry = |text: String| {
            entry::parse(&text)
                .map(|parsed| (parsed.pattern, filled(parsed.ports, section)))
                .map_err(|error| EditError::Entry { text, error })
        };
        preset
            .entries
            .iter()
            .map(preset::PresetEntry::entry)
            .map(entry)
            .collect()
    }

    /// The item as a node of the document.
    pub(super) fn written(&self, until: Option<SystemTime>) -> Result<Value, EditError> {
        let mut mapping = Mapping::new();
        match (self, until) {
            (Self::Entry { .. }, None) => return Ok(Value::String(self.to_string())),
            (Self::Entry { pattern, ports }, Some(_)) => {
                let key = match pattern {
                    Pattern::Range(_) => "cidr",
                    Pattern::Exact(_)
                    | Pattern::Below(_)
                    | Pattern::AtOrBelow(_)
                    | Pattern::Glob(_)
                    | Pattern::AnyName
                    | Pattern::Localhost => "host",
                };
                mapping.insert(key.into(), bare(pattern).into());
                if let Some(ports) = ports {
                    mapping.insert("ports".into(), ports.to_string().into());
                }
            }
            (Self::Preset(name), _) => {
                mapping.insert("preset".into(), name.clone().into());
            }
        }
        if let Some(until) = until {
            mapping.insert("until".into(), timestamp(until)?.into());
        }
        Ok(Value::Mapping(mapping))
    }

    /// Whether a node of the document is this item, with or without an end.
    pub(super) fn is(&self, node: &Value, section: Section) -> bool {
        match node {
            Value::String(text) => {
                Self::parse(text, None).is_ok_and(|other| self.same(&other, section))
            }
            Value::Mapping(mapping) => {
                read(mapping).is_some_and(|other| self.same(&other, section))
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Sequence(_)
            | Value::Tagged(_) => false,
        }
    }

    fn same(&self, other: &Self, section: Section) -> bool {
        match (self, other) {
            (Self::Preset(one), Self::Preset(two)) => one == two,
            (
                Self::Entry { pattern, ports },
                Self::Entry {
                    pattern: other,
                    ports: others,
                },
            ) => {
                pattern == other
                    && filled(ports.clone(), section) == filled(others.clone(), section)
            }
            (Self::Preset(_), Self::Entry { .. }) | (Self::Entry { .. }, Self::Preset(_)) => false,
        }
    }
}

impl fmt::Display for Item {
    /// As a policy would write it; a preset by its name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry {
                pattern,
                ports: None,
            } => pattern.fmt(f),
            Self::Entry {
                pattern,
                ports: Some(ports),
            } => write!(f, "{pattern}:{ports}"),
            Self::Preset(name) => f.write_str(name),
        }
    }
}

/// The value of `host:` or `cidr:`, where an IPv6 range needs no brackets.
fn bare(pattern: &Pattern) -> String {
    let text = pattern.to_string();
    match text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        Some(inner) => inner.to_owned(),
        None => text,
    }
}

/// Ports left out are those of the web in `allow` and all in `deny`.
fn filled(ports: Option<PortSet>, section: Section) -> PortSet {
    ports.unwrap_or_else(|| match section {
        Section::Allow => PortSet::web(),
        Section::Deny => PortSet::all(),
    })
}

/// A mapping that says no more than an item with an end can say.
fn read(mapping: &Mapping) -> Option<Item> {
    let mut item = None;
    let mut ports = None;
    for (key, value) in mapping {
        let text = value.as_str();
        match (key.as_str()?, text) {
            ("host" | "cidr", Some(text)) => item = Some(Item::parse(text, None).ok()?),
            ("preset", Some(name)) => item = Some(Item::Preset(name.to_owned())),
            ("ports", Some(text)) => ports = Some(entry::parse_ports(text).ok()?),
            ("ports", None) => {
                ports = Some(entry::parse_ports(&value.as_u64()?.to_string()).ok()?);
            }
            ("until", _) => {}
            _ => return None,
        }
    }
    match item? {
        Item::Entry {
            pattern,
            ports: None,
        } => Some(Item::Entry { pattern, ports }),
        item @ Item::Preset(_) if ports.is_none() => Some(item),
        Item::Entry { .. } | Item::Preset(_) => None,
    }
}

fn timestamp(until: SystemTime) -> Result<String, EditError> {
    until
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_secs()).ok())
        .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok())
        .and_then(|time| time.format(&Rfc3339).ok())
        .ok_or(EditError::Unsafe("the end lies beyond the year 9999"))
}
