use super::*;
use crate::parse::parse;

fn layer(origin: Origin, text: &str) -> LayerDocument {
    let name = format!("{origin:?}.yaml");
    let source = SourceFile::new(name, &format!("version: 1\n{text}\n"));
    LayerDocument {
        origin,
        document: parse(&source).unwrap(),
    }
}

fn hold(layers: &[LayerDocument]) -> (Effect, Effect, String) {
    let (defaults, findings) = defaults(layers);
    let findings: Vec<_> = findings.iter().map(ToString::to_string).collect();
    (defaults.net, defaults.fetch, findings.join("\n"))
}

#[test]
fn unset_defaults_are_deny_and_ask() {
    assert_eq!(hold(&[]), (Effect::Deny, Effect::Ask, String::new()));
    let unset = layer(Origin::User, "allow: []");
    assert_eq!(hold(&[unset]), (Effect::Deny, Effect::Ask, String::new()));
}

#[test]
fn the_most_trusted_file_decides_and_others_only_tighten() {
    let machine = layer(Origin::Machine, "defaults: { net: ask, fetch: allow }");
    let user = layer(Origin::User, "defaults: { net: allow, fetch: deny }");
    let mut layers = [machine, user.clone()];
    for _ in 0..2 {
        layers.reverse();
        let (net, fetch, findings) = hold(&layers);
        assert_eq!((net, fetch), (Effect::Ask, Effect::Deny));
        insta::allow_duplicates! {
            insta::assert_snapshot!(findings, @"
            User.yaml:2:13: warning[L003]: `net: allow` is looser than `ask`, which holds
              help: a less trusted file can only tighten a default
            ");
        }
    }
    assert_eq!(hold(&[user]).0, Effect::Allow);
}

#[test]
fn of_several_files_of_one_origin_the_strictest_speaks() {
    let loose = layer(Origin::User, "defaults: { net: allow }");
    let strict = layer(Origin::User, "defaults: { net: ask }");
    assert_eq!(hold(&[loose.clone(), strict.clone()]).0, Effect::Ask);
    assert_eq!(hold(&[strict, loose]).0, Effect::Ask);
}

#[test]
fn an_untrusted_project_cannot_even_loosen_what_nobody_set() {
    let text = "defaults: { net: allow, fetch: deny }";
    let (net, fetch, findings) = hold(&[layer(Origin::UntrustedProject, text)]);
    assert_eq!((net, fetch), (Effect::Deny, Effect::Deny));
    insta::assert_snapshot!(findings, @"
    UntrustedProject.yaml:2:13: warning[L003]: `net: allow` is looser than `deny`, which holds
      help: a less trusted file can only tighten a default
    ");
    assert_eq!(
        hold(&[layer(Origin::TrustedProject, text)]).0,
        Effect::Allow
    );
}

#[test]
fn beside_an_exclusive_machine_nobody_else_loosens_a_default() {
    let machine = layer(Origin::Machine, "exclusive: true");
    let user = layer(Origin::User, "defaults: { net: allow, fetch: allow }");
    let trusted = layer(Origin::TrustedProject, "defaults: { net: ask }");
    let (net, fetch, findings) = hold(&[machine, user, trusted]);
    assert_eq!((net, fetch), (Effect::Deny, Effect::Ask));
    insta::assert_snapshot!(findings, @"
    User.yaml:2:13: warning[L003]: `net: allow` is looser than `deny`, which holds
      help: a less trusted file can only tighten a default
    TrustedProject.yaml:2:13: warning[L003]: `net: ask` is looser than `deny`, which holds
      help: a less trusted file can only tighten a default
    User.yaml:2:25: warning[L003]: `fetch: allow` is looser than `ask`, which holds
      help: a less trusted file can only tighten a default
    ");
    let own = layer(Origin::Machine, "exclusive: true\ndefaults: { net: allow }");
    assert_eq!(hold(&[own]).0, Effect::Allow);
}

#[test]
fn exclusive_is_the_machines_word_alone() {
    let user = layer(Origin::User, "exclusive: true");
    let machine = layer(Origin::Machine, "exclusive: true");
    assert!(is_exclusive(std::slice::from_ref(&machine)));
    assert!(!is_exclusive(std::slice::from_ref(&user)));
    let problems: Vec<_> = misplaced(&[user, machine])
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(problems.join("\n"), @"
    User.yaml:2:1: error[P030]: `exclusive` in a file that is not the machine's
      help: remove it: only /etc/moat/policy.yaml can say so
    ");
}
