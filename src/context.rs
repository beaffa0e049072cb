//! What a command may use of the world around it.

use std::time::SystemTime;

use crate::output::Output;
use crate::places::Places;
use crate::problem::Problem;

/// Handed to every command.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// Where the result goes.
    pub(crate) output: &'a mut Output,
    /// Where Moat's files are.
    pub(crate) places: Places,
    /// The time that everything in this command is judged at.
    pub(crate) now: SystemTime,
}

impl<'a> Context<'a> {
    /// The context of a command that a person or a script started.
    pub(crate) fn from_environment(output: &'a mut Output) -> Result<Self, Problem> {
        Ok(Self {
            output,
            places: Places::from_environment()?,
            now: SystemTime::now(),
        })
    }
}
