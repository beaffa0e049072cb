//! The id of a request: what a reply shows, and what `moat why` finds in the record.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

/// 50 random bits, written as ten characters of base32 (Crockford's alphabet: no I, L, O, U).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct EventId(u64);

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: u32 = 10;

impl EventId {
    /// The id with these bits; all above the lowest 50 are dropped.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits & ((1 << (5 * LENGTH)) - 1))
    }

    /// A new id for an event outside the data path.
    pub(crate) fn random() -> Self {
        Self::from_bits(RandomState::new().hash_one("event id"))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for index in (0..LENGTH).rev() {
            let digit = (self.0 >> (5 * index)) & 31;
            let letter = usize::try_from(digit)
                .ok()
                .and_then(|digit| ALPHABET.get(digit));
            f.write_char(char::from(*letter.unwrap_or(&b'0')))?;
        }
        Ok(())
    }
}
