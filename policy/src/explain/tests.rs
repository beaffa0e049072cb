use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::compile::compile;
use crate::layer::{LayerInput, Origin};
use crate::request_text::Asked;
use crate::source::SourceFile;

fn input(origin: Origin, name: &str, text: &str) -> LayerInput {
    LayerInput {
        origin,
        source: SourceFile::new(name, &format!("version: 1\n{text}")),
    }
}

fn explained(inputs: Vec<LayerInput>, ask: &str) -> String {
    let compiled = compile(inputs).unwrap();
    let asked = Asked::parse(ask).unwrap();
    let now = UNIX_EPOCH + Duration::from_hours(500_000);
    let explanation = explain(&compiled, &asked.request(Surface::Net, now));
    let mut lines = vec![format!("{} {}", asked.target, explanation.verdict.effect)];
    lines.extend(explanation.near.iter().map(ToString::to_string));
    lines.push(format!("change: {}", explanation.change));
    lines.join("\n")
}

const POLICY: &str = "\
allow:
  - id: a
    net:
      - a.test
      - \"ssh.a.test:22\"
      - \"*.deep.a.test\"
      - \"*.b.test\"
      - \"!x.b.test\"
      - { host: api.c.test, methods: [GET] }
      - { host: old.d.test, until: 2020-01-01T00:00:00Z }
      - \"10.0.0.0/8:5432\"
    fetch: [f.test]
  - { id: far, net: [unrelated.test, {preset: rustup}] }
deny:
  - { id: d, net: [bad.b.test] }
ask:
  - { id: q, net: [q.test] }
";

fn user(ask: &str) -> String {
    explained(vec![input(Origin::User, "p.yaml", POLICY)], ask)
}

