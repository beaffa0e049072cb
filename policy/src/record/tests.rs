use super::*;

/// A record with every field; a new field does not compile here before it is added.
fn full() -> Record {
    Record {
        v: SCHEMA_VERSION,
        ts: "2026-01-01T00:00:00.000001Z".into(),
        seq: 1,
        id: "K7Q2FXMA".into(),
        event: Event::Decision,
        protocol: Some(Protocol::Connect),
        actor: Some(Actor {
            client: Some("192.0.2.1:50000".into()),
        }),
        host: Some("docs.test".into()),
        port: Some(443),
        method: Some("CONNECT".into()),
        address: Some([192, 0, 2, 2].into()),
        effect: Some(Effect::Allow),
        enforced: true,
        cause: Cause::Policy,
        severity: Severity::Info,
        status: Some(200),
        rule: Some("docs".into()),
        source: Some("policy.yaml:4".into()),
        reason: Some("documentation".into()),
        policy: Some("0011".into()),
        bytes_up: Some(1),
        bytes_down: Some(2),
        duration_ms: Some(3),
        ended_by: Some(EndedBy::Client),
    }
}

#[test]
fn a_line_reads_back_as_what_was_written() {
    let record = full();
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    for cause in Cause::ALL {
        let text = serde_json::to_string(&cause).unwrap();
        assert_eq!(text, format!("\"{}\"", cause.as_str()));
    }
}

#[test]
fn a_line_without_a_request_has_no_more_than_it_needs() {
    let line = Record::new(
        "2026-01-01T00:00:00.000001Z".to_owned(),
        1,
        "K7Q2FXMA".to_owned(),
        Event::Start,
        Cause::Done,
    );
    let json = serde_json::to_value(line).unwrap();
    let fields: Vec<&str> = json
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        fields,
        [
            "cause", "enforced", "event", "host", "id", "seq", "severity", "ts", "v"
        ]
    );
}
