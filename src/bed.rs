//! A home of its own for tests of commands.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use crate::places::Places;
use crate::problem::Problem;

/// A directory with a home in it, removed at the end.
pub(crate) struct Bed(tempfile::TempDir);

impl Bed {
    /// A bed with an empty home.
    pub(crate) fn new() -> Self {
        let bed = Self(tempfile::tempdir().unwrap());
        fs::create_dir(bed.path("home")).unwrap();
        bed
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(name)
    }

    /// Writes a file, and the directories above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The places of a user who lives here.
    pub(crate) fn places(&self) -> Places {
        Places::find(|_| None, Some(self.path("home")), self.path("home")).unwrap()
    }

    /// Runs a command at the beginning of 2026, and gives what it printed, without the bed's path.
    pub(crate) fn run(
        &self,
        command: impl FnOnce(&mut Context<'_>) -> Result<Exit, Problem>,
    ) -> (Result<Exit, Problem>, String) {
        let mut exit = Ok(Exit::Ok);
        let text = output::captured(|output| {
            exit = command(&mut Context {
                output,
                places: self.places(),
                now: SystemTime::UNIX_EPOCH + Duration::from_hours(490_896),
            });
        });
        (exit, self.hide(&text))
    }

    /// A text without the bed's path, which is another one each time.
    pub(crate) fn hide(&self, text: &str) -> String {
        text.replace(self.path("").to_str().unwrap(), "")
    }
}
