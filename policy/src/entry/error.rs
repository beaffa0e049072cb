//! What is wrong with the text of an entry, and where in it.

use std::ops::Range;

/// The kinds of fault that the text of an entry can have.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum EntryErrorKind {
    /// Nothing where a host or an address belongs.
    Empty,
    /// More bytes than an entry or a name may have.
    TooLong,
    /// A byte or character that no entry holds, among them spaces.
    Character,
    /// A URL, a path or user information in place of a host.
    Url,
    /// Wildcards of other languages: `?`, `[…]`, `{…}`.
    ForeignWildcard,
    /// A `*` or `**` where neither can stand.
    Star,
    /// Two dots in a row, or a dot at the front.
    EmptyLabel,
    /// A name that UTS-46 cannot convert.
    Idna,
    /// An IPv4 address in a spelling that parsers read differently, or with wildcards.
    LegacyAddress,
    /// Something that is meant as an address and is none.
    Address,
    /// A prefix length that no address has.
    Prefix,
    /// A range whose address has bits after its prefix.
    HostBits,
    /// A name below `localhost`.
    BelowLocalhost,
    /// Ports that cannot be read.
    Ports,
    /// `!` where no exclusion can stand.
    Exclusion,
}

/// Why a text is no entry: the fault, its place and what to write in its stead.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct EntryError {
    /// What kind of fault.
    pub kind: EntryErrorKind,
    /// The bytes of the entry's text that are wrong; never past its end.
    pub range: Range<usize>,
    /// What is wrong: lower case, no full stop, the entry's text in backticks.
    pub message: String,
    /// What to write instead.
    pub help: String,
}
