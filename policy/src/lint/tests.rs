use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::compile::{built_in, compile};
use crate::layer::{LayerInput, Origin};
use crate::preset::{Class, Purpose};
use crate::source::SourceFile;

fn input(origin: Origin, name: &str, text: &str) -> LayerInput {
    LayerInput {
        origin,
        source: SourceFile::new(name, &format!("version: 1\n{text}\n")),
    }
}

fn findings_of(inputs: Vec<LayerInput>) -> String {
    let compiled = compile(inputs).unwrap();
    let now = UNIX_EPOCH + Duration::from_hours(500_000);
    let lines: Vec<_> = lint(&compiled, now)
        .iter()
        .map(ToString::to_string)
        .collect();
    lines.join("\n")
}

fn findings(text: &str) -> String {
    findings_of(vec![input(Origin::User, "p.yaml", text)])
}

fn allow(entries: &str) -> String {
    findings(&format!("allow: [{{id: a, net: [{entries}]}}]"))
}

#[test]
fn a_plain_policy_has_no_findings() {
    assert_eq!(findings_of(vec![built_in()]), "");
    assert_eq!(
        allow(
            "a.test, \"*.b.test\", \"**.c.test:*\", \"x-*.d.test\", 10.0.0.0/8, {preset: npm}, localhost"
        ),
        ""
    );
    let deny = |entry: &str| findings(&format!("deny: [{{id: a, net: [\"{entry}\"]}}]"));
    assert_eq!(deny("*") + &deny("*.com") + &deny("*x.test"), "");
}

