//! The corpus of the fuzz targets, replayed.

use std::path::Path;
use std::{fs, io};

/// Runs a target over every file of its corpus, and over every beginning of each.
fn replay(target: &str, run: fn(&[u8]) -> Result<(), String>) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut count = 0;
    for file in fs::read_dir(&folder)? {
        let path = file?.path();
        let data = fs::read(&path)?;
        for end in 0..=data.len() {
            let part = data.get(..end).unwrap_or_default();
            assert_eq!(run(part), Ok(()), "{} up to byte {end}", path.display());
        }
        count += 1;
    }
    assert!(count > 2, "{} holds {count} inputs", folder.display());
    Ok(())
}

#[test]
fn hosts_of_the_corpus_have_one_spelling() -> io::Result<()> {
    replay("host", moat_policy::fuzz::host)
}

#[test]
fn entries_of_the_corpus_have_one_normal_form() -> io::Result<()> {
    replay("pattern", moat_policy::fuzz::pattern)
}

#[test]
fn policies_of_the_corpus_say_what_their_entries_say() -> io::Result<()> {
    replay("decide", moat_policy::fuzz::decide)
}

#[test]
fn policy_files_of_the_corpus_load_or_have_placed_problems() -> io::Result<()> {
    replay("document", moat_policy::fuzz::document)
}
