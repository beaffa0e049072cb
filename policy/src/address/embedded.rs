//! IPv4 addresses inside IPv6 ones: where a gateway or the kernel takes the packet.

use std::net::{IpAddr, Ipv4Addr};

/// The most addresses that one can hold: four readings of a local NAT64 prefix and ISATAP.
const MOST: usize = 5;

/// The address that the kernel dials: an IPv4-mapped one (RFC 4291, section 2.5.5.2) is IPv4.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(outer) => outer.to_ipv4_mapped().map_or(address, IpAddr::V4),
    }
}

/// The IPv4 addresses inside a canonical address, without allocation.
#[derive(Clone, Debug)]
pub(crate) struct Embedded {
    found: [Ipv4Addr; MOST],
    count: usize,
    next: usize,
}

impl Embedded {
    /// What the address holds: IPv4-compatible (RFC 4291), NAT64 (RFC 6052 and 8215),
    /// 6to4 (RFC 3056), Teredo (RFC 4380) and ISATAP (RFC 5214) addresses.
    pub(crate) fn of(address: IpAddr) -> Self {
        let mut inner = Self {
            found: [Ipv4Addr::UNSPECIFIED; MOST],
            count: 0,
            next: 0,
        };
        if let IpAddr::V6(outer) = address {
            inner.by_prefix(outer.to_bits(), outer.segments());
            inner.by_interface(outer.to_bits());
        }
        inner
    }

    fn by_prefix(&mut self, bits: u128, segments: [u16; 8]) {
        match segments {
            // `::` and `::1` are addresses of their own.
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => {}
            [0, 0, 0, 0, 0, 0, ..] | [0x0064, 0xff9b, 0, 0, 0, 0, ..] => self.push(last_v4(bits)),
            [0x0064, 0xff9b, 1, ..] => self.by_local_nat64(bits),
            [0x2002, ..] => self.push(last_v4(bits >> 80)),
            // The server, and the client, whose bits are turned over.
            [0x2001, 0, ..] => {
                self.push(last_v4(bits >> 64));
                self.push(last_v4(!bits));
            }
            _ => {}
        }
    }

    /// A network may use any prefix length below the local prefix, and the address does not say
    /// which: every reading that ends in zeros as RFC 6052 (section 2.2) wants it counts, except
    /// those that hold padding only.
    fn by_local_nat64(&mut self, bits: u128) {
        let before = self.count;
        // The octet in the middle is reserved: zero, and no part of the IPv4 address.
        let reserved = bits >> 56 & 0xff;
        let joined = (bits >> 64 & 0xffff) << 56 | bits & 0x00ff_ffff_ffff_ffff;
        let long_prefix = last_v4(bits);
        let short_prefixes = [40, 32, 24].map(|suffix| {
            let padded = reserved == 0 && joined & ((1 << suffix) - 1) == 0;
            padded.then(|| last_v4(joined >> suffix))
        });
        for reading in short_prefixes.into_iter().flatten().chain([long_prefix]) {
            let [first, ..] = reading.octets();
            if first != 0 {
                self.push(reading);
            }
        }
        if self.count == before {
            self.push(long_prefix);
        }
    }

    fn by_interface(&mut self, bits: u128) {
        if matches!(bits >> 32 & 0xffff_ffff, 0x0000_5efe | 0x0200_5efe) {
            self.push(last_v4(bits));
        }
    }

    fn push(&mut self, inner: Ipv4Addr) {
        if let Some(free) = self.found.get_mut(self.count) {
            *free = inner;
            self.count += 1;
        }
    }
}

/// The IPv4 address in the last 32 bits.
fn last_v4(bits: u128) -> Ipv4Addr {
    let [.., a, b, c, d] = bits.to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}

impl Iterator for Embedded {
    type Item = Ipv4Addr;

    fn next(&mut self) -> Option<Ipv4Addr> {
        if self.next == self.count {
            return None;
        }
        let inner = self.found.get(self.next).copied();
        self.next += 1;
        inner
    }
}
