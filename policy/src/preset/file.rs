//! The form of a preset file.
//!
//! Hosts stand as trees of labels from the right, `org: { example: [., www] }`, which is also
//! how the matcher files names: related hosts stand together, and one sees at a glance which
//! labels a stranger could register.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// The name of the file, repeated.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test holds it to the file's name")
    )]
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) version: String,
    #[serde(default)]
    pub(super) purpose: Purpose,
    pub(super) sources: Vec<String>,
    #[serde(default)]
    pub(super) notes: Vec<String>,
    pub(super) parts: BTreeMap<String, Part>,
}

/// One list of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    #[serde(default)]
    pub(super) include: Vec<String>,
    #[serde(default)]
    pub(super) hosts: Vec<Group>,
}

/// Hosts that are there for the same purpose and of the same type.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) why: String,
    pub(super) class: Class,
    pub(super) access: Access,
    pub(super) ports: Option<String>,
    pub(super) tree: Tree,
}

/// Labels from the right; `.` stands for the name so far.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Tree {
    /// One more label, and the end.
    Label(String),
    /// Several names below the same one.
    Names(Vec<Self>),
    /// Names below further labels.
    Below(BTreeMap<String, Self>),
}

impl Tree {
    /// Adds the names of the tree, each ending in `tail`.
    pub(super) fn expand(&self, tail: &str, names: &mut Vec<String>) {
        match self {
            Self::Label(label) if label == "." => names.push(tail.to_owned()),
            Self::Label(label) => names.push(join(label, tail)),
            Self::Names(trees) => {
                for tree in trees {
                    tree.expand(tail, names);
                }
            }
            Self::Below(trees) => {
                for (label, tree) in trees {
                    tree.expand(&join(label, tail), names);
                }
            }
        }
    }
}

fn join(label: &str, tail: &str) -> String {
    if tail.is_empty() {
        label.to_owned()
    } else {
        format!("{label}.{tail}")
    }
}

/// Who controls the names and paths that an entry matches.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new class must be thought about everywhere"
)]
pub enum Class {
    /// The provider alone.
    Provider,
    /// The provider controls the names; behind one of them many tenants share the paths.
    SharedPath,
    /// A stranger can register a name that matches.
    TenantLabel,
}

impl Class {
    /// The word used in preset files and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::SharedPath => "shared-path",
            Self::TenantLabel => "tenant-label",
        }
    }
}

/// Whether data can be left with a host in a way that a stranger can pick up.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new kind of access must be thought about everywhere"
)]
pub enum Access {
    /// It only hands out.
    Read,
    /// It takes uploads, pushes, prompts or messages.
    Write,
}

impl Access {
    /// The word used in preset files and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Which groups a preset is made for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new purpose must be thought about everywhere"
)]
pub enum Purpose {
    /// Groups that allow or ask.
    #[default]
    Allow,
    /// Groups that deny; an allow group that names it would open what it warns of.
    Deny,
}
