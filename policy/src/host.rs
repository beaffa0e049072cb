//! Hosts: the only normalised host name, the patterns that match it, and the table that finds
//! the patterns of a name in time that does not grow with their number.

mod glob;
pub mod name;
pub mod pattern;
pub(crate) mod relation;
pub(crate) mod table;

pub(crate) use glob::TooManyGlobs;
pub use name::{Host, HostError, HostName};
pub use pattern::Pattern;
