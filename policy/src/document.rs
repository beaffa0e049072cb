//! The policy language as types.
