use super::*;

fn input(origin: Origin, text: &str) -> LayerInput {
    LayerInput {
        origin,
        source: SourceFile::new(format!("{origin:?}.yaml"), &format!("version: 1\n{text}\n")),
    }
}

fn join(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<_> = diagnostics.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

const ALLOW: &str = "allow: [{id: a, net: [a.test]}, {id: b, net: [b.test]}]";

#[test]
fn the_built_in_default_compiles_without_findings() {
    let compiled = compile(vec![built_in()]).unwrap();
    assert_eq!(join(&compiled.warnings), "");
    assert_eq!(
        &*compiled.layers[0].document.source.name,
        "built-in default"
    );
}

#[test]
fn allows_that_do_not_count_are_reported() {
    let compiled = compile(vec![input(Origin::UntrustedProject, ALLOW)]).unwrap();
    insta::assert_snapshot!(join(&compiled.warnings), @"
    UntrustedProject.yaml:2:14: warning[L001]: 2 allow groups do not count: nobody has trusted this file
      help: read them, and `moat allow` what you agree with
    ");
    let machine = input(Origin::Machine, "exclusive: true");
    let user = input(Origin::User, "allow: [{id: a, net: [a.test]}]");
    let compiled = compile(vec![user, machine, input(Origin::TrustedProject, ALLOW)]).unwrap();
    assert!(compiled.policy.is_exclusive());
    insta::assert_snapshot!(join(&compiled.warnings), @"
    TrustedProject.yaml:2:14: warning[L002]: 2 allow groups do not count: the machine's policy is exclusive
      help: only the machine's policy can allow; ask whoever keeps it
    User.yaml:2:14: warning[L002]: 1 allow group does not count: the machine's policy is exclusive
      help: only the machine's policy can allow; ask whoever keeps it
    ");
}

#[test]
fn the_errors_of_all_files_come_together() {
    let problems = compile(vec![
        input(Origin::User, "allow: [{id: a, net: [a..test]}]"),
        input(Origin::Machine, "alow: []"),
        input(Origin::TrustedProject, "exclusive: true"),
    ])
    .unwrap_err();
    insta::assert_snapshot!(join(&problems), @"
    Machine.yaml:2:1: error[P015]: unknown key `alow`
      help: did you mean `allow`?
    TrustedProject.yaml:2:1: error[P030]: `exclusive` in a file that is not the machine's
      help: remove it: only /etc/moat/policy.yaml can say so
    User.yaml:2:23: error[P020]: `a..test` has an empty label
      help: write one dot between two labels, and none at the front
    ");
}

#[test]
fn a_preset_that_warns_of_hosts_cannot_allow_them() {
    let text = "allow: [{id: a, net: [{preset: blocklist-exfil}]}]";
    let problems = compile(vec![input(Origin::User, text)]).unwrap_err();
    insta::assert_snapshot!(join(&problems), @"
    User.yaml:2:23: error[P023]: the preset `blocklist-exfil` lists what to refuse
      help: name it in a `deny` group
    ");
    compile(vec![input(Origin::User, &text.replace("allow", "deny"))]).unwrap();
}

#[test]
fn the_digest_names_texts_and_trust_but_no_paths() {
    let digest = |origin, name: &str, text| {
        let source = SourceFile::new(name, text);
        let compiled = compile(vec![LayerInput { origin, source }]).unwrap();
        compiled.policy.digest().to_string()
    };
    let base = digest(Origin::User, "a", "version: 1");
    assert_eq!(base.len(), DIGEST_DIGITS);
    assert_eq!(base, digest(Origin::User, "b", "version: 1"));
    assert_ne!(base, digest(Origin::User, "a", "version: 1\n"));
    assert_ne!(base, digest(Origin::Machine, "a", "version: 1"));
}

#[test]
fn a_preset_named_too_often_is_an_error_and_no_flood() {
    let mentions = "{preset: default}, ".repeat(1_000);
    let text = format!("allow: [{{id: a, net: [{mentions}]}}]");
    let problems = compile(vec![input(Origin::User, &text)]).unwrap_err();
    assert_eq!(problems.len(), MOST_PROBLEMS);
    assert_eq!(problems[0].code, code::TOO_LARGE);
}

#[test]
fn patterns_that_would_have_to_be_tried_one_by_one_are_capped() {
    let patterns: Vec<_> = (0..1_001).map(|n| format!("\"a{n}*b*c.test\"")).collect();
    let text = format!("allow: [{{id: a, net: [{}]}}]", patterns.join(", "));
    let problems = compile(vec![input(Origin::User, &text)]).unwrap_err();
    insta::assert_snapshot!(join(&problems), @"
    User.yaml:2:1: error[P031]: too many patterns that would have to be tried for every request
      help: write the last labels out, have at most one `*` in a label, or use `*.` in front; of the others 1,000 are taken
    ");
    let fewer = text.replace("\"a1000*b*c.test\"", "a.test");
    compile(vec![input(Origin::User, &fewer)]).unwrap();
}

#[test]
fn entries_of_one_host_that_would_have_to_be_tried_one_by_one_are_capped() {
    let paths = |count: usize, path: fn(usize) -> String| {
        let entries: Vec<_> = (0..count)
            .map(|n| format!("{{host: a.test, paths: [\"{}\"]}}", path(n)))
            .collect();
        let text = format!("allow: [{{id: a, net: [{}]}}]", entries.join(", "));
        compile(vec![input(Origin::User, &text)]).map(drop)
    };
    let alike = |n: usize| format!("/p/*/{n}");
    let problems = paths(1_001, alike).unwrap_err();
    insta::assert_snapshot!(join(&problems), @"
    User.yaml:2:1: error[P031]: too many entries for one host that would have to be tried for every request
      help: for one host, 1,000 combinations of ports, methods and exclusions are taken, and 1,000 entries whose paths have the same text in front of their first `*`; put several paths into one entry, or several entries into one list
    ");
    assert!(paths(1_000, alike).is_ok());
    assert!(paths(1_001, |n| format!("/p{n}/**")).is_ok());

    let lists: Vec<_> = (0..1_001)
        .map(|n| format!("{{id: g{n}, net: [\"*.a.test\", \"!b{n}.a.test\"]}}"))
        .collect();
    let text = format!("allow: [{}]", lists.join(", "));
    let problems = compile(vec![input(Origin::User, &text)]).unwrap_err();
    assert_eq!(problems[0].code, code::PATTERNS);
    let first = format!("allow: [{}]", lists[..1_000].join(", "));
    assert!(compile(vec![input(Origin::User, &first)]).is_ok());
}

#[test]
fn lists_with_the_same_exclusions_and_entries_that_only_end_differently_are_not_capped() {
    let lists: Vec<_> = (0..1_001)
        .map(|n| format!("{{id: g{n}, net: [\"*.a.test\", \"!b.a.test\"]}}"))
        .collect();
    let ends: Vec<_> = (0..1_001)
        .map(|n| {
            format!(
                "{{host: c.test, until: 2030-01-01T{:02}:{:02}:00Z}}",
                n / 60,
                n % 60
            )
        })
        .collect();
    let ends = format!("{{id: ends, net: [{}]}}", ends.join(", "));
    let text = format!("allow: [{}, {ends}]", lists.join(", "));
    assert!(compile(vec![input(Origin::User, &text)]).is_ok());
}
