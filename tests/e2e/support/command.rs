//! The commands that judge and check, run to their end.

use std::process::{Command, Output};

use super::moat::{homes, moat};
use super::namespace::Bed;

/// What a command said and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Said {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
        .into()
}

impl Bed {
    /// Runs `moat` with these arguments in the case's directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Said {
        let mut command = moat();
        homes(&mut command, self.directory());
        run(command.args(arguments))
    }

    /// What `moat check` makes of a request under the policy of the last started proxy.
    pub(crate) fn check(&self, request: &str) -> i32 {
        let arguments = ["check", request, "--kind", "net", "--policy", "policy.yaml"];
        let said = self.command(&arguments);
        assert!([0, 2, 3].contains(&said.code), "check {request}: {said:?}");
        said.code
    }

    /// Loads a policy text: the exit code is 64 or it is not.
    pub(crate) fn loads(&self, text: &str) -> Said {
        self.write("loads.yaml", text);
        let url = "https://allowed.test/";
        self.command(&["check", url, "--kind", "net", "--policy", "loads.yaml"])
    }

    /// Loads a policy text that must not load, and gives what was said.
    pub(crate) fn refuses(&self, text: &str) -> String {
        let said = self.loads(text);
        assert_eq!(said.code, 64, "{text}\n{said:?}");
        said.stderr
    }
}
