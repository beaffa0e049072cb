//! Named host lists that come with Moat: read from `presets/*.yaml`, expanded on demand.
//!
//! A preset is data. It knows nothing of groups, effects or layers: a policy names it, and the
//! compiler files its entries like entries that were written there. A name is `NAME` for the
//! base list or `NAME/PART` for a part that is opted into, such as `npm/optional`.

use std::collections::HashSet;
use std::fmt;

mod file;
mod library;
mod nearest;

use file::File;
pub use file::{Access, Class, Purpose};
pub use nearest::nearest;

/// The part that a name without `/` stands for.
pub const BASE: &str = "base";

/// One host of a preset.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct PresetEntry {
    /// A name or a name pattern in the entry grammar, without ports.
    pub host: String,
    /// Ports in the entry grammar; `None` for the default of the group's effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<String>,
    /// Who controls the names that match.
    pub class: Class,
    /// Whether a stranger can leave data there.
    pub access: Access,
    /// What it is needed for.
    pub why: String,
    /// The preset and part that holds it: another than the one asked for where it was included.
    pub preset: String,
}

impl PresetEntry {
    /// The entry as a policy would write it.
    pub fn entry(&self) -> String {
        match &self.ports {
            Some(ports) => format!("{}:{ports}", self.host),
            None => self.host.clone(),
        }
    }
}

/// One part of one preset, everything that it includes resolved.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Preset {
    /// The name as a policy writes it: `npm` or `npm/optional`.
    pub name: String,
    /// What it is, in a few words.
    pub summary: String,
    /// The date at which the list was last checked.
    pub version: String,
    /// Whether it is made for groups that allow or for groups that deny.
    pub purpose: Purpose,
    /// Where the hosts come from.
    pub sources: Vec<String>,
    /// What is left out, and what else to know.
    pub notes: Vec<String>,
    /// Other presets that this part takes in.
    pub includes: Vec<String>,
    /// All parts of the preset, by the names that a policy would write.
    pub parts: Vec<String>,
    /// The hosts, each once, in the order of the files.
    pub entries: Vec<PresetEntry>,
}

/// Why there is no such preset.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PresetError {
    /// No preset or no part has that name.
    #[error("no preset is called `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The name that it most resembles.
        nearest: Option<String>,
    },
    /// The list that was built in cannot be read.
    #[error("the built-in preset `{name}` cannot be read: {problem}")]
    Broken {
        /// The preset.
        name: String,
        /// What the reader says.
        problem: String,
    },
}

impl PresetError {
    /// What a person can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Unknown {
                nearest: Some(nearest),
                ..
            } => Some(format!("did you mean `{nearest}`?")),
            Self::Unknown { nearest: None, .. } => {
                Some("`moat preset list` shows the names".to_owned())
            }
            Self::Broken { .. } => None,
        }
    }
}

/// The names of all presets, in alphabetical order, without their parts.
pub fn names() -> impl Iterator<Item = &'static str> {
    library::FILES.iter().map(|(name, _)| *name)
}

/// The names of all presets and all their parts, as a policy can write them.
pub fn all_names() -> Result<Vec<String>, PresetError> {
    let mut all = Vec::new();
    for name in names() {
        let file = open(name)?;
        all.extend(part_names(name, &file));
    }
    Ok(all)
}

/// The preset or part with this name, everything that it includes resolved.
pub fn find(name: &str) -> Result<Preset, PresetError> {
    let (base, part) = split(name);
    let file = match open(base) {
        Err(PresetError::Unknown { .. }) => return Err(unknown(name)),
        other => other?,
    };
    let Some(list) = file
        .parts
        .get(part)
        .filter(|_| part_name(base, part) == name)
    else {
        return Err(unknown(name));
    };
    let mut entries = Vec::new();
    collect(name, &mut entries, &mut HashSet::new())?;
    let mut seen = HashSet::new();
    entries.retain(|entry| seen.insert(entry.entry()));
    Ok(Preset {
        name: name.to_owned(),
        parts: part_names(base, &file).collect(),
        includes: list.include.clone(),
        summary: file.summary,
        version: file.version,
        purpose: file.purpose,
        sources: file.sources,
        notes: file.notes,
        entries,
    })
}

/// Adds the hosts of one part and of what it includes; each part is visited once, so that even
/// files that include one another come to an end.
fn collect(
    name: &str,
    entries: &mut Vec<PresetEntry>,
    visited: &mut HashSet<String>,
) -> Result<(), PresetError> {
    if !visited.insert(name.to_owned()) {
        return Ok(());
    }
    let (base, part) = split(name);
    let file = open(base)?;
    let Some(list) = file.parts.get(part) else {
        return Err(unknown(name));
    };
    for group in &list.hosts {
        let mut hosts = Vec::new();
        group.tree.expand("", &mut hosts);
        entries.extend(hosts.into_iter().map(|host| PresetEntry {
            host,
            ports: group.ports.clone(),
            class: group.class,
            access: group.access,
            why: group.why.clone(),
            preset: name.to_owned(),
        }));
    }
    for include in &list.include {
        collect(include, entries, visited)?;
    }
    Ok(())
}

/// `npm/optional` is the part `optional` of `npm`; `npm` alone is its base.
fn split(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((name, BASE))
}

fn part_names<'a>(name: &'a str, file: &'a File) -> impl Iterator<Item = String> + 'a {
    file.parts.keys().map(move |part| part_name(name, part))
}

fn part_name(name: &str, part: &str) -> String {
    match part {
        BASE => name.to_owned(),
        part => format!("{name}/{part}"),
    }
}

fn open(name: &str) -> Result<File, PresetError> {
    let found = library::FILES
        .binary_search_by_key(&name, |(name, _)| name)
        .ok()
        .and_then(|at| library::FILES.get(at));
    let Some((_, text)) = found else {
        return Err(unknown(name));
    };
    serde_yaml::from_str(text).map_err(|error| PresetError::Broken {
        name: name.to_owned(),
        problem: error.to_string(),
    })
}

fn unknown(name: &str) -> PresetError {
    let known = all_names().unwrap_or_else(|_| names().map(str::to_owned).collect());
    PresetError::Unknown {
        name: name.to_owned(),
        nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
