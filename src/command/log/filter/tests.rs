use std::time::Duration;

use super::*;

fn record() -> Record {
    serde_json::from_str(
        r#"{"v":1,"ts":"2026-01-01T12:00:00.000000Z","seq":1,"id":"K7Q2FXMA","event":"decision","protocol":"connect","host":"a.denied.test","port":443,"effect":"deny","enforced":true,"cause":"default"}"#,
    )
    .unwrap()
}

fn passes(filter: &Filter) -> bool {
    let noon = OffsetDateTime::parse("2026-01-01T12:00:30Z", &Rfc3339).unwrap();
    filter.starting_from(noon.into()).unwrap().passes(&record())
}

#[test]
fn hosts_are_compared_as_hosts() {
    for (wanted, expected) in [
        ("a.denied.test", true),
        ("A.Denied.Test.", true),
        ("*.denied.test", true),
        ("*.test", true),
        ("denied.test", false),
        ("*.a.denied.test", false),
        ("*.nied.test", false),
    ] {
        let host = Some(wanted.to_owned());
        let filter = Filter {
            host,
            ..Filter::default()
        };
        assert_eq!(passes(&filter), expected, "{wanted}");
    }
}

#[test]
fn every_filter_has_to_pass() {
    let both = Filter {
        effect: Some(EffectWord::Deny),
        event: Some(EventWord::Decision),
        id: Some("k7q2fxma".to_owned()),
        ..Filter::default()
    };
    assert!(passes(&both));
    let one = Filter {
        effect: Some(EffectWord::Allow),
        ..both
    };
    assert!(!passes(&one));
}

#[test]
fn since_is_a_time_or_how_long_ago() {
    for (since, expected) in [
        ("1m", true),
        ("20s", false),
        ("2026-01-01T12:00:00Z", true),
        ("2026-01-01T13:00:00+01:00", true),
        ("2026-01-01T12:00:01Z", false),
    ] {
        let since_text = Some(since.to_owned());
        let filter = Filter {
            since: since_text,
            ..Filter::default()
        };
        assert_eq!(passes(&filter), expected, "{since}");
    }
}

#[test]
fn what_is_no_time_is_said() {
    let filter = Filter {
        since: Some("yesterday".to_owned()),
        ..Filter::default()
    };
    let now = SystemTime::UNIX_EPOCH + Duration::from_mins(1);
    let problem = filter.starting_from(now).unwrap_err();
    insta::assert_snapshot!(problem.plain(), @"
    error: `yesterday` is no time
    hint: write how long ago, such as `10m`, or a time such as `2026-01-31T12:00:00Z`
    ");
}
