//! A policy file that is not what it seems does not load.

use std::time::{Duration, Instant};

use crate::support::bed;

/// A group with one entry, as a whole policy.
const GOOD: &str = "version: 1\nallow:\n  - id: a\n    net: [allowed.test]\n";

/// What is written twice or means nothing, and where and how the error says so.
const SLIPS: [(&str, &str, &str); 16] = [
    (
        "version: 1\nallow: []\nallow:\n  - id: a\n    net: [\"*\"]\n",
        "3:1",
        "`allow`",
    ),
    (
        "version: 1\nallow: []\n\"\\x61llow\":\n  - id: a\n    net: [\"*\"]\n",
        "3:1",
        "`allow`",
    ),
    (
        "version: 1\nallow:\n  - id: a\n    net: [a.test]\n    net: [\"*\"]\n",
        "5:5",
        "`net`",
    ),
    (
        "version: 1\nallow:\n  - id: a\n    net: [{ host: a.test, host: b.test }]\n",
        "4:27",
        "`host`",
    ),
    (
        "version: 1\ndefaults: { net: deny, net: ask }\nallow: []\n",
        "2:24",
        "`net`",
    ),
    (
        "version: 1\nallow:\n  - id: a\n    net: [a.test]\nalowed_ports: [22]\n",
        "5:1",
        "`alowed_ports`",
    ),
    (
        "version: 1\nallow:\n  - id: a\n    net: [a.test]\n    portz: [22]\n",
        "5:5",
        "`portz`",
    ),
    (
        "version: 1\nallow:\n  - id: a\n    net: [{ host: a.test, prots: [22] }]\n",
        "4:27",
        "`prots`",
    ),
    ("version: 1\nAllow: []\n", "2:1", "`Allow`"),
    (
        "version: 1\n---\nversion: 1\nallow:\n  - id: a\n    net: [\"*\"]\n",
        "2:1",
        "a second document",
    ),
    (
        "version: 1\n...\nversion: 1\nallow:\n  - id: a\n    net: [\"*\"]\n",
        "3:1",
        "a second document",
    ),
    ("version: 1\nallow: []\n---\n", "3:1", "a second document"),
    (
        "version: 1\nallow:\n  - id: a\n    net: [a.test]\n  - id: a\n    net: [b.test]\n",
        "5:9",
        "`a`",
    ),
    (
        "version: 1\nallow:\n  - id: a\n    net: [a.test]\ndeny:\n  - id: \"a\"\n    net: [b.test]\n",
        "6:9",
        "`a`",
    ),
    (
        "version: 1\nallow:\n  - &g { id: a, net: [a.test] }\n  - { <<: *g, id: b }\n",
        "4:7",
        "`<<`",
    ),
    ("version: 1\n? [allow]\n: []\n", "2:3", "a key"),
];

#[test]
fn what_stands_twice_or_means_nothing_does_not_load() {
    bed(|bed| {
        for (text, place, what) in SLIPS {
            let said = bed.refuses(text);
            let place = format!("loads.yaml:{place}");
            assert!(said.contains(&place), "{text}\n{said}");
            assert!(said.contains(what), "{text}\n{said}");
            // Every other command says the same.
            for (words, code) in [
                (&["lint", "--policy"][..], 1),
                (&["test", "--policy"], 64),
                (&["allow", "new.test", "--yes", "--policy"], 64),
                (&["proxy", "--listen", "127.0.0.1:0", "--policy"], 64),
            ] {
                let said = bed.command(&[words, &["loads.yaml"]].concat());
                assert_eq!(said.code, code, "{words:?}: {said:?}");
                let all = said.stdout + &said.stderr;
                assert!(
                    all.contains(&place) && all.contains(what),
                    "{words:?}: {all}"
                );
                assert!(!all.contains("listening"), "{all}");
            }
            let kept = std::fs::read_to_string(bed.directory().join("loads.yaml"));
            assert_eq!(kept.unwrap(), text);
        }
    });
}

#[test]
fn words_that_yaml_retypes_are_refused_with_their_place() {
    let words = "on no yes y N off True FALSE ~ null Null 1e3 0x1F 0o17 017 1_000 0b11 +1 1.5 123 \
                 12:30:45 1:30 .inf -.Inf .NaN 2026-12-31 2026-12-31T00:00:00Z";
    bed(|bed| {
        let head = "version: 1\nallow:\n  - id: a\n    net:\n";
        let list: Vec<&str> = words.split_whitespace().collect();
        let list = list.join("\n      - ");
        let said = bed.refuses(&format!("{head}      - {list}\n"));
        for (at, word) in words.split_whitespace().enumerate() {
            let place = format!("loads.yaml:{}:9", 5 + at);
            assert!(said.contains(&place), "{word}: {said}");
        }
        for word in words.split_whitespace() {
            // In the other places of a text, and of a number.
            for (before, after) in [
                ("  - id: ", "\n    net: [a.test]\n"),
                ("  - id: a\n    net: [{ host: ", " }]\n"),
                ("  - id: a\n    net: [{ host: a.test, ports: ", " }]\n"),
            ] {
                let text = format!("version: 1\nallow:\n{before}{word}{after}");
                let said = bed.loads(&text);
                let is_port = before.ends_with("ports: ") && word == "123";
                let code = if is_port { 2 } else { 64 };
                assert_eq!(said.code, code, "{text}\n{said:?}");
                assert!(is_port || said.stderr.contains("loads.yaml:"), "{said:?}");
            }
        }
    });
}

