use super::*;
use crate::document::written::File;

/// Every path of keys to a mapping of the table, as a document that holds nothing else, with a
/// hole for one more key.
fn holes(shape: &Shape, before: &str, after: &str, found: &mut Vec<(String, &'static [Key])>) {
    match shape {
        Shape::Map(keys) => {
            found.push((format!("{before}{{HOLE}}{after}"), keys));
            for key in *keys {
                let before = format!("{before}{{\"{}\": ", key.name);
                holes(&key.shape, &before, &format!("}}{after}"), found);
            }
        }
        Shape::List(item) => holes(item, &format!("{before}["), &format!("]{after}"), found),
        Shape::Either(_, many) => holes(many, before, after, found),
        Shape::Text
        | Shape::Word
        | Shape::Number
        | Shape::Flag
        | Shape::Choice(_)
        | Shape::Anything => {}
    }
}

#[test]
fn the_serde_types_know_exactly_the_keys_of_the_table() {
    let mut found = Vec::new();
    holes(&DOCUMENT, "", "", &mut found);
    assert!(found.len() >= 9, "{}", found.len());
    for (text, keys) in found {
        let error = serde_yaml::from_str::<File>(&text.replace("HOLE", "zzz: 1"))
            .unwrap_err()
            .to_string();
        let (_, known) = error.split_once("expected one of ").unwrap_or_else(|| {
            panic!("{text}: {error}");
        });
        let mut known: Vec<_> = known.split('`').skip(1).step_by(2).collect();
        let mut table: Vec<_> = keys.iter().map(|key| key.name).collect();
        known.sort_unstable();
        table.sort_unstable();
        assert_eq!(known, table, "{text}");
    }
}

#[test]
fn words_that_some_yaml_reads_otherwise_are_known() {
    let retyped = [
        "y",
        "Yes",
        "NO",
        "on",
        "Off",
        "true",
        "~",
        "null",
        "",
        "1",
        "-1",
        "+1.5",
        "1_000",
        ".5",
        "0x1F",
        "0o17",
        "0b1",
        "1e3",
        "1.5E+3",
        ".inf",
        "-.INF",
        ".NaN",
        "1:30",
        "190:20:30.15",
        "2026-12-31",
        "2026-12-31T00:00:00Z",
        "2026-1-1",
    ];
    for text in retyped {
        assert!(word::retyped(text).is_some(), "{text}");
    }
    let texts = [
        "a",
        "yes.test",
        "1e3.test",
        "10.0.0.1",
        "10.0.0.1:53",
        "10.0.0.0/8:53",
        "::1",
        "[::1]",
        "a.test:443",
        "2026-12-31.test",
        "1.2.3",
        "0x",
        "e3",
        "-",
        "2fa.test",
        "123.test:80",
    ];
    for text in texts {
        assert_eq!(word::retyped(text), None, "{text}");
    }
}
