use moat_policy::source::{SourceFile, Span};

use super::*;

fn finding(text: &str, start: usize, end: usize, line: u32) -> Diagnostic {
    Diagnostic {
        code: "P012",
        severity: Severity::Error,
        message: "unknown key `hosst`".to_owned(),
        help: Some("did you mean `host`?".to_owned()),
        source: SourceFile::new("policy.yaml", text),
        span: Span {
            start,
            end,
            line,
            column: 1,
        },
    }
}

#[test]
fn a_message_has_a_hint_of_its_own_line() {
    let problem = Problem::usage("cannot read `a\u{1b}b`").with_hint("look there\nand there");
    insta::assert_snapshot!(problem.plain(), @r"
    error: cannot read `a\u001bb`
    hint: look there
          and there
    ");
}

#[test]
fn a_finding_shows_its_place_and_a_fix() {
    let problem = Problem::policy(vec![finding(
        "version: 1\nhosst: a\nallow: []\n",
        11,
        16,
        2,
    )]);
    insta::assert_snapshot!(problem.plain(), @"
    error[P012]: unknown key `hosst`
     --> policy.yaml:2:1
      |
    2 | hosst: a
      | ^^^^^
      |
      = help: did you mean `host`?
    ");
}

#[test]
fn a_span_that_is_out_of_the_text_or_inside_a_character_is_still_shown() {
    for (start, end) in [(0, 0), (1, 2), (3, 9_999), (9_999, 9_999), (5, 2)] {
        let text = Problem::policy(vec![finding("ü: ü\n", start, end, 1)]).plain();
        assert!(text.contains("unknown key"), "{text}");
    }
}

#[test]
fn a_very_long_line_is_cut() {
    let line = "x".repeat(100_000);
    let text = Problem::policy(vec![finding(&line, 50_000, 50_010, 1)]).plain();
    assert!(text.len() < 4_000, "{}", text.len());
}

#[test]
fn a_summary_has_a_line_for_each_problem() {
    let problem = Problem::usage("no policy").with_hint("write one");
    insta::assert_snapshot!(problem.summary(), @"no policy; write one");
    let text = "version: 1\nhosst: a\n";
    let problem = Problem::policy(vec![finding(text, 11, 16, 2), finding(text, 0, 7, 1)]);
    insta::assert_snapshot!(problem.summary(), @"
    policy.yaml:2:1: error[P012]: unknown key `hosst`; did you mean `host`?
    policy.yaml:1:1: error[P012]: unknown key `hosst`; did you mean `host`?
    ");
}

#[test]
fn of_many_findings_the_errors_are_shown_first_and_the_rest_is_counted() {
    let warning = Diagnostic {
        severity: Severity::Warning,
        message: "a warning".to_owned(),
        ..finding("a: 1\n", 0, 1, 1)
    };
    let few = vec![warning.clone(); MOST_SHOWN];
    assert!(!Problem::policy(few.clone()).plain().contains("more"));

    let mut many = few;
    many.extend([
        finding("a: 1\n", 0, 1, 1),
        warning,
        finding("a: 1\n", 0, 1, 1),
    ]);
    let problem = Problem::policy(many);
    let text = problem.plain();
    assert!(text.starts_with("error[P012]: unknown key"), "{text}");
    assert_eq!(text.matches("error[").count(), 2);
    assert_eq!(text.matches("warning[").count(), MOST_SHOWN - 2);
    let end = "and 3 more findings; `moat lint --json` prints every one";
    assert!(text.ends_with(end), "{text}");
    assert!(problem.summary().ends_with(end));
    assert_eq!(problem.summary().lines().count(), MOST_SHOWN + 1);
}
