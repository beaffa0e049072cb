//! The machine's policy stands above what a user writes, and is held to more.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::bed;
use crate::support::command::run;
use crate::support::moat::policy_with;
use crate::support::namespace::Bed;
use crate::support::skip::skip;

const DIRECTORY: &str = "/etc/moat";
const FILE: &str = "/etc/moat/policy.yaml";

/// Runs a case in a namespace whose `/etc` is its own, and gone with it.
fn machine(bed: &Bed, text: &str) {
    let kept = ["passwd", "group", "hosts", "nsswitch.conf"].map(|name| {
        let path = Path::new("/etc").join(name);
        (fs::read(&path), path)
    });
    let said = run(Command::new("mount").args(["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/etc"]));
    assert_eq!(said.code, 0, "{}: {said:?}", bed.name);
    assert_eq!(fs::read_dir("/etc").unwrap().count(), 0, "not of our own");
    for (bytes, path) in kept {
        if let Ok(bytes) = bytes {
            fs::write(path, bytes).unwrap();
        }
    }
    fs::create_dir(DIRECTORY).unwrap();
    fs::set_permissions(DIRECTORY, Permissions::from_mode(0o755)).unwrap();
    put(text);
}

fn put(text: &str) {
    fs::write(FILE, text).unwrap();
    fs::set_permissions(FILE, Permissions::from_mode(0o644)).unwrap();
}

#[test]
fn an_exclusive_machine_alone_allows_and_a_refused_allow_says_so() {
    bed(|bed| {
        let exclusive =
            policy_with(&["allowed.test"]).replace("version: 1", "version: 1\nexclusive: true");
        machine(bed, &exclusive);
        let moat = bed.moat().allow_also(&["later.test"]).start();
        assert_eq!(moat.connect("allowed.test:443"), 200);
        assert_eq!(moat.connect("later.test:443"), 403);
        let record = moat.decision("later.test");
        assert_eq!(record["cause"], "default", "{record}");

        let before = fs::read_to_string(&moat.policy).unwrap();
        let said = bed.command(&["allow", "latest.test", "--policy", "policy.yaml", "--yes"]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.stderr.contains("exclusive: true"), "{said:?}");
        assert!(said.stderr.contains(FILE), "{said:?}");
        assert_eq!(fs::read_to_string(&moat.policy).unwrap(), before);
        let said = bed.command(&["check", "later.test", "--policy", "policy.yaml"]);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.stdout.contains("machine's policy"), "{said:?}");
        moat.finish();
    });
}

#[test]
fn a_machine_denies_what_a_user_allows() {
    bed(|bed| {
        machine(
            bed,
            "version: 1\ndeny:\n  - id: company\n    net: [later.test]\n",
        );
        let moat = bed.moat().allow_also(&["later.test"]).start();
        assert_eq!(moat.connect("later.test:443"), 403);
        let record = moat.decision("later.test");
        assert_eq!(record["rule"], "company", "{record}");
        assert_eq!(record["source"], format!("{FILE}:4"), "{record}");
        let status = bed.command(&["status"]);
        assert!(status.stdout.contains(FILE), "{status:?}");
        moat.finish();
    });
}

#[test]
fn a_user_only_tightens_the_defaults_of_the_machine() {
    bed(|bed| {
        machine(bed, "");
        for (by_machine, by_user, code) in [
            ("net: deny", "net: ask", 2),
            ("net: ask", "net: deny", 2),
            ("net: ask", "fetch: ask", 3),
            ("fetch: ask", "net: ask", 3),
        ] {
            put(&format!("version: 1\ndefaults: {{ {by_machine} }}\n"));
            bed.write(
                "user.yaml",
                format!("version: 1\ndefaults: {{ {by_user} }}\n"),
            );
            let said = bed.command(&["check", "new.test", "--policy", "user.yaml"]);
            assert_eq!(said.code, code, "{by_machine}, {by_user}: {said:?}");
        }
    });
}

