use std::fs;

use super::*;
use crate::bed::Bed;

#[test]
fn a_file_that_is_gone_does_not_give_way_to_the_built_in_default() {
    let bed = Bed::new();
    let name = "home/.config/moat/policy.yaml";
    let path = bed.write(name, "version: 1\n");
    let policy = InstalledPolicy::new(Layers::of_proxy(&bed.places(), &[]));
    let first = policy.load().unwrap();
    assert_eq!(policy.present_files(), std::slice::from_ref(&path));

    fs::remove_file(&path).unwrap();
    let error = policy.load().unwrap_err();
    insta::assert_snapshot!(bed.hide(&error.to_string()), @"the policy file `home/.config/moat/policy.yaml` is gone; put it back, or start the proxy anew to go on without it");

    bed.write(name, "version: 1\n");
    assert_eq!(policy.load().unwrap().digest(), first.digest());
}

#[test]
fn a_file_that_comes_takes_the_place_of_the_built_in_default() {
    let bed = Bed::new();
    let policy = InstalledPolicy::new(Layers::of_proxy(&bed.places(), &[]));
    let first = policy.load().unwrap();
    assert!(policy.present_files().is_empty());
    bed.write("home/.config/moat/policy.yaml", "version: 1\n");
    assert_ne!(policy.load().unwrap().digest(), first.digest());
}

#[test]
fn the_built_in_default_is_listed_with_its_writable_hosts_marked() {
    let lines = built_in_lines().unwrap();
    assert!(lines.iter().any(|line| line.starts_with("  docs: ")));
    assert!(lines.iter().any(|line| line.contains(" (write)")));
}
