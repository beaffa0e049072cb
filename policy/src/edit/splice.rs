//! The change of a step, made on the text.
//!
//! The lossless tree of `yaml-edit` finds the places and takes care of flow style; new lines in
//! block style are put in here, after the comments that belong to what stands above. Nothing
//! here is trusted: the caller compares the outcome with the plan.

use std::str::FromStr;

use serde_yaml::Value;
use yaml_edit::{Document, Mapping, Sequence, YamlFile, YamlNode};

use super::Section;
use super::place::{self, Step};

/// The text after one step; `None` where it cannot be done.
pub(super) fn perform(text: &str, step: &Step, item: &Value) -> Option<String> {
    let file = YamlFile::from_str(text).ok()?;
    let root = file.document()?.as_mapping()?;
    match step {
        Step::Join { section, group } => {
            let list = nth(&root, *section, *group)?.get_sequence("net")?;
            let quote = Quote::of(&root, &list);
            if list.is_flow_style() {
                push(&list, &inline(item, quote))?;
                return Some(file.to_string());
            }
            let column = column(text, &list)?;
            let at = end_of(text, &list, column)?;
            Some(insert(
                text,
                at,
                &[format!("{}- {}", pad(column), inline(item, quote))],
            ))
        }
        Step::Group {
            section,
            id,
            reason,
        } => new_group(
            text,
            &file,
            &root,
            *section,
            &place::group(id, reason.as_deref(), item),
        ),
        Step::DropItem {
            section,
            group,
            item,
        } => {
            let list = nth(&root, *section, *group)?.get_sequence("net")?;
            list.remove(*item)?;
            Some(file.to_string())
        }
        Step::DropList { section, group } => {
            nth(&root, *section, *group)?.remove("net")?;
            Some(file.to_string())
        }
        Step::DropGroup { section, group } => {
            root.get_sequence(section.as_str())?.remove(*group)?;
            Some(file.to_string())
        }
    }
}

fn nth(root: &Mapping, section: Section, group: usize) -> Option<Mapping> {
    let groups = root.get_sequence(section.as_str())?;
    groups.get(group)?.as_mapping().cloned()
}

fn new_group(
    text: &str,
    file: &YamlFile,
    root: &Mapping,
    section: Section,
    group: &serde_yaml::Mapping,
) -> Option<String> {
    let Some(groups) = root.get_sequence(section.as_str()) else {
        if root.contains_key(section.as_str()) {
            return None;
        }
        if root.is_flow_style() {
            let list = Value::Sequence(vec![Value::Mapping(group.clone())]);
            let list = Document::from_str(&inline(&list, Quote::Always)).ok()?;
            root.set(section.as_str(), list.as_sequence()?);
            return Some(file.to_string());
        }
        let column = root.detect_indentation_level();
        let mut lines = vec![format!("{}{section}:", pad(column))];
        lines.extend(block(group, column + 2));
        return Some(insert(text, text.len(), &lines));
    };
    if groups.is_empty() && !root.is_flow_style() {
        return unfold(
            text,
            &groups,
            &block(group, root.detect_indentation_level() + 2),
        );
    }
    if groups.is_flow_style() {
        let quote = Quote::of(root, &groups);
        push(&groups, &inline(&Value::Mapping(group.clone()), quote))?;
        return Some(file.to_string());
    }
    let column = column(text, &groups)?;
    let at = end_of(text, &groups, column)?;
    Some(insert(text, at, &block(group, column)))
}

/// Puts a node, written in flow style, at the end of a flow list.
fn push(list: &Sequence, written: &str) -> Option<()> {
    let node = Document::from_str(written).ok()?;
    if let Some(mapping) = node.as_mapping() {
        list.push(mapping);
    } else {
        list.push(node.as_scalar()?);
    }
    Some(())
}

/// Puts lines in the place of an empty list, which has no form but `[]`; what follows on its
/// line stays there.
fn unfold(text: &str, list: &Sequence, lines: &[String]) -> Option<String> {
    let range = list.byte_range();
    let (start, end) = (
        usize::try_from(range.start).ok()?,
        usize::try_from(range.end).ok()?,
    );
    let before = text.get(..start)?.trim_end_matches(' ');
    let after = text.get(end..)?;
    let rest = after.find('\n').map_or(after.len(), |at| at + 1);
    let emptied = format!("{before}{after}");
    Some(insert(&emptied, before.len() + rest, lines))
}

