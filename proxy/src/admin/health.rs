//! How the proxy is: what `/readyz` answers, for people and for `moat status`.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::audit::timestamp;
use crate::config::{AuditTo, Mode};
use crate::worker::Shared;

/// The whole answer; also the shape of its JSON.
#[derive(Debug, Serialize)]
pub(super) struct Health {
    /// Every listener accepts, and no drain has begun.
    pub(super) ready: bool,
    /// `running`, `starting` or `draining`.
    phase: &'static str,
    /// `enforce` or `observe`.
    mode: &'static str,
    version: &'static str,
    started: String,
    policy: PolicyHealth,
    audit: AuditHealth,
    connections: ConnectionHealth,
}

#[derive(Debug, Serialize)]
struct PolicyHealth {
    generation: u64,
    digest: Arc<str>,
    /// When it was last loaded without an error.
    loaded: String,
    /// How many reloads failed.
    failures: u64,
    /// Why the last reload failed, if it did.
    error: Option<Arc<str>>,
}

#[derive(Debug, Serialize)]
struct AuditHealth {
    /// `file`, `stdout` or `off`.
    to: &'static str,
    failing: bool,
    queued: u64,
    written: u64,
    lost: u64,
}

#[derive(Debug, Serialize)]
struct ConnectionHealth {
    open: usize,
    limit: usize,
}

impl Health {
    /// As it is now.
    pub(super) fn take(shared: &Shared) -> Self {
        let loaded = shared.policy.load();
        let record = shared.recorder.health();
        Self {
            ready: shared.stage.is_serving(),
            phase: shared.stage.as_str(),
            mode: match shared.config.mode {
                Mode::Enforce => "enforce",
                Mode::Observe => "observe",
            },
            version: env!("CARGO_PKG_VERSION"),
            started: timestamp(shared.started),
            policy: PolicyHealth {
                generation: loaded.generation,
                digest: Arc::clone(loaded.policy.digest()),
                loaded: timestamp(shared.reloads.last_good()),
                failures: shared.reloads.failures(),
                error: shared.reloads.error(),
            },
            audit: AuditHealth {
                to: match shared.config.audit {
                    AuditTo::File(_) => "file",
                    AuditTo::Stdout => "stdout",
                    AuditTo::Off => "off",
                },
                failing: record.is_failing(),
                queued: record.queued(),
                written: record.written(),
                lost: record.lost(),
            },
            connections: ConnectionHealth {
                open: shared.connections.open(),
                limit: shared.connections.limit(),
            },
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", if self.ready { "ready" } else { self.phase })?;
        let policy = &self.policy;
        writeln!(
            f,
            "policy: generation {}, digest {}, loaded {}",
            policy.generation, policy.digest, policy.loaded
        )?;
        if let Some(error) = &policy.error {
            writeln!(f, "the last reload failed, the policy before is in force:")?;
            for line in error.lines() {
                writeln!(f, "  {line}")?;
            }
        }
        if self.mode == "observe" {
            writeln!(f, "mode: observe, UNENFORCED")?;
        }
        let audit = &self.audit;
        let state = if audit.failing { "failing" } else { "written" };
        writeln!(f, "record: {}, {state}, {} lost", audit.to, audit.lost)?;
        writeln!(
            f,
            "connections: {} of {}",
            self.connections.open, self.connections.limit
        )
    }
}
