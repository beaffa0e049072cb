//! The rows of a name table once they are all known.
//!
//! Most of what a name is asked for is in no row. A bucket holds one byte of the hash of each of its
//! rows and says where they begin, so that all buckets together are small enough to stay in
//! a cache, and a text without a row costs nothing but a look at its bucket. A text with a row costs
//! one cache line more; where it is, is known before it is read, so that the lines of all tails of
//! a name are fetched at once.

use foldhash::quality::RandomState;

use super::row::{Row, hash_of};

/// The most rows of a bucket.
const WIDTH: u32 = 12;
/// The rows of an average bucket: few enough that only one bucket in fifty is full.
const LOAD: usize = 6;
/// The mark of no row.
const FREE: u8 = 0;

/// Where a few rows are, and a mark of each: a byte for each mark from the lowest on, and in the
/// four highest bytes the number of the first row, which the others follow.
#[derive(Clone, Copy, Debug)]
struct Bucket(u128);

impl Bucket {
    const EMPTY: Self = Self(0);

    fn marks(self) -> impl Iterator<Item = u8> {
        self.0.to_le_bytes().into_iter().take(WIDTH as usize)
    }

    fn first(self) -> u32 {
        let [.., a, b, c, d] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Whether the last place is taken.
    fn is_full(self) -> bool {
        (self.0 >> (8 * (WIDTH - 1))) & 0xff != u128::from(FREE)
    }

    fn set(&mut self, lane: usize, mark: u8) {
        self.0 |= u128::from(mark) << (8 * lane);
    }

    fn set_first(&mut self, first: u32) {
        self.0 |= u128::from(first) << (8 * WIDTH);
    }

    /// The highest bit of each byte that is this mark, and now and then of one behind it that is
    /// another.
    fn fits(self, mark: u8) -> u128 {
        const LOWEST: u128 = u128::from_le_bytes([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]);
        let zero_where_equal = self.0 ^ u128::from_le_bytes([mark; 16]);
        zero_where_equal.wrapping_sub(LOWEST) & !zero_where_equal & (LOWEST << 7)
    }
}

/// The rows by text.
#[derive(Debug)]
pub(super) struct Rows<A> {
    /// A row that finds its bucket full is in the next one that is not; the last is followed by the
    /// first, and some are not full.
    buckets: Box<[Bucket]>,
    all: Box<[Row<A>]>,
    /// The texts that are too long for a row.
    long: Box<[u8]>,
    hash: RandomState,
}

/// Where the row of a text would be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spot {
    /// A bit for each row of the bucket that is worth a look.
    fits: u128,
    first: u32,
    is_full: bool,
}

impl<A> Rows<A> {
    pub(super) fn new(unsorted: Vec<Row<A>>, long: Box<[u8]>, hash: RandomState) -> Self {
        let size = unsorted.len() / LOAD + 1;
        let mut buckets = vec![Bucket::EMPTY; size];
        let mut homes: Vec<_> = unsorted
            .into_iter()
            .map(|row| {
                let hash = hash_of(&hash, row.text(&long).unwrap_or_default());
                (put(&mut buckets, hash), row)
            })
            .collect();
        homes.sort_by_key(|&(place, _)| place);
        for (number, &((bucket, lane), _)) in homes.iter().enumerate() {
            if let (Some(bucket), 0) = (buckets.get_mut(bucket), lane) {
                // The limits on files keep the number of rows far below 2^32.
                bucket.set_first(u32::try_from(number).unwrap_or(u32::MAX));
            }
        }
        Self {
            buckets: buckets.into(),
            all: homes.into_iter().map(|(_, row)| row).collect(),
            long,
            hash,
        }
    }

    /// Where the row of a text would be, which reads no row.
    pub(super) fn spot(&self, text: &[u8]) -> Spot {
        let hash = hash_of(&self.hash, text);
        self.spot_in(home(hash, self.buckets.len()), hash)
    }

    fn spot_in(&self, at: usize, hash: u64) -> Spot {
        let bucket = self.buckets.get(at).copied().unwrap_or(Bucket::EMPTY);
        Spot {
            fits: bucket.fits(mark(hash)),
            first: bucket.first(),
            is_full: bucket.is_full(),
        }
    }

    /// Reads something of the row that a spot most likely is, so that the rest of it is near when
    /// it is asked for.
    pub(super) fn touch(&self, spot: Spot) -> u32 {
        let row = self.all.get(spot.row());
        row.filter(|_| spot.fits != 0).map_or(0, |row| row.globs)
    }

    /// The row at the spot of a text.
    pub(super) fn at(&self, spot: Spot, text: &[u8]) -> Option<&Row<A>> {
        let row = self.row_at(spot, text);
        if row.is_some() || !spot.is_full {
            return row;
        }
        self.row_behind(text)
    }

    /// The row in one of the next buckets, since its own is full.
    #[cold]
    fn row_behind(&self, text: &[u8]) -> Option<&Row<A>> {
        let hash = hash_of(&self.hash, text);
        let mut at = home(hash, self.buckets.len());
        loop {
            at = after(at, self.buckets.len());
            let spot = self.spot_in(at, hash);
            let row = self.row_at(spot, text);
            if row.is_some() || !spot.is_full {
                return row;
            }
        }
    }

    fn row_at(&self, mut spot: Spot, text: &[u8]) -> Option<&Row<A>> {
        while spot.fits != 0 {
            let row = self.all.get(spot.row());
            if let Some(row) = row.filter(|row| row.text(&self.long) == Some(text)) {
                return Some(row);
            }
            spot.fits &= spot.fits - 1;
        }
        None
    }

    pub(super) fn find(&self, text: &[u8]) -> Option<&Row<A>> {
        self.at(self.spot(text), text)
    }
}

impl Spot {
    /// The first row that is worth a look.
    fn row(self) -> usize {
        self.first as usize + (self.fits.trailing_zeros() / 8) as usize
    }
}

/// Takes a place in the bucket of a hash or the next one with room, of which there are some.
fn put(buckets: &mut [Bucket], hash: u64) -> (usize, usize) {
    let mut at = home(hash, buckets.len());
    loop {
        if let Some(bucket) = buckets.get_mut(at)
            && let Some(lane) = bucket.marks().position(|mark| mark == FREE)
        {
            bucket.set(lane, mark(hash));
            return (at, lane);
        }
        at = after(at, buckets.len());
    }
}

/// The next bucket of so many.
fn after(at: usize, buckets: usize) -> usize {
    if at + 1 < buckets { at + 1 } else { 0 }
}

/// The number of a hash's bucket among so many: the high half of a product, for want of a division.
fn home(hash: u64, buckets: usize) -> usize {
    let product = (hash >> 32) * (buckets as u64);
    usize::try_from(product >> 32).unwrap_or(0)
}

/// One byte of a hash that its bucket does not depend on.
fn mark(hash: u64) -> u8 {
    let [low, ..] = hash.to_le_bytes();
    low.max(1)
}
