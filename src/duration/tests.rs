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
        "", "5", "s", "-1s", "+1s", "1.5s", "1 s", "1S", "1d", "1sec", "1h5m", " 1s", "1s ", "１s",
    ] {
        assert_eq!(parse(text), Err(DurationError::Form), "{text}");
    }
}

#[test]
fn what_no_clock_can_add_is_refused() {
    assert_eq!(parse("1000000h"), Ok(Duration::from_hours(1_000_000)));
    for text in [
        "1000001h",
        "3600000001s",
        "18446744073709551615ms",
        "18446744073709551615h",
        "99999999999999999999s",
    ] {
        assert_eq!(parse(text), Err(DurationError::TooLong), "{text}");
    }
    let error = DurationError::TooLong.to_string();
    assert_eq!(error, "a duration is at most `1000000h`");
}

#[test]
fn a_limit_of_nothing_is_refused() {
    assert_eq!(parse_positive("0ms"), Err(DurationError::Nothing));
    assert_eq!(parse_positive("1ms"), Ok(Duration::from_millis(1)));
}
