//! The test bed: a network namespace per case, stub servers inside it, and the built binary.

pub(crate) mod client;
pub(crate) mod command;
pub(crate) mod dns;
pub(crate) mod doors;
pub(crate) mod moat;
pub(crate) mod namespace;
pub(crate) mod origin;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod skip;
pub(crate) mod socket;
pub(crate) mod tls;
pub(crate) mod trap;
pub(crate) mod tunnels;
pub(crate) mod wait;

pub(crate) use moat::Moat;
pub(crate) use namespace::{Bed, bed};
