//! Address classes, and which of them are guarded.

pub(crate) mod range;

use std::fmt;

/// Why an address is not an ordinary public one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum AddressClass {
    /// 127.0.0.0/8 and `::1` (RFC 1122, RFC 4291).
    Loopback,
    /// 169.254.0.0/16 and `fe80::/10` (RFC 3927, RFC 4291).
    LinkLocal,
    /// 10/8, 172.16/12, 192.168/16, `fc00::/7`, `fec0::/10` (RFC 1918, RFC 4193, RFC 3879).
    Private,
    /// 100.64.0.0/10 (RFC 6598).
    Shared,
    /// 198.18.0.0/15 (RFC 2544).
    Benchmarking,
    /// 192.0.2.0/24 and its like (RFC 5737, RFC 3849).
    Documentation,
    /// 192.0.0.0/24, 240.0.0.0/4, IPv6 outside `2000::/3` (RFC 6890).
    Reserved,
    /// A cloud's metadata service.
    Metadata,
    /// An address of this host's own interfaces.
    Own,
    /// 0.0.0.0/8 and `::`; no entry opens it.
    Unspecified,
    /// 255.255.255.255; no entry opens it.
    Broadcast,
    /// 224.0.0.0/4 and `ff00::/8`; no entry opens it.
    Multicast,
    /// A listener of this proxy; no entry opens it.
    Listener,
}

impl AddressClass {
    /// The words used in messages and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Private => "private",
            Self::Shared => "shared",
            Self::Benchmarking => "benchmarking",
            Self::Documentation => "documentation",
            Self::Reserved => "reserved",
            Self::Metadata => "cloud metadata",
            Self::Own => "own",
            Self::Unspecified => "unspecified",
            Self::Broadcast => "broadcast",
            Self::Multicast => "multicast",
            Self::Listener => "own listener",
        }
    }

    /// Whether an address entry can open an address of this class at all.
    pub const fn is_openable(self) -> bool {
        !matches!(
            self,
            Self::Unspecified | Self::Broadcast | Self::Multicast | Self::Listener
        )
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
