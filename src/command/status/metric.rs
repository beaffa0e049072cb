//! Samples of the text format that Prometheus scrapes, as far as `status` shows them.

use std::collections::BTreeMap;

/// Every sample by its name with its labels, without the buckets of histograms.
pub(super) fn parse(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let value = value.parse().ok().filter(|value: &f64| value.is_finite())?;
            Some((series.to_owned(), value))
        })
        .filter(|(series, _)| !name(series).ends_with("_bucket"))
        .collect()
}

/// For each name the sum over its labels, without the parts of histograms.
pub(super) fn totals(samples: &BTreeMap<String, f64>) -> BTreeMap<&str, f64> {
    let mut totals = BTreeMap::new();
    for (series, value) in samples {
        let name = name(series);
        if !name.ends_with("_sum") && !name.ends_with("_count") && !name.ends_with("_info") {
            *totals.entry(name).or_insert(0.0) += value;
        }
    }
    totals
}

fn name(series: &str) -> &str {
    series.split('{').next().unwrap_or(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAPE: &str = "\
# HELP moat_connections_total Connections.
# TYPE moat_connections_total counter
moat_connections_total{protocol=\"connect\",effect=\"allow\"} 3
moat_connections_total{protocol=\"http\",effect=\"deny\"} 4
moat_dial_seconds_bucket{le=\"+Inf\"} 3
moat_dial_seconds_sum 0.5
moat_dial_seconds_count 3
moat_build_info{version=\"0.1.0\"} 1
moat_policy_generation 2
moat_odd NaN
";

    #[test]
    fn samples_keep_their_labels_and_totals_do_not() {
        let samples = parse(SCRAPE);
        assert_eq!(samples.len(), 6);
        let totals: Vec<_> = totals(&samples).into_iter().collect();
        assert_eq!(
            totals,
            [
                ("moat_connections_total", 7.0),
                ("moat_policy_generation", 2.0)
            ]
        );
    }
}
