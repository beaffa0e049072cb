//! Where policies come from, as seen by the proxy.

use std::path::PathBuf;
use std::sync::Arc;

use moat_policy::policy::Policy;

/// A policy could not be loaded. The text is for people: every problem, one line or more each.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub String);

/// Gives the policy at the start and on each reload.
pub trait PolicySource: Send + Sync {
    /// Reads, checks and compiles all layers anew.
    fn load(&self) -> Result<Arc<Policy>, LoadError>;

    /// The files whose change means a reload; their directories are watched.
    fn files(&self) -> Vec<PathBuf>;
}
