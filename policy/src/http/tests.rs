use super::{HttpRule, Match, RequestPath};

fn rule(methods: &[&str], paths: &[&str]) -> HttpRule {
    HttpRule::parse(methods, paths).unwrap()
}

fn judge(rule: &HttpRule, path: &str) -> Match {
    rule.judge(None, Some(&RequestPath::new(path)))
}

#[test]
fn methods_are_case_sensitive_and_unknown_in_a_tunnel() {
    let read = rule(&["GET", "HEAD"], &[]);
    assert_eq!(read.judge(Some("GET"), None), Match::Yes);
    // Some servers read it as GET.
    assert_eq!(read.judge(Some("get"), None), Match::Unknown);
    assert_eq!(read.judge(Some("gets"), None), Match::No);
    assert_eq!(read.judge(Some("POST"), None), Match::No);
    assert_eq!(read.judge(None, None), Match::Unknown);
    let both = rule(&["GET"], &["/a/**"]);
    assert_eq!(both.judge(Some("POST"), None), Match::No);
    assert_eq!(both.judge(Some("GET"), None), Match::Unknown);
    assert_eq!(rule(&[], &[]).judge(None, None), Match::Yes);
}

#[test]
fn a_star_stays_in_its_segment_and_two_stars_do_not() {
    for (pattern, path, want) in [
        ("/repos/acme/**", "/repos/acme/a", Match::Yes),
        ("/repos/acme/**", "/repos/acme/a/b", Match::Yes),
        ("/repos/acme/**", "/repos/acme", Match::No),
        ("/repos/acme/**", "/repos/acmex/a", Match::No),
        ("/repos/acme/**", "/Repos/acme/a", Match::No),
        ("/repos/*/issues", "/repos/a/issues", Match::Yes),
        ("/repos/*/issues", "/repos/a/b/issues", Match::No),
        ("/v*/x", "/v1/x", Match::Yes),
        ("/**/x", "/a/b/x", Match::Yes),
        ("/**", "/", Match::Yes),
        ("/a", "/a", Match::Yes),
        ("/a", "/a/", Match::No),
        ("/a b", "/a%20b", Match::Yes),
        ("/a%20b", "/a%20b", Match::Yes),
        ("/b\u{fc}cher", "/b%C3%BCcher", Match::Yes),
        ("/%5Bx%5D", "/[x]", Match::Yes),
        ("/%2A*", "/%2Ax", Match::Yes),
        ("/%2A*", "/xx", Match::No),
    ] {
        assert_eq!(
            judge(&rule(&[], &[pattern]), path),
            want,
            "{pattern} {path}"
        );
    }
}

#[test]
fn a_path_that_parsers_read_differently_is_unknown() {
    let rule = rule(&[], &["/public/**"]);
    for path in [
        "/public/../secret",
        "/public/%2e%2e/secret",
        "/public/%2E./secret",
        "/public/..%2fsecret",
        "/public/..;/secret",
        "/public/.;x/secret",
        "/public/..\\secret",
        "/public/%5c..%5csecret",
        "/public//secret",
        "//public/a",
        "/public/%252e%252e/secret",
        "/public/%00",
        "/public/%0a",
        "/public/%7f",
        "/public/%c0%ae%c0%ae/secret",
        "/public/%",
        "/public/%2",
        "/public/%zz",
        "/public/%+1",
        "/public/a b",
        "/public/a?b",
        "/public/a#b",
        "/public/b\u{fc}cher",
        "public/a",
        "",
        "*",
    ] {
        assert_eq!(judge(&rule, path), Match::Unknown, "{path}");
    }
    assert_eq!(judge(&rule, "/public/a/"), Match::Yes);
    assert_eq!(judge(&rule, "/public/.well-known/..x"), Match::Yes);
}

#[test]
fn an_encoded_slash_must_match_in_both_readings() {
    let segment = rule(&[], &["/files/*"]);
    assert_eq!(judge(&segment, "/files/a%2Fb"), Match::Unknown);
    assert_eq!(judge(&segment, "/other/a%2fb"), Match::No);
    let tree = rule(&[], &["/files/**"]);
    assert_eq!(judge(&tree, "/files/a%2fb"), Match::Yes);
    assert_eq!(judge(&tree, "/x/..%2ffiles/a"), Match::Unknown);
}

#[test]
fn rules_that_could_never_match_are_errors_with_a_fix() {
    let mut lines = Vec::new();
    for (methods, paths) in [
        (["get"].as_slice(), [].as_slice()),
        (&["GET", "G T"], &[]),
        (&["*"], &[]),
        (&["CONNECT"], &[]),
        (&[], &["repos/**"]),
        (&[], &["/a", "/a?b"]),
        (&[], &["/{a,b}"]),
        (&[], &["/a**"]),
        (&[], &["/a/../b"]),
        (&[], &["/a//b"]),
        (&[], &["/a%2"]),
        (&[], &[""]),
    ] {
        let error = HttpRule::parse(methods, paths).unwrap_err();
        lines.push(format!(
            "{}[{}]: {error}; {}",
            error.key, error.index, error.help
        ));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    methods[0]: `get` is not in capitals, and methods are case-sensitive; write `GET`
    methods[1]: `G T` is no HTTP method; write methods like `GET`; leave `methods` out for every method
    methods[0]: `*` is no HTTP method; write methods like `GET`; leave `methods` out for every method
    methods[0]: `CONNECT` opens a tunnel, and is no request of a host's rule; leave it out; an entry without `methods` and `paths` allows tunnels
    paths[0]: `repos/**` does not begin with `/`; write the path from its first `/`, for example `/repos/acme/**`
    paths[1]: `?` in the path `/a?b`; the wildcards are `*` inside a segment and `**` for segments; a query is no part of a path; write the character itself as `%` and two digits
    paths[0]: `{` in the path `/{a,b}`; the wildcards are `*` inside a segment and `**` for segments; a query is no part of a path; write the character itself as `%` and two digits
    paths[0]: `**` inside a segment of `/a**`; `**` stands for whole segments: `/a/**/b`; inside a segment write `*`
    paths[0]: `/a/../b` matches no path that is safe to read; remove `//`, `.` and `..` segments, backslashes, control characters and bad `%` escapes
    paths[0]: `/a//b` matches no path that is safe to read; remove `//`, `.` and `..` segments, backslashes, control characters and bad `%` escapes
    paths[0]: `/a%2` matches no path that is safe to read; remove `//`, `.` and `..` segments, backslashes, control characters and bad `%` escapes
    paths[0]: `` does not begin with `/`; write the path from its first `/`, for example `/repos/acme/**`
    "#);
}

#[test]
fn rules_are_equal_when_they_are_written_alike() {
    assert_eq!(rule(&["GET"], &["/a"]), rule(&["GET"], &["/a"]));
    assert_ne!(rule(&["GET"], &["/a"]), rule(&["GET"], &["/b"]));
    assert_eq!(rule(&["GET"], &["/a"]).paths(), [Box::from("/a")]);
    assert_eq!(rule(&["GET"], &["/a"]).methods(), [Box::from("GET")]);
}
