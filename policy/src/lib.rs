//! What is allowed, and the record of what was decided.
//!
//! This crate is pure: it opens no file and no socket, starts no process, has no runtime and no
//! global state. The same policy and the same request give the same verdict in the proxy, in a
//! hook and in a sandbox plan. Text comes in as [`source::SourceFile`], time as
//! [`request::Request::now`].
#![forbid(unsafe_code)]

pub mod address;
pub mod case;
pub mod compile;
pub mod diagnostic;
pub mod document;
pub mod edit;
pub mod entry;
pub mod explain;
pub mod fuzz;
pub mod gate;
pub mod host;
pub mod http;
pub mod layer;
pub mod lint;
pub mod parse;
pub mod policy;
pub mod port;
pub mod preset;
pub mod record;
pub mod request;
pub mod request_text;
pub mod schema;
mod shape;
pub mod source;
pub mod verdict;
