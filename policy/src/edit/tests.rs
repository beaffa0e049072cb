use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use super::{Edit, EditError, Edited, FIRST_TEXT, Item, Section, apply};
use crate::compile::{BUILT_IN, lists};
use crate::diagnostic::Diagnostic;
use crate::entry::EntryList;
use crate::layer::{LayerInput, Origin};
use crate::port::PortSet;
use crate::source::SourceFile;

mod random;

/// The loader itself.
fn load(text: &str) -> Result<Vec<EntryList>, Vec<Diagnostic>> {
    lists(LayerInput {
        origin: Origin::User,
        source: SourceFile::new("policy.yaml", text),
    })
}

fn add(section: Section, text: &str) -> Edit {
    Edit::Add {
        section,
        item: Item::parse(text, None).unwrap(),
        until: None,
        reason: None,
    }
}

fn allow(policy: &str, text: &str) -> Edited {
    apply(Some(policy), &add(Section::Allow, text), &load).unwrap()
}

fn remove(policy: &str, text: &str) -> Edited {
    let edit = Edit::Remove {
        section: Section::Allow,
        item: Item::parse(text, None).unwrap(),
    };
    apply(Some(policy), &edit, &load).unwrap()
}

const POLICY: &str = "\
# Ours.
version: 1   # the only one
allow:
  - id: build
    reason: builds
    net:
      - a.test       # why a
      - \"*.b.test\"
      # one more to come
  # the end of allow

# and of the file
";

