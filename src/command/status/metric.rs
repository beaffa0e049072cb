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

/// What a person wants to know of them, in words. What was not scraped is left out.
pub(super) fn rows(samples: &BTreeMap<String, f64>) -> Vec<(&'static str, String)> {
    let count = |name: &str| total(samples, name);
    let clients = count("moat_connections_active").zip(count("moat_connections_limit"));
    let requests = count("moat_connections_total").zip(count("moat_refused_total"));
    let failures = count("moat_upstream_failures_total").unwrap_or(0.0);
    let descriptors = count("moat_file_descriptors_open").zip(count("moat_file_descriptors_limit"));
    let rows = [
        clients.map(|(open, limit)| ("clients", format!("{open} open of {limit}"))),
        requests.map(|(all, refused)| {
            let text = format!("{all} judged, {refused} refused, {failures} failed upstream");
            ("requests", text)
        }),
        descriptors.map(|(open, limit)| ("files", format!("{open} open of {limit}"))),
    ];
    rows.into_iter().flatten().collect()
}

/// The sum over the labels of a name; `None` where it was not scraped.
fn total(samples: &BTreeMap<String, f64>, wanted: &str) -> Option<f64> {
    let values = samples.iter();
    let mut values = values
        .filter(|(series, _)| name(series) == wanted)
        .peekable();
    values.peek()?;
    Some(values.map(|(_, value)| value).sum())
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
moat_refused_total{cause=\"default\"} 4
moat_dial_seconds_bucket{le=\"+Inf\"} 3
moat_dial_seconds_sum 0.5
moat_dial_seconds_count 3
moat_policy_generation 2
moat_policy_reload_failures_total 1
moat_file_descriptors_open 24
moat_file_descriptors_limit 1024
moat_odd NaN
";

    #[test]
    fn rows_are_sums_over_labels() {
        let samples = parse(SCRAPE);
        assert_eq!(samples.len(), 9);
        let rows: Vec<_> = rows(&samples)
            .into_iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        insta::assert_snapshot!(rows.join("\n"), @"
        requests: 7 judged, 4 refused, 0 failed upstream
        files: 24 open of 1024
        ");
    }
}
