use super::*;

/// The tests whose snapshots show messages with their codes.
const TESTS: &[&str] = &[
    include_str!("../../compile/tests.rs"),
    include_str!("../../gate/tests.rs"),
    include_str!("../../layer/tests.rs"),
    include_str!("../../lint/tests.rs"),
    include_str!("../../parse/tests.rs"),
];

#[test]
fn every_code_is_shown_by_a_snapshot() {
    let missing: Vec<_> = ALL
        .iter()
        .map(|(code, _)| *code)
        .filter(|code| {
            !TESTS
                .iter()
                .any(|text| text.contains(&format!("[{code}]: ")))
        })
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn codes_are_in_order_and_explained_in_sentences() {
    assert!(ALL.is_sorted_by_key(|(code, _)| (code.starts_with('L'), *code)));
    for (code, text) in ALL {
        assert!(
            text.lines().all(|line| line.ends_with('.')),
            "{code}: {text}"
        );
        assert_eq!(explain(code), Some(*text));
    }
    assert_eq!(explain("p001"), explain("P001"));
    assert_eq!(explain("P999"), None);
}
