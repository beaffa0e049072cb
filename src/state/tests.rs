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
    let this = this_process();
    let mut file = RunFile::write(&directory, this.clone()).unwrap();
    let path = directory.join(format!("{}.json", this.pid));
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mode = fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(running(&directory).unwrap(), [this]);

    file.set_policy(&["/new.yaml".into()]).unwrap();
    assert_eq!(
        running(&directory).unwrap()[0].policy,
        [PathBuf::from("/new.yaml")]
    );
    drop(file);
    assert!(!path.exists());
    assert_eq!(running(&directory).unwrap(), []);
}

#[test]
fn what_is_stale_or_no_run_file_is_ignored() {
    let home = tempfile::tempdir().unwrap();
    let reused = Running {
        start_ticks: Some(1),
        ..this_process()
    };
    let _file = RunFile::write(home.path(), reused).unwrap();
    let planted = home.path().join(format!("{}0.json", this_process().pid));
    fs::write(&planted, serde_json::to_string(&this_process()).unwrap()).unwrap();
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o666)).unwrap();
    fs::write(home.path().join("12.json"), "{").unwrap();
    fs::write(home.path().join("notes.txt"), "").unwrap();
    assert_eq!(running(home.path()).unwrap(), []);
}

#[test]
fn no_directory_is_no_proxy() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(running(&home.path().join("none")).unwrap(), []);
}

#[test]
fn one_proxy_is_chosen_only_where_there_is_no_doubt() {
    let home = tempfile::tempdir().unwrap();
    let none = one(home.path(), None).unwrap_err();
    insta::assert_snapshot!(none.plain(), @"
    error: no proxy of this user runs
    hint: start one with `moat proxy`
    ");

    let this = this_process();
    let _file = RunFile::write(home.path(), this.clone()).unwrap();
    assert_eq!(one(home.path(), None).unwrap(), this);
    assert_eq!(one(home.path(), Some(this.pid)).unwrap(), this);
    let other = one(home.path(), Some(1)).unwrap_err();
    insta::assert_snapshot!(other.plain(), @r"
    error: no proxy of this user runs as process 1
    hint: `moat status` lists those that run
    ");

    let parent = Running {
        pid: std::os::unix::process::parent_id(),
        start_ticks: start_ticks(std::os::unix::process::parent_id()),
        ..this
    };
    let _second = RunFile::write(home.path(), parent).unwrap();
    let several = one(home.path(), None).unwrap_err();
    insta::assert_snapshot!(several.plain(), @"
    error: several proxies run
    hint: `moat status` lists them; choose one with `--pid PID`
    ");
}
