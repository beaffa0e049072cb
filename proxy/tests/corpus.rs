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
    assert!(count > 10, "{} holds {count} inputs", folder.display());
    Ok(())
}

/// Bytes of the corpus changed at random, the same ones on every run.
fn mutate(target: &str, run: fn(&[u8]) -> Result<(), String>) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or(0) % below.max(1)
    };
    let interesting = b"\r\n\0 :;,@#/?[]\\\t%*0123456789abcdefx\x7f\x80\xff";
    for file in fs::read_dir(&folder)? {
        let whole = fs::read(file?.path())?;
        for _ in 0..1000 {
            let mut data = whole.clone();
            for _ in 0..=next(4) {
                let at = next(data.len());
                let byte = interesting.get(next(interesting.len())).copied();
                match (next(3), data.get_mut(at), byte) {
                    (0, Some(old), Some(new)) => *old = new,
                    (1, Some(_), Some(new)) => data.insert(at, new),
                    (_, Some(_), _) => drop(data.remove(at)),
                    (_, None, _) => {}
                }
            }
            assert_eq!(run(&data), Ok(()), "{:?}", String::from_utf8_lossy(&data));
        }
    }
    Ok(())
}

#[test]
fn heads_of_the_corpus_are_read_in_one_way() -> io::Result<()> {
    replay("head", moat_proxy::fuzz::head)?;
    mutate("head", moat_proxy::fuzz::head)
}

#[test]
fn targets_of_the_corpus_have_one_spelling() -> io::Result<()> {
    replay("target", moat_proxy::fuzz::target)?;
    mutate("target", moat_proxy::fuzz::target)
}

#[test]
fn hellos_of_the_corpus_name_one_host_however_they_arrive() -> io::Result<()> {
    replay("hello", moat_proxy::fuzz::hello)?;
    mutate("hello", moat_proxy::fuzz::hello)
}

#[test]
fn greetings_of_the_corpus_are_judged_alike_however_they_arrive() -> io::Result<()> {
    replay("greeting", moat_proxy::fuzz::greeting)?;
    mutate("greeting", moat_proxy::fuzz::greeting)
}
