//! A policy file that is not what it seems does not load.

use crate::support::bed;

#[test]
fn a_key_or_an_id_that_is_there_twice_does_not_load() {
    bed(|bed| {
        let said = bed.refuses("version: 1\nallow: []\nallow:\n  - id: a\n    net: [\"*\"]\n");
        assert!(said.contains("allow") && said.contains(":3:1"), "{said}");
        let said = bed.refuses(
            "version: 1\nallow:\n  - id: a\n    net: [a.test]\n  - id: a\n    net: [b.test]\n",
        );
        assert!(said.contains("`a`") && said.contains(":5:"), "{said}");
    });
}

#[test]
fn an_unknown_key_does_not_load() {
    bed(|bed| {
        let said =
            bed.refuses("version: 1\nallow:\n  - id: a\n    net: [a.test]\nalowed_ports: [22]\n");
        assert!(
            said.contains("alowed_ports") && said.contains(":5:1"),
            "{said}"
        );
    });
}

#[test]
fn a_second_document_does_not_load() {
    bed(|bed| {
        let said =
            bed.refuses("version: 1\n---\nversion: 1\nallow:\n  - id: a\n    net: [\"*\"]\n");
        assert!(said.contains("document") && said.contains(":2:"), "{said}");
    });
}

#[test]
fn words_that_yaml_retypes_are_text_or_refused() {
    bed(|bed| {
        let said = bed.loads("version: 1\nallow:\n  - id: a\n    net:\n      - on\n      - no\n");
        let refused = said.code == 64 && said.stderr.contains(":5:");
        assert!(refused || [0, 2].contains(&said.code), "{said:?}");
        let said = bed.refuses("version: 1\nallow:\n  - id: a\n    net:\n      - 123\n");
        assert!(said.contains(":5:"), "{said}");
    });
}

#[test]
fn what_is_not_built_yet_is_refused_and_not_ignored() {
    bed(|bed| {
        let head = "version: 1\nallow:\n  - id: a\n    net:\n";
        for text in [
            format!("{head}      - {{ host: a.test, tls: terminate }}\n"),
            format!("{head}      - {{ host: a.test, binaries: [/usr/bin/git] }}\n"),
            format!("{head}      - a.test\nsecrets: []\n"),
            format!("{head}      - a.test\nroles: []\n"),
        ] {
            let said = bed.refuses(&text);
            assert!(said.contains("not supported yet"), "{text}\n{said}");
        }
    });
}

#[test]
fn an_unquoted_tag_or_alias_is_told_to_be_quoted() {
    bed(|bed| {
        for entry in ["!evil.test", "*.example.test"] {
            let text = format!("version: 1\nallow:\n  - id: a\n    net:\n      - {entry}\n");
            let said = bed.refuses(&text);
            assert!(
                said.contains("quote") && said.contains(":5:"),
                "{entry}: {said}"
            );
        }
    });
}
