//! Rewrites a policy file: locked, in one step, with its owner and mode.
//!
//! Links are followed and stay links. What is written is written beside the target and moved
//! over it, so that a reader sees the old file or the new one and nothing between.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use moat_policy::layer::{LayerInput, Origin};
use moat_policy::source::SourceFile;
use rustix::fs::{FlockOperation, flock};

use crate::places::MACHINE_POLICY;
use crate::policy_file::{self, Custody};
use crate::problem::{self, Problem};
use crate::state::{self, create_private, make_private};

/// A policy file that is about to be changed.
#[derive(Debug)]
pub(crate) struct Rewrite {
    path: PathBuf,
    target: PathBuf,
    custody: Custody,
    text: Option<String>,
    lock: Option<File>,
}

/// When the lock is taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lock {
    /// Before the file is read: nobody is asked in between.
    Now,
    /// When it is written: a person thinks about it first, and others need not wait.
    AtTheEnd,
}

impl Rewrite {
    /// Reads the file, which need not exist, and checks that it may be rewritten at all.
    pub(crate) fn open(path: &Path, lock: Lock) -> Result<Self, Problem> {
        let custody = if path == Path::new(MACHINE_POLICY) {
            Custody::Machine
        } else {
            Custody::User
        };
        let mut rewrite = Self {
            path: path.to_owned(),
            target: target(path)?,
            custody,
            text: None,
            lock: None,
        };
        policy_file::check_place(path, custody)?;
        if lock == Lock::Now {
            rewrite.lock()?;
        }
        rewrite.text = rewrite.read()?;
        if rewrite.text.is_some() {
            rewrite.owner()?;
        }
        Ok(rewrite)
    }

    /// The path as it was named.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A text of this file, as the compiler takes it.
    pub(crate) fn layer(&self, text: &str) -> LayerInput {
        LayerInput {
            origin: match self.custody {
                Custody::Machine => Origin::Machine,
                Custody::User => Origin::User,
            },
            source: SourceFile::new(self.path.to_string_lossy(), text),
        }
    }

    /// What stands in the file; `None` where there is none.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Puts a new text in the place of the one that was read.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Problem> {
        if self.lock.is_none() {
            self.lock()?;
        }
        // A link that leads elsewhere now leads to a text that nobody looked at.
        if target(&self.path)? != self.target || self.read()? != self.text {
            return Err(Problem::failed(format!(
                "`{}` was changed by somebody else meanwhile",
                self.path.display()
            ))
            .with_hint("run the command again"));
        }
        let owner = match self.text {
            Some(_) => Some(self.owner()?),
            None => None,
        };
        self.replace(text, owner)
            .map_err(|error| unwritable(&self.path, &error))
    }

    fn read(&self) -> Result<Option<String>, Problem> {
        let Some(read) = policy_file::read(&self.path, self.custody)? else {
            return Ok(None);
        };
        for warning in read.warnings {
            problem::note(format_args!("warning: {warning}"));
        }
        Ok(Some(read.text))
    }

    /// Locks the directory, since the file itself is replaced: two commands never work on one
    /// text. The lock ends with the process at the latest.
    fn lock(&mut self) -> Result<(), Problem> {
        let directory = self.directory();
        let made = match self.custody {
            Custody::Machine => make_public(&directory),
            Custody::User => make_private(&directory),
        };
        let locked = made.and_then(|()| File::open(&directory)).and_then(|file| {
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        });
        self.lock = Some(locked.map_err(|error| unwritable(&directory, &error))?);
        Ok(())
    }

    fn directory(&self) -> PathBuf {
        match self.target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        }
    }

    /// Whose the file is, if that person may write it and this process can keep it theirs.
    fn owner(&self) -> Result<Owner, Problem> {
        let path = self.path.display();
        let metadata =
            fs::metadata(&self.target).map_err(|error| unwritable(&self.path, &error))?;
        if metadata.mode() & 0o200 == 0 {
            return Err(
                Problem::failed(format!("`{path}` is not writable, even by its owner"))
                    .with_hint(format!("`chmod u+w {path}` if it may be changed")),
            );
        }
        let own = rustix::process::geteuid();
        if metadata.uid() != own.as_raw() && !own.is_root() {
            return Err(Problem::failed(format!(
                "`{path}` belongs to user {}, and would no longer after the change",
                metadata.uid()
            ))
            .with_hint("let its owner make the change"));
        }
        Ok(Owner {
            user: metadata.uid(),
            group: metadata.gid(),
            mode: metadata.mode() & 0o7777,
        })
    }

    fn replace(&self, text: &str, owner: Option<Owner>) -> io::Result<()> {
        let directory = self.directory();
        let name = self.target.file_name().unwrap_or_default();
        let prefix = format!(".{}.", name.to_string_lossy());
        // Under the lock: nobody else is between writing such a file and moving it.
        state::remove_left_over(&directory, &prefix, ".new")?;
        let new = directory.join(format!("{prefix}{}.new", std::process::id()));
        let written = self.fill(&new, text, owner);
        if written.is_err() {
            // The failure to write is the one to report.
            let _ = fs::remove_file(&new);
        }
        written?;
        File::open(&directory)?.sync_all()
    }

    fn fill(&self, new: &Path, text: &str, owner: Option<Owner>) -> io::Result<()> {
        let mut file = create_private(new)?;
        file.write_all(text.as_bytes())?;
        let mut mode = 0o644;
        if let Some(owner) = owner {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (owner.user, owner.group) {
                std::os::unix::fs::fchown(&file, Some(owner.user), Some(owner.group))?;
            }
            mode = owner.mode;
        }
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(new, &self.target)
    }
}

/// What a new file has to keep of the old one.
#[derive(Clone, Copy, Debug)]
struct Owner {
    user: u32,
    group: u32,
    mode: u32,
}

/// Where the links of a path lead; the path itself where nothing is there yet.
fn target(path: &Path) -> Result<PathBuf, Problem> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        target => target.map_err(|error| unwritable(path, &error)),
    }
}

/// Makes the directory of the machine's policy, which every user's commands have to read.
fn make_public(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => {
            made.and_then(|()| fs::set_permissions(directory, fs::Permissions::from_mode(0o755)))
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::failed(format!("cannot write `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests;
