//! The `moat` binary: grammar, wiring and output.
#![forbid(unsafe_code)]

fn main() {}
