use super::{Glob, GlobTableBuilder, Lead, fits};

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
        let (glob, cut) = Glob::parse(text);
        assert_eq!((glob.lead, &*glob.head, cut), (lead, head, tail), "{text}");
    }
}

#[test]
fn a_hundred_thousand_globs_of_one_tail_need_one_probe_for_each_shape() {
    let mut builder = GlobTableBuilder::with_tail();
    for place in 0..100_000 {
        let (glob, _) = Glob::parse(&format!("svc{place:06}-*.test"));
        assert_eq!(builder.file(glob, place), Ok(place));
    }
    let (again, _) = Glob::parse("svc000007-*.test");
    assert_eq!(builder.file(again, 100_000), Ok(7));
    let table = builder.build().unwrap();
    assert_eq!(table.shapes.len(), 1);
    let mut found = Vec::new();
    table.each("svc031415-eu", |place| found.push(place));
    assert_eq!(found, [31_415]);
    found.clear();
    table.each("svc031415-", |place| found.push(place));
    table.each("x.svc031415-eu", |place| found.push(place));
    assert_eq!(found, Vec::<u32>::new());
}
