use super::*;
use crate::document::EntryBody;

fn problems(text: &str) -> String {
    match parse(&SourceFile::new("p.yaml", text)) {
        Ok(_) => "fine".into(),
        Err(problems) => problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn list(entries: &str) -> String {
    problems(&format!(
        "version: 1\nallow:\n  - id: a\n    net: {entries}\n"
    ))
}

#[test]
fn reads_every_part_of_the_language() {
    let text = "\
version: 1
defaults: { net: deny, fetch: ask, shell: ask, \"*\": pass }
exclusive: true
allow:
  - id: registries
    reason: >
      package
      registries
    net:
      - preset: npm
      - docs.test
      - \"*.content.test\"
      - { host: api.test, methods: [GET, HEAD], ports: 443, tls: require, sni: any }
      - { cidr: 10.20.0.0/16, ports: [22, \"8000-8100\"], until: 2026-12-31T00:00:00Z }
      - \"!secret.content.test\"
    fetch: [\"*\"]
    fs.read: [\"${project}/**\"]
    shell: [git status]
deny:
  - { id: metadata, net: [\"169.254.169.254\"] }
ask: []
sandbox: { read: [/usr], limits: { memory: 2GiB, processes: 100 }, lifetime: 2h, require: namespace }
tests:
  - { request: \"https://docs.test\", expect: allow }
  - { request: http://docs.test/x?y, method: POST, expect: deny, kind: fetch }
";
    let document = parse(&SourceFile::new("p.yaml", text)).unwrap();
    assert_eq!(document.groups.len(), 2);
    let group = &document.groups[0];
    assert_eq!(group.reason.as_deref(), Some("package registries"));
    let texts: Vec<_> = group.lists[0]
        .entries
        .iter()
        .map(|entry| format!("{}:{} {}", entry.span.line, entry.span.column, entry.text))
        .collect();
    insta::assert_debug_snapshot!(texts, @r#"
    [
        "10:9 preset npm",
        "11:9 docs.test",
        "12:9 *.content.test",
        "13:9 api.test:443",
        "14:9 10.20.0.0/16:22,8000-8100",
        "15:9 !secret.content.test",
    ]
    "#);
    assert!(
        matches!(&group.lists[0].entries[0].body, EntryBody::Preset { name, .. } if &**name == "npm")
    );
    assert_eq!(group.hooks.len(), 2);
    assert_eq!(document.tests.len(), 2);
    assert_eq!(document.tests[1].asked.method.as_deref(), Some("POST"));
    assert_eq!(document.exclusive.map(|span| span.line), Some(3));
    assert_eq!(document.sandbox.unwrap().processes, Some(100));
    assert_eq!(document.defaults.hooks.len(), 2);
}

#[test]
fn says_every_error_of_meaning_at_once() {
    insta::assert_snapshot!(problems("\
version: 1
allow:
  - id: a
    net:
      - a.test
      - wi?d.test
  - id: b
    net: [\"!b.test\"]
  - id: a
    net: [b.test]
deny:
  - id: c
    net: [\"c..test\", \"d.test:0\"]
tests:
  - { request: \"ftp://a.test\", expect: deny }
"), @r#"
    p.yaml:6:11: error[P020]: `?` is no wildcard of an entry
      help: `*` stands for one or more characters inside a label, `*.` and `**.` for whole labels in front; write an entry for each alternative
    p.yaml:8:5: error[P022]: `net` holds only exclusions, so it names nothing
      help: add what they are taken out of, for example "*", or use a deny group
    p.yaml:9:9: error[P021]: the id `a` stands in line 3 already
      help: name one of the groups otherwise
    p.yaml:13:12: error[P020]: `c..test` has an empty label
      help: write one dot between two labels, and none at the front
    p.yaml:13:30: error[P020]: `0` is no port
      help: ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    p.yaml:15:17: error[P027]: the scheme `ftp` is not judged
      help: write an http, https, ws or wss URL, or HOST:PORT
    "#);
}

#[test]
fn an_unknown_key_hides_no_other_mistake() {
    insta::assert_snapshot!(problems("\
version: 1
alow: []
allow:
  - id: a
    nets: [a.test]
    net: [{ hots: a.test }, a..test, no]
  - id: a
    net:
  - reason: no id
    net: a.test
default: { net: deny }
"), @r#"
    p.yaml:2:1: error[P015]: unknown key `alow`
      help: did you mean `allow`?
    p.yaml:5:5: error[P015]: unknown key `nets`
      help: did you mean `net`?
    p.yaml:6:13: error[P015]: unknown key `hots`
      help: did you mean `host`?
    p.yaml:6:29: error[P020]: `a..test` has an empty label
      help: write one dot between two labels, and none at the front
    p.yaml:6:38: error[P014]: `no` is a truth value to YAML, not a text
      help: quote it if the text is meant: "no"
    p.yaml:7:9: error[P021]: the id `a` stands in line 4 already
      help: name one of the groups otherwise
    p.yaml:8:5: error[P012]: `net` holds nothing
      help: write `[]` for an empty list, or remove the key
    p.yaml:9:5: error[P016]: a list item has no `id`
      help: add `id:`, a name that is unique in its file
    p.yaml:10:10: error[P013]: `net` is `a.test`, not a list
      help: write `[a.test]`
    p.yaml:11:1: error[P015]: unknown key `default`
      help: did you mean `defaults`?
    "#);
}

#[test]
fn a_file_has_a_known_version() {
    insta::assert_snapshot!(problems(""), @"
    p.yaml:1:1: error[P011]: the file is empty
      help: a policy begins with `version: 1`; without any allow group it allows nothing
    ");
    insta::assert_snapshot!(problems("\u{feff}---\n"), @"
    p.yaml:1:1: error[P011]: the file is empty
      help: a policy begins with `version: 1`; without any allow group it allows nothing
    ");
    insta::assert_snapshot!(problems("~\n"), @"
    p.yaml:1:1: error[P011]: the file is empty
      help: a policy begins with `version: 1`; without any allow group it allows nothing
    ");
    insta::assert_snapshot!(problems("allow: []\n"), @"
    p.yaml:1:1: error[P016]: the policy has no `version`
      help: add `version:`, the version of the policy language: 1
    ");
    insta::assert_snapshot!(problems("version: 2\nnew_thing: []\n"), @"
    p.yaml:1:10: error[P017]: version `2` of the policy language
      help: this program reads `version: 1`
    ");
    insta::assert_snapshot!(problems("version: \"1\"\n"), @"
    p.yaml:1:10: error[P013]: `version` is the text `1`, not a number
      help: write a number
    ");
    insta::assert_snapshot!(problems("version: 1.0\n"), @"
    p.yaml:1:10: error[P017]: version `1.0` of the policy language
      help: this program reads `version: 1`
    ");
    insta::assert_snapshot!(problems("version:\nallow: []\n"), @"
    p.yaml:1:1: error[P012]: `version` holds nothing
      help: fill it in, or quote it if the text itself is meant
    ");
    insta::assert_snapshot!(problems("- version: 1\n"), @"
    p.yaml:1:1: error[P013]: the policy is a list, not a mapping
      help: write keys and values, `version: …`
    ");
    insta::assert_snapshot!(problems("version: 1\nallow: []\n"), @"fine");
}

#[test]
fn words_that_yaml_reads_as_something_else_are_to_be_quoted() {
    insta::assert_snapshot!(list("[on, no, null, ~, 1.5, 123, 1e3, true, 0x7f000001, 2026-01-01, 1:30]"), @r#"
    p.yaml:4:11: error[P014]: `on` is a truth value to YAML, not a text
      help: quote it if the text is meant: "on"
    p.yaml:4:15: error[P014]: `no` is a truth value to YAML, not a text
      help: quote it if the text is meant: "no"
    p.yaml:4:19: error[P012]: a list item holds nothing
      help: fill it in, or quote it if the text itself is meant
    p.yaml:4:25: error[P012]: a list item holds nothing
      help: fill it in, or quote it if the text itself is meant
    p.yaml:4:28: error[P014]: `1.5` is a number to YAML, not a text
      help: quote it if the text is meant: "1.5"
    p.yaml:4:33: error[P014]: `123` is a number to YAML, not a text
      help: quote it if the text is meant: "123"
    p.yaml:4:38: error[P014]: `1e3` is a number to YAML, not a text
      help: quote it if the text is meant: "1e3"
    p.yaml:4:43: error[P014]: `true` is a truth value to YAML, not a text
      help: quote it if the text is meant: "true"
    p.yaml:4:49: error[P014]: `0x7f000001` is a number to YAML, not a text
      help: quote it if the text is meant: "0x7f000001"
    p.yaml:4:61: error[P014]: `2026-01-01` is a date to YAML, not a text
      help: quote it if the text is meant: "2026-01-01"
    p.yaml:4:73: error[P014]: `1:30` is a number to YAML, not a text
      help: quote it if the text is meant: "1:30"
    "#);
    insta::assert_snapshot!(list("\n      -\n      - a.test"), @"
    p.yaml:5:8: error[P012]: a list item holds nothing
      help: fill it in, or quote it if the text itself is meant
    ");
    insta::assert_snapshot!(list("[\"on\", 'no', 1e3.test, 10.0.0.1]"), @"fine");
    insta::assert_snapshot!(problems("version: 1\nallow: [{id: no, reason: yes, net: [a.test]}]\n"), @r#"
    p.yaml:2:14: error[P014]: `no` is a truth value to YAML, not a text
      help: quote it if the text is meant: "no"
    "#);
}

#[test]
fn an_entry_mapping_names_one_thing() {
    insta::assert_snapshot!(list("[{ports: 443}]"), @"
    p.yaml:4:11: error[P020]: the entry names nothing
      help: give it a `host`, a `cidr` or a `preset`
    ");
    insta::assert_snapshot!(list("[{host: a.test, cidr: 10.0.0.0/8}]"), @"
    p.yaml:4:11: error[P020]: the entry names several things
      help: an entry has one of `host`, `cidr` and `preset`: write several entries
    ");
    insta::assert_snapshot!(list("[{preset: npm, ports: 443}]"), @"
    p.yaml:4:25: error[P020]: `ports` beside `preset`
      help: beside a preset only `until` can stand; write its hosts out to narrow them
    ");
    insta::assert_snapshot!(list("[a.test: 443]"), @r#"
    p.yaml:4:11: error[P015]: unknown key `a.test`
      help: a host with its ports is one text: "a.test:443"
    "#);
    insta::assert_snapshot!(list("[{preset: nmp}]"), @"
    p.yaml:4:20: error[P023]: no preset is called `nmp`
      help: did you mean `npm`?
    ");
    insta::assert_snapshot!(list("[{host: 10.0.0.1}, {cidr: a.test}]"), @r#"
    p.yaml:4:18: error[P020]: an address under `host`
      help: write `cidr: "10.0.0.1"`
    p.yaml:4:36: error[P020]: a name under `cidr`
      help: write `host: "a.test"`
    "#);
    insta::assert_snapshot!(list("[{host: \"a.test:443\"}, {host: \"!a.test\"}]"), @r#"
    p.yaml:4:26: error[P020]: ports have a key of their own in a mapping
      help: write `ports: "443"` beside it
    p.yaml:4:41: error[P020]: a `!` that excludes nothing
      help: write one `!`, in front of an entry that is a string
    "#);
    insta::assert_snapshot!(list("[{host: a.test, ports: []}, {host: a.test, ports: [1.5, 0, 70000, -1, 22-21]}]"), @r#"
    p.yaml:4:26: error[P020]: `ports` names no port
      help: remove it for the default ports, or write "*" for every port
    p.yaml:4:61: error[P020]: `1.5` is no port
      help: ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    p.yaml:4:66: error[P020]: `0` is no port
      help: ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    p.yaml:4:69: error[P020]: `70000` is no port
      help: ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    p.yaml:4:76: error[P020]: a port is missing
      help: ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    p.yaml:4:80: error[P020]: `22-21` ends before it begins
      help: write `21-22`
    "#);
    insta::assert_snapshot!(list("[{host: a.test, until: tomorrow}, {host: a.test, until: 2026-12-31}]"), @"
    p.yaml:4:33: error[P026]: `tomorrow` is no time
      help: write it as 2026-12-31T00:00:00Z, with a zone
    p.yaml:4:66: error[P026]: `2026-12-31` is no time
      help: write it as 2026-12-31T00:00:00Z, with a zone
    ");
    insta::assert_snapshot!(list("[{host: a.test, methods: []}, {host: a.test, methods: [\"G T\"]}]"), @"
    p.yaml:4:26: error[P029]: `methods` names nothing
      help: remove it to match every one
    p.yaml:4:65: error[P029]: `G T` is no HTTP method
      help: write methods like `GET`; leave `methods` out for every method
    ");
}

#[test]
fn what_comes_later_is_refused_and_not_ignored() {
    insta::assert_snapshot!(problems("\
version: 1
allow:
  - id: a
    net: [{ host: a.test, binaries: [/usr/bin/git] }]
secrets: []
roles: []
budget: {}
"), @"
    p.yaml:4:27: error[P018]: `binaries` is not supported yet
      help: remove it: a rule is never loaded with a part of it ignored
    p.yaml:5:1: error[P018]: `secrets` is not supported yet
      help: remove it: a rule is never loaded with a part of it ignored
    p.yaml:6:1: error[P018]: `roles` is not supported yet
      help: remove it: a rule is never loaded with a part of it ignored
    p.yaml:7:1: error[P018]: `budget` is not supported yet
      help: remove it: a rule is never loaded with a part of it ignored
    ");
    insta::assert_snapshot!(list("[{ host: a.test, tls: terminate }]"), @"
    p.yaml:4:27: error[P018]: `terminate` is not supported yet
      help: remove it: a rule is never loaded with a part of it ignored
    ");
}

#[test]
fn values_of_another_kind_are_named() {
    insta::assert_snapshot!(problems("\
version: 1
defaults: { net: pass, fetch: alow, shell: maybe }
exclusive: yes
allow: { id: a }
deny:
  - a.test
ask:
  - { id: a, net: [[a.test]], reason: [] }
"), @"
    p.yaml:2:18: error[P013]: `net` is `pass`, not `allow`, `ask` or `deny`
      help: write `allow`, `ask` or `deny`
    p.yaml:2:31: error[P013]: `fetch` is `alow`, not `allow`, `ask` or `deny`
      help: did you mean `allow`?
    p.yaml:2:44: error[P013]: `shell` is `maybe`, not `allow`, `pass`, `ask` or `deny`
      help: write `allow`, `pass`, `ask` or `deny`
    p.yaml:3:12: error[P013]: `exclusive` is `yes`, not `true` or `false`
      help: write `true` or `false`
    p.yaml:4:8: error[P013]: `allow` is a mapping, not a list
      help: write a list
    p.yaml:6:5: error[P013]: a list item is `a.test`, not a mapping
      help: write keys and values, `id: …`
    p.yaml:8:20: error[P013]: a list item is a list, not a mapping
      help: write keys and values, `preset: …`
    p.yaml:8:39: error[P013]: `reason` is a list, not a text
      help: write a text
    ");
}

#[test]
fn groups_have_sound_ids_reasons_and_lists() {
    insta::assert_snapshot!(problems("\
version: 1
allow:
  - id: \"a b\"
    net: [a.test]
  - id: empty
  - { id: \"\", net: [] }
  - { id: c, reason: \"a\\u0007\", shell: [\"\", \"x\\ny\"] }
sandbox: { lifetime: soon, limits: { memory: much } }
"), @"
    p.yaml:3:9: error[P024]: `a b` is no id
      help: use letters, digits and `-`, `_`, `.` or `/`
    p.yaml:5:9: error[P028]: the group `empty` names nothing
      help: give it a list, for example `net:`
    p.yaml:6:11: error[P024]: an empty id
      help: name the group
    p.yaml:7:22: error[P025]: a reason with control characters
      help: write one sentence, or leave it out
    p.yaml:7:41: error[P025]: an empty text
      help: write one line, or remove it
    p.yaml:7:45: error[P025]: a text with control characters
      help: write one line, or remove it
    p.yaml:8:22: error[P025]: `soon` is no duration
      help: write it as 250ms, 2s, 5m or 1h
    p.yaml:8:46: error[P025]: `much` is no size
      help: write it as 512MiB or 2GiB
    ");
    let long = "x".repeat(65);
    insta::assert_snapshot!(problems(&format!("version: 1\nallow: [{{id: {long}, net: []}}]\n")), @"
    p.yaml:2:14: error[P024]: an id of 65 bytes
      help: an id has at most 64 bytes; the rest belongs into `reason`
    ");
}

#[test]
fn a_test_asks_what_can_be_asked() {
    insta::assert_snapshot!(problems("\
version: 1
tests:
  - { request: \"https://a.test/x\", method: GET, expect: deny }
  - { request: \"http://u@a.test/x\", expect: pass }
  - { expect: deny }
"), @"
    p.yaml:4:45: error[P013]: `expect` is `pass`, not `allow`, `deny` or `ask`
      help: write `allow`, `deny` or `ask`
    p.yaml:5:5: error[P016]: a list item has no `request`
      help: add `request:`, a URL, or a host with or without a port
    ");
}

#[test]
fn a_text_that_two_readers_understand_differently_is_refused() {
    insta::assert_snapshot!(problems("version: 1\nallow:\n  -\tid: a\n    net: []\n"), @"
    p.yaml:3:1: error[P019]: two YAML readers disagree about this file: found character that cannot start any token at line 3 column 4, while scanning for the next token
      help: write the place more plainly, with quotes and without tabs
    ");
    insta::assert_snapshot!(list("[{host: a.test, ports: 0x50}]"), @"
    p.yaml:4:33: error[P019]: not every YAML reader takes `0x50` for the same
      help: write a number in decimal, such as `80`, and a text in quotes
    ");
}

#[test]
fn duplicate_keys_unknown_keys_and_documents_are_errors_at_their_place() {
    insta::assert_snapshot!(problems("version: 1\nallow: []\nallow:\n  - id: a\n    net: [\"*\"]\n"), @"
    p.yaml:3:1: error[P004]: the key `allow` stands here twice
      help: join the two
    ");
    insta::assert_snapshot!(problems("version: 1\nallow:\n  - id: a\n    net: [a.test]\nalowed_ports: [22]\n"), @"
    p.yaml:5:1: error[P015]: unknown key `alowed_ports`
      help: the keys here are `version`, `defaults`, `exclusive`, `allow`, `deny`, `ask`, `sandbox`, `secrets`, `roles`, `budget` and `tests`
    ");
    insta::assert_snapshot!(problems("version: 1\n---\nversion: 1\nallow:\n  - id: a\n    net: [\"*\"]\n"), @"
    p.yaml:2:1: error[P003]: a second document
      help: a policy file is one document: remove the `---` or `...` before this line
    ");
    insta::assert_snapshot!(problems("version: 1\nallow:\n  - id: a\n    net: [a.test]\n  - id: a\n    net: [b.test]\n"), @"
    p.yaml:5:9: error[P021]: the id `a` stands in line 3 already
      help: name one of the groups otherwise
    ");
}

#[test]
fn entries_that_can_never_match_are_errors() {
    insta::assert_snapshot!(list("[\"wild.*.test\", \"*wild.test\", \"**.wild.test\"]"), @"fine");
    insta::assert_snapshot!(list("[\"w?ld.test\", \"*.\", \"wild..test\"]"), @"
    p.yaml:4:13: error[P020]: `?` is no wildcard of an entry
      help: `*` stands for one or more characters inside a label, `*.` and `**.` for whole labels in front; write an entry for each alternative
    p.yaml:4:25: error[P020]: no name behind `*.`
      help: write the name that it stands in front of, or `*` for any name
    p.yaml:4:31: error[P020]: `wild..test` has an empty label
      help: write one dot between two labels, and none at the front
    ");
}

/// Parts of policies, sound and broken.
const PARTS: &[&str] = &[
    "version: 1\n",
    "allow:\n",
    "deny:",
    "  - id: a\n",
    "    net: ",
    "[",
    "]",
    "{",
    "}",
    ": ",
    ", ",
    "- ",
    "\"",
    "'",
    "*",
    "!",
    "&a ",
    "*a",
    "a.test",
    "ü",
    "\n",
    "  ",
    " #",
    "host: ",
    "ports: ",
    "~",
    "|\n",
    ">-\n",
    "<<",
    "? ",
    "\t",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "0x50",
    "443",
    "\r\n",
    "tests:\n",
    "{request: a.test, expect: deny}",
    "until: 2026-12-31T00:00:00Z",
    "\\x41",
    "preset: npm",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_a_policy_or_has_placed_problems(
        parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..40),
        whole in proptest::bool::ANY,
    ) {
        let start = "version: 1\nallow:\n  - id: a\n    net: [";
        let text = format!("{}{}", if whole { start } else { "" }, parts.concat());
        proptest::prop_assert_eq!(crate::fuzz::document(text.as_bytes()), Ok(()));
    }
}

#[test]
fn ten_thousand_mistakes_take_no_square_of_time() {
    let bad = "a..test, {host: b..test}, {preset: nmp}, no, {hots: x}, [], ".repeat(1_500);
    let shaped = "a..test, {host: b..test, ports: 0}, {}, \"!x\", ".repeat(2_000);
    for entries in [bad, shaped] {
        let text = format!("version: 1\nallow: [{{id: a, net: [{entries}]}}]\n");
        let problems = parse(&SourceFile::new("p.yaml", &text)).unwrap_err();
        assert!(problems.len() > 4_000, "{}", problems.len());
    }
}

#[test]
fn many_unknown_presets_are_not_all_looked_up() {
    let names: Vec<_> = (0..40).map(|n| format!("{{preset: x{n}}}")).collect();
    assert_eq!(list(&format!("[{}]", names.join(", "))).lines().count(), 20);
}
