use super::*;
use crate::bed::Bed;

const POLICY: &str = "\
version: 1
allow:
  - id: names
    reason: the tests need them
    net: [\"allowed.test\", \"*.wild.test:*\"]
deny:
  - id: denied
    net: [\"secret.wild.test\"]
ask:
  - id: asked
    net: [\"asked.test\"]
";

fn check(bed: &Bed, words: &[&str]) -> (Result<Exit, Problem>, String) {
    let policy = bed.write("policy.yaml", POLICY);
    let arguments = Arguments {
        requests: words.iter().map(|&word| word.to_owned()).collect(),
        kind: Kind::Net,
        policy: vec![policy],
        json: false,
    };
    bed.run(|context| run(&arguments, context))
}

#[test]
fn each_request_has_a_line_that_says_why() {
    let bed = Bed::new();
    let (exit, text) = check(
        &bed,
        &[
            "https://allowed.test/path",
            "a.wild.test:22",
            "secret.wild.test",
            "asked.test",
            "other.test:8080",
            "http://127.0.0.1/",
            "[::1]:443",
            "b.allowed.test",
            "224.0.0.1",
            "http://allowed.test:443/",
        ],
    );
    assert_eq!(exit.unwrap(), Exit::Deny);
    insta::assert_snapshot!(text, @"
    allow allowed.test:443 by `allowed.test` of rule `names` at policy.yaml:5: the tests need them
    allow a.wild.test:22 by `*.wild.test:*` of rule `names` at policy.yaml:5: the tests need them
    deny  secret.wild.test:443 by `secret.wild.test` of rule `denied` at policy.yaml:8
          change: removing or narrowing `secret.wild.test` in policy.yaml:8: a deny always wins
          close: allow `*.wild.test:*` in policy.yaml:5: it matches, and something stricter does too
    ask   asked.test:443 by `asked.test` of rule `asked` at policy.yaml:11
          change: `moat allow asked.test`
    deny  other.test:8080 by default, since no rule matches
          change: `moat allow other.test:8080`
    deny  127.0.0.1:80 since loopback addresses are guarded and no address entry opens this one
          change: `moat allow 127.0.0.1`
    deny  [::1]:443 since loopback addresses are guarded and no address entry opens this one
          change: `moat allow [::1]`
    deny  b.allowed.test:443 by default, since no rule matches
          change: `moat allow b.allowed.test`
          close: allow `allowed.test` in policy.yaml:5: another host of the same domain
    deny  224.0.0.1:443 since multicast addresses are guarded and no address entry opens this one
          change: nothing: multicast addresses are never dialled
    deny  allowed.test:443 since it is sent in clear and TLS is required by `allowed.test` of rule `names` at policy.yaml:5: the tests need them
          change: TLS (`https:`), or `tls: any` in the entry
    ");
}

#[test]
fn the_strictest_answer_is_the_exit_code() {
    let bed = Bed::new();
    for (words, expected) in [
        (&["allowed.test"][..], Exit::Ok),
        (&["allowed.test", "asked.test"], Exit::Ask),
        (&["asked.test", "other.test", "allowed.test"], Exit::Deny),
    ] {
        assert_eq!(check(&bed, words).0.unwrap(), expected);
    }
}

#[test]
fn every_request_that_cannot_be_read_is_named() {
    let bed = Bed::new();
    let (exit, _) = check(
        &bed,
        &["allowed.test", "0x7f.1", "ftp://allowed.test/", "0x7f.2"],
    );
    let problem = exit.unwrap_err();
    assert_eq!(problem.exit(), Exit::Usage);
    insta::assert_snapshot!(problem.plain(), @"
    error: `0x7f.1` is no request: `0x7f.1` is no host: an address in a spelling other than four decimal numbers
           `ftp://allowed.test/` is no request: the scheme `ftp` is not judged
           `0x7f.2` is no request: `0x7f.2` is no host: an address in a spelling other than four decimal numbers
    hint: write a host name or an address as clients send it
          write an http, https, ws or wss URL, or HOST:PORT
    ");
}

#[test]
fn json_has_one_object_for_each_request() {
    let bed = Bed::new();
    let arguments = Arguments {
        requests: vec!["allowed.test".to_owned(), "10.0.0.1:5432".to_owned()],
        kind: Kind::Fetch,
        policy: vec![bed.write("policy.yaml", POLICY)],
        json: true,
    };
    let (exit, text) = bed.run(|context| run(&arguments, context));
    assert_eq!(exit.unwrap(), Exit::Deny);
    insta::assert_snapshot!(text, @r#"
    {"request":"allowed.test","kind":"fetch","host":"allowed.test","port":443,"effect":"allow","basis":"rule","rule":{"id":"names","entry":"allowed.test","layer":"user","source":"policy.yaml:5","reason":"the tests need them"}}
    {"request":"10.0.0.1:5432","kind":"fetch","host":"10.0.0.1","port":5432,"effect":"deny","basis":"guarded","address_class":"private","change":"`moat allow 10.0.0.1:5432`"}
    "#);
}

#[test]
fn a_broken_policy_is_no_answer() {
    let bed = Bed::new();
    let arguments = Arguments {
        requests: vec!["allowed.test".to_owned()],
        kind: Kind::Net,
        policy: vec![bed.write("policy.yaml", "version: 1\nalow: []\n")],
        json: false,
    };
    let (exit, text) = bed.run(|context| run(&arguments, context));
    let problem = exit.unwrap_err();
    assert_eq!((problem.exit(), text.as_str()), (Exit::Usage, ""));
    insta::assert_snapshot!(bed.hide(&problem.plain()), @"
    error[P015]: unknown key `alow`
     --> policy.yaml:2:1
      |
    2 | alow: []
      | ^^^^
      |
      = help: did you mean `allow`?
    ");
}

#[test]
fn what_is_allowed_by_default_is_refused_in_clear_on_the_port_of_tls() {
    let bed = Bed::new();
    let arguments = Arguments {
        requests: vec!["http://a.test:443/".to_owned(), "http://a.test/".to_owned()],
        kind: Kind::Net,
        policy: vec![bed.write("policy.yaml", "version: 1\ndefaults: { net: allow }\n")],
        json: false,
    };
    let (exit, text) = bed.run(|context| run(&arguments, context));
    assert_eq!(exit.unwrap(), Exit::Deny);
    insta::assert_snapshot!(text, @"
    deny  a.test:443 by default, since no rule matches and TLS is required on this port
          change: TLS (`https:`), or `tls: any` in the entry
    allow a.test:80 by default, since no rule matches
    ");
}
