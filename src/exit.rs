//! The exit codes, a contract with scripts. Nothing else in this binary chooses one.

use std::process::ExitCode;

/// What a command came to.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Exit {
    /// It went well; of `check`: allow.
    Ok,
    /// The operation failed, or the check it made did.
    Failed,
    /// Of `check`: deny.
    Deny,
    /// Of `check`: ask or pass.
    Ask,
    /// The command line, the configuration or the policy is wrong.
    Usage,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Deny => 2,
            Self::Ask => 3,
            Self::Usage => 64,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
