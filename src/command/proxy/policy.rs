//! The installed policy files, as the proxy asks for them at its start and on each reload.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use moat_policy::policy::Policy;
use moat_policy::preset::{self, Access, PresetEntry};
use moat_proxy::{LoadError, PolicySource};

use crate::layers::{Layers, Loaded};
use crate::problem::{self, Problem, note};
use crate::state::RunFile;

/// Reads the layers anew each time it is asked.
#[derive(Debug)]
pub(super) struct InstalledPolicy {
    layers: Layers,
    /// The files that existed at the last successful load.
    present: Mutex<Vec<PathBuf>>,
    /// Where other commands read which files these are.
    run_file: Mutex<Option<RunFile>>,
    /// Why the last load failed, with excerpts.
    failure: Mutex<Option<Problem>>,
}

impl InstalledPolicy {
    pub(super) fn new(layers: Layers) -> Self {
        Self {
            layers,
            present: Mutex::default(),
            run_file: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    /// The files that existed at the last successful load; none for the built-in default.
    pub(super) fn present_files(&self) -> Vec<PathBuf> {
        self.present
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Why the last load failed, as a person at a terminal wants to see it.
    pub(super) fn take_failure(&self) -> Option<Problem> {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Keeps the run file in step with what is loaded; `None` removes it.
    pub(super) fn set_run_file(&self, file: Option<RunFile>) {
        *self.run_file.lock().unwrap_or_else(PoisonError::into_inner) = file;
    }

    /// Says which files hold, or what the built-in default allows.
    pub(super) fn announce(&self) -> Result<(), Problem> {
        let files = self.present_files();
        for file in &files {
            note(format_args!("policy: {}", file.display()));
        }
        if files.is_empty() {
            note("policy: built-in default, since there is no policy file; it allows");
            for line in built_in_lines()? {
                note(line);
            }
            note("everything else is refused; `moat allow HOST` begins a policy of your own");
        }
        Ok(())
    }

    /// Refuses to go on without a file that was there: its denies would be gone with it, and what
    /// takes its place may allow more. A start takes what it finds.
    fn complete(&self, loaded: Loaded) -> Result<Loaded, Problem> {
        let before = self.present_files();
        match before.iter().find(|file| !loaded.files.contains(file)) {
            None => Ok(loaded),
            Some(gone) => Err(Problem::usage(format!(
                "the policy file `{}` is gone",
                gone.display()
            ))
            .with_hint("put it back, or start the proxy anew to go on without it")),
        }
    }

    fn remember(&self, loaded: &Loaded) {
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        let (shown, more) = problem::shown(&loaded.compiled.warnings);
        for finding in shown {
            tracing::warn!("{finding}");
        }
        if let Some(more) = more {
            tracing::warn!("{more}");
        }
        self.present
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(&loaded.files);
        let mut run_file = self.run_file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = run_file.as_mut()
            && let Err(error) = file.set_policy(&loaded.files)
        {
            tracing::warn!("`moat status` shows old policy files: {error}");
        }
    }
}

impl PolicySource for InstalledPolicy {
    fn load(&self) -> Result<Arc<Policy>, LoadError> {
        let loaded = self.layers.load().and_then(|loaded| self.complete(loaded));
        let loaded = loaded.map_err(|problem| {
            let error = LoadError(problem.summary());
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
            error
        })?;
        self.remember(&loaded);
        Ok(Arc::new(loaded.compiled.policy))
    }

    fn files(&self) -> Vec<PathBuf> {
        self.layers.files()
    }
}

/// What the built-in default allows: a line for each preset in it, its hosts in their order.
/// A host where something can be left behind is marked.
fn built_in_lines() -> Result<Vec<String>, Problem> {
    let default = preset::find("default")
        .map_err(|error| Problem::failed(format!("cannot list the built-in default: {error}")))?;
    let mut lines = Vec::new();
    for entries in default
        .entries
        .chunk_by(|before, after| before.preset == after.preset)
    {
        let hosts: Vec<String> = entries.iter().map(host).collect();
        if let Some(first) = entries.first() {
            lines.push(format!("  {}: {}", first.preset, hosts.join(", ")));
        }
    }
    Ok(lines)
}

fn host(entry: &PresetEntry) -> String {
    match entry.access {
        Access::Read => entry.entry(),
        Access::Write => format!("{} (write)", entry.entry()),
    }
}

#[cfg(test)]
mod tests;
