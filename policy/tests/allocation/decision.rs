//! Allocations are counted on every path of a decision.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use moat_policy::compile::compile;
use moat_policy::host::Host;
use moat_policy::layer::{LayerInput, Origin};
use moat_policy::policy::Policy;
use moat_policy::port::Port;
use moat_policy::request::{Request, Surface, Target};
use moat_policy::source::SourceFile;
use moat_policy::verdict::{AddressVerdict, Effect};

use crate::sys::allocations;

const POLICY: &str = r#"
version: 1
allow:
  - id: names
    net:
      - exact.test
      - "*.below.test"
      - "**.both.test"
      - "api-*.glob.test"
      - "a.*.glob.test"
      - "a*b*c.glob.test"
      - "tailless-*"
      - "127.0.0.2:*"
      - "10.0.0.0/8:443"
      - "2001:db8::/32"
      - "localhost:5432"
      - { host: api.test, methods: [GET], paths: ["/repos/acme/**"] }
      - { host: soon.test, until: 2099-12-31T00:00:00Z }
  - id: excluding
    net: ["*.excluding.test", "!secret.excluding.test"]
  - id: fetching
    fetch: [docs.test]
deny:
  - id: denied
    net: ["*.denied.test", "10.9.0.0/16", { host: exact.test, methods: [DELETE] }]
ask:
  - id: asked
    net: ["asked.test"]
"#;

fn policy() -> Policy {
    compiled(POLICY)
}

fn compiled(text: &str) -> Policy {
    let input = LayerInput {
        origin: Origin::User,
        source: SourceFile::new("policy.yaml", text),
    };
    compile(vec![input]).unwrap().policy
}

fn target(host: &str, port: u16) -> Target {
    Target {
        host: Host::parse(host.as_bytes()).unwrap(),
        port: Port::from_number(port).unwrap(),
    }
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(500_000)
}

/// Decides once to fill what is filled once, then again under the count.
fn count(policy: &Policy, request: &Request<'_>) -> (Effect, usize) {
    let mut effect = policy.decide(request).effect;
    let count = allocations(|| effect = policy.decide(request).effect);
    (effect, count)
}

#[test]
fn a_decision_allocates_nothing() {
    let policy = policy();
    let deep = format!("{}below.test", "a.".repeat(120));
    for (host, port, want) in [
        ("exact.test", 80, Effect::Deny),
        ("a.below.test", 443, Effect::Allow),
        (&deep, 443, Effect::Allow),
        ("both.test", 443, Effect::Allow),
        ("api-7.glob.test", 443, Effect::Allow),
        ("a.b.glob.test", 443, Effect::Allow),
        ("axbxc.glob.test", 443, Effect::Allow),
        ("tailless-7", 443, Effect::Allow),
        ("127.0.0.2", 9, Effect::Allow),
        ("10.1.2.3", 443, Effect::Allow),
        ("[::ffff:10.1.2.3]", 443, Effect::Allow),
        ("[2001:db8::1]", 80, Effect::Allow),
        ("localhost", 5432, Effect::Allow),
        ("soon.test", 443, Effect::Allow),
        ("a.excluding.test", 443, Effect::Allow),
        ("secret.excluding.test", 443, Effect::Deny),
        ("x.denied.test", 443, Effect::Deny),
        ("other.example", 443, Effect::Deny),
        ("asked.test", 443, Effect::Ask),
    ] {
        let target = target(host, port);
        let request = Request::connection(&target, now());
        assert_eq!(count(&policy, &request), (want, 0), "{host}:{port}");
    }
}

#[test]
fn a_decision_on_method_and_path_allocates_nothing() {
    let policy = policy();
    let target = target("api.test", 80);
    for (path, want) in [
        ("/repos/acme/issues", Effect::Allow),
        ("/repos/other", Effect::Deny),
        ("/repos/acme/../other", Effect::Deny),
    ] {
        let request = Request {
            method: Some("GET"),
            path: Some(path),
            ..Request::connection(&target, now())
        };
        assert_eq!(count(&policy, &request), (want, 0), "{path}");
    }
}

#[test]
fn a_decision_among_many_conditions_and_exclusions_allocates_nothing() {
    let paths = (0..200).map(|n| format!("{{host: api.test, paths: [\"/repos/{n}/**\"]}}"));
    let paths: Vec<_> = paths.collect();
    let lists =
        (0..200).map(|n| format!("  - {{id: g{n}, net: [\"*.a.test\", \"!b{n}.a.test\"]}}"));
    let lists: Vec<_> = lists.collect();
    let policy = compiled(&format!(
        "version: 1\nallow:\n  - {{id: paths, net: [{}]}}\n{}",
        paths.join(", "),
        lists.join("\n")
    ));
    for (host, path, want) in [
        ("api.test", Some("/repos/77/issues"), Effect::Allow),
        ("api.test", Some("/repos/777/issues"), Effect::Deny),
        ("api.test", None, Effect::Deny),
        ("b7.a.test", None, Effect::Allow),
        ("c.a.test", None, Effect::Allow),
    ] {
        let target = target(host, 80);
        let request = Request {
            path,
            ..Request::connection(&target, now())
        };
        assert_eq!(count(&policy, &request), (want, 0), "{host} {path:?}");
    }
}

#[test]
fn judging_an_answer_allocates_nothing() {
    let policy = policy();
    for (address, open) in [
        ("8.8.8.8", true),
        ("10.1.2.3", true),
        ("10.9.1.1", false),
        ("192.168.0.1", false),
        ("64:ff9b::a01:203", false),
        ("2606:4700::1", true),
    ] {
        let address: IpAddr = address.parse().unwrap();
        let target = Target {
            host: Host::Address(address),
            port: Port::HTTPS,
        };
        let request = Request {
            surface: Surface::Fetch,
            ..Request::connection(&target, now())
        };
        let mut is_open = !open;
        let count = allocations(|| {
            let verdict = policy.judge_address(&request, address, &|_| false);
            is_open = matches!(verdict, AddressVerdict::Open);
        });
        assert_eq!((is_open, count), (open, 0), "{address}");
    }
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(Box::new(1_u8))), 1);
}
