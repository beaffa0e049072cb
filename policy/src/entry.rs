//! The entries of a policy as the matcher takes them: what `compile` makes and `policy` files.

mod error;
mod piece;
mod text;

pub use error::{EntryError, EntryErrorKind};
pub(crate) use piece::Piece;
pub(crate) use text::parse_host;
pub use text::{MAX_ENTRY_BYTES, ParsedEntry, parse, parse_ports};

use std::sync::Arc;
use std::time::SystemTime;

use crate::host::Pattern;
use crate::http::HttpRule;
use crate::port::PortSet;
use crate::request::Surface;
use crate::verdict::{Effect, Layer, Rule, SniRule, TlsRule};

/// One list of one group: `net` or `fetch` under an id in `allow`, `deny` or `ask`.
#[derive(Clone, Debug)]
pub struct EntryList {
    /// What the list's group does.
    pub effect: Effect,
    /// The layer of its file.
    pub layer: Layer,
    /// `net` or `fetch`. A `net` list covers `fetch` requests too, never the reverse.
    pub surface: Surface,
    /// What matches; never empty.
    pub entries: Vec<Entry>,
    /// What the list's `!` strings take out of it again, whatever the order.
    pub exclusions: Vec<Exclusion>,
}

/// One positive entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which hosts.
    pub pattern: Pattern,
    /// Which ports, defaults filled in.
    pub ports: PortSet,
    /// Which methods and paths; `None` where the entry sets neither.
    pub http: Option<HttpRule>,
    /// Whether a tunnel must speak TLS; `None` for the default of the port.
    pub tls: Option<TlsRule>,
    /// What the server name is held against; `None` for the default.
    pub sni: Option<SniRule>,
    /// When the entry ends.
    pub until: Option<SystemTime>,
    /// What a verdict names.
    pub rule: Arc<Rule>,
}

/// One `!` entry.
#[derive(Clone, Debug)]
pub struct Exclusion {
    /// Which hosts.
    pub pattern: Pattern,
    /// Which ports, defaults filled in (every port).
    pub ports: PortSet,
}
