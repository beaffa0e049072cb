//! Every example of `docs/policy.md` is a policy that does what the page says, every key of the
//! language has one, and `docs/operations.md` has every field and every cause of the record.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::SystemTime;

use moat_policy::case;
use moat_policy::compile::{Compiled, compile};
use moat_policy::diagnostic::Diagnostic;
use moat_policy::layer::{LayerInput, Origin};
use moat_policy::record::{Actor, Cause, EndedBy, Event, Protocol, Record};
use moat_policy::schema::schema;
use moat_policy::source::SourceFile;
use moat_policy::verdict::Effect;

const PAGE: &str = include_str!("../../docs/policy.md");

/// The fenced YAML blocks of the page, each with the line of its first line.
fn examples() -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (index, line) in PAGE.lines().enumerate() {
        match &mut block {
            None if line == "```yaml" => block = Some((index + 2, String::new())),
            Some(_) if line == "```" => found.extend(block.take()),
            Some((_, text)) => {
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    found
}

fn load(line: usize, text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let source = SourceFile::new(format!("docs/policy.md, example at line {line}"), text);
    // The machine's layer may use every key, `exclusive` among them.
    compile(vec![LayerInput {
        origin: Origin::Machine,
        source,
    }])
}

#[test]
fn every_example_of_the_policy_page_does_what_it_says() {
    let examples = examples();
    assert!(
        examples.len() >= 14,
        "only {} examples found",
        examples.len()
    );
    let mut tests = 0;
    for (line, text) in examples {
        if let Some(code) = text
            .lines()
            .next()
            .and_then(|first| first.strip_prefix("# broken: "))
        {
            let problems = load(line, &text).expect_err("the example loads");
            let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
            assert_eq!(codes, [code], "example at line {line}");
            continue;
        }
        let compiled = load(line, &text).unwrap_or_else(|problems| {
            panic!("example at line {line}: {problems:#?}");
        });
        for outcome in case::run(&compiled, SystemTime::now()) {
            tests += 1;
            assert!(
                outcome.holds(),
                "example at line {line}: {:?} expects {}, the policy says {}",
                outcome.case.asked,
                outcome.case.expect,
                outcome.effect(),
            );
        }
    }
    assert!(tests >= 50, "only {tests} tests found");
}

#[test]
fn every_key_of_the_language_stands_in_an_example() {
    let examples: String = examples().into_iter().map(|(_, text)| text).collect();
    let examples = examples.replace('"', "");
    let written: BTreeSet<&str> = examples
        .split([' ', '\n', '{', ','])
        .filter_map(|word| word.strip_suffix(':'))
        .collect();
    let mut keys = BTreeSet::new();
    collect_keys(&schema(), &mut keys);
    assert!(keys.len() > 40, "only {} keys found", keys.len());
    for key in keys {
        assert!(written.contains(key.as_str()), "`{key}` has no example");
    }
}

/// The names under `properties`, at every depth.
fn collect_keys(schema: &serde_json::Value, keys: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(|below| below.as_object()) {
        keys.extend(properties.keys().cloned());
    }
    let below = schema.as_object().map(|map| map.values());
    for value in below.into_iter().flatten() {
        collect_keys(value, keys);
    }
    for value in schema.as_array().into_iter().flatten() {
        collect_keys(value, keys);
    }
}

#[test]
fn the_record_is_documented_field_by_field_and_cause_by_cause() {
    let manual = include_str!("../../docs/operations.md");
    let (_, section) = manual.split_once("## The record").unwrap();
    let mut record = Record::new(
        String::new(),
        1,
        String::new(),
        Event::Decision,
        Cause::Done,
    );
    record.protocol = Some(Protocol::Connect);
    record.actor = Some(Actor::default());
    record.port = Some(443);
    record.method = Some("GET".into());
    record.address = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    record.effect = Some(Effect::Allow);
    record.status = Some(200);
    record.rule = Some("a".into());
    record.source = Some("a:1".into());
    record.reason = Some("a".into());
    record.policy = Some("a".into());
    record.bytes_up = Some(0);
    record.bytes_down = Some(0);
    record.duration_ms = Some(0);
    record.ended_by = Some(EndedBy::Client);
    let serde_json::Value::Object(fields) = serde_json::to_value(&record).unwrap() else {
        panic!("a record is an object");
    };
    assert_eq!(fields.len(), 24, "name the new field above and in the page");
    let words = fields
        .keys()
        .map(String::as_str)
        .chain(Cause::ALL.iter().map(|cause| cause.as_str()));
    for word in words {
        assert!(
            section.contains(&format!("`{word}`")),
            "`{word}` is missing"
        );
    }
}
