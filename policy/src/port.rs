//! Ports and sets of ports.

use std::fmt;
use std::num::NonZeroU16;

/// A TCP port that can be dialled: 1 to 65535.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Port(NonZeroU16);

impl Port {
    /// The port of plain HTTP (RFC 9110, section 4.2.1).
    pub const HTTP: Self = Self(NonZeroU16::MIN.saturating_add(79));
    /// The port of HTTP over TLS (RFC 9110, section 4.2.2).
    pub const HTTPS: Self = Self(NonZeroU16::MIN.saturating_add(442));

    /// The port with this number; `None` for 0, which no connection can have.
    pub const fn from_number(number: u16) -> Option<Self> {
        match NonZeroU16::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Reads one to five decimal digits, without sign, space or leading zeros beyond `0` itself.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = !text.is_empty()
            && text.len() <= 5
            && !text.starts_with('0')
            && text.bytes().all(|b| b.is_ascii_digit());
        if !plain {
            return None;
        }
        Self::from_number(text.parse().ok()?)
    }

    /// The number.
    pub const fn number(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of ports as sorted ranges that neither touch nor overlap.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct PortSet(Vec<(u16, u16)>);

impl PortSet {
    /// Every port.
    pub fn all() -> Self {
        Self(vec![(1, u16::MAX)])
    }

    /// 80 and 443: what an allow entry without ports means.
    pub fn web() -> Self {
        Self(vec![(80, 80), (443, 443)])
    }

    /// The union of inclusive ranges, in any order; a pair the wrong way round is empty.
    pub fn from_ranges(ranges: impl IntoIterator<Item = (Port, Port)>) -> Self {
        let mut sorted: Vec<(u16, u16)> = ranges
            .into_iter()
            .map(|(low, high)| (low.number(), high.number()))
            .filter(|(low, high)| low <= high)
            .collect();
        sorted.sort_unstable();
        let mut merged: Vec<(u16, u16)> = Vec::with_capacity(sorted.len());
        for (low, high) in sorted {
            match merged.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        Self(merged)
    }

    /// Whether the port is in the set.
    pub fn contains(&self, port: Port) -> bool {
        let number = port.number();
        let at = self.0.partition_point(|&(_, high)| high < number);
        self.0.get(at).is_some_and(|&(low, _)| low <= number)
    }

    /// Whether every port of the other set is in this one.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|&(low, high)| {
            let at = self.0.partition_point(|&(_, end)| end < low);
            self.0
                .get(at)
                .is_some_and(|&(from, to)| from <= low && high <= to)
        })
    }

    /// Whether the set holds no port.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The inclusive ranges as ports, in ascending order.
    pub fn pairs(&self) -> impl Iterator<Item = (Port, Port)> {
        self.0
            .iter()
            .filter_map(|&(low, high)| Some((Port::from_number(low)?, Port::from_number(high)?)))
    }

    /// The inclusive ranges, in ascending order.
    pub fn ranges(&self) -> &[(u16, u16)] {
        &self.0
    }
}

impl fmt::Display for PortSet {
    /// `*` for every port, else ranges as the policy language writes them: `22,8000-8100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::all() {
            return f.write_str("*");
        }
        for (index, (low, high)) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            if low == high {
                write!(f, "{low}")?;
            } else {
                write!(f, "{low}-{high}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
