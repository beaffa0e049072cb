//! The pattern grammar of entries.

use ipnet::IpNet;

use super::HostName;

/// Which hosts an entry matches.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the table files each of them in its own place"
)]
pub enum Pattern {
    /// This name alone.
    Exact(HostName),
    /// `*.tail`: one or more labels in front of the tail.
    Below(HostName),
    /// `**.tail`: the tail itself and everything below it.
    AtOrBelow(HostName),
    /// A name in which other `*` stand: each is one or more characters inside one label.
    /// The text is normalised (lower case, IDNA), a leading `*.` or `**.` included.
    Glob(Box<str>),
    /// `*`: any name, never an address.
    AnyName,
    /// An address or a range of addresses.
    Range(IpNet),
    /// `localhost`: 127.0.0.1 and `::1`.
    Localhost,
}
