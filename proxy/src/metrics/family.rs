//! Numbers into the metric families of the `prometheus` crate.

use std::time::Duration;

use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram as Sampled, LabelPair, Metric, MetricFamily, MetricType,
};

use super::histogram::Histogram;
use super::names::Name;

/// One value with its labels.
#[derive(Debug)]
pub(super) struct Sample {
    value: u64,
    labels: Vec<String>,
}

impl Sample {
    /// Without labels.
    pub(super) fn of(value: u64) -> Self {
        Self {
            value,
            labels: Vec::new(),
        }
    }

    /// With the values of its labels, in the order of the name's.
    pub(super) fn labelled<const N: usize>(self, labels: [&str; N]) -> Self {
        Self {
            labels: labels.map(str::to_owned).into(),
            ..self
        }
    }
}

/// A family of counters or gauges.
pub(super) fn of(
    name: Name,
    kind: MetricType,
    samples: impl IntoIterator<Item = Sample>,
) -> MetricFamily {
    let metrics = samples.into_iter().map(|sample| {
        let mut metric = Metric::default();
        if kind == MetricType::COUNTER {
            let mut counter = Counter::default();
            counter.set_value(float(sample.value));
            metric.set_counter(counter);
        } else {
            let mut gauge = Gauge::default();
            gauge.set_value(float(sample.value));
            metric.set_gauge(gauge);
        }
        let labels = name.labels.iter().zip(sample.labels);
        let pairs = labels.map(|(name, value)| {
            let mut pair = LabelPair::default();
            pair.set_name((*name).to_owned());
            pair.set_value(value);
            pair
        });
        metric.set_label(pairs.collect());
        metric
    });
    family(name, kind, metrics.collect())
}

/// One histogram out of those of all workers, which share a scale.
pub(super) fn of_histograms(name: Name, histograms: &[&Histogram]) -> MetricFamily {
    let mut counts: Vec<u64> = Vec::new();
    let mut total = 0_u64;
    let mut sum = Duration::ZERO;
    for histogram in histograms {
        let observed = histogram.observed();
        counts.resize(observed.buckets.len(), 0);
        for (count, more) in counts.iter_mut().zip(&observed.buckets) {
            *count += more;
        }
        total += observed.buckets.iter().sum::<u64>() + observed.over;
        sum += observed.sum;
    }
    let bounds = histograms
        .iter()
        .take(1)
        .flat_map(|first| first.scale().bounds());
    let mut cumulative = 0;
    let buckets = bounds.zip(counts).map(|(bound, count)| {
        cumulative += count;
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound);
        bucket.set_cumulative_count(cumulative);
        bucket
    });
    let mut sampled = Sampled::default();
    sampled.set_bucket(buckets.collect());
    sampled.set_sample_count(total);
    sampled.set_sample_sum(sum.as_secs_f64());
    let mut metric = Metric::default();
    metric.set_histogram(sampled);
    family(name, MetricType::HISTOGRAM, vec![metric])
}

fn family(name: Name, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.text.to_owned());
    family.set_help(name.help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the format knows only floats; they are exact up to 2^53"
)]
fn float(value: u64) -> f64 {
    value as f64
}
