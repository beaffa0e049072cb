//! Noticing that policy files changed, whatever way they are replaced: written in place, renamed
//! over, removed, or reached by symbolic links that are swapped (as a `ConfigMap` does).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// How often files are looked at all the same: some file systems report nothing.
const WITH_EVENTS: Duration = Duration::from_secs(10);
/// How often without a watcher, which the system may refuse.
const WITHOUT_EVENTS: Duration = Duration::from_secs(1);
/// As many links in a row as the kernel follows.
const MOST_LINKS: usize = 40;

/// What tells one state of the files from another, without reading them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Prints(Vec<Print>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Print {
    There {
        path: PathBuf,
        inode: (u64, u64),
        size: u64,
        modified: (i64, i64),
        changed: (i64, i64),
    },
    Gone(io::ErrorKind),
}

impl Prints {
    /// Of the files as they are now.
    pub(crate) fn take(files: &[PathBuf]) -> Self {
        Self(files.iter().map(|path| Print::take(path)).collect())
    }
}

impl Print {
    fn take(path: &Path) -> Self {
        let taken = fs::canonicalize(path).and_then(|path| {
            let metadata = fs::metadata(&path)?;
            Ok(Self::There {
                path,
                inode: (metadata.dev(), metadata.ino()),
                size: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            })
        });
        taken.unwrap_or_else(|error| Self::Gone(error.kind()))
    }
}

/// A folder that is watched. A new one at the same path must be watched anew.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Folder {
    path: PathBuf,
    inode: (u64, u64),
}

/// Watches the folders in which the files, or links on the way to them, would be replaced.
#[derive(Debug)]
pub(super) struct Watch {
    watcher: Option<RecommendedWatcher>,
    folders: BTreeSet<Folder>,
    wake: Arc<Notify>,
}

impl Watch {
    /// Watches nothing yet.
    pub(super) fn new() -> Self {
        Self {
            watcher: None,
            folders: BTreeSet::new(),
            wake: Arc::default(),
        }
    }

    /// Watches for these files; cheap when nothing changed on the way to them.
    pub(super) fn follow(&mut self, files: &[PathBuf]) {
        let folders = folders(files);
        if folders == self.folders {
            return;
        }
        self.watcher = watcher(&self.wake, &folders)
            .inspect_err(|error| {
                tracing::warn!(%error, "cannot watch the policy's folders; looking every second");
            })
            .ok();
        self.folders = folders;
    }

    /// Resolves when something happened in a watched folder.
    pub(super) async fn changed(&self) {
        self.wake.notified().await;
    }

    /// How long to wait for that before looking without it.
    pub(super) fn interval(&self) -> Duration {
        match self.watcher {
            Some(_) => WITH_EVENTS,
            None => WITHOUT_EVENTS,
        }
    }
}

fn watcher(wake: &Arc<Notify>, folders: &BTreeSet<Folder>) -> notify::Result<RecommendedWatcher> {
    let wake = Arc::clone(wake);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the files is an event too; it must not lead to reading them again.
        if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
            wake.notify_one();
        }
    })?;
    for folder in folders {
        watcher.watch(&folder.path, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

/// The folders whose entries decide what these paths lead to.
fn folders(files: &[PathBuf]) -> BTreeSet<Folder> {
    let mut folders = BTreeSet::new();
    for file in files {
        let mut path = file.clone();
        for _ in 0..MOST_LINKS {
            // Every link on the way is replaced in the folder that holds it.
            for part in path.ancestors().skip(1) {
                if part.is_symlink() {
                    folders.extend(existing(parent(part)));
                }
            }
            folders.extend(existing(parent(&path)));
            match fs::read_link(&path) {
                Ok(target) => path = parent(&path).join(target),
                Err(_) => break,
            }
        }
    }
    folders
}

/// The folder that holds it.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    }
}

/// The nearest folder that is there: in it the missing ones would be made.
fn existing(folder: &Path) -> Option<Folder> {
    let mut there = folder.ancestors();
    there.find_map(|path| {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
        Some(Folder {
            path: path.to_owned(),
            inode: (metadata.dev(), metadata.ino()),
        })
    })
}

#[cfg(test)]
mod tests;
