use super::{agree_absolute, agree_authority, parse_absolute, parse_authority};

fn authority(text: &str) -> String {
    match parse_authority(text) {
        Ok(target) => target.to_string(),
        Err(refusal) => format!("{} {}", refusal.status, refusal.detail),
    }
}

fn absolute(text: &str) -> String {
    match parse_absolute(text) {
        Ok(absolute) => format!("{} {}", absolute.target, absolute.rest),
        Err(refusal) => format!("{} {}", refusal.status, refusal.detail),
    }
}

#[test]
fn reads_an_authority_into_one_spelling() {
    assert_eq!(authority("Allowed.TEST.:443"), "allowed.test:443");
    assert_eq!(authority("[::1]:22"), "[::1]:22");
    assert_eq!(authority("127.0.0.2:7"), "127.0.0.2:7");
    assert_eq!(
        authority("my_db.allowed.test:5432"),
        "my_db.allowed.test:5432"
    );
}

#[test]
fn refuses_authorities_that_are_not_host_and_port() {
    for text in [
        "",
        ":443",
        "allowed.test",
        "allowed.test:",
        "allowed.test:0",
        "allowed.test:65536",
        "allowed.test:+443",
        "allowed.test:0443",
        "allowed.test:443:443",
        "allowed.test..:443",
        ".allowed.test:443",
        "a..allowed.test:443",
        "[allowed.test]:443",
        "[::1]",
        "::1:443",
        "[::1%25lo]:443",
        "/",
        "http://allowed.test:443/",
        "allowed.test:443/",
        "u@allowed.test:443",
        "allowed.test:443@denied.test:443",
        "0x7f.1:443",
        "2130706433:443",
        "denied.test\u{0}.wild.test:443",
        "b\u{fc}cher.test:443",
    ] {
        assert!(
            authority(text).starts_with("400 "),
            "{text:?}: {}",
            authority(text)
        );
    }
}

#[test]
fn keeps_path_and_query_as_sent() {
    let path = "/o/a%2Fb%20c/..;/x//y?q=%2e%2e&u=http://denied.test/";
    assert_eq!(
        absolute(&format!("http://allowed.test{path}")),
        format!("allowed.test:80 {path}")
    );
    assert_eq!(absolute("HTTP://H.test:81"), "h.test:81 ");
    assert_eq!(absolute("http://h.test?a=/b"), "h.test:80 ?a=/b");
    assert_eq!(absolute("ws://h.test/ws"), "h.test:80 /ws");
}

#[test]
fn gives_policy_the_path_without_the_query() {
    let path = |text| parse_absolute(text).unwrap().path();
    assert_eq!(path("http://h.test/a/b?c=/d"), "/a/b");
    assert_eq!(path("http://h.test"), "/");
    assert_eq!(path("http://h.test?a"), "/");
}

#[test]
fn says_what_is_wrong_with_a_target() {
    insta::assert_snapshot!(absolute("/"), @"400 this port is a proxy: the target must be an absolute URL");
    insta::assert_snapshot!(absolute("*"), @"400 this port is a proxy: the target must be an absolute URL");
    insta::assert_snapshot!(absolute("//allowed.test/"), @"400 this port is a proxy: the target must be an absolute URL");
    insta::assert_snapshot!(absolute("https://allowed.test/"), @"400 for TLS use CONNECT: an https URL here would be sent in clear");
    insta::assert_snapshot!(absolute("ftp://allowed.test/x"), @"400 only http URLs are served");
    insta::assert_snapshot!(absolute("file:///etc/hostname"), @"400 only http URLs are served");
    insta::assert_snapshot!(absolute("http:///x"), @"400 the host is malformed: empty host");
    insta::assert_snapshot!(absolute("http://a.test/#b"), @"400 a fragment in the target");
    insta::assert_snapshot!(absolute("http://allowed.test@denied.test/"), @"400 user information in the target");
    insta::assert_snapshot!(absolute("http://allowed.test:80@denied.test/"), @"400 user information in the target");
    insta::assert_snapshot!(absolute("allowed.test:443"), @"400 this port is a proxy: the target must be an absolute URL");
    insta::assert_snapshot!(absolute("http://allowed.test:/"), @"400 the port must be 1 to 65535, in digits");
    insta::assert_snapshot!(absolute("http://allowed.test\\@denied.test/"), @"400 user information in the target");
}

#[test]
fn holds_host_to_the_target() {
    let connect = |host| {
        let target = parse_authority("allowed.test:443").unwrap();
        agree_authority(&target, host).map_err(|refusal| refusal.status)
    };
    assert_eq!(connect("allowed.test:443"), Ok(()));
    assert_eq!(connect("ALLOWED.test."), Ok(()));
    assert_eq!(connect("denied.test:443"), Err(421));
    assert_eq!(connect("allowed.test:80"), Err(421));
    assert_eq!(connect(""), Err(400));
    assert_eq!(connect("u@allowed.test"), Err(400));

    let plain = |url, host| {
        let absolute = parse_absolute(url).unwrap();
        agree_absolute(&absolute.target, host).map_err(|refusal| refusal.status)
    };
    assert_eq!(plain("http://allowed.test/", "allowed.test"), Ok(()));
    assert_eq!(plain("http://allowed.test/", "allowed.test:80"), Ok(()));
    assert_eq!(plain("http://allowed.test:8080/", "allowed.test"), Err(421));
    assert_eq!(plain("http://allowed.test/", "denied.test"), Err(421));
    assert_eq!(plain("http://allowed.test/", ""), Err(400));
}
