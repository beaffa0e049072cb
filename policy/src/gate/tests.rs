use std::fmt::Write;

use super::*;

fn problems(text: &str) -> String {
    match read(&SourceFile::new("p.yaml", text)) {
        Ok(_) => "fine".into(),
        Err(problems) => problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

/// The text of every scalar with what the source holds at its span.
fn places(text: &str) -> Vec<(String, String, u32, u32)> {
    let source = SourceFile::new("p.yaml", text);
    let tree = read(&source).unwrap();
    let mut found = Vec::new();
    let mut open: Vec<_> = tree.root().into_iter().collect();
    while let Some(node) = open.pop() {
        if let Some(text) = node.text() {
            let span = node.span();
            let written = source.slice(span).to_owned();
            found.push((text.to_owned(), written, span.line, span.column));
            assert_eq!(source.span(span.start, span.end), span);
        }
        open.extend(node.items());
        open.extend(node.pairs().flat_map(|(key, value)| [key, value]));
    }
    found.sort_by_key(|(_, _, line, column)| (*line, *column));
    found
}

#[test]
fn gives_every_place_in_bytes_behind_a_mark_carriage_returns_and_wide_letters() {
    let text = "\u{feff}a: [\"bücher.test\", x.test]\r\nb:\r\n  - 'ü' # ü\r\n  - y.test\r\n";
    insta::assert_snapshot!(
        places(text)
            .iter()
            .map(|place| format!("{place:?}"))
            .collect::<Vec<_>>()
            .join("\n"),
        @r#"
    ("a", "a", 1, 1)
    ("bücher.test", "\"bücher.test\"", 1, 5)
    ("x.test", "x.test", 1, 20)
    ("b", "b", 2, 1)
    ("ü", "'ü' # ü", 3, 5)
    ("y.test", "y.test", 4, 5)
    "#
    );
}

#[test]
fn finds_places_far_into_a_text_of_wide_letters() {
    let text = format!("# {}\na: [{}]\n", "ü".repeat(1000), "ö, ".repeat(300));
    let found = places(&text);
    assert_eq!(found.len(), 301);
    assert!(found.iter().all(|(text, written, ..)| text == written));
}

#[test]
fn writes_an_alias_out_with_the_places_of_its_anchor() {
    let found = places("a: &n [x.test]\nb: *n\n");
    assert_eq!(
        found.iter().filter(|(text, ..)| text == "x.test").count(),
        2
    );
}

#[test]
fn refuses_an_unquoted_exclusion_or_wildcard_and_says_to_quote_it() {
    insta::assert_snapshot!(problems("n: [!x.test, a]\nm:\n  - !y.test\n"), @r#"
    p.yaml:1:5: error[P002]: `!x.test` is a tag to YAML, not a text
      help: quote it: "!x.test"
    p.yaml:3:5: error[P002]: `!y.test` is a tag to YAML, not a text
      help: quote it: "!y.test"
    "#);
    insta::assert_snapshot!(problems("n:\n  - *.example.test\n"), @r#"
    p.yaml:2:5: error[P002]: `*.example.test` is an alias to YAML, not a text
      help: quote it: "*.example.test"
    "#);
    insta::assert_snapshot!(problems("n:\n  - *\n"), @r#"
    p.yaml:2:5: error[P002]: `*` is an alias to YAML, not a text
      help: quote it: "*"
    "#);
    insta::assert_snapshot!(problems("n: !foo {id: a}\nm: !!int 1\n"), @r#"
    p.yaml:1:4: error[P002]: `!foo` is a tag to YAML, not a text
      help: quote it: "!foo"
    p.yaml:2:4: error[P002]: `!!int` is a tag to YAML, not a text
      help: quote it: "!!int"
    "#);
}

#[test]
fn refuses_what_yaml_allows_and_a_policy_does_not() {
    insta::assert_snapshot!(problems("a: 1\n---\nb: 1\n"), @"
    p.yaml:2:1: error[P003]: a second document
      help: a policy file is one document: remove the `---` or `...` before this line
    ");
    insta::assert_snapshot!(problems("a: 1\n...\nb: 1\n"), @"
    p.yaml:3:1: error[P003]: a second document
      help: a policy file is one document: remove the `---` or `...` before this line
    ");
    insta::assert_snapshot!(problems("a: 1\nb: {c: 1, c: 2}\na: 2\n"), @"
    p.yaml:2:11: error[P004]: the key `c` stands here twice
      help: join the two
    p.yaml:3:1: error[P004]: the key `a` stands here twice
      help: join the two
    ");
    insta::assert_snapshot!(problems("a: &x {b: 1}\nc:\n  <<: *x\n"), @"
    p.yaml:3:3: error[P005]: a merge key, `<<`
      help: write the keys out
    ");
    insta::assert_snapshot!(problems("[a]: 1\n"), @"
    p.yaml:1:1: error[P006]: a key that is not a plain text
      help: keys are single words
    ");
    insta::assert_snapshot!(problems("a: &x [*x]\n"), @"
    p.yaml:1:8: error[P008]: an alias of something that is still open
      help: write the values out
    ");
    insta::assert_snapshot!(problems("# only a comment\n"), @"
    p.yaml:1:1: error[P011]: the file is empty
      help: a policy begins with `version: 1`; without any allow group it allows nothing
    ");
    insta::assert_snapshot!(problems(""), @"
    p.yaml:1:1: error[P011]: the file is empty
      help: a policy begins with `version: 1`; without any allow group it allows nothing
    ");
}

#[test]
fn refuses_what_readers_cannot_see() {
    insta::assert_snapshot!(problems("a: 1 # \u{2028}b: 2\rc\n\u{7}\u{200b}\u{202e}"), @"
    p.yaml:1:8: error[P010]: the hidden character U+2028
      help: delete it: a policy holds only what its readers can see
    p.yaml:1:13: error[P010]: the hidden character U+000D
      help: delete it: a policy holds only what its readers can see
    p.yaml:2:1: error[P010]: the hidden character U+0007
      help: delete it: a policy holds only what its readers can see
    p.yaml:2:2: error[P010]: the hidden character U+200B
      help: delete it: a policy holds only what its readers can see
    p.yaml:2:3: error[P010]: the hidden character U+202E
      help: delete it: a policy holds only what its readers can see
    ");
}

#[test]
fn refuses_broken_yaml_at_its_place() {
    insta::assert_snapshot!(problems("allow: [a.test\n"), @"
    p.yaml:2:1: error[P001]: not YAML: while parsing a flow sequence, expected ',' or ']'
      help: put texts with `: # [ ] { } , & * ! | > % @` or a backtick in double quotes
    ");
    insta::assert_snapshot!(problems("a: b: c\n"), @"
    p.yaml:1:5: error[P001]: not YAML: mapping values are not allowed in this context
      help: put texts with `: # [ ] { } , & * ! | > % @` or a backtick in double quotes
    ");
    insta::assert_snapshot!(problems("a:\n  - \"x\n"), @"
    p.yaml:2:5: error[P001]: not YAML: while scanning a quoted scalar, found unexpected end of stream
      help: put texts with `: # [ ] { } , & * ! | > % @` or a backtick in double quotes
    ");
}

#[test]
fn bounds_depth_aliases_and_items() {
    insta::assert_snapshot!(problems(&"[".repeat(2_000)), @"
    p.yaml:1:256: error[P007]: nested more than 32 deep
      help: a policy needs six levels
    ");
    let mut block = String::new();
    for depth in 0..60 {
        block.push_str(&" ".repeat(depth));
        block.push_str("a:\n");
    }
    insta::assert_snapshot!(problems(&block), @"
    p.yaml:33:33: error[P007]: nested more than 32 deep
      help: a policy needs six levels
    ");

    let mut laughs = "a: &a0 [x]\n".to_owned();
    for level in 1..20 {
        let last = level - 1;
        writeln!(laughs, "b{level}: &a{level} [*a{last}, *a{last}, *a{last}]").unwrap();
    }
    insta::assert_snapshot!(problems(&laughs), @"
    p.yaml:11:22: error[P008]: the aliases of this file stand for too much
      help: write the values out
    ");
    let thousand = format!(
        "a: &a [{}]\nb: [{}]\n",
        "x,".repeat(1000),
        "*a,".repeat(1000)
    );
    insta::assert_snapshot!(problems(&thousand), @"
    p.yaml:2:599: error[P008]: the aliases of this file stand for too much
      help: write the values out
    ");
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(20));
    insta::assert_snapshot!(problems(&long), @"
    p.yaml:2:53: error[P008]: the aliases of this file stand for too much
      help: write the values out
    ");
    insta::assert_snapshot!(problems(&format!("a: [{}]\n", "x,".repeat(200_001))), @"
    p.yaml:1:400005: error[P009]: more than 200000 list items
      help: split the policy, or use wildcards
    ");
    insta::assert_snapshot!(problems(&"#".repeat(MAX_BYTES + 1)), @"
    p.yaml:1:1: error[P009]: the file has 16777217 bytes
      help: a policy file holds at most 16 MiB
    ");
}
