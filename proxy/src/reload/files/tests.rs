use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use notify::event::AccessKind;
use notify::{Event, EventKind};

use super::{Prints, way};

/// Whether this change is noticed.
fn is_noticed(path: &Path, change: impl FnOnce()) -> bool {
    let files = [path.to_owned()];
    let before = Prints::take(&files);
    assert_eq!(before, Prints::take(&files));
    change();
    before != Prints::take(&files)
}

#[test]
fn notices_each_way_in_which_a_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.yaml");
    let other = folder.path().join("policy.yaml~");
    assert!(is_noticed(&path, || fs::write(&path, "one").unwrap()));
    assert!(is_noticed(&path, || fs::write(&path, "three").unwrap()));
    fs::write(&other, "other").unwrap();
    assert!(is_noticed(&path, || fs::rename(&other, &path).unwrap()));
    assert!(is_noticed(&path, || fs::remove_file(&path).unwrap()));
    assert!(!is_noticed(&path, || fs::write(&other, "no").unwrap()));
}

/// The layout of a `ConfigMap`: the file is a link through `..data`, a link to a dated folder.
fn config_map(folder: &Path) -> PathBuf {
    for (name, text) in [("..first", "one"), ("..second", "two")] {
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("policy.yaml"), text).unwrap();
    }
    symlink("..first", folder.join("..data")).unwrap();
    symlink("..data/policy.yaml", folder.join("policy.yaml")).unwrap();
    folder.join("policy.yaml")
}

#[test]
fn notices_the_swap_of_a_link_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = config_map(folder.path());
    assert!(is_noticed(&path, || {
        symlink("..second", folder.path().join("..tmp")).unwrap();
        fs::rename(folder.path().join("..tmp"), folder.path().join("..data")).unwrap();
    }));
}

/// Whether this folder is watched for the file.
fn is_watched(file: &Path, folder: &Path) -> bool {
    let watched = way(&[file.to_owned()]).folders;
    watched.iter().any(|watched| watched.path == folder)
}

#[test]
fn a_new_folder_at_the_same_path_is_watched_anew() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("conf");
    fs::create_dir(&conf).unwrap();
    let files = [conf.join("policy.yaml")];
    let before = way(&files);
    fs::rename(&conf, folder.path().join("old")).unwrap();
    fs::create_dir(&conf).unwrap();
    assert_ne!(way(&files), before);
}

#[test]
fn watches_the_folders_of_every_link_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = config_map(folder.path());
    assert!(is_watched(&path, folder.path()));
    assert!(is_watched(&path, &folder.path().join("..data")));
}

#[test]
fn watches_where_a_missing_folder_would_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not/yet/policy.yaml");
    assert!(is_watched(&file, folder.path()));
}

#[test]
fn links_in_a_circle_come_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    symlink("b", &path).unwrap();
    symlink("a", folder.path().join("b")).unwrap();
    assert!(is_watched(&path, folder.path()));
    assert!(!is_noticed(&path, || {}));
}

#[test]
fn only_what_is_on_the_way_to_the_files_is_looked_after() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.yaml");
    symlink("..data/policy.yaml", &policy).unwrap();
    let way = way(std::slice::from_ref(&policy));
    let of = |kind, name: &str| {
        let event = Event::new(kind).add_path(folder.path().join(name));
        way.concerns(&event)
    };
    for name in ["policy.yaml", "..data"] {
        assert!(of(EventKind::Any, name), "{name}");
    }
    assert!(!of(EventKind::Any, "audit.jsonl"));
    let read = EventKind::Access(AccessKind::Any);
    assert!(!of(read, "policy.yaml"));
    assert!(way.concerns(&Event::new(EventKind::Any)), "it may be any");
}
