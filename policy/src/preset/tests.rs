use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::{Access, Class, PresetError, Purpose, all_names, find, library, names, open};
use crate::host::HostName;

fn everything() -> Vec<super::Preset> {
    all_names()
        .unwrap()
        .iter()
        .map(|name| find(name).unwrap())
        .collect()
}

/// Whether a tree of preset files names labels only, `*` standing for letters.
fn is_name_pattern(host: &str) -> bool {
    let rest = host.strip_prefix("**.").unwrap_or(host);
    HostName::parse(&rest.replace('*', "x"))
        .is_ok_and(|name| name.as_str() == rest.replace('*', "x"))
        && !rest.contains("**")
        && rest.contains('.')
}

#[test]
fn every_file_of_the_folder_is_built_in_under_its_own_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("presets");
    let mut stems: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            file.unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    stems.sort();
    assert_eq!(stems, names().collect::<Vec<_>>());
    for (name, _) in library::FILES {
        assert_eq!(open(name).unwrap().name, *name);
    }
}

#[test]
fn every_file_is_dated_sourced_and_has_a_base() {
    for (name, _) in library::FILES {
        let file = open(name).unwrap();
        let form = time::macros::format_description!("[year]-[month]-[day]");
        assert!(
            time::Date::parse(&file.version, form).is_ok(),
            "{name} is dated `{}`",
            file.version
        );
        assert!(!file.sources.is_empty(), "{name}");
        assert!(!file.summary.is_empty(), "{name}");
        assert!(file.parts.contains_key(super::BASE), "{name}");
    }
}

#[test]
fn every_host_is_a_lower_case_name_or_pattern_under_a_registrable_domain() {
    for preset in everything() {
        assert!(!preset.entries.is_empty(), "{}", preset.name);
        for entry in preset.entries {
            assert!(
                is_name_pattern(&entry.host),
                "{} in {}",
                entry.host,
                preset.name
            );
            assert!(!entry.why.is_empty(), "{} in {}", entry.host, preset.name);
        }
    }
}

#[test]
fn only_parts_that_say_so_hold_names_that_a_stranger_can_register() {
    for preset in everything() {
        let tenant = preset
            .entries
            .iter()
            .any(|entry| entry.class == Class::TenantLabel);
        let said = preset.name.ends_with("/tenant") || preset.purpose == Purpose::Deny;
        assert!(!tenant || said, "{}", preset.name);
    }
}

#[test]
fn a_host_is_typed_alike_wherever_it_stands() {
    let mut types: HashMap<String, (Class, Access, String)> = HashMap::new();
    for entry in everything().into_iter().flat_map(|preset| preset.entries) {
        let (class, access, preset) = types
            .entry(entry.host.clone())
            .or_insert_with(|| (entry.class, entry.access, entry.preset.clone()));
        assert_eq!(
            (*class, *access),
            (entry.class, entry.access),
            "{} in {preset} and {}",
            entry.host,
            entry.preset
        );
    }
}

#[test]
fn includes_name_presets_that_exist_and_no_preset_includes_itself() {
    fn walk(name: &str, above: &mut Vec<String>) {
        assert!(
            !above.contains(&name.to_owned()),
            "{name} includes itself: {above:?}"
        );
        above.push(name.to_owned());
        for include in find(name).unwrap().includes {
            walk(&include, above);
        }
        above.pop();
    }
    for name in all_names().unwrap() {
        walk(&name, &mut Vec::new());
    }
}

#[test]
fn the_default_keeps_its_promises() {
    let default = find("default").unwrap();
    let mut by_access: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &default.entries {
        *by_access.entry(entry.access.as_str()).or_default() += 1;
        assert_ne!(entry.class, Class::TenantLabel, "{}", entry.host);
        assert!(!entry.preset.contains('/'), "{} is opted into", entry.host);
        assert!(!entry.host.contains("telemetry"), "{}", entry.host);
    }
    assert!(by_access["read"] > by_access["write"]);
    assert!(default.entries.len() > 60);
    let telemetry = ["anthropic/telemetry", "copilot/telemetry"].map(|name| find(name).unwrap());
    for entry in telemetry.iter().flat_map(|preset| &preset.entries) {
        assert!(!default.entries.iter().any(|other| other.host == entry.host));
    }
    for family in [
        "npm",
        "pypi",
        "crates",
        "debian",
        "github-read",
        "anthropic",
        "docs",
    ] {
        assert!(
            default.entries.iter().any(|entry| entry.preset == family),
            "{family}"
        );
    }
}

#[test]
fn parts_are_lists_of_their_own() {
    let base = find("npm").unwrap();
    let optional = find("npm/optional").unwrap();
    assert_eq!(base.parts, ["npm", "npm/optional"]);
    assert_eq!(base.entries.len(), 1);
    assert_eq!(base.entries[0].access, Access::Write);
    assert!(
        optional
            .entries
            .iter()
            .all(|entry| entry.host != base.entries[0].host)
    );
}

#[test]
fn the_package_hosts_are_the_labels_of_their_trees() {
    let host = |labels: &[&str]| labels.join(".");
    let hosts = |name: &str| -> Vec<String> {
        find(name)
            .unwrap()
            .entries
            .into_iter()
            .map(|entry| entry.host)
            .collect()
    };
    assert_eq!(hosts("npm"), [host(&["registry", "npmjs", "org"])]);
    assert_eq!(
        hosts("crates"),
        ["index", "static"].map(|label| host(&[label, "crates", "io"]))
    );
    assert_eq!(
        hosts("debian"),
        ["deb", "security"].map(|label| host(&[label, "debian", "org"]))
    );
    assert!(hosts("pypi").contains(&host(&["pypi", "org"])));
    assert!(!hosts("pypi").iter().any(|host| host.starts_with("upload.")));
}

#[test]
fn an_included_entry_says_where_it_stands_and_comes_once() {
    let default = find("default").unwrap();
    let mut hosts: Vec<&str> = default
        .entries
        .iter()
        .map(|entry| entry.host.as_str())
        .collect();
    let count = hosts.len();
    hosts.sort_unstable();
    hosts.dedup();
    assert_eq!(hosts.len(), count);
    assert!(
        find("yarn")
            .unwrap()
            .entries
            .iter()
            .any(|entry| entry.preset == "npm")
    );
}

#[test]
fn an_unknown_name_gets_the_one_that_was_meant() {
    let help = |name: &str| find(name).unwrap_err().help();
    assert_eq!(help("nugett").as_deref(), Some("did you mean `nuget`?"));
    assert_eq!(
        help("npm/optionl").as_deref(),
        Some("did you mean `npm/optional`?")
    );
    assert_eq!(
        help("zzzzzzzzz").as_deref(),
        Some("`moat preset list` shows the names")
    );
    assert!(
        matches!(find("npm/").unwrap_err(), PresetError::Unknown { name, .. } if name == "npm/")
    );
    assert!(find("npm/base").is_err(), "one spelling for one list");
}
