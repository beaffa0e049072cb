//! Invariants of the architecture that a test can hold.
