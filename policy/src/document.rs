//! One policy file, read and understood, before layers come into it.
//!
//! [`crate::parse::parse`] makes a document; everything in it has been checked as far as one file
//! alone can be. It knows nothing of other files, of trust, and of what a preset holds today.

use std::sync::Arc;
use std::time::SystemTime;

use crate::host::Pattern;
use crate::http::HttpRule;
use crate::port::PortSet;
use crate::request::Surface;
use crate::request_text::Asked;
use crate::source::{SourceFile, Span};
use crate::verdict::{Effect, SniRule, TlsRule};

pub(crate) mod written;

/// One policy file.
#[derive(Clone, Debug)]
pub struct Document {
    /// The text.
    pub source: SourceFile,
    /// The defaults that the file sets.
    pub defaults: DocumentDefaults,
    /// Where the file says `exclusive: true`.
    pub exclusive: Option<Span>,
    /// The groups in the order of the file's three lists: allow, deny, ask.
    pub groups: Vec<Group>,
    /// What the file says about sandboxed commands.
    pub sandbox: Option<Sandbox>,
    /// The requests that the file tests itself with.
    pub tests: Vec<Case>,
}

/// A value and where it was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub span: Span,
}

/// The defaults of one file; `None` is not set.
#[derive(Clone, Debug, Default)]
pub struct DocumentDefaults {
    /// Of `net`; never `pass`.
    pub net: Option<Placed<Effect>>,
    /// Of `fetch`; never `pass`.
    pub fetch: Option<Placed<Effect>>,
    /// Of the hook's kinds; `None` as the kind is `*`.
    pub hooks: Vec<(Option<HookKind>, Placed<Effect>)>,
}

/// The kinds that hooks and sandboxes judge.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new kind must be thought about everywhere"
)]
pub enum HookKind {
    /// `fs.read`.
    FsRead,
    /// `fs.write`.
    FsWrite,
    /// `shell`.
    Shell,
    /// `env.read`.
    EnvRead,
    /// `env.set`.
    EnvSet,
    /// `mcp`.
    Mcp,
}

impl HookKind {
    /// The key in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FsRead => "fs.read",
            Self::FsWrite => "fs.write",
            Self::Shell => "shell",
            Self::EnvRead => "env.read",
            Self::EnvSet => "env.set",
            Self::Mcp => "mcp",
        }
    }
}

/// One group under `allow`, `deny` or `ask`.
#[derive(Clone, Debug)]
pub struct Group {
    /// What the group does.
    pub effect: Effect,
    /// Its name, unique in the file.
    pub id: Arc<str>,
    /// Where the name stands.
    pub id_span: Span,
    /// Why it is there.
    pub reason: Option<Arc<str>>,
    /// Its `net` and `fetch` lists.
    pub lists: Vec<GroupList>,
    /// Its other lists.
    pub hooks: Vec<HookList>,
}

/// The `net` or `fetch` list of a group.
#[derive(Clone, Debug)]
pub struct GroupList {
    /// Which of the two.
    pub surface: Surface,
    /// Where its key stands.
    pub span: Span,
    /// The entries in their order.
    pub entries: Vec<GroupEntry>,
}

/// A list of a hook's kind.
#[derive(Clone, Debug)]
pub struct HookList {
    /// Which kind.
    pub kind: HookKind,
    /// Where its key stands.
    pub span: Span,
    /// The patterns as written, none of them empty.
    pub patterns: Vec<Placed<Box<str>>>,
}

/// One entry of a `net` or `fetch` list.
#[derive(Clone, Debug)]
pub struct GroupEntry {
    /// The entry as a person would write it in one word.
    pub text: Box<str>,
    /// Where it stands.
    pub span: Span,
    /// What it means.
    pub body: EntryBody,
}

/// What an entry names.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the compiler and the linter must know each of them"
)]
pub enum EntryBody {
    /// Hosts or addresses.
    Host(HostEntry),
    /// `!`: hosts or addresses that the rest of the list does not mean.
    Exclusion {
        /// Which.
        pattern: Pattern,
        /// On which ports; `None` for every port.
        ports: Option<PortSet>,
    },
    /// A list that Moat knows.
    Preset {
        /// Its name, which exists.
        name: Arc<str>,
        /// When the entry ends.
        until: Option<SystemTime>,
    },
}

/// Hosts or addresses with their conditions.
#[derive(Clone, Debug)]
pub struct HostEntry {
    /// Which.
    pub pattern: Pattern,
    /// On which ports; `None` for the default of the group's effect.
    pub ports: Option<PortSet>,
    /// Methods and paths; `None` where the entry sets neither.
    pub http: Option<HttpRule>,
    /// Whether a tunnel must speak TLS.
    pub tls: Option<TlsRule>,
    /// What the server name is held against.
    pub sni: Option<SniRule>,
    /// When the entry ends.
    pub until: Option<SystemTime>,
}

/// What a file says about sandboxed commands.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    /// Paths that may be read.
    pub read: Vec<Placed<Box<str>>>,
    /// Paths that may be written.
    pub write: Vec<Placed<Box<str>>>,
    /// Environment variables that reach the command.
    pub env: Vec<Placed<Box<str>>>,
    /// Unix sockets that stay reachable.
    pub unix_sockets: Vec<Placed<Box<str>>>,
    /// Credential files that stay readable.
    pub credentials: Vec<Placed<Box<str>>>,
    /// The most memory, as written.
    pub memory: Option<Placed<Box<str>>>,
    /// The most processes.
    pub processes: Option<u32>,
    /// The most open files of one process.
    pub open_files: Option<u32>,
    /// How long the command may run, as written.
    pub lifetime: Option<Placed<Box<str>>>,
    /// The weakest tier that will do.
    pub require: Option<Placed<Box<str>>>,
}

/// One row of `tests:`.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is asked, as written.
    pub text: Box<str>,
    /// Where it stands.
    pub span: Span,
    /// What is asked.
    pub asked: Asked,
    /// Which list judges it.
    pub surface: Surface,
    /// The effect that it must have.
    pub expect: Effect,
}
