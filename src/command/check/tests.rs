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
fn every_request_that_cannot_be_read_is_named() {
    let bed = Bed::new();
    let (exit, _) = check(&bed, &["allowed.test", "0x7f.1", "ftp://allowed.test/"]);
    let problem = exit.unwrap_err();
    assert_eq!(problem.exit(), Exit::Usage);
    insta::assert_snapshot!(problem.plain(), @"
    error: `0x7f.1` is no request: `0x7f.1` is no host: an address in a spelling other than four decimal numbers
           `ftp://allowed.test/` is no request: the scheme `ftp` is not judged
    hint: write a host name or an address as clients send it
    write an http, https, ws or wss URL, or HOST:PORT
    ");
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
