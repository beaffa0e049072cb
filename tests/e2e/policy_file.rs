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
        let words: Vec<&str> = words.split_whitespace().collect();
        // Of many errors only the first ones are shown.
        for list in words.chunks(8) {
            let said = bed.refuses(&format!("{head}      - {}\n", list.join("\n      - ")));
            for (at, word) in list.iter().enumerate() {
                let place = format!("loads.yaml:{}:9", 5 + at);
                assert!(said.contains(&place), "{word}: {said}");
            }
        }
        for word in words {
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

/// The end of the file.
const END: &str = "[allowed.test]\n";

/// What in a good file becomes what, and where the error is then; nothing where the file loads.
const CHANGED: [(&str, &str, &str); 21] = [
    ("version", "\u{feff}version", ""),
    ("version", "---\nversion", ""),
    (END, "[allowed.test]\n...\n", ""),
    (END, "[allowed.test]", ""),
    (END, "&l [allowed.test]\n  - id: b\n    net: *l\n", ""),
    ("version", "\u{feff}\u{feff}version", ":1:1"),
    (END, "[allowed.test]\n\u{feff}deny: []\n", ":5:1"),
    ("\n", "\r", ":1:11"),
    ("    net", "\tnet", ":3:"),
    ("allowed", "all\0wed", ":4:14"),
    ("allowed", "a\u{2028}b", ":4:12"),
    (END, "[allowed.test]\n# \x1b[2K\n", ":5:3"),
    (END, "[allowed.test]\n# \u{202e}\n", ":5:3"),
    ("allowed", "!!str allowed", ":4:11"),
    (END, "&l [*l]\n", ":4:"),
    ("version: 1\n", "", ":1:1"),
    (": 1\n", ": 2\n", ":1:10"),
    (": 1\n", ": 1.0\n", ":1:10"),
    (": 1\n", ": 01\n", ":1:10"),
    (": 1\n", ": \"1\"\n", ":1:10"),
    (": 1\n", ": yes\n", ":1:10"),
];

/// Whole files that are none, or that are large.
fn whole() -> [(Vec<u8>, &'static str); 12] {
    let after = |more: String| format!("{GOOD}{more}").into_bytes();
    let long = "a".repeat(1 << 20);
    [
        (GOOD.replace('\n', "\r\n").into_bytes(), ""),
        (after(format!("# {long}\n")), ""),
        (GOOD.replace("allowed", &long).into_bytes(), ":4:11"),
        (after(format!("deny: {}\n", "[".repeat(9999))), ":5:"),
        (after(format!("deny:\n  {}a\n", "- ".repeat(9999))), ":6:"),
        (after(laughs()), ":"),
        (b"".to_vec(), ":1:1"),
        (b"# nothing\n".to_vec(), ":1:1"),
        (b"allow\n".to_vec(), ":1:1"),
        (b"- allow\n".to_vec(), ":1:1"),
        ([GOOD.as_bytes(), b"# \xff\n"].concat(), "line 5"),
        (
            GOOD.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            ":1:2",
        ),
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
        let changed = CHANGED.map(|(from, to, place)| (GOOD.replace(from, to).into_bytes(), place));
        for (bytes, place) in changed.into_iter().chain(whole()) {
            let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
            bed.write("shape.yaml", bytes);
            let start = Instant::now();
            let said = bed.command(&["check", "https://allowed.test/", "--policy", "shape.yaml"]);
            let took = start.elapsed();
            assert!(took < Duration::from_secs(2), "{head}\n{took:?}");
            let code = if place.is_empty() { 0 } else { 64 };
            assert_eq!(said.code, code, "{head}\n{said:?}");
            let is_place = place.starts_with(':');
            let file = if is_place { "shape.yaml" } else { "" };
            assert!(
                said.stderr.contains(&format!("{file}{place}")),
                "{head}\n{said:?}"
            );
            let raw = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!said.stderr.contains(raw), "{head}\n{said:?}");
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
