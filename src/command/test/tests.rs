use super::*;
use crate::bed::Bed;

const POLICY: &str = "\
version: 1
allow:
  - id: names
    net: [\"allowed.test\"]
tests:
  - { request: \"https://allowed.test\", expect: allow }
  - { request: \"https://other.test\", expect: deny }
";

fn test_text(bed: &Bed, text: &str, json: bool) -> (Result<Exit, Problem>, String) {
    let arguments = Arguments {
        files: Vec::new(),
        policy: vec![bed.write("policy.yaml", text)],
        json,
    };
    bed.run(|context| run(arguments, context))
}

#[test]
fn tests_that_hold_are_counted() {
    let bed = Bed::new();
    let (exit, text) = test_text(&bed, POLICY, false);
    assert_eq!(exit.unwrap(), Exit::Ok);
    insta::assert_snapshot!(text, @"2 held");
    insta::assert_snapshot!(test_text(&bed, POLICY, true).1, @r#"
    {"holds":true,"source":"policy.yaml:6","expect":"allow","request":"https://allowed.test","kind":"net","host":"allowed.test","port":443,"effect":"allow","basis":"rule","rule":{"id":"names","entry":"allowed.test","layer":"user","source":"policy.yaml:4"}}
    {"holds":true,"source":"policy.yaml:7","expect":"deny","request":"https://other.test","kind":"net","host":"other.test","port":443,"effect":"deny","basis":"default"}
    "#);
}

#[test]
fn a_test_that_does_not_hold_says_what_decided() {
    let bed = Bed::new();
    let policy = POLICY.replace("expect: allow", "expect: deny");
    let (exit, text) = test_text(&bed, &policy, false);
    assert_eq!(exit.unwrap(), Exit::Failed);
    insta::assert_snapshot!(text, @"
    failed policy.yaml:6: net https://allowed.test is allow, not deny, by `allowed.test` of rule `names` at policy.yaml:4
    1 held, 1 failed
    ");
}

#[test]
fn no_tests_is_said() {
    let bed = Bed::new();
    let (exit, text) = test_text(&bed, "version: 1\n", false);
    assert_eq!(exit.unwrap(), Exit::Ok);
    insta::assert_snapshot!(text, @"there are no tests; write them under `tests:` in a policy file");
}
