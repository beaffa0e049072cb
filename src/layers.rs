//! Which policy files hold here, and what they come to together.
//!
//! The machine's file is always one of them. The user's file, and for commands that know a
//! project its `.moat.yaml`, are the others, unless `--policy` names files in their place. Where
//! there is neither a machine's nor a user's policy the built-in default stands in.

use std::fs;
use std::path::{Path, PathBuf};

use moat_policy::compile::{Compiled, built_in, compile};
use moat_policy::layer::{LayerInput, Origin};
use moat_policy::source::SourceFile;

use crate::places::{MACHINE_POLICY, Places};
use crate::policy_file::{self, Custody};
use crate::problem::{Problem, note, report_findings};

/// A project's policy file, at its git root.
const PROJECT_POLICY: &str = ".moat.yaml";

/// The files of a policy, before they are read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Layers {
    machine: PathBuf,
    user: User,
    project: Option<PathBuf>,
}

/// What stands in the user's layer.
#[derive(Clone, Debug, Eq, PartialEq)]
enum User {
    /// The user's own file, which need not exist.
    Installed(PathBuf),
    /// The files that the command line names, which must exist.
    Named(Vec<PathBuf>),
}

/// All texts of a policy, and what is to be known of their files.
#[derive(Debug)]
pub(crate) struct Texts {
    /// The most trusted first.
    pub(crate) inputs: Vec<LayerInput>,
    /// The files that exist, in the same order; none for the built-in default alone.
    pub(crate) files: Vec<PathBuf>,
    /// Permissions that somebody should look at.
    pub(crate) warnings: Vec<String>,
}

impl Layers {
    /// The files of a proxy, which knows no project. Named files are remembered from the root.
    pub(crate) fn of_proxy(places: &Places, named: &[PathBuf]) -> Self {
        let named = named.iter().map(|path| places.resolve(path)).collect();
        Self::new(places, named, None)
    }

    /// The files of a command that is used in a project.
    pub(crate) fn of_command(places: &Places, named: &[PathBuf]) -> Result<Self, Problem> {
        let project = if named.is_empty() {
            project_root(places)?.map(|root| root.join(PROJECT_POLICY))
        } else {
            None
        };
        Ok(Self::new(places, named.to_vec(), project))
    }

    fn new(places: &Places, named: Vec<PathBuf>, project: Option<PathBuf>) -> Self {
        Self {
            machine: PathBuf::from(MACHINE_POLICY),
            user: if named.is_empty() {
                User::Installed(places.user_policy.clone())
            } else {
                User::Named(named)
            },
            project,
        }
    }

    /// Every file that is read if it exists.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.machine.clone()];
        match &self.user {
            User::Installed(path) => files.push(path.clone()),
            User::Named(paths) => {
                let others = paths.iter().filter(|path| **path != self.machine);
                files.extend(others.cloned());
            }
        }
        files.extend(self.project.clone());
        files
    }

    /// Reads every file. Only plain absence of a file that need not exist is no error.
    pub(crate) fn read(&self) -> Result<Texts, Problem> {
        let mut texts = Texts {
            inputs: Vec::new(),
            files: Vec::new(),
            warnings: Vec::new(),
        };
        let machine = texts.add(Origin::Machine, &self.machine)?;
        match &self.user {
            User::Installed(path) => {
                texts.add(Origin::User, path)?;
            }
            User::Named(paths) => {
                for path in paths {
                    // Named or not, the machine's file is the machine's.
                    let is_read = *path == self.machine && machine == Found::Present;
                    if !is_read && texts.add(Origin::User, path)? == Found::Absent {
                        return Err(missing(path));
                    }
                }
            }
        }
        if texts.inputs.is_empty() {
            texts.inputs.push(built_in());
        }
        if let Some(path) = &self.project {
            texts.add(Origin::UntrustedProject, path)?;
        }
        Ok(texts)
    }

    /// Reads and compiles all of it. All errors of meaning at once.
    pub(crate) fn load(&self) -> Result<Loaded, Problem> {
        let texts = self.read()?;
        Ok(Loaded {
            compiled: compile(texts.inputs).map_err(Problem::policy)?,
            files: texts.files,
            warnings: texts.warnings,
        })
    }
}

/// A policy that holds, and what is to be known of its files.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The policy, what it was made of, and the findings about that.
    pub(crate) compiled: Compiled,
    /// The files that exist; none for the built-in default alone.
    pub(crate) files: Vec<PathBuf>,
    /// Permissions that somebody should look at.
    pub(crate) warnings: Vec<String>,
}

impl Loaded {
    /// Writes what somebody should look at to standard error.
    pub(crate) fn report(&self) {
        for warning in &self.warnings {
            note(format_args!("warning: {warning}"));
        }
        report_findings(&self.compiled.warnings);
    }
}

/// Whether a file was there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Found {
    Present,
    Absent,
}

impl Texts {
    fn add(&mut self, origin: Origin, path: &Path) -> Result<Found, Problem> {
        let custody = match origin {
            Origin::Machine => Custody::Machine,
            Origin::UntrustedProject | Origin::TrustedProject | Origin::User | Origin::Bundle => {
                Custody::User
            }
        };
        let Some(read) = policy_file::read(path, custody)? else {
            return Ok(Found::Absent);
        };
        self.warnings.extend(read.warnings);
        self.files.push(path.to_owned());
        self.inputs.push(LayerInput {
            origin,
            source: SourceFile::new(path.to_string_lossy(), &read.text),
        });
        Ok(Found::Present)
    }
}

/// The git root that the current directory is in. The home directory and what is above it are
/// nobody's project: a file there would hold everywhere.
fn project_root(places: &Places) -> Result<Option<PathBuf>, Problem> {
    let home = places.home.as_deref();
    let home = home.map(|home| fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()));
    for directory in places.current.ancestors() {
        let is_home_or_above = home
            .as_deref()
            .is_some_and(|home| home.starts_with(directory));
        if is_home_or_above || directory.parent().is_none() {
            return Ok(None);
        }
        let mark = directory.join(".git");
        let found = mark.try_exists().map_err(|error| {
            Problem::usage(format!("cannot look for `{}`: {error}", mark.display()))
                .with_hint("name the policy with `--policy`")
        })?;
        if found {
            return Ok(Some(directory.to_owned()));
        }
    }
    Ok(None)
}

fn missing(path: &Path) -> Problem {
    Problem::usage(format!("there is no policy file `{}`", path.display()))
        .with_hint("check the path; it is read from the directory that the command runs in")
}

#[cfg(test)]
mod tests;
