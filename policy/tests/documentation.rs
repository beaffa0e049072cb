//! Every example of `docs/policy.md` is a policy that does what the page says.

use std::time::SystemTime;

use moat_policy::case;
use moat_policy::compile::{Compiled, compile};
use moat_policy::diagnostic::Diagnostic;
use moat_policy::layer::{LayerInput, Origin};
use moat_policy::source::SourceFile;

const PAGE: &str = include_str!("../../docs/policy.md");

/// The fenced YAML blocks of the page, each with the line of its first line.
fn examples() -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (index, line) in PAGE.lines().enumerate() {
        match &mut block {
            None if line == "```yaml" => block = Some((index + 2, String::new())),
            Some(_) if line == "```" => found.extend(block.take()),
            Some((_, text)) => {
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    found
}

fn load(line: usize, text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let source = SourceFile::new(format!("docs/policy.md, example at line {line}"), text);
    // The machine's layer may use every key, `exclusive` among them.
    compile(vec![LayerInput {
        origin: Origin::Machine,
        source,
    }])
}

#[test]
fn every_example_of_the_policy_page_does_what_it_says() {
    let examples = examples();
    assert!(
        examples.len() >= 14,
        "only {} examples found",
        examples.len()
    );
    let mut tests = 0;
    for (line, text) in examples {
        if let Some(code) = text
            .lines()
            .next()
            .and_then(|first| first.strip_prefix("# broken: "))
        {
            let problems = load(line, &text).expect_err("the example loads");
            let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
            assert_eq!(codes, [code], "example at line {line}");
            continue;
        }
        let compiled = load(line, &text).unwrap_or_else(|problems| {
            panic!("example at line {line}: {problems:#?}");
        });
        for outcome in case::run(&compiled, SystemTime::now()) {
            tests += 1;
            assert!(
                outcome.holds(),
                "example at line {line}: {:?} expects {}, the policy says {}",
                outcome.case.asked,
                outcome.case.expect,
                outcome.effect(),
            );
        }
    }
    assert!(tests >= 50, "only {tests} tests found");
}
