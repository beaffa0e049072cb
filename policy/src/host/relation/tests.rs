use super::*;
use crate::entry;

fn pattern(text: &str) -> Pattern {
    entry::parse(text).unwrap().pattern
}

#[test]
fn a_pattern_matches_what_the_language_says() {
    let table = [
        ("a.test", "a.test", true),
        ("a.test", "b.a.test", false),
        ("*.a.test", "a.test", false),
        ("*.a.test", "b.c.a.test", true),
        ("*.a.test", "ba.test", false),
        ("**.a.test", "a.test", true),
        ("**.a.test", "b.a.test", true),
        ("api-*.a.test", "api-x.a.test", true),
        ("api-*.a.test", "api-.a.test", false),
        ("api-*.a.test", "api-x.y.a.test", false),
        ("*.api-*.a.test", "q.r.api-x.a.test", true),
        ("*.api-*.a.test", "api-x.a.test", false),
        ("**.api-*.a.test", "api-x.a.test", true),
        ("a*b*c.test", "aXbXbXc.test", true),
        ("a*b*c.test", "abc.test", false),
        ("*", "a.test", true),
        ("*", "10.0.0.1", false),
        ("10.0.0.0/8", "10.1.2.3", true),
        ("10.0.0.0/8", "[::ffff:10.1.2.3]", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("localhost", "localhost", true),
        ("localhost", "127.0.0.1", true),
        ("localhost", "[::1]", true),
        ("localhost", "127.0.0.2", false),
        ("127.0.0.1", "x.localhost", true),
    ];
    for (text, host, expected) in table {
        let host = Host::parse(host.as_bytes()).unwrap();
        assert_eq!(pattern(text).matches(&host), expected, "{text} {host}");
    }
}

#[test]
fn a_pattern_covers_what_lies_inside_it() {
    let table = [
        ("a.test", "a.test", true),
        ("*.a.test", "b.a.test", true),
        ("*.a.test", "a.test", false),
        ("*.a.test", "*.b.a.test", true),
        ("*.a.test", "**.a.test", false),
        ("*.a.test", "**.b.a.test", true),
        ("**.a.test", "*.a.test", true),
        ("*.a.test", "x-*.a.test", true),
        ("*.a.test", "x-*.ba.test", false),
        ("**.a.test", "x*.y.a.test", true),
        ("x-*.a.test", "x-1.a.test", true),
        ("x-*.a.test", "x-1*.a.test", false),
        ("*", "x-*.a.test", true),
        ("*", "10.0.0.1", false),
        ("10.0.0.0/8", "10.2.0.0/16", true),
        ("10.2.0.0/16", "10.0.0.0/8", false),
    ];
    for (wide, narrow, expected) in table {
        assert_eq!(
            pattern(wide).covers(&pattern(narrow)),
            expected,
            "{wide} {narrow}"
        );
    }
}