#[test]
fn the_first_entry_gets_a_group_below_everything_that_belongs_to_the_last_one() {
    assert_snapshot!(allow(POLICY, "new.test").text, @r#"
    # Ours.
    version: 1   # the only one
    allow:
      - id: build
        reason: builds
        net:
          - a.test       # why a
          - "*.b.test"
          # one more to come
      - id: allowed
        net:
          - new.test
      # the end of allow

    # and of the file
    "#);
}

#[test]
fn the_next_entry_is_one_line() {
    let first = allow(POLICY, "new.test").text;
    let second = allow(&first, "*.next.test:8443").text;
    let lines: Vec<&str> = second
        .lines()
        .filter(|line| !first.contains(line))
        .collect();
    assert_eq!(lines, [r#"      - "*.next.test:8443""#]);
    assert_eq!(second.lines().count(), first.lines().count() + 1);
}

#[test]
fn an_entry_that_is_there_in_any_spelling_changes_nothing() {
    let first = allow(POLICY, "new.test").text;
    for again in ["new.test", "NEW.test.", "new.test:443", "new.test:80,443"] {
        let edited = allow(&first, again);
        assert!(!edited.changed, "{again}");
        assert_eq!(edited.text, first);
    }
    assert_snapshot!(allow(&first, "NEW.test.").summary, @"`new.test` is there already: group `allowed`, line 12");
    assert!(allow(&first, "new.test:8443").changed, "another port");
}

#[test]
fn what_yaml_would_read_as_something_else_is_quoted() {
    let mut text = "version: 1\nallow: [] # none\ndeny: []\n".to_owned();
    for word in [
        "no",
        "on",
        "null",
        "1e3.test",
        "y",
        "2026-11-30.test",
        "a_b",
        "localhost:5432",
        "::1",
        "10.0.0.0/8:22",
    ] {
        text = allow(&text, word).text;
    }
    assert_snapshot!(text, @r#"
    version: 1
    allow: # none
      - id: allowed
        net:
          - "no"
          - "on"
          - "null"
          - "1e3.test"
          - "y"
          - "2026-11-30.test"
          - "a_b"
          - "localhost:5432"
          - "[::1]"
          - "10.0.0.0/8:22"
    deny: []
    "#);
}

#[test]
fn an_integer_is_no_host() {
    let error = Item::parse("123", None).unwrap_err();
    assert!(matches!(error, EditError::Entry { .. }));
    assert!(error.help().is_some());
    assert!(matches!(
        Item::parse("!a.test", None).unwrap_err(),
        EditError::Exclusion(_)
    ));
}

#[test]
fn line_ends_byte_order_mark_and_indentation_stay() {
    let text =
        "\u{feff}version: 1\r\nallow:\r\n-   id: allowed\r\n    net:\r\n        -   a.test\r\n";
    let expected = format!("{text}        - new.test\r\n");
    assert_eq!(allow(text, "new.test").text, expected);
}

#[test]
fn a_last_line_without_an_end_gets_one() {
    let text = "version: 1\nallow:\n  - id: allowed\n    net:\n      - a.test";
    assert_eq!(
        allow(text, "b.test").text,
        format!("{text}\n      - b.test\n")
    );
}

#[test]
fn flow_lists_and_json_stay_what_they_are() {
    assert_snapshot!(allow("version: 1\nallow: [{id: allowed, net: [a.test]}]\n", "b.test:22,443").text, @r#"
    version: 1
    allow: [{id: allowed, net: [a.test, "b.test:22,443"]}]
    "#);
    assert_snapshot!(allow(r#"{"version": 1, "deny": []}"#, "b.test").text, @r#"{"version": 1, "deny": [], "allow": [{ "id": "allowed", "net": ["b.test"] }]}"#);
    assert_snapshot!(allow(r#"{"version": 1, "allow": [{"id": "allowed", "net": ["a.test"]}]}"#, "b.test").text, @r#"{"version": 1, "allow": [{"id": "allowed", "net": ["a.test", "b.test"]}]}"#);
}

#[test]
fn a_section_that_is_missing_comes_last() {
    let deny = apply(Some(POLICY), &add(Section::Deny, "bad.test"), &load).unwrap();
    assert_eq!(
        deny.text,
        format!("{POLICY}deny:\n  - id: denied\n    net:\n      - bad.test\n")
    );
}

#[test]
fn a_whole_document_may_be_indented_or_marked() {
    let indented = "---\n  version: 1\n  allow: []\n";
    let both = apply(
        Some(&allow(indented, "a.test").text),
        &add(Section::Deny, "b.test"),
        &load,
    );
    assert_snapshot!(both.unwrap().text, @r"
    ---
      version: 1
      allow:
        - id: allowed
          net:
            - a.test
      deny:
        - id: denied
          net:
            - b.test
    ");
    let ended = apply(
        Some("version: 1\n...\n"),
        &add(Section::Allow, "a.test"),
        &load,
    );
    assert_snapshot!(ended.unwrap_err(), @"this file cannot be edited safely: its layout leaves no place where the change would be certain");
}

#[test]
fn a_file_that_does_not_exist_begins_with_the_default() {
    assert_snapshot!(apply(None, &add(Section::Allow, "new.test"), &load).unwrap().text, @r"
    # What may leave this machine. `moat lint` checks this file, `moat edit` opens it.
    version: 1
    allow:
      # This group is what holds when no policy file exists: package registries, GitHub, model APIs
      # and documentation. `moat preset show default` lists its hosts; without the group, only what
      # stands below is allowed.
      - id: default
        reason: what a coding agent needs to install and build
        net:
          - preset: default
      - id: allowed
        net:
          - new.test
    ");
}

#[test]
fn a_new_file_begins_with_exactly_what_holds_without_one() {
    let meaning = |text: &str| -> Vec<String> {
        let lists = load(text).unwrap();
        let all = lists.iter().flat_map(|list| &list.entries);
        all.map(|entry| {
            format!(
                "{} {:?} {} {}",
                entry.rule.id, entry.rule.reason, entry.pattern, entry.ports
            )
        })
        .collect()
    };
    assert_eq!(meaning(FIRST_TEXT), meaning(BUILT_IN));
}

#[test]
fn a_host_of_the_default_is_there_already_and_creates_no_file() {
    let edited = apply(None, &add(Section::Allow, "docs.rs"), &load).unwrap();
    assert!(!edited.changed);
    assert_eq!(edited.text, "");
    assert_snapshot!(edited.summary, @"`docs.rs` is there already: group `default`, line 10, preset `default`");
}

#[test]
fn an_end_and_a_reason_are_written_out() {
    let edit = Edit::Add {
        section: Section::Allow,
        item: Item::parse("new.test", Some(&PortSet::all())).unwrap(),
        until: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_700)),
        reason: Some("it's: needed".to_owned()),
    };
    let once = apply(
        Some("version: 1\nallow:\n- id: a\n  net: [a.test]\n"),
        &edit,
        &load,
    )
    .unwrap();
    assert_snapshot!(once.text, @r#"
    version: 1
    allow:
    - id: a
      net: [a.test]
    - id: allowed
      reason: "it's: needed"
      net:
        - { host: new.test, ports: "*", until: "2027-01-15T08:00:00Z" }
    "#);
}

#[test]
fn an_end_that_no_calendar_has_is_refused() {
    for years in [9_000, 100_000, 1_000_000_000] {
        let edit = Edit::Add {
            section: Section::Allow,
            item: Item::parse("new.test", None).unwrap(),
            until: Some(SystemTime::UNIX_EPOCH + Duration::from_hours(years * 24 * 366)),
            reason: None,
        };
        let error = apply(None, &edit, &load).unwrap_err();
        assert_eq!(
            error.to_string(),
            "this file cannot be edited safely: the end lies beyond the year 9999"
        );
    }
}

#[test]
fn what_the_loader_refuses_is_said_with_its_reason() {
    let edit = Edit::Add {
        section: Section::Allow,
        item: Item::parse("new.test", None).unwrap(),
        until: None,
        reason: Some("red \u{1b}[31m".to_owned()),
    };
    let error = apply(None, &edit, &load).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the policy would not load after the edit: a reason with control characters"
    );
}

#[test]
fn a_reason_joins_the_group_that_has_it_and_no_other() {
    let with = |text: &str, host: &str, reason: &str| {
        let edit = Edit::Add {
            section: Section::Allow,
            item: Item::parse(host, None).unwrap(),
            until: None,
            reason: Some(reason.to_owned()),
        };
        apply(Some(text), &edit, &load).unwrap().text
    };
    let text = with("version: 1\nallow: []\n", "a.test", "one");
    let text = with(&text, "b.test", "two");
    let text = with(&text, "c.test", "one");
    assert_snapshot!(text, @r"
    version: 1
    allow:
      - id: allowed
        reason: one
        net:
          - a.test
          - c.test
      - id: allowed-2
        reason: two
        net:
          - b.test
    ");
}

#[test]
fn a_preset_is_added_once_and_removed_again() {
    let item = || Item::Preset("npm/optional".to_owned());
    let edit = Edit::Add {
        section: Section::Allow,
        item: item(),
        until: None,
        reason: None,
    };
    let text = "version: 1\nallow:\n  - id: a\n    net: [a.test]\n";
    let added = apply(Some(text), &edit, &load).unwrap();
    assert!(
        added
            .text
            .ends_with("  - id: allowed\n    net:\n      - { preset: npm/optional }\n")
    );
    assert!(!apply(Some(&added.text), &edit, &load).unwrap().changed);
    let edit = Edit::Remove {
        section: Section::Allow,
        item: item(),
    };
    assert_eq!(apply(Some(&added.text), &edit, &load).unwrap().text, text);
}

#[test]
fn presets_that_warn_are_not_allowed_and_unknown_ones_are_named() {
    let edit = |name: &str| Edit::Add {
        section: Section::Allow,
        item: Item::Preset(name.to_owned()),
        until: None,
        reason: None,
    };
    let error = |name: &str| apply(Some(POLICY), &edit(name), &load).unwrap_err();
    assert_snapshot!(error("blocklist-exfil"), @"the preset `blocklist-exfil` is not made for `allow`");
    assert_snapshot!(error("nugett").help().unwrap(), @"did you mean `nuget`?");
}

#[test]
fn removing_takes_the_line_alone() {
    assert_eq!(
        remove(POLICY, "A.test").text,
        POLICY.replace("      - a.test       # why a\n", "")
    );
}

#[test]
fn removing_the_last_entry_takes_the_group() {
    let text = allow(POLICY, "new.test").text;
    assert_eq!(remove(&text, "new.test").text, POLICY);
    let alone = remove(
        "version: 1\nallow:\n  - id: a\n    net:\n      - a.test\n",
        "a.test",
    );
    assert_eq!(alone.text, "version: 1\nallow: []\n");
}

#[test]
fn removing_what_is_not_there_says_where_it_may_come_from() {
    let absent = |text: &str, host: &str| {
        let edited = remove(text, host);
        assert!(!edited.changed);
        edited.summary
    };
    assert_snapshot!(absent(POLICY, "x.test"), @"`x.test` is not in `allow`");
    assert_snapshot!(absent(POLICY, "a.test:22"), @"`a.test:22` is not in `allow`; group `build` has `a.test` in line 7");
    let default = "version: 1\nallow:\n  - id: d\n    net:\n      - preset: docs\n";
    assert_snapshot!(absent(default, "docs.rs"), @"`docs.rs` is not in `allow` by itself: the preset `docs` of group `d` holds it; `moat deny docs.rs` refuses it all the same");
}

#[test]
fn an_entry_with_an_end_is_removed_by_its_host() {
    let text = "version: 1\nallow:\n  - id: a\n    net:\n      - a.test\n      - { host: b.test, until: \"2027-01-15T08:00:00Z\" }\n";
    assert!(!remove(text, "b.test").text.contains("b.test"));
}

#[test]
fn a_list_with_exclusions_or_behind_an_anchor_is_left_alone() {
    let excluding = "version: 1\nallow:\n  - id: allowed\n    net: [\"*.test\", \"!x.test\"]\n";
    assert!(allow(excluding, "new.test").text.contains("id: allowed-2"));
    let shared =
        "version: 1\nallow:\n  - id: allowed\n    net: &n [a.test]\n  - id: b\n    net: *n\n";
    assert!(allow(shared, "new.test").text.starts_with(shared));
}

#[test]
fn a_broken_policy_is_not_edited() {
    let edit = add(Section::Allow, "a.test");
    let error = apply(Some("version: 1\nallow: [a: b: c\n"), &edit, &load).unwrap_err();
    assert!(matches!(error, EditError::Broken(_)));
}
