//! From address to the ranges that hold it, by a prefix tree.

use std::net::IpAddr;

use ipnet::IpNet;

/// A number that a table's user gives to a range.
pub(crate) type Place = u32;

/// The ranges of a policy. Single-child chains are folded, so that a tree has at most two nodes for
/// each range.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeTable {
    nodes: Vec<Node>,
    v4: Option<u32>,
    v6: Option<u32>,
}

/// A prefix, and what lies below it.
#[derive(Clone, Debug)]
struct Node {
    /// From the left, for both families; zero after `length`.
    bits: u128,
    length: u8,
    place: Option<Place>,
    /// By the bit after the prefix.
    children: [Option<u32>; 2],
}

/// How a range matched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fit {
    /// The range is the address.
    Literal,
    /// The range holds other addresses too.
    Wider,
}

impl RangeTable {
    /// Calls back with the place of every range that holds the address.
    pub(crate) fn each(&self, address: IpAddr, mut found: impl FnMut(Place, Fit)) {
        let (bits, length, mut next) = match address {
            IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32, self.v4),
            IpAddr::V6(address) => (address.to_bits(), 128, self.v6),
        };
        while let Some(node) = next.and_then(|at| self.nodes.get(at as usize)) {
            if common(node.bits, bits) < node.length {
                return;
            }
            if let Some(place) = node.place {
                let literal = node.length == length;
                found(place, if literal { Fit::Literal } else { Fit::Wider });
            }
            let [zero, one] = node.children;
            next = if bit(bits, node.length) { one } else { zero };
        }
    }

    /// The place of a range: the one it was filed under before, else `fresh`.
    pub(crate) fn file(&mut self, range: &IpNet, fresh: Place) -> Place {
        let range = range.trunc();
        let bits = match range.addr() {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        let root = if range.addr().is_ipv4() {
            self.v4
        } else {
            self.v6
        };
        let (root, place) = self.insert(root, bits, range.prefix_len(), fresh);
        if range.addr().is_ipv4() {
            self.v4 = Some(root);
        } else {
            self.v6 = Some(root);
        }
        place
    }

    /// Files a prefix in the tree at `at`; answers with the tree's new root and the place.
    fn insert(&mut self, at: Option<u32>, bits: u128, length: u8, fresh: Place) -> (u32, Place) {
        let Some((at, node)) = at.and_then(|at| Some((at, self.nodes.get(at as usize)?.clone())))
        else {
            let leaf = self.push(bits, length, Some(fresh), [None, None]);
            return (leaf, fresh);
        };
        let shared = common(node.bits, bits).min(node.length).min(length);
        if shared == node.length && shared == length {
            let place = node.place.unwrap_or(fresh);
            self.set(at, |node| node.place = Some(place));
            return (at, place);
        }
        if shared == node.length {
            let side = bit(bits, node.length);
            let [zero, one] = node.children;
            let (child, place) = self.insert(if side { one } else { zero }, bits, length, fresh);
            self.set(at, |node| {
                let [zero, one] = &mut node.children;
                *(if side { one } else { zero }) = Some(child);
            });
            return (at, place);
        }
        let old = (at, bit(node.bits, shared));
        if shared == length {
            let children = pair(old, None);
            return (self.push(bits, length, Some(fresh), children), fresh);
        }
        let leaf = self.push(bits, length, Some(fresh), [None, None]);
        let fork = self.push(prefix(bits, shared), shared, None, pair(old, Some(leaf)));
        (fork, fresh)
    }

    fn push(
        &mut self,
        bits: u128,
        length: u8,
        place: Option<Place>,
        children: [Option<u32>; 2],
    ) -> u32 {
        // The limit on entries keeps this far below 2^32.
        let at = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(Node {
            bits,
            length,
            place,
            children,
        });
        at
    }

    fn set(&mut self, at: u32, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(at as usize) {
            change(node);
        }
    }
}

/// The children of a node: one at the side of its bit, the other opposite.
fn pair((at, side): (u32, bool), other: Option<u32>) -> [Option<u32>; 2] {
    if side {
        [other, Some(at)]
    } else {
        [Some(at), other]
    }
}

/// How many bits from the left two addresses share.
fn common(one: u128, other: u128) -> u8 {
    u8::try_from((one ^ other).leading_zeros()).unwrap_or(128)
}

/// The bit after a prefix of this length.
fn bit(bits: u128, length: u8) -> bool {
    bits.checked_shl(length.into())
        .is_some_and(|rest| rest >> 127 == 1)
}

/// The first bits of an address, the rest zero.
fn prefix(bits: u128, length: u8) -> u128 {
    u128::MAX
        .checked_shl(128 - u32::from(length))
        .map_or(0, |mask| bits & mask)
}

#[cfg(test)]
mod tests;
