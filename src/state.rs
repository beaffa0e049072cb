//! The state directory: what running proxies say about themselves, for the commands that ask.
//!
//! Each proxy writes `run/<pid>.json`, readable by its user alone, and removes it at its end.
//! A file that a killed proxy left behind is recognised by its process and ignored.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// The largest run file that is read: far more than any proxy writes.
const MAX_RUN_FILE: u64 = 1 << 20;

/// One running proxy.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Running {
    /// The process.
    pub(crate) pid: u32,
    /// When it started, RFC 3339 in UTC.
    pub(crate) started: String,
    /// The kernel's start time of the process: a process id is used again, this pair is not.
    pub(crate) start_ticks: Option<u64>,
    /// The version of Moat.
    pub(crate) version: String,
    /// What clients connect to, such as `http://127.0.0.1:3128`.
    pub(crate) listeners: Vec<String>,
    /// The admin listener.
    pub(crate) admin: Option<std::net::SocketAddr>,
    /// The record file; absent when records go elsewhere.
    pub(crate) record: Option<PathBuf>,
    /// The policy files that it reads; empty for the built-in default.
    pub(crate) policy: Vec<PathBuf>,
    /// Whether it observes instead of enforcing.
    pub(crate) observe: bool,
}

/// A written run file; dropping it removes the file.
#[derive(Debug)]
pub(crate) struct RunFile {
    path: PathBuf,
    running: Running,
}

impl RunFile {
    /// Writes the file of this process into the directory, which is made if need be.
    pub(crate) fn write(directory: &Path, running: Running) -> io::Result<Self> {
        make_private(directory)?;
        let path = directory.join(format!("{}.json", running.pid));
        let file = Self { path, running };
        file.put()?;
        Ok(file)
    }

    /// Says which policy files are read from now on.
    pub(crate) fn set_policy(&mut self, files: &[PathBuf]) -> io::Result<()> {
        if self.running.policy == files {
            return Ok(());
        }
        self.running.policy = files.to_vec();
        self.put()
    }

    /// Writes a new file and puts it in place of the old one, so that no reader sees half of it.
    fn put(&self) -> io::Result<()> {
        let new = self.path.with_extension("json.new");
        let mut file = create_private(&new)?;
        file.write_all(&serde_json::to_vec(&self.running)?)?;
        file.write_all(b"\n")?;
        fs::rename(&new, &self.path)
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // A file that cannot be removed is recognised as stale by its process.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes a directory, and those above it, for this user alone.
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// Makes a file of this process for this user alone. What stands there was left over by a killed
/// process with the same id, which in containers is often the same.
pub(crate) fn create_private(path: &Path) -> io::Result<fs::File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Removes the files of this user between whose prefix and suffix stands the id of a process that
/// is no more: a killed one could not do it itself.
pub(crate) fn remove_left_over(directory: &Path, prefix: &str, suffix: &str) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.strip_prefix(prefix)?.strip_suffix(suffix))
            .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|pid| pid.parse().ok());
        if pid.is_none_or(exists) {
            continue;
        }
        let metadata = entry.metadata()?;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if is_ours && metadata.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The proxies that run now, the newest first. What is no run file or stale is left out.
pub(crate) fn running(directory: &Path) -> io::Result<Vec<Running>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            found.extend(read(&path).filter(is_alive));
        }
    }
    found.sort_by(|a: &Running, b| b.started.cmp(&a.started).then(b.pid.cmp(&a.pid)));
    Ok(found)
}

/// The proxy with this process id, or the only one that runs.
pub(crate) fn one(directory: &Path, pid: Option<u32>) -> Result<Running, Problem> {
    let mut all = running(directory).map_err(|error| unreadable(directory, &error))?;
    if let Some(pid) = pid {
        all.retain(|running| running.pid == pid);
    }
    match (all.pop(), pid) {
        (Some(running), _) if all.is_empty() => Ok(running),
        (Some(_), _) => Err(Problem::usage("several proxies run")
            .with_hint("`moat status` lists them; choose one with `--pid PID`")),
        (None, Some(pid)) => Err(not_running(pid)),
        (None, None) => Err(nobody()),
    }
}

/// The answer where one proxy is meant and it does not run.
pub(crate) fn not_running(pid: u32) -> Problem {
    Problem::failed(format!("no proxy of this user runs as process {pid}"))
        .with_hint("`moat status` lists those that run")
}

/// The answer where a proxy is needed and none runs.
pub(crate) fn nobody() -> Problem {
    Problem::failed("no proxy of this user runs").with_hint("start one with `moat proxy`")
}

/// The directory of run files cannot be read.
pub(crate) fn unreadable(directory: &Path, error: &io::Error) -> Problem {
    Problem::failed(format!("cannot read `{}`: {error}", directory.display()))
}

/// The kernel's start time of a process, in clock ticks since boot.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may itself hold parentheses and spaces. After the
    // last one come the fields from the third on; the start time is the 22nd.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// A run file of this user or of root that nobody else can write: what is in it is evaluated by
/// shells and dialled.
fn read(path: &Path) -> Option<Running> {
    let file = fs::File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_ours = [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
    if !is_ours || metadata.mode() & 0o022 != 0 || !metadata.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_RUN_FILE).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn is_alive(running: &Running) -> bool {
    exists(running.pid) && running.start_ticks == start_ticks(running.pid)
}

/// Whether a process has this id.
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

#[cfg(test)]
mod tests;
