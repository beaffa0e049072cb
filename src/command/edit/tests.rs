use super::*;

#[test]
fn the_visual_editor_comes_first_and_an_empty_variable_is_none() {
    let from = |visual: &str, line: &str| {
        editor(|name| match name {
            "VISUAL" => Some(visual.into()),
            "EDITOR" => Some(line.into()),
            _ => None,
        })
    };
    assert_eq!(from("code -w", "vi"), Some("code -w".into()));
    assert_eq!(from("", "vi"), Some("vi".into()));
    assert_eq!(from("", ""), None);
}

#[test]
fn the_copy_is_private_and_goes_away() {
    use std::os::unix::fs::MetadataExt;

    let folder = tempfile::tempdir().unwrap();
    let copy = Copy::make(folder.path(), "version: 1\n").unwrap();
    let path = copy.path.clone();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(copy.read().unwrap(), "version: 1\n");
    drop(copy);
    assert!(!path.exists());
}
