//! Real programs as clients: found, given a clean environment and the way to the proxy.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::moat::{Moat, homes};
use super::namespace::Bed;
use super::skip;

/// The client libraries that `tests/run.sh` installs.
fn tools() -> PathBuf {
    let set = std::env::var_os("MOAT_TEST_TOOLS").map(PathBuf::from);
    set.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools")))
}

/// Python with the client libraries, else the system's, which may have a YAML reader too.
pub(crate) fn python() -> PathBuf {
    let own = tools().join("venv/bin/python");
    if own.exists() { own } else { "python3".into() }
}

impl Bed {
    /// A program of this machine with a home of its own, or a skipped case.
    pub(crate) fn program(&self, name: &str) -> Option<Command> {
        let Some(path) = skip::program(name) else {
            skip::skip(&self.name, &format!("{name} is not installed"));
            return None;
        };
        Some(self.clean(path))
    }

    /// A program among the client libraries, or a skipped case.
    pub(crate) fn tool(&self, path: &str) -> Option<Command> {
        let path = tools().join(path);
        if !path.exists() {
            skip::skip(&self.name, &format!("{} is not installed", path.display()));
            return None;
        }
        Some(self.clean(path))
    }

    /// Node with the client libraries on its path, or a skipped case.
    pub(crate) fn node(&self) -> Option<Command> {
        let modules = tools().join("node/node_modules");
        if !modules.join("undici").exists() {
            skip::skip(&self.name, "the Node libraries are not installed");
            return None;
        }
        let mut node = self.program("node")?;
        node.env("NODE_PATH", modules);
        Some(node)
    }

    /// Another command of the same kind: clean, at home in the case's directory.
    pub(crate) fn clean(&self, program: impl Into<PathBuf>) -> Command {
        let mut command = Command::new(program.into());
        command.env_clear().env("LC_ALL", "C.UTF-8");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        homes(&mut command, self.directory());
        command.stdin(Stdio::null());
        command
    }

    /// The authority's certificate as a file.
    pub(crate) fn authority_file(&self) -> PathBuf {
        self.write("authority.pem", &self.authority.certificate)
    }
}

/// A server that is a program; it ends with its owner.
pub(crate) struct Server(Child);

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn();
        Self(child.unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Points a program at the proxy by the variables that programs read.
pub(crate) fn through<'c>(command: &'c mut Command, moat: &Moat) -> &'c mut Command {
    let url = format!("http://{}", moat.address());
    for name in [
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ] {
        command.env(name, &url);
    }
    command
}
