use std::os::unix::fs::symlink;

use super::*;

const TEXT: &str = "version: 1\nallow: []\n";

/// A folder of its own with a policy in it.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.yaml");
    fs::write(&path, TEXT).unwrap();
    (folder, path)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_link_stays_a_link_and_its_target_keeps_its_mode() {
    let (folder, real) = folder();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path().join("link.yaml");
    symlink("policy.yaml", &link).unwrap();
    let file = Rewrite::open(&link, Lock::Now).unwrap();
    assert_eq!(file.text(), Some(TEXT));
    file.write("version: 1\n").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "version: 1\n");
    assert_eq!(mode(&real), 0o640);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing is left over"
    );
}

#[test]
fn what_a_killed_process_left_over_is_no_obstacle() {
    let (folder, path) = folder();
    let left_over = format!(".policy.yaml.{}.new", std::process::id());
    fs::write(folder.path().join(&left_over), "half").unwrap();
    let file = Rewrite::open(&path, Lock::Now).unwrap();
    file.write("version: 1\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "version: 1\n");
    assert!(!folder.path().join(left_over).exists());
}

#[test]
fn what_killed_processes_left_over_is_removed_and_nothing_else() {
    let (folder, path) = folder();
    // No process has an id above the kernel's limit (proc(5), pid_max).
    let dead = ".policy.yaml.4194305.new";
    let parent = format!(".policy.yaml.{}.new", std::os::unix::process::parent_id());
    let others = [
        parent.as_str(),
        ".other.yaml.4194305.new",
        ".policy.yaml.+4194305.new",
        ".policy.yaml.old.new",
        ".policy.yaml.4194305.new.bak",
    ];
    for name in others.into_iter().chain([dead]) {
        fs::write(folder.path().join(name), "").unwrap();
    }
    fs::create_dir(folder.path().join(".policy.yaml.4194306.new")).unwrap();
    let file = Rewrite::open(&path, Lock::AtTheEnd).unwrap();
    file.write("version: 1\n").unwrap();
    assert!(!folder.path().join(dead).exists());
    for name in others {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn no_file_is_made_where_it_would_be_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let problem = Rewrite::open(&open.join("policy.yaml"), Lock::AtTheEnd).unwrap_err();
    assert!(problem.plain().contains("others can write the directory"));
}

#[test]
fn no_folder_is_made_where_the_file_would_be_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let made = folder.path().join("made");
    let problem = Rewrite::open(&made.join("policy.yaml"), Lock::Now).unwrap_err();
    assert!(problem.plain().contains("others can write the directory"));
    assert!(!made.exists());
}

#[test]
fn a_link_that_was_turned_meanwhile_leads_to_no_change() {
    let (folder, one) = folder();
    let other = folder.path().join("other.yaml");
    fs::write(&other, TEXT).unwrap();
    let link = folder.path().join("link.yaml");
    symlink(&one, &link).unwrap();
    let file = Rewrite::open(&link, Lock::AtTheEnd).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    let problem = file.write("version: 1\n").unwrap_err();
    assert!(
        problem
            .plain()
            .contains("was changed by somebody else meanwhile")
    );
    assert_eq!(fs::read_to_string(&one).unwrap(), TEXT);
}

#[test]
fn a_file_that_its_owner_may_not_write_is_refused() {
    let (_folder, path) = folder();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let problem = Rewrite::open(&path, Lock::Now).unwrap_err();
    assert!(
        problem
            .plain()
            .contains("is not writable, even by its owner")
    );
}

#[test]
fn a_change_by_somebody_else_meanwhile_is_not_overwritten() {
    let (_folder, path) = folder();
    let file = Rewrite::open(&path, Lock::AtTheEnd).unwrap();
    fs::write(&path, "version: 1\ndeny: []\n").unwrap();
    let problem = file.write("version: 1\n").unwrap_err();
    assert!(
        problem
            .plain()
            .contains("was changed by somebody else meanwhile")
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "version: 1\ndeny: []\n");
}

#[test]
fn a_new_file_gets_a_private_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("moat").join("policy.yaml");
    let file = Rewrite::open(&path, Lock::AtTheEnd).unwrap();
    assert_eq!(file.text(), None);
    assert!(
        !path.parent().unwrap().exists(),
        "before somebody agreed nothing is made"
    );
    file.write(TEXT).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), TEXT);
    assert_eq!(mode(&path), 0o644);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[test]
fn a_file_that_somebody_else_created_meanwhile_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.yaml");
    let file = Rewrite::open(&path, Lock::AtTheEnd).unwrap();
    fs::write(&path, TEXT).unwrap();
    assert!(file.write("version: 1\n").is_err());
}

#[test]
fn a_second_command_waits_for_the_first() {
    let (_folder, path) = folder();
    let first = Rewrite::open(&path, Lock::Now).unwrap();
    let second = std::thread::spawn({
        let path = path.clone();
        move || {
            let file = Rewrite::open(&path, Lock::Now).unwrap();
            let text = format!("{}# second\n", file.text().unwrap());
            file.write(&text).unwrap();
        }
    });
    first.write(&format!("{TEXT}# first\n")).unwrap();
    second.join().unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        format!("{TEXT}# first\n# second\n")
    );
}
