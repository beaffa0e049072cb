use super::{Host, HostError, HostName};

#[test]
fn one_host_has_one_spelling() {
    for (text, want) in [
        ("docs.rs", "docs.rs"),
        ("DOCS.Rs", "docs.rs"),
        ("docs.rs.", "docs.rs"),
        ("my_db.allowed.test", "my_db.allowed.test"),
        ("xn--bcher-kva.test", "xn--bcher-kva.test"),
        ("0x7f.test", "0x7f.test"),
        ("1.test", "1.test"),
    ] {
        assert_eq!(HostName::parse(text).unwrap().as_str(), want, "{text}");
    }
}

#[test]
fn refuses_what_dns_cannot_carry_or_parsers_read_differently() {
    let long_label = format!("{}.test", "a".repeat(64));
    let long_name = format!("{}test", "abcdefg.".repeat(32));
    for (text, want) in [
        ("", HostError::Empty),
        (".", HostError::Empty),
        ("a..test", HostError::EmptyLabel),
        (".a.test", HostError::EmptyLabel),
        ("a.test..", HostError::EmptyLabel),
        ("a b.test", HostError::Byte),
        ("a\0b.test", HostError::Byte),
        ("b\u{fc}cher.test", HostError::Byte),
        ("a@b.test", HostError::Byte),
        ("fe80::1", HostError::Byte),
        (&long_label, HostError::LabelLength),
        (&long_name, HostError::Length),
        ("2130706433", HostError::LegacyAddress),
        ("0x7f000001", HostError::LegacyAddress),
        ("0X7F.0.0.1", HostError::LegacyAddress),
        ("127.1", HostError::LegacyAddress),
        ("a.test.0x", HostError::LegacyAddress),
        ("1.2.3.4.5", HostError::LegacyAddress),
        ("256.1.1.1", HostError::LegacyAddress),
    ] {
        assert_eq!(HostName::parse(text), Err(want), "{text}");
    }
}

#[test]
fn a_host_is_a_name_or_an_address_written_as_such() {
    for (text, want) in [
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[0:0:0:0:0:FFFF:7F00:1]", "[::ffff:127.0.0.1]"),
        ("Docs.rs.", "docs.rs"),
    ] {
        assert_eq!(
            Host::parse(text.as_bytes()).unwrap().to_string(),
            want,
            "{text}"
        );
    }
    for text in [
        "[a.test]",
        "[::1",
        "::1",
        "[fe80::1%lo]",
        "[127.0.0.1]",
        "[]",
        "127.0.0.01",
        "127.0.0.1.",
    ] {
        assert!(Host::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert_eq!(Host::parse(b"b\xc3\xbccher.test"), Err(HostError::Byte));
    assert_eq!(Host::parse(b"\xff"), Err(HostError::Byte));
}
