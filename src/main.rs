//! The `moat` binary: grammar, wiring and output.
fn main() {}
