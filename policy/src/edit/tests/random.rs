//! Random policies and edits: an addition inserts bytes and nothing else, and what is loaded
//! afterwards is what was there and the new entry.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::{Edit, Item, Section, apply, load};
use crate::entry::EntryList;

/// A list of groups in the layouts that people write.
fn policy() -> impl Strategy<Value = String> {
    let entry = prop_oneof![
        "[a-d]\\.test",
        "\"\\*\\.[a-d]\\.test\"",
        "[a-d]\\.test:8[0-9]{3}",
        Just("{ host: m.test, until: \"2027-01-15T08:00:00Z\" }".to_owned()),
    ];
    let comment = prop_oneof![Just(""), Just("   # why"), Just(" # ä")];
    let entries = proptest::collection::vec((entry, comment), 1..4);
    let layout = (0..4_usize, 0..3_usize, any::<bool>(), any::<bool>());
    let group = (entries, layout, prop_oneof!["ours", "[x-z]"]);
    let section = proptest::collection::vec(group, 0..4);
    (section.clone(), section, any::<[bool; 3]>()).prop_map(
        |(allow, deny, [carriage, mark, cut])| {
            let mut text = "version: 1\n".to_owned();
            for (key, groups) in [("allow", allow), ("deny", deny)] {
                write_section(&mut text, key, &groups);
            }
            if cut {
                text.pop();
            }
            if carriage {
                text = text.replace('\n', "\r\n");
            }
            if mark {
                format!("\u{feff}{text}")
            } else {
                text
            }
        },
    )
}

type Group = (
    Vec<(String, &'static str)>,
    (usize, usize, bool, bool),
    String,
);

fn write_section(text: &mut String, key: &str, groups: &[Group]) {
    if groups.is_empty() {
        writeln!(text, "{key}: []").unwrap();
        return;
    }
    writeln!(text, "{key}:").unwrap();
    let outer = groups[0].1.0;
    for (number, (entries, (_, inner, flow, after), id)) in groups.iter().enumerate() {
        let pad = " ".repeat(outer);
        let id = match (number, id.as_str(), key) {
            (0, "ours", "allow") => "allowed".to_owned(),
            (0, "ours", _) => "denied".to_owned(),
            _ => format!("{id}-{key}-{number}"),
        };
        writeln!(text, "{pad}- id: {id}").unwrap();
        if *flow {
            let list: Vec<&str> = entries.iter().map(|(entry, _)| entry.as_str()).collect();
            writeln!(text, "{pad}  net: [{}]", list.join(", ")).unwrap();
        } else {
            writeln!(text, "{pad}  net:").unwrap();
            let deeper = " ".repeat(outer + 2 + inner);
            for (entry, comment) in entries {
                writeln!(text, "{deeper}- {entry}{comment}").unwrap();
            }
        }
        if *after {
            writeln!(text, "{pad}  # after the group\n").unwrap();
        }
    }
}

/// Everything that was loaded, without places.
fn meaning(lists: &[EntryList]) -> Vec<String> {
    let entry = |list: &EntryList, entry: &crate::entry::Entry| {
        format!(
            "{} {} {} {:?}",
            list.effect, entry.pattern, entry.ports, entry.until
        )
    };
    let mut all: Vec<String> = lists
        .iter()
        .flat_map(|list| list.entries.iter().map(move |one| entry(list, one)))
        .collect();
    all.sort();
    all
}

/// Whether the second text is the first with one run of bytes put in.
fn is_insertion(before: &str, after: &str) -> bool {
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let tail = before[head..]
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    head + tail == before.len() && after.len() > before.len()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn an_addition_inserts_and_its_removal_restores_the_meaning(
        text in policy(),
        host in "(new|no|[a-d])(\\.test)?(:[1-9][0-9]{2})?",
        denied in any::<bool>(),
    ) {
        let section = if denied { Section::Deny } else { Section::Allow };
        let item = Item::parse(&host, None).unwrap();
        let add = Edit::Add { section, item: item.clone(), until: None, reason: None };
        let before = load(&text).unwrap();
        let edited = apply(Some(&text), &add, &load).unwrap();
        let after = load(&edited.text).unwrap();
        prop_assert_eq!(edited.changed, edited.text != text);
        if edited.changed {
            // An empty list has no form that an item could join.
            let empty = format!("{section}: []");
            let start = text.replacen(&empty, &format!("{section}:"), 1);
            prop_assert!(is_insertion(&start, &edited.text), "{}", edited.text);
            prop_assert_eq!(meaning(&after).len(), meaning(&before).len() + 1);
            prop_assert_eq!(edited.text.contains("\r\n"), text.contains("\r\n"));
            let again = apply(Some(&edited.text), &add, &load).unwrap();
            prop_assert!(!again.changed);
        }
        let removed = apply(Some(&edited.text), &Edit::Remove { section, item }, &load).unwrap();
        if edited.changed {
            prop_assert_eq!(meaning(&load(&removed.text).unwrap()), meaning(&before));
        }
    }
}
