use std::time::UNIX_EPOCH;

use super::*;
use crate::compile::compile;
use crate::layer::{LayerInput, Origin};

#[test]
fn each_row_is_asked_of_the_whole_policy() {
    let text = "\
version: 1
tests:
  - { request: \"https://a.test\", expect: deny }
  - { request: \"b.test:22\", expect: allow }
  - { request: \"b.test\", kind: fetch, expect: ask }
";
    let compiled = compile(vec![LayerInput {
        origin: Origin::User,
        source: SourceFile::new("p.yaml", text),
    }])
    .unwrap();
    let rows: Vec<_> = run(&compiled, UNIX_EPOCH)
        .iter()
        .map(|outcome| {
            let line = outcome.case.span.line;
            format!(
                "{line} {} {} {}",
                outcome.case.text,
                outcome.effect(),
                outcome.holds()
            )
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @"
    3 https://a.test deny true
    4 b.test:22 deny false
    5 b.test ask true
    ");
}
