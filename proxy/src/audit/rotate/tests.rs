use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use super::{KEPT, Place, RotatingFile, Sink as _};

fn put(file: &mut RotatingFile, text: &str) -> Place {
    let place = file.prepare(u64::try_from(text.len()).unwrap()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    place
}

#[test]
fn the_file_is_for_its_owner_alone_also_when_it_was_there_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    fs::write(&path, "old\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    put(&mut RotatingFile::open(&path).unwrap(), "new\n");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\nnew\n");
}

#[test]
fn rotates_before_the_limit_and_keeps_eight() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut file = RotatingFile::with_limit(&path, 10).unwrap();
    for number in 0..12 {
        put(&mut file, &format!("line {number:02}\n"));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "line 11\n");
    for old in 1..=KEPT {
        let text = fs::read_to_string(file.numbered(old)).unwrap();
        assert_eq!(text, format!("line {:02}\n", 11 - old));
    }
    assert!(!file.numbered(KEPT + 1).exists());
    let mode = fs::metadata(file.numbered(1)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_group_larger_than_the_limit_goes_into_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut file = RotatingFile::with_limit(&path, 10).unwrap();
    assert_eq!(put(&mut file, "much more than ten\n"), Place::Same);
    assert_eq!(put(&mut file, "a\n"), Place::Fresh);
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\n");
}

#[test]
fn a_file_that_was_moved_away_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let moved = folder.path().join("moved");
    let mut file = RotatingFile::open(&path).unwrap();
    put(&mut file, "one\n");
    fs::rename(&path, &moved).unwrap();
    assert_eq!(put(&mut file, "two\n"), Place::Fresh);
    assert_eq!(fs::read_to_string(&moved).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
}

#[test]
fn a_line_that_a_crash_cut_is_ended_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    fs::write(&path, "{\"v\":1,").unwrap();
    put(&mut RotatingFile::open(&path).unwrap(), "{}\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"v\":1,\n{}\n");
}

#[test]
fn a_device_is_written_and_never_rotated() {
    let mut file = RotatingFile::with_limit("/dev/null".as_ref(), 1).unwrap();
    assert_eq!(put(&mut file, "one\n"), Place::Same);
    assert_eq!(put(&mut file, "two\n"), Place::Same);
}
