//! Reading addresses and ranges of addresses, as entries write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};

use crate::entry::{EntryError, EntryErrorKind, Piece};

/// Reads `10.20.0.0/16` or `10.20.0.1`; `None` for a text that is meant as a name.
///
/// # Errors
/// A text that some parser would take for an IPv4 address and that is not four decimal numbers,
/// so that nobody has to know which parser.
pub(crate) fn parse_v4(text: Piece<'_>) -> Result<Option<IpNet>, EntryError> {
    let (host, prefix) = match text.split_once('/') {
        Some((host, prefix)) => (host, Some(prefix)),
        None => (text, None),
    };
    if let Ok(address) = host.text.parse::<Ipv4Addr>() {
        return network(text, address.into(), prefix).map(Some);
    }
    refuse_address(host, host.text)?;
    if prefix.is_some() {
        return Err(text.error(
            EntryErrorKind::Url,
            format!("`{}` is neither a host nor a range of addresses", text.text),
            "an entry has no path; write `{ host: …, paths: [\"/…\"] }` for rules on paths",
        ));
    }
    Ok(None)
}

/// Refuses a name, written like this, that some parser or person takes for IPv4 addresses.
pub(crate) fn refuse_address(written: Piece<'_>, name: &str) -> Result<(), EntryError> {
    let last = name.rsplit('.').find(|label| !label.is_empty());
    if last.is_some_and(crate::host::name::is_number) {
        return Err(written.error(
            EntryErrorKind::LegacyAddress,
            format!("`{}` reads as an IPv4 address in an ambiguous spelling", written.text),
            "write four decimal numbers without leading zeros, for example `192.0.2.1` or `192.0.2.0/24`",
        ));
    }
    if is_wild_address(name) {
        return Err(written.error(
            EntryErrorKind::LegacyAddress,
            format!(
                "`{}` is a range of addresses written with `*`",
                written.text
            ),
            "write the range with a prefix length, for example `192.0.2.0/24`",
        ));
    }
    Ok(())
}

/// Reads `2001:db8::/32` or `2001:db8::1`, as it stands inside square brackets.
pub(crate) fn parse_v6(text: Piece<'_>) -> Result<IpNet, EntryError> {
    let (host, prefix) = match text.split_once('/') {
        Some((host, prefix)) => (host, Some(prefix)),
        None => (text, None),
    };
    let address: Ipv6Addr = host.text.parse().map_err(|_| not_v6(host))?;
    network(text, address.into(), prefix)
}

/// Reads IPv6 without square brackets, which can have no ports.
pub(crate) fn parse_unbracketed(text: Piece<'_>) -> Result<IpNet, EntryError> {
    let with_ports = text.rsplit_once(':').filter(|(host, ports)| {
        parse_v6(*host).is_ok() && !ports.text.is_empty() && !ports.text.contains('/')
    });
    // `::1:443` is an address too, of a kind that nobody uses any more, and surely not meant.
    let obsolete = |range: &IpNet| {
        let IpAddr::V6(address) = range.addr() else {
            return false;
        };
        !text.text.contains('.') && address.octets().iter().take(12).all(|&b| b == 0)
    };
    match (parse_v6(text), with_ports) {
        (Ok(range), Some((host, ports))) if obsolete(&range) => Err(brackets_missing(host, ports)),
        (Ok(range), _) => Ok(range),
        (Err(_), Some((host, ports))) => Err(brackets_missing(host, ports)),
        (Err(error), None) => Err(error),
    }
}

fn brackets_missing(host: Piece<'_>, ports: Piece<'_>) -> EntryError {
    host.error(
        EntryErrorKind::Address,
        "ports after an IPv6 address without square brackets",
        format!("write `[{}]:{}`", host.text, ports.text),
    )
}

fn not_v6(host: Piece<'_>) -> EntryError {
    let help = if host.text.contains('%') {
        "an entry has no zone; write the address alone"
    } else if host.text.parse::<Ipv4Addr>().is_ok() {
        "an IPv4 address stands without square brackets"
    } else {
        "an IPv6 address is written like `2001:db8::1`, with ports `[2001:db8::1]:443`; a host has one colon, before its ports"
    };
    host.error(
        EntryErrorKind::Address,
        format!("`{}` is no IPv6 address", host.text),
        help,
    )
}

/// Joins address and prefix. An IPv4 range in its IPv6 spelling (mapped, RFC 4291) is that range.
fn network(
    text: Piece<'_>,
    address: IpAddr,
    prefix: Option<Piece<'_>>,
) -> Result<IpNet, EntryError> {
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = match prefix {
        None => most,
        Some(prefix) => prefix_length(prefix, most)?,
    };
    let range = IpNet::new(address, length).map_err(|_| bad_prefix(text, most))?;
    if range.addr() != range.network() {
        return Err(text.error(
            EntryErrorKind::HostBits,
            format!("`{range}` has bits after its prefix"),
            format!(
                "write `{}` for the whole range, or `{address}` for the one address",
                range.trunc()
            ),
        ));
    }
    Ok(unmapped(range))
}

/// The IPv4 range that an IPv6 range stands for, where it does; else the range itself.
fn unmapped(range: IpNet) -> IpNet {
    let IpNet::V6(outer) = range else {
        return range;
    };
    let inner = outer.addr().to_ipv4_mapped();
    let length = outer.prefix_len().checked_sub(96);
    match (inner, length) {
        (Some(address), Some(length)) => match Ipv4Net::new(address, length) {
            Ok(inner) => inner.into(),
            Err(_) => range,
        },
        _ => range,
    }
}

fn prefix_length(prefix: Piece<'_>, most: u8) -> Result<u8, EntryError> {
    let plain = prefix.text == "0"
        || (!prefix.text.starts_with('0')
            && prefix.text.len() <= 3
            && prefix.text.bytes().all(|b| b.is_ascii_digit()));
    prefix
        .text
        .parse::<u8>()
        .ok()
        .filter(|&length| plain && length <= most)
        .ok_or_else(|| bad_prefix(prefix, most))
}

fn bad_prefix(prefix: Piece<'_>, most: u8) -> EntryError {
    prefix.error(
        EntryErrorKind::Prefix,
        format!("`{}` is no prefix length of this address", prefix.text),
        format!("a prefix length is a number from 0 to {most}"),
    )
}

/// `10.*`, `192.168.1.*`: numbers and stars that a person means as a range of addresses.
fn is_wild_address(text: &str) -> bool {
    let number = |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_digit());
    text.split('.').any(number) && text.split('.').all(|label| label == "*" || number(label))
}
