//! Where Moat's own files are. Only paths: nothing is read here.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// The policy of the machine's owner; it is no matter of the environment.
pub(crate) const MACHINE_POLICY: &str = "/etc/moat/policy.yaml";

/// The places that belong to the user who runs this program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Places {
    /// `policy.yaml` in `$MOAT_HOME`, else in `$XDG_CONFIG_HOME/moat`.
    pub(crate) user_policy: PathBuf,
    /// `$XDG_STATE_HOME/moat`: records, and what running proxies say about themselves.
    pub(crate) state: PathBuf,
    /// The home directory, where there is one.
    pub(crate) home: Option<PathBuf>,
    /// Where the command was started.
    pub(crate) current: PathBuf,
}

impl Places {
    /// The places as the environment gives them.
    pub(crate) fn from_environment() -> Result<Self, Problem> {
        let current = env::current_dir().map_err(|error| {
            Problem::usage(format!("cannot find the current directory: {error}"))
                .with_hint("change to a directory that exists")
        })?;
        Self::find(|name| env::var_os(name), env::home_dir(), current)
    }

    /// The same from given values.
    pub(crate) fn find(
        variable: impl Fn(&str) -> Option<OsString>,
        home: Option<PathBuf>,
        current: PathBuf,
    ) -> Result<Self, Problem> {
        // The base directory specification: a relative path is ignored.
        let base = |name: &str, below: &str| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .or_else(|| home.as_ref().map(|home| home.join(below)))
                .map(|path| path.join("moat"))
                .ok_or_else(|| no_home(name))
        };
        let config = match variable("MOAT_HOME").filter(|value| !value.is_empty()) {
            Some(value) => absolute("MOAT_HOME", PathBuf::from(value))?,
            None => base("XDG_CONFIG_HOME", ".config")?,
        };
        let state = base("XDG_STATE_HOME", ".local/state")?;
        Ok(Self {
            user_policy: config.join("policy.yaml"),
            state,
            home: home.filter(|home| home.is_absolute()),
            current,
        })
    }

    /// Where the record is kept unless a flag says otherwise.
    pub(crate) fn default_record(&self) -> PathBuf {
        self.state.join("audit.jsonl")
    }

    /// Where running proxies write what they listen on.
    pub(crate) fn running(&self) -> PathBuf {
        self.state.join("run")
    }

    /// A path as typed, from the root: what is kept must hold in every directory.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        self.current.join(path)
    }
}

fn absolute(name: &str, path: PathBuf) -> Result<PathBuf, Problem> {
    if path.is_absolute() {
        return Ok(path);
    }
    Err(Problem::usage(format!(
        "`{name}` is not an absolute path: `{}`",
        path.display()
    ))
    .with_hint(format!("write it from the root, or unset `{name}`")))
}

fn no_home(name: &str) -> Problem {
    Problem::usage("there is no home directory to look for Moat's files in")
        .with_hint(format!("set `HOME` or `{name}` to an absolute path"))
}

#[cfg(test)]
mod tests;
