//! Measures what a decision, a refusal and an idle tunnel cost.
fn main() {}
