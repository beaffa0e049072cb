use std::time::Duration;

use moat_policy::host::HostName;
use tokio::time::Instant;

use super::{HostsFile, RECHECK};

fn lookup(file: &mut HostsFile, name: &str, now: Instant) -> Vec<String> {
    let found = file.lookup(&HostName::parse(name).unwrap(), now);
    let found = found.iter().flat_map(|addresses| addresses.iter());
    found.map(ToString::to_string).collect()
}

#[test]
fn reads_names_with_all_their_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    let text = "# c\n192.0.2.1 A.test b.test # d.test\n2001:db8::1\ta.test a.test\n\nnonsense c.test\n192.0.2.9 b@d\n";
    std::fs::write(&path, text).unwrap();
    let (mut file, now) = (HostsFile::new(path), Instant::now());
    assert_eq!(
        lookup(&mut file, "a.test", now),
        ["192.0.2.1", "2001:db8::1"]
    );
    assert_eq!(lookup(&mut file, "b.test", now), ["192.0.2.1"]);
    for absent in ["c.test", "d.test"] {
        assert!(lookup(&mut file, absent, now).is_empty());
    }
}

#[test]
fn a_change_is_seen_and_a_file_that_is_gone_names_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    let (mut file, now) = (HostsFile::new(path.clone()), Instant::now());
    assert!(lookup(&mut file, "a.test", now).is_empty());
    std::fs::write(&path, "192.0.2.1 a.test\n").unwrap();
    assert!(
        lookup(&mut file, "a.test", now).is_empty(),
        "looks once a second"
    );
    let later = now + RECHECK;
    assert_eq!(lookup(&mut file, "a.test", later), ["192.0.2.1"]);
    std::fs::remove_file(&path).unwrap();
    let later = later + RECHECK + Duration::from_millis(1);
    assert!(lookup(&mut file, "a.test", later).is_empty());
}
