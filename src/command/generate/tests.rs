use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;

/// The directory of generated files in the repository.
fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name)
}

/// Compares a generated text with its committed file. `MOAT_UPDATE_GENERATED=1` writes it.
fn assert_current(name: &str, text: &str) {
    let path = committed(name);
    if std::env::var_os("MOAT_UPDATE_GENERATED").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/{name} is stale: run `MOAT_UPDATE_GENERATED=1 cargo test --bin moat generate`"
    );
}

#[test]
fn the_committed_reference_is_current() {
    assert_current("cli.md", &reference::markdown());
}

#[test]
fn the_committed_man_pages_are_current_and_none_is_left_over() {
    let pages = pages().unwrap();
    for (name, text) in &pages {
        assert_current(&format!("reference/man/{name}"), text);
    }
    let expected: BTreeSet<_> = pages.into_iter().map(|(name, _)| name).collect();
    let found: BTreeSet<_> = fs::read_dir(committed("reference/man"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_committed_completions_are_current() {
    for (shell, name) in [
        (Shell::Bash, "moat.bash"),
        (Shell::Zsh, "_moat"),
        (Shell::Fish, "moat.fish"),
    ] {
        let text = completions(shell).unwrap();
        assert_current(&format!("reference/completions/{name}"), &text);
    }
}

#[test]
fn the_committed_schema_is_current() {
    assert_current("reference/policy.schema.json", &schema());
}

#[test]
fn an_unknown_page_is_named() {
    let problem = man_page(Some("dance")).unwrap_err();
    insta::assert_snapshot!(problem.plain(), @"
    error: there is no command `dance`
    hint: `moat --help` lists the commands
    ");
}
