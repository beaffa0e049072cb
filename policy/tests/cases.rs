//! The decision corpus: policies with requests and the verdicts that they must get, as data.
//!
//! The files of `cases/` are shared with whatever else judges requests by a policy. A file holds
//! several `cases`; each has `layers` (the origin and the text of each policy file) and any of
//! - `requests`: what is asked and the effect, and optionally the rule, entry and line, that decide;
//! - `unreadable`: texts that are no request, whatever the policy;
//! - `answers`: an address that a permitted name resolved to, and whether it may be dialled;
//! - `errors`: the codes and places that keep the layers from loading.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails panics"
)]

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use moat_policy::compile::{Compiled, compile};
use moat_policy::host::Host;
use moat_policy::layer::{LayerInput, Origin};
use moat_policy::port::Port;
use moat_policy::request::{Request, Surface, Target};
use moat_policy::request_text::Asked;
use moat_policy::source::SourceFile;
use moat_policy::verdict::{AddressVerdict, Basis, Effect};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    title: String,
    layers: Vec<Layer>,
    #[serde(default)]
    requests: Vec<Question>,
    #[serde(default)]
    unreadable: Vec<String>,
    #[serde(default)]
    answers: Vec<Answer>,
    #[serde(default)]
    errors: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    #[serde(default)]
    origin: From,
    text: String,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum From {
    Machine,
    Bundle,
    #[default]
    User,
    Trusted,
    Project,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    ask: String,
    #[serde(default)]
    kind: Kind,
    method: Option<String>,
    /// Hours after the beginning of 1970.
    hour: Option<u64>,
    effect: Effect,
    /// `FILE:LINE` of the deciding rule, `default`, or a guarded class.
    by: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Net,
    Fetch,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    address: IpAddr,
    port: u16,
    /// The addresses of this host.
    #[serde(default)]
    own: Vec<IpAddr>,
    /// Of the request, where they are seen.
    method: Option<String>,
    path: Option<String>,
    /// `open`, `refused` or a guarded class.
    verdict: String,
}

/// 2026-12-31, a day inside which every case lies that names no hour.
const NOW: u64 = 499_632;

#[test]
fn every_case_of_the_corpus_holds() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 5, "the corpus is not where it was");
    let mut failures = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let file: File = serde_yaml::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in &file.cases {
            for failure in run(case) {
                failures.push(format!("{}: {}: {failure}", path.display(), case.title));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn run(case: &Case) -> Vec<String> {
    let inputs = case.layers.iter().enumerate().map(|(index, layer)| {
        let (origin, name) = match layer.origin {
            From::Machine => (Origin::Machine, "machine"),
            From::Bundle => (Origin::Bundle, "bundle"),
            From::User => (Origin::User, "user"),
            From::Trusted => (Origin::TrustedProject, "project"),
            From::Project => (Origin::UntrustedProject, "project"),
        };
        let twin = case.layers.iter().take(index).any(|other| {
            std::mem::discriminant(&other.origin) == std::mem::discriminant(&layer.origin)
        });
        let name = if twin {
            format!("{name}{}", index + 1)
        } else {
            name.to_owned()
        };
        LayerInput {
            origin,
            source: SourceFile::new(name, &layer.text),
        }
    });
    let compiled = match compile(inputs.collect()) {
        Ok(compiled) if case.errors.is_empty() => compiled,
        Ok(_) => return vec!["it loads".to_owned()],
        Err(problems) => {
            let found: Vec<_> = problems
                .iter()
                .map(|one| {
                    format!(
                        "{} {}:{}:{}",
                        one.code, one.source.name, one.span.line, one.span.column
                    )
                })
                .collect();
            let fits = found == case.errors;
            let text = problems
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n");
            return if fits {
                Vec::new()
            } else {
                vec![format!("errors {found:?}\n{text}")]
            };
        }
    };
    let requests = case.requests.iter().filter_map(|ask| judge(&compiled, ask));
    let answers = case
        .answers
        .iter()
        .filter_map(|answer| judge_address(&compiled, answer));
    let unreadable = case.unreadable.iter();
    let read = unreadable.filter(|text| Asked::parse(text).is_ok());
    let read = read.map(|text| format!("{text:?} is a request"));
    requests.chain(answers).chain(read).collect()
}

fn at(hour: Option<u64>) -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(hour.unwrap_or(NOW))
}

fn judge(compiled: &Compiled, ask: &Question) -> Option<String> {
    let asked = match Asked::parse(&ask.ask) {
        Ok(asked) => asked,
        Err(error) => return Some(format!("`{}`: {error}", ask.ask)),
    };
    let asked = ask
        .method
        .iter()
        .fold(asked, |asked, method| asked.with_method(method));
    let surface = match ask.kind {
        Kind::Net => Surface::Net,
        Kind::Fetch => Surface::Fetch,
    };
    let verdict = compiled
        .policy
        .decide(&asked.request(surface, at(ask.hour)));
    let by = match (verdict.basis, verdict.rule) {
        (Basis::Rule, Some(rule)) => format!("{}:{}", rule.file, rule.line),
        (Basis::Default, None) => "default".to_owned(),
        (Basis::Guarded(class), None) => class.to_string(),
        (Basis::Clear, Some(rule)) => format!("clear {}:{}", rule.file, rule.line),
        (basis, rule) => panic!("{basis:?} with {rule:?}"),
    };
    let fits = verdict.effect == ask.effect && ask.by.as_ref().is_none_or(|wanted| *wanted == by);
    (!fits).then(|| format!("`{}` is {} by {by}", ask.ask, verdict.effect))
}

fn judge_address(compiled: &Compiled, answer: &Answer) -> Option<String> {
    let port = Port::from_number(answer.port).unwrap();
    let target = Target {
        host: Host::Address(answer.address),
        port,
    };
    let request = Request {
        method: answer.method.as_deref(),
        path: answer.path.as_deref(),
        ..Request::connection(&target, at(None))
    };
    let own = |address| answer.own.contains(&address);
    let verdict = match compiled
        .policy
        .judge_address(&request, answer.address, &own)
    {
        AddressVerdict::Open => "open".to_owned(),
        AddressVerdict::Guarded(class) => class.to_string(),
        AddressVerdict::Refused(_) => "refused".to_owned(),
    };
    (verdict != answer.verdict).then(|| format!("{}:{port} is {verdict}", answer.address))
}
