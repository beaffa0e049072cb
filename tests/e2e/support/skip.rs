//! Cases that this machine cannot run say so, and are counted by `tests/run.sh`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Prints why a case is skipped, and leaves a line where `tests/run.sh` collects them.
pub(crate) fn skip(case: &str, reason: &str) {
    eprintln!("skipped: {case}: {reason}");
    if let Some(list) = std::env::var_os("MOAT_TEST_SKIPS") {
        let mut list = OpenOptions::new()
            .create(true)
            .append(true)
            .open(list)
            .unwrap();
        writeln!(list, "{case}: {reason}").unwrap();
    }
}

/// Finds a program on the search path.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path).chain([
        PathBuf::from("/usr/sbin"),
        PathBuf::from("/sbin"),
        PathBuf::from("/usr/lib/git-core"),
    ]);
    places
        .map(|place| place.join(name))
        .find(|file| is_file(file))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file())
}
