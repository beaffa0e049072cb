use super::*;
use crate::bed::Bed;

const OLD: &str = r#"{"v":1,"ts":"2026-01-01T00:00:00.000001Z","seq":1,"id":"AAAAAAAA","event":"decision","protocol":"connect","host":"a.test","port":443,"effect":"deny","enforced":true,"cause":"default"}
"#;
const NEW: &str = r#"{"v":1,"ts":"2026-01-01T00:00:01.000000Z","seq":2,"id":"BBBBBBBB","event":"decision","protocol":"connect","host":"b.test","port":443,"effect":"allow","enforced":true,"cause":"policy","rule":"a\u001b[2K"}
"#;

fn log(bed: &Bed, json: bool) -> (Result<Exit, Problem>, String) {
    let arguments = Arguments {
        file: None,
        filter: Filter::default(),
        follow: false,
        json,
    };
    bed.run(|context| run(&arguments, context))
}

#[test]
fn rotated_files_are_read_first_and_control_characters_stay_escaped() {
    let bed = Bed::new();
    bed.write("home/.local/state/moat/audit.jsonl.1", OLD);
    bed.write("home/.local/state/moat/audit.jsonl", NEW);
    insta::assert_snapshot!(log(&bed, false).1, @r"
    2026-01-01T00:00:00.000001Z AAAAAAAA deny connect a.test:443 cause=default
    2026-01-01T00:00:01.000000Z BBBBBBBB allow connect b.test:443 cause=policy rule=a\u001b[2K
    ");
    assert_eq!(log(&bed, true).1, format!("{OLD}{NEW}"));
}

#[test]
fn no_record_is_said() {
    let bed = Bed::new();
    let problem = log(&bed, false).0.unwrap_err();
    assert_eq!(problem.exit(), Exit::Failed);
    let path = bed.path("home/.local/state/moat/audit.jsonl");
    let followed = Follow::start(&path).unwrap_err();
    assert_eq!(followed.plain(), problem.plain());
    insta::assert_snapshot!(bed.hide(&problem.plain()), @"
    error: there is no record file `home/.local/state/moat/audit.jsonl`
    hint: `moat proxy` writes one, unless `--audit` says otherwise
    ");
}
