use std::fmt::Write;

use super::{parse, parse_host, parse_ports};
use crate::entry::EntryErrorKind;

/// One line for what an entry is read as, or the error as a person sees it.
fn read(text: &str) -> String {
    match parse(text) {
        Ok(entry) => format!(
            "{}{} {}",
            if entry.negated { "not " } else { "" },
            entry.pattern,
            entry
                .ports
                .map_or_else(|| "-".to_owned(), |ports| ports.to_string()),
        ),
        Err(error) => {
            let part = text.get(error.range.clone()).unwrap();
            let shown = if part.len() > 60 { "(long)" } else { part };
            format!("{:?} at `{shown}`: {error}; {}", error.kind, error.help)
        }
    }
}

fn table(texts: &[&str]) -> String {
    texts.iter().fold(String::new(), |mut table, text| {
        let shown = if text.len() > 60 { "(long)" } else { text };
        writeln!(table, "{shown}  ->  {}", read(text)).unwrap();
        table
    })
}

#[test]
fn entries_mean_what_the_grammar_says() {
    insta::assert_snapshot!(table(&[
        "docs.test",
        "*.wild.test:443",
        "!secret.wild.test",
        "!*.wild.test:22,80-90",
        "github.test:22,443,8000-8100",
        "github.test:*",
        "*:*",
        "*",
        "127.0.0.2/32:*",
        "10.20.0.0/16:5432",
        "10.20.0.1",
        "localhost:5432",
        "2001:db8::/32",
        "[2001:db8::/32]:443",
        "[2001:db8::/32]",
        "::1",
        "::",
        "[::ffff:10.1.2.3]:80",
        "fd00:ec2::254",
    ]), @r#"
    docs.test  ->  docs.test -
    *.wild.test:443  ->  *.wild.test 443
    !secret.wild.test  ->  not secret.wild.test -
    !*.wild.test:22,80-90  ->  not *.wild.test 22,80-90
    github.test:22,443,8000-8100  ->  github.test 22,443,8000-8100
    github.test:*  ->  github.test *
    *:*  ->  * *
    *  ->  * -
    127.0.0.2/32:*  ->  127.0.0.2 *
    10.20.0.0/16:5432  ->  10.20.0.0/16 5432
    10.20.0.1  ->  10.20.0.1 -
    localhost:5432  ->  localhost 5432
    2001:db8::/32  ->  [2001:db8::/32] -
    [2001:db8::/32]:443  ->  [2001:db8::/32] 443
    [2001:db8::/32]  ->  [2001:db8::/32] -
    ::1  ->  [::1] -
    ::  ->  [::] -
    [::ffff:10.1.2.3]:80  ->  10.1.2.3 80
    fd00:ec2::254  ->  [fd00:ec2::254] -
    "#);
}

#[test]
fn errors_of_names_point_at_the_fault_and_say_what_to_write() {
    let long = "a".repeat(321);
    let long_label = format!("{}.test", "a".repeat(64));
    insta::assert_snapshot!(table(&[
        "",
        &long,
        &long_label,
        "a b.test",
        "https://docs.test/",
        "docs.test/path",
        "git@docs.test",
        "w?ld.test",
        "{a,b}.test",
        "[ab].test",
        "a,b.test",
        "*.",
        "**",
        "**.",
        "a.**.test",
        "a**b.test",
        "**wild.test",
        "wild..test",
        ".wild.test",
        "wild.test..",
        "*..test",
        "xn--a.test",
        "b\u{fc}*.test",
        "\u{ff0a}.test",
        "a.b\u{200e}.test",
    ]), @r#"
      ->  Empty at ``: an empty entry; write a host, for example `docs.example`, or remove the entry
    (long)  ->  TooLong at `(long)`: an entry of 321 bytes; an entry has at most 320 bytes
    (long)  ->  TooLong at `(long)`: a name that is too long for DNS; a name has at most 253 bytes, a label at most 63
    a b.test  ->  Character at ` `: a space or control character in an entry; remove it; every host is an entry of its own
    https://docs.test/  ->  Url at `://`: `https://docs.test/` is a URL; write the host alone, without scheme and path, for example `docs.example:443`
    docs.test/path  ->  Url at `docs.test/path`: `docs.test/path` is neither a host nor a range of addresses; an entry has no path; write `{ host: …, paths: ["/…"] }` for rules on paths
    git@docs.test  ->  Url at `@`: user information in an entry; write the host alone
    w?ld.test  ->  ForeignWildcard at `?`: `?` is no wildcard of an entry; `*` stands for one or more characters inside a label, `*.` and `**.` for whole labels in front; write an entry for each alternative
    {a,b}.test  ->  ForeignWildcard at `{`: `{` is no wildcard of an entry; `*` stands for one or more characters inside a label, `*.` and `**.` for whole labels in front; write an entry for each alternative
    [ab].test  ->  Address at `ab`: `ab` is no IPv6 address; an IPv6 address is written like `2001:db8::1`, with ports `[2001:db8::1]:443`; a host has one colon, before its ports
    a,b.test  ->  Character at `,`: `,` in a host; a host has letters, digits, `-`, `_` and dots; the only wildcard is `*`
    *.  ->  Star at `*.`: no name behind `*.`; write the name that it stands in front of, or `*` for any name
    **  ->  Star at `**`: `**` inside `**`; `**.` stands at the front alone, for the name and everything below it; elsewhere write `*`
    **.  ->  Star at `**.`: no name behind `**.`; write the name that it stands in front of, or `*` for any name
    a.**.test  ->  Star at `**`: `**` inside `a.**.test`; `**.` stands at the front alone, for the name and everything below it; elsewhere write `*`
    a**b.test  ->  Star at `**`: `**` inside `a**b.test`; `**.` stands at the front alone, for the name and everything below it; elsewhere write `*`
    **wild.test  ->  Star at `**`: `**` inside `**wild.test`; `**.` stands at the front alone, for the name and everything below it; elsewhere write `*`
    wild..test  ->  EmptyLabel at `wild..test`: `wild..test` has an empty label; write one dot between two labels, and none at the front
    .wild.test  ->  EmptyLabel at `.wild.test`: `.wild.test` has an empty label; write one dot between two labels, and none at the front
    wild.test..  ->  EmptyLabel at `wild.test..`: `wild.test..` has an empty label; write one dot between two labels, and none at the front
    *..test  ->  EmptyLabel at `*..test`: `*..test` has an empty label; write one dot between two labels, and none at the front
    xn--a.test  ->  Idna at `xn--a`: `xn--a` cannot be converted to a DNS name; write the name as a browser shows it, or in its `xn--` form
    bü*.test  ->  Idna at `bü*`: `*` beside other than ASCII letters in `bü*`; such a label is encoded as a whole; write it out, or `*` for the whole label
    ＊.test  ->  Idna at `＊`: `＊` cannot be converted to a DNS name; write the name as a browser shows it, or in its `xn--` form
    a.b‎.test  ->  Idna at `b‎`: `b‎` cannot be converted to a DNS name; write the name as a browser shows it, or in its `xn--` form
    "#);
}

#[test]
fn errors_of_addresses_name_the_range_or_the_spelling_that_was_meant() {
    insta::assert_snapshot!(table(&[
        "123",
        "127.1",
        "0x7f000001",
        "0X7F.0.0.1",
        "010.0.0.1",
        "*.1",
        "10.*",
        "256.1.1.1",
        "1.2.3.4.",
        "10.1.2.3/8",
        "10.0.0.0/33",
        "10.0.0.0/08",
        "10.0.0.0/",
        "2001:db8::1/32",
        "[2001:db8::1",
        "[2001:db8::]/32",
        "[10.0.0.1]:80",
        "[wild.test]:80",
        "fe80::1%lo",
        "2001:db8::/32:443",
        "::1:443",
        "*.localhost",
        "app.localhost:80",
    ]), @r#"
    123  ->  LegacyAddress at `123`: `123` reads as an IPv4 address in an ambiguous spelling; write four decimal numbers without leading zeros, for example `192.0.2.1` or `192.0.2.0/24`
    127.1  ->  LegacyAddress at `127.1`: `127.1` reads as an IPv4 address in an ambiguous spelling; write four decimal numbers without leading zeros, for example `192.0.2.1` or `192.0.2.0/24`
    0x7f000001  ->  LegacyAddress at `0x7f000001`: `0x7f000001` reads as an IPv4 address in an ambiguous spelling; write four decimal numbers without leading zeros, for example `192.0.2.1` or `192.0.2.0/24`
    0X7F.0.0.1  ->  LegacyAddress at `0X7F.0.0.1`: `0X7F.0.0.1` reads as an IPv4 address in an ambiguous spelling; write four decimal numbers without leading zeros, for example `192.0.2.1` or `192.0.2.0/24`
    010.0.0.1  ->  LegacyAddress at `010.0.0.1`: `010.0.0.1` reads as an IPv4 address in an ambiguous spelling; write four decimal numbers without leading zeros, for example `192.0.2.1` or `192.0.2.0/24`
    *.1  ->  LegacyAddress at `*.1`: `*.1` reads as an IPv4 address in an ambiguous spelling; write four decimal numbers without leading zeros, for example `192.0.2.1` or `192.0.2.0/24`
    10.*  ->  LegacyAddress at `10.*`: `10.*` is a range of addresses written with `*`; write the range with a prefix length, for example `192.0.2.0/24`
    256.1.1.1  ->  LegacyAddress at `256.1.1.1`: `256.1.1.1` reads as an IPv4 address in an ambiguous spelling; write four decimal numbers without leading zeros, for example `192.0.2.1` or `192.0.2.0/24`
    1.2.3.4.  ->  LegacyAddress at `1.2.3.4.`: `1.2.3.4.` reads as an IPv4 address in an ambiguous spelling; write four decimal numbers without leading zeros, for example `192.0.2.1` or `192.0.2.0/24`
    10.1.2.3/8  ->  HostBits at `10.1.2.3/8`: `10.1.2.3/8` has bits after its prefix; write `10.0.0.0/8` for the whole range, or `10.1.2.3` for the one address
    10.0.0.0/33  ->  Prefix at `33`: `33` is no prefix length of this address; a prefix length is a number from 0 to 32
    10.0.0.0/08  ->  Prefix at `08`: `08` is no prefix length of this address; a prefix length is a number from 0 to 32
    10.0.0.0/  ->  Prefix at ``: `` is no prefix length of this address; a prefix length is a number from 0 to 32
    2001:db8::1/32  ->  HostBits at `2001:db8::1/32`: `2001:db8::1/32` has bits after its prefix; write `2001:db8::/32` for the whole range, or `2001:db8::1` for the one address
    [2001:db8::1  ->  Address at `[2001:db8::1`: a `[` without its `]`; square brackets stand around an IPv6 address or range, for example `[2001:db8::/32]:443`
    [2001:db8::]/32  ->  Address at `/32`: `/32` after the square brackets; a prefix length stands inside them, ports follow them after a colon: `[2001:db8::/32]:443`
    [10.0.0.1]:80  ->  Address at `10.0.0.1`: `10.0.0.1` is no IPv6 address; an IPv4 address stands without square brackets
    [wild.test]:80  ->  Address at `wild.test`: `wild.test` is no IPv6 address; an IPv6 address is written like `2001:db8::1`, with ports `[2001:db8::1]:443`; a host has one colon, before its ports
    fe80::1%lo  ->  Address at `fe80::1%lo`: `fe80::1%lo` is no IPv6 address; an entry has no zone; write the address alone
    2001:db8::/32:443  ->  Address at `2001:db8::/32`: ports after an IPv6 address without square brackets; write `[2001:db8::/32]:443`
    ::1:443  ->  Address at `::1`: ports after an IPv6 address without square brackets; write `[::1]:443`
    *.localhost  ->  BelowLocalhost at `*.localhost`: `*.localhost` is the same address as `localhost`, and no host of its own; write `localhost`, which covers 127.0.0.1, ::1 and the names below `localhost`
    app.localhost:80  ->  BelowLocalhost at `app.localhost`: `app.localhost` is the same address as `localhost`, and no host of its own; write `localhost`, which covers 127.0.0.1, ::1 and the names below `localhost`
    "#);
}

#[test]
fn errors_of_ports_and_exclusions_say_what_to_write() {
    insta::assert_snapshot!(table(&[
        "a.test:80:90",
        ":443",
        "a.test:",
        "a.test:0",
        "a.test:80,",
        "a.test:80,*",
        "a.test:https",
        "a.test:90-80",
        "a.test:70000",
        "!",
        "!!a.test",
    ]), @r#"
    a.test:80:90  ->  Address at `a.test:80:90`: `a.test:80:90` is no IPv6 address; an IPv6 address is written like `2001:db8::1`, with ports `[2001:db8::1]:443`; a host has one colon, before its ports
    :443  ->  Empty at `:443`: no host in an entry; write a host in front of the ports; `*` is any name
    a.test:  ->  Ports at ``: a port is missing; ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    a.test:0  ->  Ports at `0`: `0` is no port; ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    a.test:80,  ->  Ports at ``: a port is missing; ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    a.test:80,*  ->  Ports at `*`: `*` is no port; ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    a.test:https  ->  Ports at `https`: `https` is no port; ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    a.test:90-80  ->  Ports at `90-80`: `90-80` ends before it begins; write `80-90`
    a.test:70000  ->  Ports at `70000`: `70000` is no port; ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`
    !  ->  Empty at ``: no host in an entry; write a host in front of the ports; `*` is any name
    !!a.test  ->  Exclusion at `!a.test`: a `!` that excludes nothing; write one `!`, in front of an entry that is a string
    "#);
}

#[test]
fn hosts_of_mappings_have_neither_exclusions_nor_ports() {
    let error = parse_host("a.test:80,90").unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.help.as_str()),
        (
            "ports have a key of their own in a mapping",
            "write `ports: \"80,90\"` beside it"
        )
    );
    assert!(parse_host("!a.test").is_err());
    assert!(parse_host("a.test").is_ok());
}

#[test]
fn ports_are_read_without_an_entry_too() {
    assert_eq!(parse_ports("443,80,81").unwrap().to_string(), "80-81,443");
    let error = parse_ports("80,x").unwrap_err();
    assert_eq!(
        (error.range, error.message.as_str()),
        (3..4, "`x` is no port")
    );
    let error = parse_ports(&"80,".repeat(200)).unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.help.as_str()),
        (
            "ports of 600 bytes",
            "write a list of texts, each of at most 320 bytes"
        )
    );
}

#[test]
fn an_address_is_none_the_less_one_behind_a_final_dot_or_in_wide_digits() {
    for text in [
        "72.*.*.",
        "10.*.",
        "\u{ff11}0.*",
        "**.\u{ff11}0.*",
        "*x.\u{ff17}2",
        "*.\u{ff17}2.",
        "\u{ff11}27.0.0.1",
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind, EntryErrorKind::LegacyAddress, "{text}");
    }
}
