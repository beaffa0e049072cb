//! New records as they are written, across rotations.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::Printer;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;
use crate::record_file::{self, Lines};

/// File systems that report no changes are looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A watched record file.
#[derive(Debug)]
pub(super) struct Follow {
    path: PathBuf,
    changes: Receiver<()>,
    /// Kept alive: dropping it ends the watching.
    _watcher: RecommendedWatcher,
}

impl Follow {
    /// Watches from now on, so that nothing is missed between reading and following.
    pub(super) fn start(path: &Path) -> Result<Self, Problem> {
        let path =
            std::path::absolute(path).map_err(|error| record_file::unreadable(path, &error))?;
        let directory = path.parent().unwrap_or(&path).to_owned();
        if !directory.try_exists().is_ok_and(|exists| exists) {
            return Err(record_file::unreadable(&path, &ErrorKind::NotFound.into()));
        }
        // One waiting change is as good as many: each leads to reading all there is.
        let (sender, changes) = sync_channel(1);
        let unwatchable =
            |error| Problem::failed(format!("cannot follow `{}`: {error}", path.display()));
        let mut watcher = notify::recommended_watcher(move |_| {
            // A full channel already holds a change.
            let _ = sender.try_send(());
        })
        .map_err(unwatchable)?;
        watcher
            .watch(&directory, RecursiveMode::NonRecursive)
            .map_err(unwatchable)?;
        Ok(Self {
            path,
            changes,
            _watcher: watcher,
        })
    }

    /// Prints what is written until the reader goes.
    pub(super) fn run(
        self,
        mut lines: Option<Lines>,
        printer: &Printer<'_>,
        output: &mut Output,
    ) -> Result<Exit, Problem> {
        loop {
            if let Some(lines) = &mut lines {
                printer.print(lines, &self.path, output)?;
            }
            if self.is_replaced(lines.as_ref())? {
                if let Some(old) = &mut lines {
                    // What was written to it after the last look and before it was moved.
                    printer.print(old, &self.path, output)?;
                }
                lines = self.open()?;
                continue;
            }
            output.flush();
            if output.is_closed() {
                return Ok(Exit::Ok);
            }
            match self.changes.recv_timeout(LOOK_EVERY) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Problem::failed(format!(
                        "`{}` is no longer watched",
                        self.path.display()
                    )));
                }
            }
        }
    }

    /// Whether the path names another file than the open one.
    fn is_replaced(&self, lines: Option<&Lines>) -> Result<bool, Problem> {
        let now = match fs::metadata(&self.path) {
            Ok(now) => now,
            // Between the two steps of a rotation.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(record_file::unreadable(&self.path, &error)),
        };
        let Some(lines) = lines else {
            return Ok(true);
        };
        let open = lines
            .file()
            .metadata()
            .map_err(|error| record_file::unreadable(&self.path, &error))?;
        Ok((open.dev(), open.ino()) != (now.dev(), now.ino()))
    }

    fn open(&self) -> Result<Option<Lines>, Problem> {
        match Lines::open(&self.path) {
            Ok(lines) => Ok(Some(lines)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(record_file::unreadable(&self.path, &error)),
        }
    }
}
