//! The compiled matcher holds what a naive one says, which asks every entry in turn.

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod crowded;
#[cfg(test)]
mod generate;
#[cfg(test)]
mod naive;
#[cfg(test)]
mod property;
