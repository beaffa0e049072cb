use super::*;

fn find(variables: &[(&str, &str)], home: Option<&str>) -> Result<Places, Problem> {
    Places::find(
        |name| {
            let found = variables.iter().find(|(given, _)| *given == name);
            found.map(|(_, value)| OsString::from(value))
        },
        home.map(PathBuf::from),
        PathBuf::from("/work"),
    )
}

#[test]
fn the_home_directory_is_enough() {
    let places = find(&[], Some("/home/a")).unwrap();
    assert_eq!(
        places.user_policy,
        Path::new("/home/a/.config/moat/policy.yaml")
    );
    assert_eq!(places.state, Path::new("/home/a/.local/state/moat"));
}

#[test]
fn variables_move_the_places() {
    let places = find(
        &[
            ("MOAT_HOME", "/m"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_STATE_HOME", "/s"),
        ],
        None,
    )
    .unwrap();
    assert_eq!(places.user_policy, Path::new("/m/policy.yaml"));
    assert_eq!(places.default_record(), Path::new("/s/moat/audit.jsonl"));
}

#[test]
fn a_relative_base_directory_is_ignored_and_an_empty_variable_is_unset() {
    let places = find(
        &[("MOAT_HOME", ""), ("XDG_CONFIG_HOME", "here")],
        Some("/home/a"),
    )
    .unwrap();
    assert_eq!(
        places.user_policy,
        Path::new("/home/a/.config/moat/policy.yaml")
    );
}

#[test]
fn a_relative_home_of_moat_is_refused() {
    let problem = find(&[("MOAT_HOME", "here")], Some("/home/a")).unwrap_err();
    insta::assert_snapshot!(problem.plain(), @"
    error: `MOAT_HOME` is not an absolute path: `here`
    hint: write it from the root, or unset `MOAT_HOME`
    ");
}

#[test]
fn nowhere_to_look_is_an_error() {
    let problem = find(&[], None).unwrap_err();
    insta::assert_snapshot!(problem.plain(), @"
    error: there is no home directory to look for Moat's files in
    hint: set `HOME` or `XDG_CONFIG_HOME` to an absolute path
    ");
}
