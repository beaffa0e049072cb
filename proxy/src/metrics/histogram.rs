//! A histogram of durations with one writer: buckets by powers of two, found by counting bits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::shard::Count;

/// Most buckets that any histogram here has.
const MOST: usize = 20;

/// Where the buckets of a histogram lie: the first ends at 2^`first` ns, each next at twice that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    first: u32,
    buckets: usize,
}

impl Scale {
    /// 128 ns to 0.5 ms: computing.
    pub(crate) const COMPUTE: Self = Self {
        first: 7,
        buckets: 13,
    };
    /// 65 us to 17 s: waiting for the network.
    pub(crate) const NETWORK: Self = Self {
        first: 16,
        buckets: 19,
    };

    /// The upper bounds in seconds.
    pub(crate) fn bounds(self) -> impl Iterator<Item = f64> {
        let ends = (self.first..).take(self.buckets);
        ends.map(|bits| Duration::from_nanos(1 << bits).as_secs_f64())
    }
}

/// The histogram.
#[derive(Debug)]
pub(crate) struct Histogram {
    scale: Scale,
    buckets: [Count; MOST],
    over: Count,
    /// In nanoseconds.
    sum: AtomicU64,
}

/// What was observed up to now.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// For each bucket alone, not cumulative.
    pub(crate) buckets: Vec<u64>,
    /// Beyond the last bucket.
    pub(crate) over: u64,
    /// Of all durations.
    pub(crate) sum: Duration,
}

impl Histogram {
    /// An empty one.
    pub(crate) fn new(scale: Scale) -> Self {
        Self {
            scale,
            buckets: Default::default(),
            over: Count::default(),
            sum: AtomicU64::new(0),
        }
    }

    /// Where its buckets lie.
    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// Counts one duration.
    pub(crate) fn observe(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        // The number of bits of n-1 is the smallest k with n <= 2^k.
        let bits = u64::BITS - nanos.saturating_sub(1).leading_zeros();
        let index = usize::try_from(bits.saturating_sub(self.scale.first)).unwrap_or(usize::MAX);
        let bucket = self.buckets.get(index);
        bucket
            .filter(|_| index < self.scale.buckets)
            .unwrap_or(&self.over)
            .add(1);
        let sum = self.sum.load(Ordering::Relaxed).wrapping_add(nanos);
        self.sum.store(sum, Ordering::Relaxed);
    }

    /// A copy of the counts.
    pub(crate) fn observed(&self) -> Observed {
        let buckets = self.buckets.iter().take(self.scale.buckets);
        Observed {
            buckets: buckets.map(Count::read).collect(),
            over: self.over.read(),
            sum: Duration::from_nanos(self.sum.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Histogram, Scale};

    #[test]
    fn a_duration_on_a_bound_belongs_to_the_bucket_below_it() {
        let histogram = Histogram::new(Scale::COMPUTE);
        for nanos in [0, 1, 128, 129, 256, 257] {
            histogram.observe(Duration::from_nanos(nanos));
        }
        let observed = histogram.observed();
        assert_eq!(observed.buckets[..3], [3, 2, 1]);
        assert_eq!(observed.sum, Duration::from_nanos(771));
    }

    #[test]
    fn a_duration_beyond_the_last_bound_is_counted_all_the_same() {
        let histogram = Histogram::new(Scale::COMPUTE);
        histogram.observe(Duration::from_secs(1));
        histogram.observe(Duration::MAX);
        let observed = histogram.observed();
        assert_eq!(observed.over, 2);
        assert_eq!(observed.buckets.iter().sum::<u64>(), 0);
    }

    #[test]
    fn bounds_are_as_many_as_buckets() {
        for scale in [Scale::COMPUTE, Scale::NETWORK] {
            let buckets = Histogram::new(scale).observed().buckets;
            assert_eq!(scale.bounds().count(), buckets.len());
        }
    }
}
