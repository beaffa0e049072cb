use clap::Parser;
use insta::assert_snapshot;

use super::*;
use crate::bed::Bed;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    wanted: Wanted,
}

fn wanted(words: &[&str]) -> Result<Wanted, clap::Error> {
    let words = std::iter::once("allow").chain(words.iter().copied());
    Line::try_parse_from(words).map(|line| line.wanted)
}

fn named(words: &[&str]) -> Vec<String> {
    let items = items(&wanted(words).unwrap()).unwrap();
    items.iter().map(ToString::to_string).collect()
}

#[test]
fn ports_of_the_option_are_for_every_pattern() {
    assert_eq!(
        named(&["A.test", "::1", "--port", "22,8000-8100"]),
        ["a.test:22,8000-8100", "[::1]:22,8000-8100"]
    );
    assert_eq!(named(&["--preset", "npm", "--preset", "go"]), ["npm", "go"]);
    let problem = items(&wanted(&["a.test:1", "--port", "2"]).unwrap()).unwrap_err();
    assert_eq!(problem.exit(), Exit::Usage);
    let problem = items(&wanted(&["--preset", "npm", "--port", "22"]).unwrap()).unwrap_err();
    assert_eq!(problem.exit(), Exit::Usage);
    assert_snapshot!(problem.plain(), @"
    error: `--port` without a pattern
    hint: a preset has ports of its own; leave out `--port`
    ");
}

#[test]
fn something_has_to_be_named_and_a_refusal_stands_alone() {
    assert!(wanted(&[]).is_err());
    for words in [
        ["--last", "a.test"],
        ["--last", "--id=X"],
        ["--last", "--remove"],
        ["--id=X", "--policy=p"],
    ] {
        assert!(wanted(&words).is_err(), "{words:?}");
    }
}

#[test]
fn an_end_counts_from_now() {
    let wanted = wanted(&["a.test", "--for", "1h"]).unwrap();
    let item = items(&wanted).unwrap().remove(0);
    let now = SystemTime::UNIX_EPOCH;
    let Edit::Add { until, .. } = edit_of(Section::Allow, item, &wanted, now) else {
        panic!("an addition");
    };
    assert_eq!(until, Some(now + Duration::from_hours(1)));
}

#[test]
fn nobody_allows_beside_an_exclusive_machine() {
    let machine = |text: &str| exclusive(&SourceFile::new("/etc/moat/policy.yaml", text));
    assert!(machine("version: 1\nallow: []\n").is_ok());
    let problem = machine("version: 1\nexclusive: true\n").unwrap_err();
    assert_eq!(problem.exit(), Exit::Failed);
    assert_snapshot!(problem.plain(), @r"
    error: the machine's policy says `exclusive: true`: only /etc/moat/policy.yaml can allow
    hint: ask whoever keeps it
    ");
    assert!(
        machine("version: 2\n").is_err(),
        "what cannot be read allows nothing"
    );
}

#[test]
fn a_change_that_was_written_went_well_whoever_reads_it() {
    let bed = Bed::new();
    let running = bed.places().running();
    std::fs::create_dir_all(running.parent().unwrap()).unwrap();
    std::fs::write(&running, "no directory").unwrap();
    let wanted = wanted(&["a.test", "--yes"]).unwrap();
    let (exit, _) = bed.run(|context| run(Section::Allow, &wanted, context));
    assert_eq!(exit.unwrap(), Exit::Ok);
    let text = std::fs::read_to_string(bed.places().user_policy).unwrap();
    assert!(text.contains("a.test"), "{text}");
}
