use moat_policy::compile::compile;
use moat_policy::layer::{LayerInput, Origin};
use moat_policy::source::SourceFile;

use super::*;

fn refused_by(text: &str) -> Option<String> {
    let layer = |origin, name: &str, text: &str| LayerInput {
        origin,
        source: SourceFile::new(name, text),
    };
    let layers = vec![
        layer(
            Origin::Machine,
            "/etc/moat/policy.yaml",
            "version: 1\ndeny:\n  - id: never\n    net: [\"*.bad.test\", \"10.0.0.0/8:22\"]\n",
        ),
        layer(
            Origin::User,
            "user.yaml",
            "version: 1\nallow:\n  - id: all\n    net: [\"*:*\", \"10.0.0.0/8:*\"]\n",
        ),
    ];
    let policy = compile(layers).unwrap().policy;
    let item = Item::parse(text, None).unwrap();
    refusing(&policy, &item, SystemTime::UNIX_EPOCH).map(|rule| rule.id.to_string())
}

#[test]
fn a_deny_of_the_machine_is_found_for_a_name_and_for_an_address() {
    assert_eq!(refused_by("a.bad.test").as_deref(), Some("never"));
    assert_eq!(refused_by("10.0.0.7:22").as_deref(), Some("never"));
    assert_eq!(refused_by("10.0.0.7:80"), None);
    assert_eq!(refused_by("good.test"), None);
}
