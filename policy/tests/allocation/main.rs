//! A decision allocates nothing where it allows, refuses or asks, whatever the policy.

#[cfg(test)]
mod sys;

#[cfg(test)]
mod decision;
