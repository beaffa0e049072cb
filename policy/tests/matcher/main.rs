//! The compiled matcher holds what a naive one says, which asks every entry in turn.

mod agreement;
mod generate;
mod naive;
mod property;
