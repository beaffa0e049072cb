use super::*;
use crate::bed::Bed;

fn lint_text(bed: &Bed, text: &str, json: bool) -> (Result<Exit, Problem>, String) {
    let arguments = Arguments {
        files: vec![bed.write("policy.yaml", text)],
        policy: Vec::new(),
        json,
    };
    bed.run(|context| run(arguments, context))
}

#[test]
fn a_clean_policy_is_said_to_be_one() {
    let bed = Bed::new();
    let text = "version: 1\nallow:\n  - id: a\n    reason: b\n    net: [\"docs.allowed.test\"]\n";
    let (exit, text) = lint_text(&bed, text, false);
    assert_eq!(exit.unwrap(), Exit::Ok);
    insta::assert_snapshot!(text, @"1 file, nothing found");
}

#[test]
fn errors_fail_and_warnings_do_not() {
    let bed = Bed::new();
    let wide = "version: 1\nallow:\n  - id: a\n    reason: b\n    net: [\"*\"]\n";
    let (exit, text) = lint_text(&bed, wide, true);
    assert_eq!(exit.unwrap(), Exit::Ok);
    insta::assert_snapshot!(text, @r#"{"errors":0,"warnings":1,"findings":[{"code":"L010","severity":"warning","file":"policy.yaml","line":5,"column":11,"text":"\"*\"","message":"`*` lets through every name","help":"name the hosts that are needed; `--observe` and the record show which"}]}"#);

    let broken = "version: 1\nallow:\n  - id: a\n    net: [\"a?.test\", \"b.test:0\"]\n";
    let (exit, text) = lint_text(&bed, broken, true);
    assert_eq!(exit.unwrap(), Exit::Failed);
    insta::assert_snapshot!(text, @r#"{"errors":2,"warnings":0,"findings":[{"code":"P020","severity":"error","file":"policy.yaml","line":4,"column":13,"text":"?","message":"`?` is no wildcard of an entry","help":"`*` stands for one or more characters inside a label, `*.` and `**.` for whole labels in front; write an entry for each alternative"},{"code":"P020","severity":"error","file":"policy.yaml","line":4,"column":30,"text":"0","message":"`0` is no port","help":"ports are `*`, or numbers from 1 to 65535 and ranges of them: `22,8000-8100`"}]}"#);
}

#[test]
fn the_built_in_default_has_no_findings() {
    let bed = Bed::new();
    let arguments = Arguments {
        files: Vec::new(),
        policy: Vec::new(),
        json: true,
    };
    let (exit, text) = bed.run(|context| run(arguments, context));
    assert_eq!(exit.unwrap(), Exit::Ok);
    insta::assert_snapshot!(text, @r#"{"errors":0,"warnings":0,"findings":[]}"#);
}

#[test]
fn the_summary_counts() {
    for (counts, expected) in [
        ((1, 0, 0), "1 file, nothing found"),
        ((2, 0, 1), "2 files, 1 warning"),
        ((1, 2, 0), "1 file, 2 errors"),
        ((1, 1, 3), "1 file, 1 error and 3 warnings"),
    ] {
        assert_eq!(summary(counts.0, counts.1, counts.2), expected);
    }
}
