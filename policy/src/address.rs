//! Address classes, and which of them are guarded.
//!
//! It knows addresses only: which of them a host owns or a proxy listens on is known to the caller,
//! and whether an entry opens one is the policy's part.

mod embedded;
pub(crate) mod range;
pub(crate) mod table;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::host::HostName;

pub(crate) use embedded::{Embedded, canonical};

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

/// The guarded class of an address, of it and of every IPv4 address inside it: the one that is
/// hardest to open. `None` for an ordinary public address.
pub fn classify(address: IpAddr) -> Option<AddressClass> {
    let outer = canonical(address);
    let inner = Embedded::of(outer).map(|inner| class_of(inner.into()));
    std::iter::once(class_of(outer))
        .chain(inner)
        .flatten()
        .reduce(|worst, class| match (severity(worst), severity(class)) {
            (old, new) if new > old => class,
            _ => worst,
        })
}

/// The address that the names of metadata services lead to.
pub(crate) const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// Whether a host name is that of a cloud's metadata service.
pub fn is_metadata_name(name: &HostName) -> bool {
    matches!(name.as_str(), "metadata.google.internal" | "metadata.goog")
}

/// Whether a host name is `localhost` or below it, which is the loopback address by definition
/// (RFC 6761, section 6.3).
pub fn is_localhost_name(name: &HostName) -> bool {
    let text = name.as_str();
    text == "localhost" || text.ends_with(".localhost")
}

/// Every address that a connection to this one may arrive at: the one that the kernel dials, and
/// each IPv4 address inside it.
pub fn readings(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let outer = canonical(address);
    std::iter::once(outer).chain(Embedded::of(outer).map(IpAddr::V4))
}

/// The addresses that entries have to name to open this one: itself, and each guarded IPv4 address
/// inside it.
pub(crate) fn to_open(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let inner = Embedded::of(canonical(address)).map(IpAddr::V4);
    std::iter::once(address).chain(inner.filter(|inner| class_of(*inner).is_some()))
}

/// Whether a range lies wholly in a class that no entry opens, or is one address with such a one
/// inside, so that an allow entry for it is dead.
pub(crate) fn is_never_openable(range: &IpNet) -> Option<AddressClass> {
    if range.prefix_len() == range.max_prefix_len() {
        return classify(range.addr()).filter(|class| !class.is_openable());
    }
    let first = class_of(range.network())?;
    let last = class_of(range.broadcast())?;
    (first == last && !first.is_openable()).then_some(first)
}

/// The class of an address alone, whatever is embedded in it.
pub(crate) fn class_of(address: IpAddr) -> Option<AddressClass> {
    match address {
        IpAddr::V4(address) => v4_class(address),
        IpAddr::V6(address) => v6_class(address),
    }
}

/// How hard it is to open a class.
pub(crate) fn severity(class: AddressClass) -> u8 {
    match (class.is_openable(), class) {
        (false, _) => 2,
        (true, AddressClass::Metadata) => 1,
        (true, _) => 0,
    }
}

fn v4_class(address: Ipv4Addr) -> Option<AddressClass> {
    Some(match address.octets() {
        [169, 254, 169, 254]
        | [169, 254, 170, 2 | 23]
        | [100, 100, 100, 200]
        | [168, 63, 129, 16] => AddressClass::Metadata,
        [255, 255, 255, 255] => AddressClass::Broadcast,
        [0, ..] => AddressClass::Unspecified,
        [224..=239, ..] => AddressClass::Multicast,
        [127, ..] => AddressClass::Loopback,
        [169, 254, ..] => AddressClass::LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [100, 64..=127, ..] => AddressClass::Shared,
        [198, 18 | 19, ..] => AddressClass::Benchmarking,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressClass::Documentation,
        [192, 0, 0, _] | [240..=255, ..] => AddressClass::Reserved,
        _ => return None,
    })
}

fn v6_class(address: Ipv6Addr) -> Option<AddressClass> {
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254 | 0x0023] => AddressClass::Metadata,
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => AddressClass::Private,
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => AddressClass::Documentation,
        [0x2001, 0x0002, 0, ..] => AddressClass::Benchmarking,
        [0x2000..=0x3fff, ..] => return None,
        _ => AddressClass::Reserved,
    })
}

#[cfg(test)]
mod tests;
