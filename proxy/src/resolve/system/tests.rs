use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use moat_policy::host::HostName;

use super::{SystemNames, index, read_servers};
use crate::resolve::Resolver;
use crate::testing::{local, meter};

fn lookup(names: &SystemNames, name: &str) -> Vec<String> {
    let found = names.lookup(&HostName::parse(name).unwrap());
    let found = found.iter().flat_map(|addresses| addresses.iter());
    found.map(ToString::to_string).collect()
}

#[test]
fn reads_names_with_all_their_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    let text = "# c\n192.0.2.1 A.test b.test # d.test\n  2001:db8::1\ta.test a.test  \r\n\nnonsense c.test\n\
                192.0.2.9 b@d e.test.\nfe80::1%eth0 f.test\n192.0.2.010 g.test\n192.0.2.1%eth0 g.test\n";
    std::fs::write(&path, text).unwrap();
    let names = SystemNames::of(path, folder.path().join("resolv.conf")).unwrap();
    assert_eq!(lookup(&names, "a.test"), ["192.0.2.1", "2001:db8::1"]);
    assert_eq!(lookup(&names, "b.test"), ["192.0.2.1"]);
    assert_eq!(lookup(&names, "e.test"), ["192.0.2.9"]);
    assert_eq!(lookup(&names, "f.test"), ["fe80::1"]);
    for absent in ["c.test", "d.test", "g.test"] {
        assert!(lookup(&names, absent).is_empty());
    }
}

#[test]
fn a_change_is_seen_and_a_file_that_is_gone_names_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    let names = SystemNames::of(path.clone(), folder.path().join("resolv.conf")).unwrap();
    assert!(lookup(&names, "a.test").is_empty());
    std::fs::write(&path, "192.0.2.1 a.test\n").unwrap();
    assert!(lookup(&names, "a.test").is_empty(), "asking reads no file");
    names.look();
    assert_eq!(lookup(&names, "a.test"), ["192.0.2.1"]);
    std::fs::remove_file(&path).unwrap();
    names.look();
    assert!(lookup(&names, "a.test").is_empty());
}

#[test]
fn other_servers_are_asked_once_the_system_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("resolv.conf");
    std::fs::write(&path, "nameserver 192.0.2.53\n").unwrap();
    let names = SystemNames::of(folder.path().join("hosts"), path.clone()).unwrap();
    let names = Arc::new(names);
    local(async {
        let system = Some(Arc::clone(&names));
        let resolver = Resolver::new(&[], system, Duration::from_secs(1), meter()).unwrap();
        assert_eq!(resolver.asked(), ["192.0.2.53:53".parse().unwrap()]);
        names.look();
        assert_eq!(resolver.asked(), ["192.0.2.53:53".parse().unwrap()]);
        std::fs::write(&path, "nameserver 2001:db8::53\nnameserver 192.0.2.54\n").unwrap();
        names.look();
        let expected = ["[2001:db8::53]:53", "192.0.2.54:53"];
        assert_eq!(resolver.asked(), expected.map(|text| text.parse().unwrap()));
    });
}

#[test]
fn a_resolver_configuration_that_is_there_must_be_readable() {
    let read = |kind: ErrorKind| read_servers(Path::new("resolv.conf"), Err(kind.into()));
    let missing = read(ErrorKind::NotFound).unwrap();
    assert_eq!(missing, [SocketAddr::from(([127, 0, 0, 1], 53))]);
    assert!(read(ErrorKind::PermissionDenied).is_err());
}

#[test]
fn the_name_of_an_interface_has_a_number() {
    assert_eq!(index("lo"), Some(1));
    assert_eq!(index("no-such-one"), None);
}
