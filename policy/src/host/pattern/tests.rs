use super::Pattern;

#[test]
fn every_pattern_has_one_normalised_form() {
    for (text, want) in [
        ("docs.test", "docs.test"),
        ("Docs.TEST.", "docs.test"),
        ("b\u{fc}cher.test", "xn--bcher-kva.test"),
        ("B\u{dc}CHER.test", "xn--bcher-kva.test"),
        ("my_db.allowed.test", "my_db.allowed.test"),
        ("r3---sn-a.test", "r3---sn-a.test"),
        ("\u{4f8b}\u{3002}test", "xn--fsq.test"),
        ("*.b\u{fc}cher.TEST", "*.xn--bcher-kva.test"),
        ("**.Wild.test.", "**.wild.test"),
        ("wild.*.test", "wild.*.test"),
        ("*Wild.test", "*wild.test"),
        ("api-*.b\u{fc}cher.test", "api-*.xn--bcher-kva.test"),
        ("*.*.test", "*.*.test"),
        ("*.*", "*.*"),
        ("**.*", "*"),
        ("*", "*"),
        ("LOCALHOST.", "localhost"),
        ("10.1.2.3/32", "10.1.2.3"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("[::1]", "[::1]"),
        ("2001:db8::/32", "[2001:db8::/32]"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
    ] {
        assert_eq!(Pattern::parse(text).unwrap().to_string(), want, "{text}");
    }
}

#[test]
fn the_kinds_of_patterns_are_told_apart() {
    let kind = |text: &str| match Pattern::parse(text).unwrap() {
        Pattern::Exact(_) => "exact",
        Pattern::Below(_) => "below",
        Pattern::AtOrBelow(_) => "at or below",
        Pattern::Glob(_) => "glob",
        Pattern::AnyName => "any",
        Pattern::Range(_) => "range",
        Pattern::Localhost => "localhost",
    };
    for (text, want) in [
        ("a.test", "exact"),
        ("*.test", "below"),
        ("**.test", "at or below"),
        ("*.a-*.test", "glob"),
        ("a.*", "glob"),
        ("*", "any"),
        ("192.0.2.0/24", "range"),
        ("localhost", "localhost"),
    ] {
        assert_eq!(kind(text), want, "{text}");
    }
}
