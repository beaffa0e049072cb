//! The text that a policy file begins with when a command creates it.

/// What holds without a file, written down, so that adding one entry takes nothing away.
pub const TEXT: &str = "\
# What may leave this machine. `moat lint` checks this file, `moat edit` opens it.
version: 1
allow:
  # This group is what holds when no policy file exists: package registries, GitHub, model APIs
  # and documentation. `moat preset show default` lists its hosts; without the group, only what
  # stands below is allowed.
  - id: default
    reason: what a coding agent needs to install and build
    net:
      - preset: default
";
