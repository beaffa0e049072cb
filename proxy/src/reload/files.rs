//! Noticing that policy files changed, whatever way they are replaced: written in place, renamed
//! over, removed, or reached by symbolic links that are swapped (as a `ConfigMap` does).

use std::collections::BTreeSet;
use std::ffi::OsString;
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

/// Where the files, or links on the way to them, would be replaced.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Way {
    folders: BTreeSet<Folder>,
    /// What everything on the way is called. Others in these folders, perhaps the record, may
    /// change a thousand times a second.
    names: BTreeSet<OsString>,
}

impl Way {
    /// Whether this may lead the files elsewhere. Reading them is an event too; it must not lead
    /// to reading them again.
    fn concerns(&self, event: &notify::Event) -> bool {
        let is_named = |path: &PathBuf| {
            let name = path.file_name();
            name.is_none_or(|name| self.names.contains(name))
        };
        !matches!(event.kind, EventKind::Access(_))
            && (event.need_rescan() || event.paths.is_empty() || event.paths.iter().any(is_named))
    }
}

/// Watches for changes on the way to the files.
#[derive(Debug)]
pub(super) struct Watch {
    watcher: Option<RecommendedWatcher>,
    way: Way,
    wake: Arc<Notify>,
}

impl Watch {
    /// Watches nothing yet.
    pub(super) fn new() -> Self {
        Self {
            watcher: None,
            way: Way::default(),
            wake: Arc::default(),
        }
    }

    /// Watches for these files; cheap when nothing changed on the way to them.
    pub(super) fn follow(&mut self, files: &[PathBuf]) {
        let way = way(files);
        if way == self.way {
            return;
        }
        self.watcher = watcher(&self.wake, &way)
            .inspect_err(|error| {
                tracing::warn!(%error, "cannot watch the policy's folders; looking every second");
            })
            .ok();
        self.way = way;
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

fn watcher(wake: &Arc<Notify>, way: &Way) -> notify::Result<RecommendedWatcher> {
    let (wake, on) = (Arc::clone(wake), way.clone());
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // An error may have cost an event.
        if event.is_err() || event.is_ok_and(|event| on.concerns(&event)) {
            wake.notify_one();
        }
    })?;
    for folder in &way.folders {
        watcher.watch(&folder.path, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

/// The folders whose entries decide what these paths lead to, and how those entries are called.
fn way(files: &[PathBuf]) -> Way {
    let mut way = Way::default();
    for file in files {
        let mut path = file.clone();
        for _ in 0..MOST_LINKS {
            // Every link on the way is replaced in the folder that holds it.
            for part in path.ancestors().skip(1) {
                if part.is_symlink() {
                    way.folders.extend(existing(parent(part)));
                }
            }
            way.folders.extend(existing(parent(&path)));
            let parts = path.ancestors().filter_map(Path::file_name);
            way.names.extend(parts.map(ToOwned::to_owned));
            match fs::read_link(&path) {
                Ok(target) => path = parent(&path).join(target),
                Err(_) => break,
            }
        }
    }
    way
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
