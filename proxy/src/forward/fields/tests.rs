use http::{HeaderMap, HeaderName, HeaderValue};

use super::{foreign_statuses, members, strip};

fn statuses(value: &str) -> Vec<String> {
    let mut headers = HeaderMap::new();
    headers.insert("proxy-status", HeaderValue::from_str(value).unwrap());
    let kept = foreign_statuses(&headers);
    kept.iter()
        .map(|value| value.to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn drops_only_the_members_that_bear_the_name_of_moat() {
    assert_eq!(statuses("edge; error=x"), ["edge; error=x"]);
    assert_eq!(statuses("moat; error=x"), [""; 0]);
    assert_eq!(statuses("\"Moat\", edge"), ["edge"]);
    assert_eq!(
        statuses("edge; details=\"a, moat\", MOAT;x"),
        ["edge; details=\"a, moat\""]
    );
    assert_eq!(statuses("edge; details=\"a\\\", moat"), [""; 0]);
}

#[test]
fn splits_lists_outside_quotes() {
    assert_eq!(
        members("a, \"b,c\";d , e"),
        Some(vec!["a", "\"b,c\";d", "e"])
    );
    assert_eq!(members("a, \"b"), None);
}

#[test]
fn strips_what_connection_names_but_never_the_length() {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("connection", "X-Hop, content-length"),
        ("connection", "Keep-Alive,,X-Other"),
        ("keep-alive", "timeout=5"),
        ("te", "trailers"),
        ("x-hop", "1"),
        ("x-other", "1"),
        ("x-end", "1"),
        ("content-length", "3"),
    ] {
        headers.append(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    strip(&mut headers);
    let mut left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
    left.sort_unstable();
    assert_eq!(left, ["content-length", "x-end"]);
}