#[test]
fn an_allowed_request_needs_no_change() {
    insta::assert_snapshot!(user("a.test"), @"
    a.test:443 allow
    change: nothing: it is allowed
    ");
}

#[test]
fn the_right_host_on_another_port_comes_first() {
    insta::assert_snapshot!(user("a.test:22"), @"
    a.test:22 deny
    allow `a.test` in p.yaml:5: the host is right, its ports are 80,443
    allow `ssh.a.test:22` in p.yaml:6: another host of the same domain
    allow `*.deep.a.test` in p.yaml:7: another host of the same domain
    change: `moat allow a.test:22`
    ");
    insta::assert_snapshot!(user("ssh.a.test"), @"
    ssh.a.test:443 deny
    allow `ssh.a.test:22` in p.yaml:6: the host is right, its ports are 22
    allow `a.test` in p.yaml:5: another host of the same domain
    allow `*.deep.a.test` in p.yaml:7: another host of the same domain
    change: `moat allow ssh.a.test`
    ");
    insta::assert_snapshot!(user("10.1.2.3:80"), @"
    10.1.2.3:80 deny
    allow `10.0.0.0/8:5432` in p.yaml:12: the host is right, its ports are 5432
    change: `moat allow 10.1.2.3`
    ");
}

#[test]
fn what_an_entry_lacks_is_named() {
    insta::assert_snapshot!(user("https://api.c.test/x"), @"
    api.c.test:443 deny
    allow `api.c.test` in p.yaml:10: it names methods or paths, which cannot be seen in this request
    change: `moat allow api.c.test`
    ");
    insta::assert_snapshot!(explained(
        vec![input(Origin::User, "p.yaml", &POLICY.replace("GET", "PUT"))],
        "http://api.c.test/x"
    ), @"
    api.c.test:80 deny
    allow `api.c.test` in p.yaml:10: the host is right, its methods or paths are others
    change: `moat allow api.c.test`
    ");
    insta::assert_snapshot!(user("old.d.test"), @"
    old.d.test:443 deny
    allow `old.d.test` in p.yaml:11: its time is over
    change: `moat allow old.d.test`
    ");
    insta::assert_snapshot!(user("x.b.test"), @"
    x.b.test:443 deny
    allow `*.b.test` in p.yaml:8: an exclusion of its list takes this host out
    change: `moat allow x.b.test`
    ");
    insta::assert_snapshot!(user("f.test"), @"
    f.test:443 deny
    allow `f.test` in p.yaml:13: it is for fetch tools alone
    change: `moat allow f.test`
    ");
}

#[test]
fn what_is_only_uncertain_is_not_called_unseen() {
    let policy = "allow:\n- id: a\n  net:\n  - {host: a.test, methods: [GET]}\n  \
                  - {host: b.test, paths: [\"/a/**\"]}\n  \
                  - {host: c.test, methods: [GET], paths: [\"/a/**\"]}\n";
    let near = |text: &str, method: &str| {
        let compiled = compile(vec![input(Origin::User, "p.yaml", policy)]).unwrap();
        let asked = Asked::parse(text).unwrap().with_method(method);
        let request = asked.request(Surface::Net, UNIX_EPOCH);
        let misses: Vec<_> = explain(&compiled, &request)
            .near
            .into_iter()
            .map(|near| near.miss)
            .collect();
        misses
    };
    assert_eq!(near("http://a.test/", "get"), [Miss::Uncertain]);
    assert_eq!(near("http://b.test/a/../b", "GET"), [Miss::Uncertain]);
    assert_eq!(near("http://c.test/a/../b", "get"), [Miss::Uncertain]);
    assert_eq!(near("http://c.test/a/b", "POST"), [Miss::Http]);
    assert_eq!(near("https://c.test/a/b", "GET"), [Miss::Unseen]);
    assert_eq!(near("ws://a.test/", "GET"), [Miss::Unseen]);
}

#[test]
fn what_would_be_sent_in_clear_is_told_to_use_tls() {
    insta::assert_snapshot!(user("http://a.test:443/"), @"
    a.test:443 deny
    allow `ssh.a.test:22` in p.yaml:6: another host of the same domain
    allow `*.deep.a.test` in p.yaml:7: another host of the same domain
    change: TLS (`https:`), or `tls: any` in the entry
    ");
    insta::assert_snapshot!(user("http://g.test:443/"), @"
    g.test:443 deny
    change: `moat allow g.test` and TLS (`https:`), or an entry with `tls: any`
    ");
}

#[test]
fn hosts_of_the_same_domain_are_the_farthest_that_is_shown() {
    insta::assert_snapshot!(user("deep.a.test"), @"
    deep.a.test:443 deny
    allow `*.deep.a.test` in p.yaml:7: another host of the same domain
    allow `a.test` in p.yaml:5: another host of the same domain
    allow `ssh.a.test:22` in p.yaml:6: another host of the same domain
    change: `moat allow deep.a.test`
    ");
    insta::assert_snapshot!(user("nothing.example"), @"
    nothing.example:443 deny
    change: `moat allow nothing.example`
    ");
}

#[test]
fn a_deny_has_to_go_and_an_ask_of_the_user_gives_way() {
    insta::assert_snapshot!(user("bad.b.test"), @"
    bad.b.test:443 deny
    allow `*.b.test` in p.yaml:8: it matches, and something stricter does too
    change: removing or narrowing `bad.b.test` in p.yaml:16: a deny always wins
    ");
    insta::assert_snapshot!(user("q.test"), @"
    q.test:443 ask
    change: `moat allow q.test`
    ");
}

#[test]
fn what_is_more_trusted_decides_what_helps() {
    let machine = |text: &str| {
        vec![
            input(Origin::Machine, "m.yaml", text),
            input(Origin::User, "p.yaml", POLICY),
        ]
    };
    insta::assert_snapshot!(explained(machine("ask: [{id: q, net: [a.test]}]\n"), "a.test"), @"
    a.test:443 ask
    allow `a.test` in p.yaml:5: it matches, and something stricter does too
    allow `ssh.a.test:22` in p.yaml:6: another host of the same domain
    allow `*.deep.a.test` in p.yaml:7: another host of the same domain
    change: an allow entry in the machine policy, or removing `a.test` in m.yaml:2
    ");
    insta::assert_snapshot!(explained(machine("exclusive: true\n"), "a.test"), @"
    a.test:443 deny
    change: an allow entry in the machine's policy, which is exclusive
    ");
    let project = vec![
        input(
            Origin::UntrustedProject,
            ".moat.yaml",
            "ask: [{id: q, net: [a.test]}]\n",
        ),
        input(Origin::User, "p.yaml", POLICY),
    ];
    insta::assert_snapshot!(explained(project, "a.test"), @"
    a.test:443 ask
    allow `a.test` in p.yaml:5: it matches, and something stricter does too
    allow `ssh.a.test:22` in p.yaml:6: another host of the same domain
    allow `*.deep.a.test` in p.yaml:7: another host of the same domain
    change: removing `a.test` in .moat.yaml:2
    ");
}

#[test]
fn an_address_opens_by_itself_or_never() {
    insta::assert_snapshot!(user("192.168.0.1:5432"), @"
    192.168.0.1:5432 deny
    change: `moat allow 192.168.0.1:5432`
    ");
    insta::assert_snapshot!(user("[fd00::1]:443"), @"
    [fd00::1]:443 deny
    change: `moat allow [fd00::1]`
    ");
    insta::assert_snapshot!(user("x.localhost:5432"), @"
    x.localhost:5432 deny
    change: `moat allow localhost:5432`
    ");
    insta::assert_snapshot!(user("0.0.0.0:80"), @"
    0.0.0.0:80 deny
    change: nothing: unspecified addresses are never dialled
    ");
}

#[test]
fn an_address_with_a_guarded_one_inside_needs_both() {
    let opening = |host: &str| {
        let host = Host::parse(host.as_bytes()).unwrap();
        opening_entries(&host, Port::HTTP).join(" ")
    };
    assert_eq!(opening("[64:ff9b::7f00:1]"), "[64:ff9b::7f00:1] 127.0.0.1");
    assert_eq!(opening("[2002:a00:1::]"), "[2002:a00:1::] 10.0.0.1");
    assert_eq!(opening("[64:ff9b::808:808]"), "[64:ff9b::808:808]");
    assert_eq!(opening("[::ffff:10.0.0.1]"), "[::ffff:10.0.0.1]");
}

#[test]
fn the_name_of_a_metadata_service_needs_its_address_too() {
    let host = Host::parse(b"metadata.google.internal").unwrap();
    assert_eq!(
        opening_entries(&host, Port::HTTP).join(" "),
        "metadata.google.internal 169.254.169.254"
    );
    assert_eq!(
        opening_entries(&host, Port::from_number(8080).unwrap()).join(" "),
        "metadata.google.internal:8080 169.254.169.254:8080"
    );
    let other = Host::parse(b"a.test").unwrap();
    assert_eq!(opening_entries(&other, Port::HTTPS), ["a.test"]);
}
