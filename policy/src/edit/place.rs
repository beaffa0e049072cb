//! Where in the document an item goes or stands, and the change of the document that follows.

use std::collections::HashSet;

use serde_yaml::{Mapping, Value};

use super::{Item, Section};

/// One change of a document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// The item at the end of the `net` list of a group that stands.
    Join { section: Section, group: usize },
    /// A group of its own at the end of its section.
    Group {
        section: Section,
        id: String,
        reason: Option<String>,
    },
    /// One item of a group's `net` list less.
    DropItem {
        section: Section,
        group: usize,
        item: usize,
    },
    /// A whole `net` list less.
    DropList { section: Section, group: usize },
    /// A whole group less.
    DropGroup { section: Section, group: usize },
}

/// The ways to add an item, best first: one line in a group that commands made, or a new group.
pub(super) fn add(document: &Value, section: Section, reason: Option<&str>) -> Vec<Vec<Step>> {
    let mut plans: Vec<Vec<Step>> = groups(document, section)
        .iter()
        .enumerate()
        .filter(|(_, group)| is_ours(group, section) && takes(group, section, reason))
        .map(|(group, _)| vec![Step::Join { section, group }])
        .collect();
    plans.push(vec![Step::Group {
        section,
        id: free_id(document, section),
        reason: reason.map(str::to_owned),
    }]);
    plans
}

/// The steps that take every writing of an item out of a section, from the end of the file to
/// its beginning, so that the indexes of later steps stay right.
pub(super) fn remove(document: &Value, section: Section, item: &Item) -> Vec<Step> {
    let mut steps = Vec::new();
    for (index, group) in groups(document, section).iter().enumerate().rev() {
        let nodes = net(group);
        let found: Vec<usize> = nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| item.is(node, section))
            .map(|(at, _)| at)
            .collect();
        let others = ["id", "reason", "net"];
        if found.is_empty() {
        } else if found.len() < nodes.len() {
            steps.extend(found.into_iter().rev().map(|item| Step::DropItem {
                section,
                group: index,
                item,
            }));
        } else if keys(group).all(|key| others.contains(&key)) {
            steps.push(Step::DropGroup {
                section,
                group: index,
            });
        } else {
            steps.push(Step::DropList {
                section,
                group: index,
            });
        }
    }
    steps
}

/// The change of a step, made on the document; `None` where the document has no such place.
pub(super) fn perform(document: &mut Value, step: &Step, item: &Value) -> Option<()> {
    let root = document.as_mapping_mut()?;
    match step {
        Step::Join { section, group } => net_mut(root, *section, *group)?.push(item.clone()),
        Step::Group {
            section,
            id,
            reason,
        } => {
            let groups = root
                .entry(section.as_str().into())
                .or_insert_with(|| Value::Sequence(Vec::new()));
            let group = group(id, reason.as_deref(), item);
            groups.as_sequence_mut()?.push(Value::Mapping(group));
        }
        Step::DropItem {
            section,
            group,
            item,
        } => {
            let list = net_mut(root, *section, *group)?;
            (*item < list.len()).then(|| list.remove(*item))?;
        }
        Step::DropList { section, group } => {
            let groups = root.get_mut(section.as_str())?.as_sequence_mut()?;
            groups.get_mut(*group)?.as_mapping_mut()?.remove("net")?;
        }
        Step::DropGroup { section, group } => {
            let groups = root.get_mut(section.as_str())?.as_sequence_mut()?;
            (*group < groups.len()).then(|| groups.remove(*group))?;
        }
    }
    Some(())
}

/// A new group with one item.
pub(super) fn group(id: &str, reason: Option<&str>, item: &Value) -> Mapping {
    let mut group = Mapping::new();
    group.insert("id".into(), id.into());
    if let Some(reason) = reason {
        group.insert("reason".into(), reason.into());
    }
    group.insert("net".into(), Value::Sequence(vec![item.clone()]));
    group
}

fn net_mut(root: &mut Mapping, section: Section, group: usize) -> Option<&mut Vec<Value>> {
    let groups = root.get_mut(section.as_str())?.as_sequence_mut()?;
    groups.get_mut(group)?.get_mut("net")?.as_sequence_mut()
}

fn groups(document: &Value, section: Section) -> &[Value] {
    document
        .get(section.as_str())
        .and_then(Value::as_sequence)
        .map_or(&[], Vec::as_slice)
}

fn net(group: &Value) -> &[Value] {
    group
        .get("net")
        .and_then(Value::as_sequence)
        .map_or(&[], Vec::as_slice)
}

fn keys(group: &Value) -> impl Iterator<Item = &str> {
    group
        .as_mapping()
        .into_iter()
        .flatten()
        .filter_map(|(key, _)| key.as_str())
}

fn text<'v>(group: &'v Value, key: &str) -> Option<&'v str> {
    group.get(key).and_then(Value::as_str)
}

/// Whether a group's id is one that commands give: `allowed`, `allowed-2`, …
fn is_ours(group: &Value, section: Section) -> bool {
    let number = text(group, "id").and_then(|id| id.strip_prefix(section.group()));
    number.is_some_and(|rest| {
        rest.is_empty()
            || rest
                .strip_prefix('-')
                .is_some_and(|n| n.parse::<u32>().is_ok())
    })
}

/// Whether an item can join a group: it has the same reason, and no exclusion that could take
/// the item out again.
fn takes(group: &Value, section: Section, reason: Option<&str>) -> bool {
    let list = net(group);
    let own = text(group, "reason");
    let excludes = |node: &Value| node.as_str().is_some_and(|text| text.starts_with('!'));
    let plain = reason.is_none() && text(group, "id") == Some(section.group());
    !list.is_empty() && !list.iter().any(excludes) && (own == reason || plain)
}

fn free_id(document: &Value, section: Section) -> String {
    let taken: HashSet<&str> = ["allow", "deny", "ask"]
        .iter()
        .filter_map(|section| document.get(section).and_then(Value::as_sequence))
        .flatten()
        .filter_map(|group| text(group, "id"))
        .collect();
    let base = section.group();
    std::iter::once(base.to_owned())
        .chain((2..taken.len().saturating_add(3)).map(|number| format!("{base}-{number}")))
        .find(|id| !taken.contains(id.as_str()))
        .unwrap_or_else(|| base.to_owned())
}
