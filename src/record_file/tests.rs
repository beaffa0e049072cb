use std::io::Write;

use super::*;

const RECORD: &str = r#"{"v":1,"ts":"2026-01-01T00:00:00.000000Z","seq":1,"id":"K7Q2FXMA","event":"decision","protocol":"connect","host":"denied.test","port":443,"effect":"deny","enforced":true,"cause":"default","status":403}"#;

fn ids(lines: &mut Lines) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        ids.push(match line {
            Line::Record(record, _) => record.id.into_owned(),
            Line::Unreadable => "?".to_owned(),
        });
    }
    ids
}

#[test]
fn rotated_files_come_before_the_newest_one() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("audit.jsonl");
    for name in [
        "audit.jsonl",
        "audit.jsonl.1",
        "audit.jsonl.10",
        "audit.jsonl.2",
        "audit.jsonl.bak",
        "audit.jsonl.0",
        "other.jsonl",
    ] {
        fs::write(home.path().join(name), "").unwrap();
    }
    let names: Vec<_> = with_rotated(&path)
        .unwrap()
        .into_iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "audit.jsonl.10",
            "audit.jsonl.2",
            "audit.jsonl.1",
            "audit.jsonl"
        ]
    );
}

#[test]
fn what_is_no_record_is_passed_over_and_the_rest_is_read() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("audit.jsonl");
    let long = "x".repeat(200_000);
    fs::write(&path, format!("{RECORD}\n{{}}\n\u{0}\n{long}\n{RECORD}\n")).unwrap();
    let mut lines = Lines::open(&path).unwrap();
    assert_eq!(ids(&mut lines), ["K7Q2FXMA", "?", "?", "?", "K7Q2FXMA"]);
}

#[test]
fn half_a_line_waits_for_its_end() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("audit.jsonl");
    let (half, rest) = RECORD.split_at(40);
    fs::write(&path, half).unwrap();
    let mut lines = Lines::open(&path).unwrap();
    assert_eq!(ids(&mut lines), Vec::<String>::new());
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{rest}").unwrap();
    assert_eq!(ids(&mut lines), ["K7Q2FXMA"]);
}

#[test]
fn no_directory_is_no_file() {
    let home = tempfile::tempdir().unwrap();
    let none = with_rotated(&home.path().join("none/audit.jsonl")).unwrap();
    assert_eq!(none, Vec::<PathBuf>::new());
}
