use std::os::unix::fs::PermissionsExt;

use super::*;

fn this_process() -> Running {
    let pid = std::process::id();
    Running {
        pid,
        started: "2026-01-01T00:00:00Z".to_owned(),
        start_ticks: start_ticks(pid),
        version: "0".to_owned(),
        listeners: vec!["http://127.0.0.1:3128".to_owned()],
        admin: None,
        record: None,
        policy: Vec::new(),
        observe: false,
    }
}

#[test]
fn a_run_file_is_private_and_removed_at_the_end() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("moat/run");
    let running = this_process();
    let file = RunFile::write(&directory, &running).unwrap();
    let path = directory.join(format!("{}.json", running.pid));
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mode = fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(super::running(&directory).unwrap(), [running]);
    drop(file);
    assert!(!path.exists());
    assert_eq!(super::running(&directory).unwrap(), []);
}

#[test]
fn what_is_stale_or_no_run_file_is_ignored() {
    let home = tempfile::tempdir().unwrap();
    let reused = Running {
        start_ticks: Some(1),
        ..this_process()
    };
    let _file = RunFile::write(home.path(), &reused).unwrap();
    fs::write(home.path().join("12.json"), "{").unwrap();
    fs::write(home.path().join("notes.txt"), "").unwrap();
    assert_eq!(super::running(home.path()).unwrap(), []);
}

#[test]
fn no_directory_is_no_proxy() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(super::running(&home.path().join("none")).unwrap(), []);
}