/// No command goes on beside such a file, and no proxy listens.
fn refused(bed: &Bed, why: &str) {
    for words in [
        &["check", "allowed.test"][..],
        &["proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
        &["allow", "a.test", "--yes"],
    ] {
        let said = bed.command(words);
        assert_eq!(said.code, 64, "{words:?} {why}: {said:?}");
        assert!(said.stderr.contains(FILE), "{words:?} {why}: {said:?}");
        assert!(said.stderr.contains(why), "{words:?} {why}: {said:?}");
        assert!(said.stdout.is_empty(), "{words:?} {why}: {said:?}");
    }
}

#[test]
fn a_machine_file_that_others_could_change_stops_every_command() {
    bed(|bed| {
        machine(bed, "version: 1\n");
        assert_eq!(bed.command(&["check", "allowed.test"]).code, 2);
        let mode =
            |path: &str, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for (open, why) in [
            (0o664, "group 0 can write it"),
            (0o646, "everybody can write it"),
        ] {
            mode(FILE, open);
            refused(bed, why);
        }
        mode(FILE, 0o644);
        for open in [0o775, 0o757] {
            mode(DIRECTORY, open);
            refused(bed, "others can write the directory `/etc/moat`");
        }
        mode(DIRECTORY, 0o755);
        if let Err(error) = chown(FILE, Some(12_345), None) {
            return skip(&bed.name, &format!("files cannot be given away: {error}"));
        }
        refused(bed, "it belongs to user 12345");
        chown(FILE, Some(0), None).unwrap();
        chown(DIRECTORY, Some(12_345), None).unwrap();
        refused(bed, "the directory `/etc/moat` belongs to user 12345");
        if chown(DIRECTORY, Some(65_534), None).is_ok() {
            refused(bed, "the directory `/etc/moat` belongs to user 65534");
        }
        chown(DIRECTORY, Some(0), None).unwrap();
        assert_eq!(bed.command(&["check", "allowed.test"]).code, 2);
    });
}

#[test]
fn the_machine_s_first_policy_can_be_read_by_every_user() {
    bed(|bed| {
        machine(bed, "");
        fs::remove_dir_all(DIRECTORY).unwrap();
        let said = bed.command(&["allow", "a.test", "--policy", FILE, "--yes"]);
        assert_eq!(said.code, 0, "{said:?}");
        let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(DIRECTORY), 0o755);
        assert_eq!(mode(FILE), 0o644);
    });
}

/// A folder as Kubernetes makes one of a `ConfigMap`: names that lead through one link, which is
/// replaced as a whole.
fn config_map(bed: &Bed) {
    bed.write("map/..one/policy.yaml", policy_with(&["allowed.test"]));
    bed.write(
        "map/..two/policy.yaml",
        policy_with(&["allowed.test", "later.test"]),
    );
    let map = bed.directory().join("map");
    symlink("..one", map.join("..data")).unwrap();
    symlink("..data/policy.yaml", map.join("policy.yaml")).unwrap();
    for name in ["map", "map/..one", "map/..two"] {
        fs::set_permissions(bed.directory().join(name), Permissions::from_mode(0o777)).unwrap();
    }
}

#[test]
fn a_config_map_on_a_read_only_mount_is_followed_whoever_could_write_its_folder() {
    bed(|bed| {
        config_map(bed);
        let map = bed.directory().join("map");
        let said = bed.command(&["check", "later.test", "--policy", "map/policy.yaml"]);
        assert_eq!(said.code, 64, "where it can be written: {said:?}");
        assert!(
            said.stderr.contains("others can write the directory"),
            "{said:?}"
        );

        let mounted = bed.directory().join("mounted");
        fs::create_dir(&mounted).unwrap();
        if let Err(error) = chown(&map, Some(12_345), None)
            .and_then(|()| chown(map.join("..one/policy.yaml"), Some(12_345), None))
        {
            skip(&bed.name, &format!("files cannot be given away: {error}"));
        }
        let bind = run(Command::new("mount").arg("--bind").arg(&map).arg(&mounted));
        assert_eq!(bind.code, 0, "{bind:?}");
        let protect = run(Command::new("mount")
            .args(["-o", "remount,bind,ro"])
            .arg(&mounted));
        assert_eq!(protect.code, 0, "{protect:?}");

        let moat = bed.moat().policy_file(&mounted.join("policy.yaml")).start();
        assert_eq!(moat.connect("later.test:443"), 403);
        symlink("..two", map.join("..new")).unwrap();
        fs::rename(map.join("..new"), map.join("..data")).unwrap();
        moat.wait_record("reload", |record| record["cause"] == "done");
        assert_eq!(moat.connect("later.test:443"), 200);
        moat.finish();
    });
}
