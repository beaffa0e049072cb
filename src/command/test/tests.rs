use super::*;
use crate::bed::Bed;

fn test_text(bed: &Bed, text: &str, json: bool) -> (Result<Exit, Problem>, String) {
    let arguments = Arguments {
        files: Vec::new(),
        policy: vec![bed.write("policy.yaml", text)],
        json,
    };
    bed.run(|context| run(arguments, context))
}

#[test]
fn no_tests_is_said() {
    let bed = Bed::new();
    let (exit, text) = test_text(&bed, "version: 1\n", false);
    assert_eq!(exit.unwrap(), Exit::Ok);
    insta::assert_snapshot!(text, @"there are no tests; write them under `tests:` in a policy file");
}
