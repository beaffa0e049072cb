//! Documents to a policy.
