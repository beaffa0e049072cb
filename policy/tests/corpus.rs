//! The corpus of the fuzz targets, replayed.

use std::fs;
use std::path::Path;

/// Runs a target over every file of its corpus, and over every beginning of each.
fn replay(target: &str, run: fn(&[u8]) -> Result<(), String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut count = 0;
    for file in fs::read_dir(&folder).expect("a folder of inputs") {
        let path = file.expect("an input").path();
        let data = fs::read(&path).expect("a readable input");
        for end in 0..=data.len() {
            let part = data.get(..end).unwrap_or_default();
            assert_eq!(run(part), Ok(()), "{} up to byte {end}", path.display());
        }
        count += 1;
    }
    assert!(count > 2, "{} holds {count} inputs", folder.display());
}

#[test]
fn hosts_of_the_corpus_have_one_spelling() {
    replay("host", moat_policy::fuzz::host);
}

#[test]
fn entries_of_the_corpus_have_one_normal_form() {
    replay("pattern", moat_policy::fuzz::pattern);
}

#[test]
fn policies_of_the_corpus_say_what_their_entries_say() {
    replay("decide", moat_policy::fuzz::decide);
}
