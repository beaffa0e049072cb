use insta::assert_snapshot;
use serde_json::{Value, json};

use super::*;

/// A refusal as the record holds it, some of it changed.
fn record(changes: &Value) -> Record {
    let mut record = json!({
        "v": 1, "ts": "2026-11-30T21:00:00.000000Z", "seq": 1, "id": "K7Q2FXMA",
        "event": "decision", "host": "x.test", "port": 443, "effect": "deny",
        "enforced": true, "cause": "default",
    });
    for (key, value) in changes.as_object().unwrap() {
        record[key] = value.clone();
    }
    serde_json::from_value(record).unwrap()
}

fn entries(changes: &Value, section: Section) -> String {
    let items = items(&record(changes), section).unwrap();
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(" ")
}

fn entry(changes: &Value) -> String {
    entries(changes, Section::Allow)
}

#[test]
fn the_entry_names_what_was_asked_for() {
    assert_eq!(entry(&json!({})), "x.test");
    assert_eq!(entry(&json!({"port": 80})), "x.test");
    assert_eq!(entry(&json!({"port": 22})), "x.test:22");
    assert_eq!(
        entry(&json!({"host": "2001:db8::1", "port": 8443})),
        "[2001:db8::1]:8443"
    );
    assert_eq!(
        entry(&json!({"effect": "ask", "cause": "policy"})),
        "x.test"
    );
}

#[test]
fn a_guarded_address_is_named_and_never_the_name_that_leads_to_it() {
    assert_eq!(
        entry(&json!({"cause": "guarded", "address": "10.0.0.7", "port": 5432})),
        "10.0.0.7:5432"
    );
    assert_eq!(
        entry(&json!({"cause": "guarded", "address": "fd00::1", "port": 5432})),
        "[fd00::1]:5432"
    );
}

#[test]
fn localhost_is_opened_by_its_own_name() {
    let guarded = json!({"cause": "guarded", "host": "localhost", "port": 5432});
    assert_eq!(entry(&guarded), "localhost:5432");
    let below = json!({"cause": "guarded", "host": "db.localhost", "port": 5432});
    assert_eq!(entry(&below), "localhost:5432");
}

#[test]
fn every_entry_that_is_needed_is_written() {
    let inside = json!({"cause": "guarded", "address": "64:ff9b::a00:7", "port": 5432});
    assert_eq!(entry(&inside), "[64:ff9b::a00:7]:5432 10.0.0.7:5432");
    let literal = json!({"cause": "guarded", "host": "64:ff9b::a00:7"});
    assert_eq!(entry(&literal), "[64:ff9b::a00:7] 10.0.0.7");
    let metadata = json!({"host": "metadata.google.internal", "port": 80});
    assert_eq!(entry(&metadata), "metadata.google.internal 169.254.169.254");
    assert_eq!(
        entries(&metadata, Section::Deny),
        "metadata.google.internal",
        "one entry is enough to deny"
    );
}

#[test]
fn what_an_entry_cannot_change_is_said() {
    let problem = |changes: &Value| items(&record(changes), Section::Allow).unwrap_err().plain();
    assert_snapshot!(problem(&json!({"cause": "policy"})), @r"
    error: 2026-11-30T21:00:00.000000Z K7Q2FXMA: x.test:443 was refused (policy): a `deny` rule refused it, and no `allow` lifts a `deny`
    hint: `moat why K7Q2FXMA` says more
    ");
    assert_snapshot!(problem(&json!({"host": null})), @"error: 2026-11-30T21:00:00.000000Z K7Q2FXMA: a host that could not be read was refused (default): the record does not say which address or host an entry would have to name");
    assert!(problem(&json!({"cause": "guarded"})).contains("does not say which address"));
    assert!(problem(&json!({"cause": "malformed"})).contains("it was not refused by the policy"));
    assert!(items(&record(&json!({"cause": "policy"})), Section::Deny).is_ok());
}

#[test]
fn only_refusals_are_meant() {
    let last = |changes: &Value| is_meant(&record(changes), &Which::Last);
    assert!(last(&json!({})));
    assert!(!last(&json!({"effect": "allow"})));
    assert!(!last(&json!({"event": "close"})));
    assert!(is_meant(
        &record(&json!({})),
        &Which::Id("k7q2fxma".to_owned())
    ));
    assert!(!is_meant(
        &record(&json!({})),
        &Which::Id("K7Q2FXMB".to_owned())
    ));
}

#[test]
fn the_last_refusal_is_found_in_the_rotated_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let line = |id: &str| serde_json::to_string(&record(&json!({"id": id}))).unwrap() + "\n";
    let allowed = serde_json::to_string(&record(&json!({"effect": "allow"}))).unwrap() + "\n";
    std::fs::write(
        path.with_extension("jsonl.1"),
        line("AAAAAAAA") + &line("BBBBBBBB"),
    )
    .unwrap();
    std::fs::write(&path, allowed).unwrap();
    let proxy: Running = serde_json::from_value(json!({
        "pid": 1, "started": "", "start_ticks": null, "version": "", "listeners": [],
        "admin": null, "record": path, "policy": [MACHINE_POLICY, "/p.yaml"], "observe": false,
    }))
    .unwrap();
    let found = |which| {
        refused_by(&proxy, &which)
            .unwrap()
            .map(|record| record.id.into_owned())
    };
    assert_eq!(found(Which::Last).as_deref(), Some("BBBBBBBB"));
    assert_eq!(
        found(Which::Id("AAAAAAAA".to_owned())).as_deref(),
        Some("AAAAAAAA")
    );
    assert_eq!(found(Which::Id("CCCCCCCC".to_owned())), None);
}
