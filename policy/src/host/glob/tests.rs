use super::{Glob, Globs, GlobsBuilder, Lead, Spelling, fits};

/// Every text of up to `length` characters of the alphabet.
fn texts(alphabet: &str, length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..length {
        last = last
            .iter()
            .flat_map(|text| alphabet.chars().map(move |c| format!("{text}{c}")))
            .collect();
        all.extend_from_slice(&last);
    }
    all
}

/// The same question, by trying every length for every star.
fn naive(pattern: &[u8], label: &[u8]) -> bool {
    match pattern.split_first() {
        None => label.is_empty(),
        Some((b'*', rest)) => (1..=label.len()).any(|n| naive(rest, &label[n..])),
        Some((byte, rest)) => label.first() == Some(byte) && naive(rest, &label[1..]),
    }
}

#[test]
fn a_label_fits_as_trying_every_length_says() {
    let labels = texts("ab", 6);
    for pattern in texts("ab*", 5) {
        if pattern.contains("**") {
            continue;
        }
        for label in &labels {
            let want = naive(pattern.as_bytes(), label.as_bytes());
            assert_eq!(fits(&pattern, label), want, "{pattern} {label}");
        }
    }
}

#[test]
fn a_glob_is_cut_before_its_literal_tail() {
    for (text, lead, head, tail) in [
        ("api-*.x.test", Lead::None, "api-*", "x.test"),
        ("a.*.x.test", Lead::None, "a.*", "x.test"),
        ("*.*.test", Lead::OneOrMore, "*", "test"),
        ("**.a*.b*c.x.test", Lead::ZeroOrMore, "a*.b*c", "x.test"),
        ("a.*", Lead::None, "a.*", ""),
        ("*.*", Lead::OneOrMore, "*", ""),
        ("api-*", Lead::None, "api-*", ""),
    ] {
        let glob = Glob::parse(text);
        assert_eq!(
            (glob.lead, glob.head(), glob.tail()),
            (lead, head, tail),
            "{text}"
        );
    }
}

fn texts_of(globs: &Globs, head: &str, tail: &str) -> Vec<String> {
    let mut found = Vec::new();
    globs.each(head, tail, |text| {
        found.push(String::from_utf8(text.to_vec()).unwrap());
    });
    found
}

#[test]
fn a_hundred_thousand_globs_of_one_tail_need_one_probe_for_each_shape() {
    let mut builder = GlobsBuilder::default();
    for number in 0..100_000 {
        let glob = Glob::parse(&format!("svc{number:06}-*.test"));
        builder.add(glob).unwrap();
    }
    let globs = builder.build().unwrap();
    assert_eq!(globs.shapes.len(), 1);
    let found = |head| texts_of(&globs, head, "test");
    assert_eq!(found("svc031415-eu"), ["svc031415-*.test"]);
    assert_eq!(found("svc031415-"), [""; 0]);
    assert_eq!(found("x.svc031415-eu"), [""; 0]);
}

#[test]
fn a_glob_is_spelled_from_what_it_matches_alone() {
    for (text, head, tail, matches) in [
        ("api-*.x.test", "api-7", "x.test", true),
        ("api-*.x.test", "api-", "x.test", false),
        ("api-*.x.test", "apx-7", "x.test", false),
        ("api-*.x.test", "a.api-7", "x.test", false),
        ("*.*.test", "a.b", "test", true),
        ("*.*.test", "a", "test", false),
        ("**.*-x.test", "b-x", "test", true),
        ("**.*-x.test", "c.a.b-x", "test", true),
        ("a.*.test", "a.b", "test", true),
        ("a.*", "a.b", "", true),
        ("*.*", "a.b.c", "", true),
    ] {
        let mut builder = GlobsBuilder::default();
        builder.add(Glob::parse(text)).unwrap();
        let globs = builder.build().unwrap();
        let found = texts_of(&globs, head, tail);
        assert_eq!(found.contains(&text.to_owned()), matches, "{text} {head}");
    }
}

#[test]
fn the_longest_name_has_a_spelling_and_a_longer_one_has_none() {
    let mut builder = GlobsBuilder::default();
    builder.add(Glob::parse("**.a*.test")).unwrap();
    let globs = builder.build().unwrap();
    let head = |labels: usize| format!("{}ab", "x.".repeat(labels));
    let found = |head: &str| texts_of(&globs, head, "test").len();
    assert_eq!(found(&head(123)), 1);
    let mut spelling = Spelling::new("test");
    assert_eq!(spelling.push(&"x".repeat(252)), Some(()));
    assert_eq!(spelling.push("x"), None);
    spelling.restart();
    assert_eq!(spelling.text(), b"test");
}
