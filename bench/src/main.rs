//! Measures what a decision, a refusal and an idle tunnel cost.
#![forbid(unsafe_code)]

fn main() {}