/// The column of the dashes of a block list.
fn column(text: &str, list: &Sequence) -> Option<usize> {
    let start = usize::try_from(list.first()?.byte_range().start).ok()?;
    let before = text.get(..start)?.rsplit('\n').next()?;
    let dash = before.rfind('-')?;
    let indent = before.get(..dash)?;
    // A dash behind another dash, as in `- - a`, has no column that lines could share.
    indent.bytes().all(|b| b == b' ').then_some(dash)
}

/// Where a new line goes: after the last item, and after the comments below it that are indented
/// deeper than the dashes and so belong to it.
fn end_of(text: &str, list: &Sequence, column: usize) -> Option<usize> {
    let end = usize::try_from(list.last()?.byte_range().end).ok()?;
    let body = text.get(..end)?.trim_end().len();
    let line_end = |from: usize| {
        let rest = text.get(from..).unwrap_or("");
        rest.find('\n').map_or(text.len(), |at| from + at + 1)
    };
    let mut at = line_end(body);
    let mut seek = at;
    while seek < text.len() {
        let next = line_end(seek);
        let line = text.get(seek..next)?;
        let words = line.trim_start_matches(' ');
        if words.trim().is_empty() {
            seek = next;
            continue;
        }
        if !words.starts_with('#') || line.len() - words.len() <= column {
            break;
        }
        seek = next;
        at = next;
    }
    Some(at)
}

/// The text with whole lines put in at the start of a line or at the end of the text.
fn insert(text: &str, at: usize, lines: &[String]) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let mut joined = before.to_owned();
    if !joined.is_empty() && !joined.ends_with('\n') {
        joined.push('\n');
    }
    for line in lines {
        joined.push_str(line);
        joined.push('\n');
    }
    joined.push_str(after);
    joined
}

/// A group in block style, its dash at the column.
fn block(group: &serde_yaml::Mapping, column: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut lead = format!("{}- ", pad(column));
    for (key, value) in group {
        let key = key.as_str().unwrap_or_default();
        if let Some(items) = value.as_sequence() {
            lines.push(format!("{lead}{key}:"));
            let inner = pad(column + 4);
            let item = |item: &Value| format!("{inner}- {}", inline(item, Quote::Needed));
            lines.extend(items.iter().map(item));
        } else {
            lines.push(format!("{lead}{key}: {}", inline(value, Quote::Needed)));
        }
        lead = pad(column + 2);
    }
    lines
}

fn pad(column: usize) -> String {
    " ".repeat(column)
}

/// When a text stands in double quotes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Quote {
    /// Where a YAML reader of any version could take it for something else than a text.
    Needed,
    /// Wherever it is a value, as its neighbours have it.
    Values,
    /// Everywhere, keys too: JSON.
    Always,
}

impl Quote {
    /// The habit of a list: that of its last item.
    fn of(root: &Mapping, list: &Sequence) -> Self {
        if root.is_flow_style() {
            return Self::Always;
        }
        let quoted = list
            .last()
            .as_ref()
            .and_then(YamlNode::as_scalar)
            .is_some_and(yaml_edit::Scalar::is_quoted);
        if quoted { Self::Values } else { Self::Needed }
    }
}

/// A value on one line.
fn inline(value: &Value, quote: Quote) -> String {
    match value {
        Value::String(text) if quote != Quote::Needed || !is_plain(text) => quoted(text),
        Value::String(text) => text.clone(),
        Value::Sequence(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(item, quote)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Mapping(mapping) => {
            let pairs: Vec<String> = mapping
                .iter()
                .map(|(key, value)| {
                    let key = key.as_str().unwrap_or_default();
                    match quote {
                        Quote::Always => format!("{}: {}", quoted(key), inline(value, quote)),
                        Quote::Needed | Quote::Values => format!("{key}: {}", inline(value, quote)),
                    }
                })
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Tagged(_) => "null".to_owned(),
    }
}

/// Whether a text without quotes is a text to every reader, YAML 1.1 included: it begins with a
/// letter, has a letter that makes it no number, no character with a meaning, and is no word
/// that stands for a truth value or for nothing.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 11] = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan",
    ];
    let letters =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/' | b':');
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(letters)
        && !text.ends_with(':')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
        || is_sentence(text)
}

/// Words and spaces, as in a reason: a text to every reader as long as two words stand in it.
fn is_sentence(text: &str) -> bool {
    let letters =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b' ' | b'.' | b'-' | b'_' | b'/');
    text.contains(' ')
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.bytes().all(letters)
}

/// A text in double quotes, as JSON and every YAML reader take it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
