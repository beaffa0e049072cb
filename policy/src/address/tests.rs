use std::net::IpAddr;

use super::{
    Embedded, canonical, classify, is_localhost_name, is_metadata_name, is_never_openable,
};
use crate::host::HostName;

fn class(text: &str) -> &'static str {
    let address: IpAddr = text.parse().unwrap();
    classify(address).map_or("public", |class| class.as_str())
}

#[test]
fn every_special_range_has_its_class_up_to_its_edges() {
    for (first, last, want) in [
        ("0.0.0.0", "0.255.255.255", "unspecified"),
        ("10.0.0.0", "10.255.255.255", "private"),
        ("100.64.0.0", "100.127.255.255", "shared"),
        ("127.0.0.0", "127.255.255.255", "loopback"),
        ("169.254.0.0", "169.254.255.255", "link-local"),
        ("172.16.0.0", "172.31.255.255", "private"),
        ("192.0.0.0", "192.0.0.255", "reserved"),
        ("192.0.2.0", "192.0.2.255", "documentation"),
        ("192.168.0.0", "192.168.255.255", "private"),
        ("198.18.0.0", "198.19.255.255", "benchmarking"),
        ("198.51.100.0", "198.51.100.255", "documentation"),
        ("203.0.113.0", "203.0.113.255", "documentation"),
        ("224.0.0.0", "239.255.255.255", "multicast"),
        ("240.0.0.0", "255.255.255.254", "reserved"),
        ("255.255.255.255", "255.255.255.255", "broadcast"),
        ("::", "::", "unspecified"),
        ("::1", "::1", "loopback"),
        ("100::", "1fff:ffff::", "reserved"),
        ("2001:2::", "2001:2:0:ffff::", "benchmarking"),
        ("2001:db8::", "2001:db8:ffff::", "documentation"),
        ("3fff::", "3fff:fff::", "documentation"),
        ("4000::", "fbff::", "reserved"),
        ("fc00::", "fdff:ffff::", "private"),
        ("fe80::", "febf:ffff::", "link-local"),
        ("fec0::", "feff:ffff::", "private"),
        ("ff00::", "ffff:ffff::", "multicast"),
    ] {
        assert_eq!((class(first), class(last)), (want, want), "{first}");
    }
    for text in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2000::1",
        "2001:db7::1",
        "2001:db9::1",
        "2606:4700::1111",
        "3ffe::1",
    ] {
        assert_eq!(class(text), "public", "{text}");
    }
}

#[test]
fn metadata_addresses_are_told_from_their_neighbours() {
    for text in [
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
    ] {
        assert_eq!(class(text), "cloud metadata", "{text}");
    }
    assert_eq!(class("169.254.169.253"), "link-local");
    assert_eq!(class("168.63.129.17"), "public");
    assert_eq!(class("fd00:ec2::255"), "private");
}

#[test]
fn an_address_inside_another_is_judged_too() {
    for (text, want) in [
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:8.8.8.8", "public"),
        ("0:0:0:0:0:FFFF:7F00:1", "loopback"),
        ("::10.0.0.1", "reserved"),
        ("::0.0.0.2", "unspecified"),
        ("64:ff9b::7f00:1", "reserved"),
        ("64:ff9b::e000:1", "multicast"),
        ("64:ff9b:1:a9fe:a9:fe00::", "cloud metadata"),
        ("64:ff9b:1::a9fe:a9fe", "cloud metadata"),
        ("64:ff9b:1::", "unspecified"),
        ("2002:7f00:1::1", "loopback"),
        ("2002:a00:1::", "private"),
        ("2002:808:808::1", "public"),
        ("2002::1", "unspecified"),
        ("2001:0:a00:1::f5ff:fffe", "private"),
        ("2001:0:808:808::f5ff:fffe", "private"),
        ("2001:0:808:808::f7f7:f7f7", "public"),
        ("2606:4700::5efe:a9fe:a9fe", "cloud metadata"),
        ("2606:4700::200:5efe:a00:1", "private"),
        ("2606:4700::5efe:808:808", "public"),
        ("2002:808:808::5efe:a00:1", "private"),
    ] {
        assert_eq!(class(text), want, "{text}");
    }
}

#[test]
fn embedded_addresses_are_found_in_every_form() {
    let inner = |text: &str| -> Vec<String> {
        Embedded::of(text.parse().unwrap())
            .map(|inner| inner.to_string())
            .collect()
    };
    assert_eq!(inner("64:ff9b::a01:203"), ["10.1.2.3"]);
    assert_eq!(
        inner("64:ff9b:1:a01:2:300::"),
        ["10.1.2.3", "1.2.3.0", "2.3.0.0"]
    );
    assert_eq!(inner("64:ff9b:1::a01:203"), ["10.1.2.3"]);
    assert_eq!(inner("64:ff9b:1:a:1:203::"), ["10.1.2.3", "1.2.3.0"]);
    assert_eq!(inner("2001:0:101:101::f5fe:fdfc"), ["1.1.1.1", "10.1.2.3"]);
    assert_eq!(inner("::"), Vec::<String>::new());
    assert_eq!(inner("::1"), Vec::<String>::new());
    assert_eq!(inner("8.8.8.8"), Vec::<String>::new());
    let mapped: IpAddr = "::ffff:1.2.3.4".parse().unwrap();
    assert_eq!(canonical(mapped).to_string(), "1.2.3.4");
}

#[test]
fn special_names_are_known_exactly() {
    let name = |text| HostName::parse(text).unwrap();
    assert!(is_metadata_name(&name("Metadata.Google.Internal.")));
    assert!(is_metadata_name(&name("metadata.goog")));
    assert!(!is_metadata_name(&name("x.metadata.goog")));
    assert!(is_localhost_name(&name("LOCALHOST")));
    assert!(is_localhost_name(&name("a.b.localhost")));
    assert!(!is_localhost_name(&name("notlocalhost")));
    assert!(!is_localhost_name(&name("localhost.test")));
}

#[test]
fn ranges_that_nothing_opens_are_found() {
    let dead = |text: &str| is_never_openable(&text.parse().unwrap()).is_some();
    assert!(dead("0.0.0.0/8") && dead("224.0.0.0/5") && dead("ff02::/16") && dead("::/128"));
    assert!(dead("255.255.255.255/32"));
    assert!(dead("64:ff9b::e000:1/128") && dead("2002::1/128"));
    assert!(!dead("0.0.0.0/0") && !dead("0.0.0.0/7") && !dead("127.0.0.0/8") && !dead("::/0"));
}
