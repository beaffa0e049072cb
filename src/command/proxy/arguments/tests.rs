use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn parse(words: &[&str]) -> Result<Arguments, clap::Error> {
    let words = std::iter::once("proxy").chain(words.iter().copied());
    Line::try_parse_from(words).map(|line| line.arguments)
}

fn refusal(words: &[&str]) -> String {
    parse(words).unwrap_err().render().to_string()
}

#[test]
fn the_defaults_are_those_of_the_contract() {
    let arguments = parse(&[]).unwrap();
    let local: SocketAddr = "127.0.0.1:3128".parse().unwrap();
    assert_eq!(arguments.listen, [ListenAddress::Tcp(local)]);
    assert_eq!(arguments.admin, "127.0.0.1:9128".parse().unwrap());
    assert_eq!(arguments.head_timeout, Duration::from_secs(10));
    assert_eq!(arguments.audit, None);
    assert_eq!(arguments.audit_on_failure, OnFailure::Deny);
    assert!(!arguments.observe && !arguments.recheck);
}

#[test]
fn listeners_are_told_apart() {
    let arguments = parse(&[
        "--listen",
        "[::1]:0",
        "--listen",
        "tls:127.0.0.1:3129",
        "--listen",
        "unix:/run/moat.sock",
    ])
    .unwrap();
    let shown: Vec<_> = arguments.listen.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "http://[::1]:0",
            "https://127.0.0.1:3129",
            "unix:/run/moat.sock"
        ]
    );
}

#[test]
fn a_name_is_no_listener() {
    insta::assert_snapshot!(refusal(&["--listen", "localhost:3128"]), @"
    error: invalid value 'localhost:3128' for '--listen <ADDR>': it is an address and a port such as `127.0.0.1:3128` or `[::1]:3128`, `tls:` and the same, or `unix:` and a path

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refusal(&["--listen", "unix:"]), @"
    error: invalid value 'unix:' for '--listen <ADDR>': `unix:` is followed by the path of a socket

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refusal(&["--listen", ""]), @"
    error: invalid value '' for '--listen <ADDR>': it is an address and a port such as `127.0.0.1:3128` or `[::1]:3128`, `tls:` and the same, or `unix:` and a path

    For more information, try '--help'.
    ");
}

#[test]
fn a_certificate_needs_its_key() {
    insta::assert_snapshot!(refusal(&["--tls-cert", "cert.pem"]), @"
    error: the following required arguments were not provided:
      --tls-key <FILE>

    Usage: proxy --tls-cert <FILE> --tls-key <FILE>

    For more information, try '--help'.
    ");
}

#[test]
fn name_servers_have_port_53_unless_they_say_otherwise() {
    let arguments = parse(&["--dns", "192.0.2.53", "--dns", "[2001:db8::53]:5353"]).unwrap();
    let expected: Vec<SocketAddr> = vec![
        "192.0.2.53:53".parse().unwrap(),
        "[2001:db8::53]:5353".parse().unwrap(),
    ];
    assert_eq!(arguments.dns, expected);
    insta::assert_snapshot!(refusal(&["--dns", "dns.test"]), @"
    error: invalid value 'dns.test' for '--dns <ADDR>': it is an address such as `192.0.2.53`, or one with a port such as `192.0.2.53:5353` or `[2001:db8::53]:53`

    For more information, try '--help'.
    ");
}

#[test]
fn limits_are_never_zero() {
    insta::assert_snapshot!(refusal(&["--head-timeout", "0s"]), @"
    error: invalid value '0s' for '--head-timeout <D>': it must be longer than nothing

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refusal(&["--idle-timeout", "5"]), @"
    error: invalid value '5' for '--idle-timeout <D>': a duration is a whole number and a unit, such as `250ms`, `2s`, `5m` or `1h`

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refusal(&["--workers", "0"]), @r"
    error: invalid value '0' for '--workers <N>': it is a whole number from 1

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refusal(&["--metrics-hosts", "10001"]), @"
    error: invalid value '10001' for '--metrics-hosts <N>': it is a number from 0 to 10000

    For more information, try '--help'.
    ");
    assert_eq!(parse(&["--drain", "0s"]).unwrap().drain, Duration::ZERO);
}

#[test]
fn an_unknown_flag_is_an_error() {
    insta::assert_snapshot!(refusal(&["--parent", "http://192.0.2.1"]), @"
    error: unexpected argument '--parent' found

    Usage: proxy [OPTIONS]

    For more information, try '--help'.
    ");
}

#[test]
fn the_record_goes_to_a_file_to_standard_output_or_nowhere() {
    for (text, expected) in [
        ("-", Audit::Stdout),
        ("off", Audit::Off),
        ("./off", Audit::File("./off".into())),
    ] {
        assert_eq!(parse(&["--audit", text]).unwrap().audit, Some(expected));
    }
    let keeps_nothing = |text| parse_audit(text).unwrap().keeps_nothing();
    assert!(keeps_nothing("off") && keeps_nothing("/dev/null"));
    assert!(!keeps_nothing("-") && !keeps_nothing("none.jsonl") && !keeps_nothing("Cargo.toml"));
}

#[test]
fn every_flag_is_in_the_manual_with_its_variable_and_default() {
    let manual = include_str!("../../../../docs/operations.md");
    let grammar = <Line as clap::CommandFactory>::command();
    let mut count = 0;
    for flag in grammar.get_arguments() {
        let Some(long) = flag.get_long() else {
            continue;
        };
        // A cell of the table begins with the flag; two flags may share a row.
        let named = [format!("`--{long} "), format!("`--{long}`")];
        let row = manual
            .lines()
            .filter(|line| line.starts_with("| `--"))
            .find(|line| {
                let cell = line.split(" | ").next().unwrap_or_default();
                named.iter().any(|name| cell.contains(name))
            })
            .unwrap_or_else(|| panic!("no row for --{long}"));
        if let Some(variable) = flag.get_env() {
            let variable = format!("`{}`", variable.to_str().unwrap());
            assert!(row.contains(&variable), "--{long} lacks {variable}");
        } else {
            assert!(!row.contains("`MOAT_"), "--{long} has no variable");
        }
        for default in flag.get_default_values() {
            let default = format!("`{}`", default.to_str().unwrap());
            let is_switch = ["`false`", "`true`"].contains(&default.as_str());
            assert!(is_switch || row.contains(&default), "--{long}: {default}");
        }
        count += 1;
    }
    assert!(count > 18, "only {count} flags found");
}