#[test]
fn a_wildcard_over_names_of_strangers_is_found() {
    insta::assert_snapshot!(allow("\"*\""), @"
    p.yaml:2:23: warning[L010]: `*` lets through every name
      help: name the hosts that are needed; `--observe` and the record show which
    ");
    insta::assert_snapshot!(allow("\"*.com\", \"**.co.uk\""), @"
    p.yaml:2:23: warning[L011]: `*.com` lets through every domain under `com`
      help: name the domains that are needed
    p.yaml:2:32: warning[L011]: `**.co.uk` lets through every domain under `co.uk`
      help: name the domains that are needed
    ");
    insta::assert_snapshot!(allow("\"*example.com\", \"*wild.test\", \"a*.co.uk\", \"api-*\""), @r#"
    p.yaml:2:23: warning[L012]: the `*` of `*example.com` also stands for domains of strangers
      help: put a dot behind the `*`: "*.NAME" or "**.NAME"
    p.yaml:2:39: warning[L012]: the `*` of `*wild.test` also stands for domains of strangers
      help: put a dot behind the `*`: "*.NAME" or "**.NAME"
    p.yaml:2:53: warning[L012]: the `*` of `a*.co.uk` also stands for domains of strangers
      help: put a dot behind the `*`: "*.NAME" or "**.NAME"
    p.yaml:2:65: warning[L012]: the `*` of `api-*` also stands for domains of strangers
      help: put a dot behind the `*`: "*.NAME" or "**.NAME"
    "#);
    insta::assert_snapshot!(allow("\"*.github.io\", \"**.amazonaws.com\", \"x-*.cloudfront.net\""), @r#"
    p.yaml:2:23: warning[L017]: `*.github.io` lets through names that anybody can have under `github.io`
      help: name the tenant's host in full
    p.yaml:2:38: warning[L017]: `**.amazonaws.com` lets through names that anybody can have under `amazonaws.com`
      help: name the tenant's host in full
    p.yaml:2:58: warning[L012]: the `*` of `x-*.cloudfront.net` also stands for domains of strangers
      help: put a dot behind the `*`: "*.NAME" or "**.NAME"
    "#);
    assert_eq!(
        allow("\"*.mine.github.io\", \"*.example.com\", \"a*.example.co.uk\""),
        ""
    );
}

#[test]
fn a_wildcard_that_a_preset_marks_as_open_to_tenants_is_found_where_a_person_writes_it() {
    let mut count = 0;
    for name in crate::preset::all_names().unwrap() {
        let preset = crate::preset::find(&name).unwrap();
        let tenants = preset
            .entries
            .iter()
            .filter(|entry| entry.class == Class::TenantLabel && preset.purpose == Purpose::Allow);
        for entry in tenants {
            let said = allow(&format!("\"{}\"", entry.host));
            assert!(said.contains("[L017]"), "{}: {said}", entry.host);
            count += 1;
        }
    }
    assert!(count > 2, "only {count} entries found");
}

#[test]
fn opened_metadata_addresses_are_found() {
    insta::assert_snapshot!(allow("169.254.169.254, metadata.google.internal"), @"
    p.yaml:2:23: warning[L013]: `169.254.169.254` opens the metadata service of a cloud
      help: remove it unless the workload must have the machine's own credentials
    p.yaml:2:40: warning[L013]: `metadata.google.internal` opens the metadata service of a cloud
      help: remove it unless the workload must have the machine's own credentials
    ");
    assert_eq!(allow("169.254.0.0/16"), "");
}

#[test]
fn an_expired_entry_is_found() {
    insta::assert_snapshot!(allow("{host: a.test, until: 2020-01-01T00:00:00Z}, {host: b.test, until: 2100-01-01T00:00:00Z}"), @"
    p.yaml:2:23: warning[L016]: the time of `a.test` is over
      help: remove the entry, or set a later `until`
    ");
}

#[test]
fn an_entry_that_says_nothing_new_is_found() {
    insta::assert_snapshot!(allow("a.test, \"a.test:443\", \"**.b.test\", x.b.test, \"*.b.test:80\", 10.0.0.0/8, 10.1.2.3"), @"
    p.yaml:2:31: warning[L014]: `a.test:443` says nothing that is not said by `a.test` in p.yaml:2
      help: remove it
    p.yaml:2:58: warning[L014]: `x.b.test` says nothing that is not said by `**.b.test` in p.yaml:2
      help: remove it
    p.yaml:2:68: warning[L014]: `*.b.test:80` says nothing that is not said by `**.b.test` in p.yaml:2
      help: remove it
    p.yaml:2:95: warning[L014]: `10.1.2.3` says nothing that is not said by `10.0.0.0/8` in p.yaml:2
      help: remove it
    ");
    insta::assert_snapshot!(findings("allow: [{id: a, net: [a.test], fetch: [a.test]}, {id: b, net: [a.test]}]"), @"
    p.yaml:2:40: warning[L014]: `a.test` says nothing that is not said by `a.test` in p.yaml:2
      help: remove it
    p.yaml:2:64: warning[L014]: `a.test` says nothing that is not said by `a.test` in p.yaml:2
      help: remove it
    ");
    assert_eq!(allow("a.test, \"a.test:22\", \"*.b.test\", b.test, \"*.c.test\", {host: x.c.test, methods: [GET]}").lines().count(), 2);
    let excluded = "{id: a, net: [\"*.a.test\", \"!x.a.test\"]}";
    let again = format!("allow: [{excluded}, {{id: b, net: [x.a.test]}}]");
    assert_eq!(findings(&again), "");
    assert_eq!(allow("a.test, {host: a.test, sni: any}"), "");
    assert_eq!(
        allow("{host: a.test, until: 2100-01-01T00:00:00Z}, a.test")
            .lines()
            .count(),
        2
    );
}

#[test]
fn an_entry_that_a_deny_takes_back_is_found() {
    insta::assert_snapshot!(findings("\
allow: [{id: a, net: [a.b.test, \"c.test:22\", x.d.test]}]
ask: [{id: q, net: [\"e.test\"]}]
deny:
  - id: d
    net: [\"*.b.test\", \"c.test:443\", \"**.d.test\", \"e.test\", \"!y.d.test\"]
  - id: e
    net: [\"**.d.test\"]"), @"
    p.yaml:2:23: warning[L015]: `a.b.test` is denied by `*.b.test` in p.yaml:6
      help: remove it, or narrow the deny: a deny always wins
    p.yaml:2:46: warning[L015]: `x.d.test` is denied by `**.d.test` in p.yaml:6
      help: remove it, or narrow the deny: a deny always wins
    p.yaml:3:21: warning[L015]: `e.test` is denied by `e.test` in p.yaml:6
      help: remove it, or narrow the deny: a deny always wins
    p.yaml:6:37: warning[L014]: `**.d.test` says nothing that is not said by `**.d.test` in p.yaml:8
      help: remove it
    ");
    let machine = input(Origin::Machine, "m.yaml", "deny: [{id: d, net: [a.test]}]");
    let user = input(Origin::User, "u.yaml", "allow: [{id: a, net: [a.test]}]");
    insta::assert_snapshot!(findings_of(vec![user, machine]), @"
    u.yaml:2:23: warning[L015]: `a.test` is denied by `a.test` in m.yaml:2
      help: remove it, or narrow the deny: a deny always wins
    ");
}

#[test]
fn an_entry_that_a_preset_holds_is_found() {
    let preset = crate::preset::find("rustup").unwrap();
    let host = &preset.entries[0].host;
    let text = allow(&format!("{{preset: rustup}}, {host}"));
    assert!(text.contains("of preset `rustup`"), "{text}");
}

#[test]
fn thousands_of_entries_take_no_square_of_time() {
    let hosts: Vec<_> = (0..2_000).map(|n| format!("h{n}.a.test")).collect();
    let text = allow(&format!("\"*.a.test:*\", {}", hosts.join(", ")));
    assert_eq!(text.lines().count(), 4_000);
}

#[test]
fn methods_and_paths_where_tls_is_required_are_found() {
    insta::assert_snapshot!(
        allow("{host: a.test, ports: 443, methods: [GET]}, {host: b.test, paths: [\"/x\"], tls: require}"),
        @"
    p.yaml:2:23: warning[L018]: `a.test:443` can never match: its methods or paths are seen in plain HTTP alone, and it requires TLS
      help: leave methods and paths out, or let plain HTTP through with `tls: any` or another port
    p.yaml:2:67: warning[L018]: `b.test` can never match: its methods or paths are seen in plain HTTP alone, and it requires TLS
      help: leave methods and paths out, or let plain HTTP through with `tls: any` or another port
    "
    );
    let seen =
        "{host: a.test, methods: [GET]}, {host: b.test, ports: 443, paths: [\"/x\"], tls: any}";
    assert_eq!(allow(seen), "");
}
