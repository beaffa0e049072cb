use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

use super::*;

/// A directory that others cannot write, under one that is sticky.
fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn write(path: &Path, mode: u32) {
    fs::write(path, "version: 1\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The message of a refusal, with the temporary directory's name taken out.
fn refusal(home: &tempfile::TempDir, path: &Path, custody: Custody) -> String {
    let problem = read(path, custody).unwrap_err();
    assert_eq!(problem.exit(), crate::exit::Exit::Usage);
    problem.plain().replace(home.path().to_str().unwrap(), "~")
}

#[test]
fn an_ordinary_file_is_read() {
    let home = home();
    let path = home.path().join("policy.yaml");
    write(&path, 0o644);
    let read = read(&path, Custody::User).unwrap().unwrap();
    assert_eq!(read.text, "version: 1\n");
    assert_eq!(read.warnings, Vec::<String>::new());
}

#[test]
fn absence_is_no_error_at_any_depth() {
    let home = home();
    for name in ["policy.yaml", "a/b/policy.yaml"] {
        let path = home.path().join(name);
        assert!(read(&path, Custody::User).unwrap().is_none(), "{name}");
    }
}

#[test]
fn a_file_below_a_file_is_an_error() {
    let home = home();
    write(&home.path().join("moat"), 0o644);
    insta::assert_snapshot!(
        refusal(&home, &home.path().join("moat/policy.yaml"), Custody::User),
        @"
        error: cannot read `~/moat/policy.yaml`: Not a directory (os error 20)
        hint: without a policy that can be read nothing starts; make it readable or remove it
        "
    );
}

#[test]
fn a_dangling_link_is_an_error() {
    let home = home();
    let path = home.path().join("policy.yaml");
    symlink("gone/policy.yaml", &path).unwrap();
    insta::assert_snapshot!(refusal(&home, &path, Custody::User), @"
    error: the policy `~/policy.yaml` is refused: a link on the way leads to `~/gone`, which is not there
    hint: repair or remove the link
    ");
}

#[test]
fn links_are_followed_but_not_in_a_circle() {
    let home = home();
    fs::create_dir(home.path().join("..data")).unwrap();
    write(&home.path().join("..data/policy.yaml"), 0o644);
    let path = home.path().join("policy.yaml");
    symlink("..data/policy.yaml", &path).unwrap();
    assert!(read(&path, Custody::User).unwrap().is_some());

    let circle = home.path().join("circle");
    symlink("circle", &circle).unwrap();
    insta::assert_snapshot!(refusal(&home, &circle, Custody::User), @"
    error: the policy `~/circle` is refused: its links lead in a circle
    hint: repair the links
    ");
}

#[test]
fn a_file_that_everybody_can_write_is_refused() {
    let home = home();
    let path = home.path().join("policy.yaml");
    write(&path, 0o666);
    insta::assert_snapshot!(refusal(&home, &path, Custody::User), @"
    error: the policy `~/policy.yaml` is refused: everybody can write it
    hint: `chmod o-w ~/policy.yaml`
    ");
}

#[test]
fn a_file_that_a_group_can_write_is_a_warning() {
    let home = home();
    let path = home.path().join("policy.yaml");
    write(&path, 0o664);
    let read = read(&path, Custody::User).unwrap().unwrap();
    assert_eq!(read.warnings.len(), 1);
    assert!(read.warnings[0].contains("can be written by group"));
}

#[test]
fn a_directory_that_others_can_write_is_refused_wherever_it_is_on_the_way() {
    let home = home();
    let open = home.path().join("open");
    fs::create_dir_all(open.join("deep")).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    write(&open.join("deep/policy.yaml"), 0o644);
    insta::assert_snapshot!(
        refusal(&home, &open.join("deep/policy.yaml"), Custody::User),
        @"
        error: the policy `~/open/deep/policy.yaml` is refused: others can write the directory `~/open`
        hint: `chmod o-w ~/open`
        "
    );
    let link = home.path().join("policy.yaml");
    symlink("open/deep/policy.yaml", &link).unwrap();
    assert!(read(&link, Custody::User).is_err());

    fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(read(&link, Custody::User).unwrap().is_some());
}

#[test]
fn absence_is_no_error_where_others_could_plant_a_file_and_a_planted_one_is_refused() {
    let home = home();
    let open = home.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    for custody in [Custody::User, Custody::Machine] {
        for name in ["policy.yaml", "deep/policy.yaml"] {
            let path = open.join(name);
            assert!(read(&path, custody).unwrap().is_none(), "{name}");
            assert!(check_place(&path, custody).is_err(), "{name}");
        }
    }
    let path = open.join("policy.yaml");
    write(&path, 0o644);
    assert!(read(&path, Custody::User).is_err());
    fs::remove_file(&path).unwrap();
    symlink("gone.yaml", &path).unwrap();
    assert!(read(&path, Custody::User).is_err(), "a planted link");
}

#[test]
fn a_directory_that_a_group_can_write_is_a_warning() {
    let home = home();
    let shared = home.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o775)).unwrap();
    let path = shared.join("policy.yaml");
    assert!(read(&path, Custody::User).unwrap().is_none());
    write(&path, 0o644);
    let read = read(&path, Custody::User).unwrap().unwrap();
    assert_eq!(read.warnings.len(), 1);
    assert!(read.warnings[0].contains("shared` can be written by group"));
    let message = super::read(&path, Custody::Machine).unwrap_err().plain();
    assert!(message.contains("is refused"), "{message}");
}

#[test]
fn a_directory_of_another_user_is_refused_where_a_file_is_in_it() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give a directory away");
        return;
    }
    let home = home();
    let foreign = home.path().join("foreign");
    fs::create_dir_all(foreign.join("deep")).unwrap();
    chown(&foreign, Some(12_345), None).unwrap();
    let path = foreign.join("deep/policy.yaml");
    assert!(read(&path, Custody::User).unwrap().is_none());
    write(&path, 0o644);
    insta::assert_snapshot!(refusal(&home, &path, Custody::User), @"
    error: the policy `~/foreign/deep/policy.yaml` is refused: the directory `~/foreign` belongs to user 12345
    hint: keep the policy in a directory of root or of the user who runs Moat
    ");
    // The number of owners without one, which is here a user.
    if chown(&foreign, Some(65_534), None).is_ok() {
        let message = refusal(&home, &path, Custody::User);
        assert!(message.contains("belongs to user 65534"), "{message}");
    }
}

#[test]
fn the_machines_file_is_held_to_more() {
    let home = home();
    let path = home.path().join("policy.yaml");
    write(&path, 0o664);
    let message = read(&path, Custody::Machine).unwrap_err().plain();
    assert!(message.contains("is refused"), "{message}");
}

#[test]
fn what_is_no_text_file_is_refused() {
    let home = home();
    let directory = home.path().join("directory");
    fs::create_dir(&directory).unwrap();
    insta::assert_snapshot!(refusal(&home, &directory, Custody::User), @"
    error: the policy `~/directory` is refused: it is not a regular file
    hint: name a file
    ");
    insta::assert_snapshot!(refusal(&home, Path::new("/dev/null"), Custody::User), @"
    error: the policy `/dev/null` is refused: it is not a regular file
    hint: name a file
    ");
    let bytes = home.path().join("bytes");
    fs::write(&bytes, b"version: 1\n\xff").unwrap();
    insta::assert_snapshot!(refusal(&home, &bytes, Custody::User), @"
    error: the policy `~/bytes` is refused: line 2 is not UTF-8
    hint: save the file as UTF-8
    ");
    let large = home.path().join("large");
    File::create(&large).unwrap().set_len(MAX_SIZE + 1).unwrap();
    insta::assert_snapshot!(refusal(&home, &large, Custody::User), @"
    error: the policy `~/large` is refused: it is larger than 16 MiB
    hint: split the policy into several files and name each with `--policy`
    ");
}

#[test]
fn a_file_or_link_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give a file away");
        return;
    }
    let home = home();
    let path = home.path().join("policy.yaml");
    write(&path, 0o644);
    chown(&path, Some(12_345), None).unwrap();
    insta::assert_snapshot!(refusal(&home, &path, Custody::User), @"
    error: the policy `~/policy.yaml` is refused: it belongs to user 12345
    hint: it has to belong to root or to the user who runs Moat
    ");
    insta::assert_snapshot!(refusal(&home, &path, Custody::Machine), @"
    error: the policy `~/policy.yaml` is refused: it belongs to user 12345
    hint: it has to belong to root
    ");

    chown(&path, Some(0), None).unwrap();
    let link = home.path().join("link.yaml");
    symlink("policy.yaml", &link).unwrap();
    lchown(&link, Some(12_345), None).unwrap();
    insta::assert_snapshot!(refusal(&home, &link, Custody::User), @"
    error: the policy `~/link.yaml` is refused: the link `~/link.yaml` on the way belongs to user 12345
    hint: name the file itself
    ");
}

#[test]
fn a_number_that_the_namespace_maps_is_a_user_like_any_other() {
    let nobody = 65_534;
    for whole in ["0 0 4294967295\n", "0 1000 1\n1 100000 65536\n", "odd"] {
        assert!(may_map(whole, nobody), "{whole}");
    }
    for part in ["0 1000 1\n", "1000 1000 1\n", "0 1000 1\n1 100000 65533\n"] {
        assert!(!may_map(part, nobody), "{part}");
    }
}
