//! The policy language as serde types: exactly what a file says, nothing understood yet.
//!
//! Unknown keys are refused here a second time; the readable errors come from [`crate::shape`].

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use crate::verdict::Effect;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) version: u64,
    pub(crate) defaults: Option<Defaults>,
    pub(crate) exclusive: Option<bool>,
    pub(crate) allow: Option<Vec<Group>>,
    pub(crate) deny: Option<Vec<Group>>,
    pub(crate) ask: Option<Vec<Group>>,
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) secrets: Option<IgnoredAny>,
    pub(crate) roles: Option<IgnoredAny>,
    pub(crate) budget: Option<IgnoredAny>,
    pub(crate) tests: Option<Vec<Case>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Defaults {
    pub(crate) net: Option<Effect>,
    pub(crate) fetch: Option<Effect>,
    #[serde(rename = "fs.read")]
    pub(crate) fs_read: Option<Effect>,
    #[serde(rename = "fs.write")]
    pub(crate) fs_write: Option<Effect>,
    pub(crate) shell: Option<Effect>,
    #[serde(rename = "env.read")]
    pub(crate) env_read: Option<Effect>,
    #[serde(rename = "env.set")]
    pub(crate) env_set: Option<Effect>,
    pub(crate) mcp: Option<Effect>,
    #[serde(rename = "*")]
    pub(crate) others: Option<Effect>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) id: String,
    pub(crate) reason: Option<String>,
    pub(crate) net: Option<Vec<Entry>>,
    pub(crate) fetch: Option<Vec<Entry>>,
    #[serde(rename = "fs.read")]
    pub(crate) fs_read: Option<Vec<String>>,
    #[serde(rename = "fs.write")]
    pub(crate) fs_write: Option<Vec<String>>,
    pub(crate) shell: Option<Vec<String>>,
    #[serde(rename = "env.read")]
    pub(crate) env_read: Option<Vec<String>>,
    #[serde(rename = "env.set")]
    pub(crate) env_set: Option<Vec<String>>,
    pub(crate) mcp: Option<Vec<String>>,
}

/// An entry of `net` or `fetch`: a text, or a mapping.
#[derive(Debug)]
pub(crate) enum Entry {
    Text(String),
    Fields(Box<EntryFields>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntryFields {
    pub(crate) preset: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) cidr: Option<String>,
    pub(crate) ports: Option<Ports>,
    pub(crate) methods: Option<Vec<String>>,
    pub(crate) paths: Option<Vec<String>>,
    pub(crate) binaries: Option<IgnoredAny>,
    pub(crate) tls: Option<Tls>,
    pub(crate) sni: Option<Sni>,
    pub(crate) until: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tls {
    Require,
    Any,
    Terminate,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sni {
    Match,
    Any,
}

/// `443`, `"22,8000-8100"` or a list of these: the texts, in their order.
#[derive(Debug)]
pub(crate) struct Ports(pub(crate) Vec<String>);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sandbox {
    pub(crate) read: Option<Vec<String>>,
    pub(crate) write: Option<Vec<String>>,
    pub(crate) env: Option<Vec<String>>,
    pub(crate) unix_sockets: Option<Vec<String>>,
    pub(crate) credentials: Option<Vec<String>>,
    pub(crate) limits: Option<Limits>,
    pub(crate) lifetime: Option<String>,
    pub(crate) require: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) memory: Option<String>,
    pub(crate) processes: Option<u32>,
    pub(crate) open_files: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) request: String,
    pub(crate) expect: Effect,
    pub(crate) kind: Option<Kind>,
    pub(crate) method: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Net,
    Fetch,
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;

        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an entry as a text or a mapping")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Entry, E> {
                Ok(Entry::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                EntryFields::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(|fields| Entry::Fields(Box::new(fields)))
            }
        }

        deserializer.deserialize_any(EntryVisitor)
    }
}

impl<'de> Deserialize<'de> for Ports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PortsVisitor;

        impl<'de> Visitor<'de> for PortsVisitor {
            type Value = Ports;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("ports as a number, a text or a list of these")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Ports, E> {
                Ok(Ports(vec![number.to_string()]))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Ports, E> {
                Ok(Ports(vec![number.to_string()]))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Ports, E> {
                Ok(Ports(vec![number.to_string()]))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ports, E> {
                Ok(Ports(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Ports, A::Error> {
                let mut ports = Vec::new();
                while let Some(Ports(item)) = items.next_element()? {
                    ports.extend(item);
                }
                Ok(Ports(ports))
            }
        }

        deserializer.deserialize_any(PortsVisitor)
    }
}
