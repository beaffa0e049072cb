use super::*;

#[test]
fn reads_each_unit() {
    assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
    assert_eq!(parse("2s"), Ok(Duration::from_secs(2)));
    assert_eq!(parse("5m"), Ok(Duration::from_mins(5)));
    assert_eq!(parse("1h"), Ok(Duration::from_hours(1)));
    assert_eq!(parse("0s"), Ok(Duration::ZERO));
}

#[test]
fn refuses_everything_else() {
    for text in [
        "",
        "5",
        "s",
        "-1s",
        "+1s",
        "1.5s",
        "1 s",
        "1S",
        "1d",
        "1sec",
        "1h5m",
        " 1s",
        "1s ",
        "99999999999999999999s",
        "18446744073709551615h",
        "１s",
    ] {
        assert_eq!(parse(text), Err(DurationError), "{text}");
    }
}

#[test]
fn a_limit_of_nothing_is_refused() {
    assert_eq!(
        parse_positive("0ms"),
        Err("it must be longer than nothing".to_owned())
    );
}