/// Files that readers may read differently, or not at all: how the error begins its place, or
/// nothing where the file loads.
fn shapes() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let marked = [b"\xef\xbb\xbf", GOOD.as_bytes()].concat();
    let text = |text: String| text.into_bytes();
    let after = |more: &str| text(format!("{GOOD}{more}"));
    vec![
        ("a byte order mark", marked.clone(), ""),
        ("carriage returns", text(GOOD.replace('\n', "\r\n")), ""),
        ("one mark of a document", text(format!("---\n{GOOD}")), ""),
        ("an end", after("...\n"), ""),
        (
            "an alias",
            after("  - id: b\n    net: &l [b.test]\n  - id: c\n    net: *l\n"),
            "",
        ),
        (
            "a long comment",
            after(&format!("# {}\n", "x".repeat(1 << 20))),
            "",
        ),
        (
            "two marks",
            [b"\xef\xbb\xbf", marked.as_slice()].concat(),
            ":1:1",
        ),
        ("a mark in the middle", after("\u{feff}deny: []\n"), ":5:1"),
        (
            "carriage returns alone",
            text(GOOD.replace('\n', "\r")),
            ":1:11",
        ),
        ("tabs", text(GOOD.replace("    net", "\tnet")), ":3:"),
        (
            "a byte of zero",
            text(GOOD.replace("allowed", "all\0wed")),
            ":4:14",
        ),
        ("an escape", after("# \x1b[2K\n"), ":5:3"),
        ("text that turns round", after("# \u{202e}\n"), ":5:3"),
        (
            "a line that some see",
            text(GOOD.replace("allowed", "a\u{2028}b")),
            ":4:12",
        ),
        (
            "bytes of no text",
            [GOOD.as_bytes(), b"# \xff\n"].concat(),
            "line 5",
        ),
        (
            "wide letters",
            GOOD.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            ":1:2",
        ),
        ("nothing", Vec::new(), ":1:1"),
        ("a comment", text("# nothing\n".into()), ":1:1"),
        ("a word", text("allow\n".into()), ":1:1"),
        ("a list", text("- allow\n".into()), ":1:1"),
        (
            "a tag",
            text(GOOD.replace("allowed", "!!str allowed")),
            ":4:11",
        ),
        (
            "a great depth",
            after(&format!("deny: {}{}\n", "[".repeat(9999), "]".repeat(9999))),
            ":5:",
        ),
        (
            "a depth of dashes",
            after(&format!("deny:\n  {}a\n", "- ".repeat(9999))),
            ":6:",
        ),
        (
            "a long entry",
            text(GOOD.replace("allowed", &"a".repeat(1 << 20))),
            ":4:11",
        ),
        (
            "an alias of itself",
            text(GOOD.replace("[allowed.test]", "&l [*l]")),
            ":4:",
        ),
        ("aliases of aliases", after(&laughs()), ":"),
        (
            "another version",
            text(GOOD.replace("version: 1", "version: 2")),
            ":1:10",
        ),
        (
            "a version that is a text",
            text(GOOD.replace("version: 1", "version: \"1\"")),
            ":1:10",
        ),
        (
            "a version with a fraction",
            text(GOOD.replace("version: 1", "version: 1.0")),
            ":1:10",
        ),
        ("no version", text(GOOD.replace("version: 1\n", "")), ":1:1"),
    ]
}

/// Ten lists, each ten times the one before it.
fn laughs() -> String {
    let line = |at: u8| {
        let (own, before) = (char::from(b'b' + at), char::from(b'a' + at));
        format!("x{at}: &{own} [{}]\n", format!("*{before},").repeat(9))
    };
    format!("x: &a [a]\n{}", (0..9).map(line).collect::<String>())
}

#[test]
fn a_file_that_readers_may_read_differently_does_not_load() {
    bed(|bed| {
        for (name, bytes, place) in shapes() {
            let path = bed.write("shape.yaml", bytes);
            let path = path.to_str().unwrap();
            let start = Instant::now();
            let said = bed.command(&["check", "https://allowed.test/", "--policy", path]);
            let took = start.elapsed();
            assert!(took < Duration::from_secs(2), "{name}: {took:?}");
            let code = if place.is_empty() { 0 } else { 64 };
            assert_eq!(said.code, code, "{name}: {said:?}");
            let place = if place.starts_with(':') {
                format!("shape.yaml{place}")
            } else {
                place.to_owned()
            };
            assert!(said.stderr.contains(&place), "{name}: {said:?}");
            let raw = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!said.stderr.contains(raw), "{name}: {said:?}");
        }
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
