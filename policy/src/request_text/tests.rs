use super::*;

fn ask(text: &str) -> String {
    match Asked::parse(text) {
        Ok(Asked {
            target,
            method,
            path,
            wire,
        }) => format!(
            "{target} {} {} {}",
            method.as_deref().unwrap_or("-"),
            path.as_deref().unwrap_or("-"),
            match wire {
                Wire::Unseen => "unseen",
                Wire::Clear => "clear",
            }
        ),
        Err(error) => format!(
            "{} [{}] help: {}",
            error.message,
            text.get(error.range.clone()).unwrap(),
            error.help
        ),
    }
}

#[test]
fn reads_hosts_ports_and_urls() {
    let table = [
        ("docs.test", "docs.test:443 - - unseen"),
        ("DOCS.test.", "docs.test:443 - - unseen"),
        ("docs.test:22", "docs.test:22 - - unseen"),
        ("10.0.0.1:5432", "10.0.0.1:5432 - - unseen"),
        ("[::1]", "[::1]:443 - - unseen"),
        ("[::1]:80", "[::1]:80 - - unseen"),
        ("http://docs.test", "docs.test:80 GET / clear"),
        (
            "HTTP://docs.test:8080/a/b?c#d",
            "docs.test:8080 GET /a/b clear",
        ),
        ("http://docs.test?a@b", "docs.test:80 GET / clear"),
        (
            "http://docs.test/a%2Fb/../c",
            "docs.test:80 GET /a%2Fb/../c clear",
        ),
        ("https://docs.test/a", "docs.test:443 - - unseen"),
        ("https://[2001:db8::1]:444/", "[2001:db8::1]:444 - - unseen"),
        ("ws://docs.test/socket", "docs.test:80 - - clear"),
        ("wss://docs.test", "docs.test:443 - - unseen"),
    ];
    for (text, expected) in table {
        assert_eq!(ask(text), expected, "{text}");
    }
}

#[test]
fn refuses_what_the_proxy_would_refuse() {
    let texts = [
        "",
        "a..test",
        "a test",
        "http://a.test/a b",
        "http://a.test\\@b.test",
        "http://u@a.test/",
        "http://u:p@a.test/",
        "a.test@b.test:443",
        "ftp://a.test/",
        "://a.test",
        "a.test/path",
        "a.test:0",
        "a.test:",
        "a.test:65536",
        "a.test:443:443",
        "::1",
        "[a.test]",
        "[::1",
        "[::1]80",
        "2130706433",
        "0x7f.1",
        "bücher.test",
        "http://a.test/ü",
        "https:///x",
    ];
    let answers: Vec<_> = texts
        .iter()
        .map(|text| format!("{text:?}: {}", ask(text)))
        .collect();
    insta::assert_snapshot!(answers.join("\n"), @r#"
    "": `` is no host: empty host [] help: write a host name or an address as clients send it
    "a..test": `a..test` is no host: an empty label [a..test] help: write a host name or an address as clients send it
    "a test": a character that no request holds [ ] help: remove it, or percent-encode it
    "http://a.test/a b": a character that no request holds [ ] help: remove it, or percent-encode it
    "http://a.test\\@b.test": a character that no request holds [\] help: remove it, or percent-encode it
    "http://u@a.test/": user information in front of the host [u@a.test] help: remove it: it changes nothing about where the request goes, and hides it
    "http://u:p@a.test/": user information in front of the host [u:p@a.test] help: remove it: it changes nothing about where the request goes, and hides it
    "a.test@b.test:443": user information in front of the host [a.test@b.test:443] help: remove it: it changes nothing about where the request goes, and hides it
    "ftp://a.test/": the scheme `ftp` is not judged [ftp] help: write an http, https, ws or wss URL, or HOST:PORT
    "://a.test": the scheme `` is not judged [] help: write an http, https, ws or wss URL, or HOST:PORT
    "a.test/path": a path without a scheme [a.test/path] help: put `https://` in front, or write the host alone
    "a.test:0": a port is a number from 1 to 65535 [0] help: write HOST:PORT, for example `docs.example:443`
    "a.test:": a port is a number from 1 to 65535 [a.test:] help: write HOST:PORT, for example `docs.example:443`
    "a.test:65536": a port is a number from 1 to 65535 [65536] help: write HOST:PORT, for example `docs.example:443`
    "a.test:443:443": `a.test:443:443` is no host: a byte that no host name can hold [a.test:443:443] help: write a host name or an address as clients send it
    "::1": an IPv6 address without square brackets [::1] help: write `[::1]`
    "[a.test]": `[a.test]` is no host: square brackets around something other than an IPv6 address [[a.test]] help: write a host name or an address as clients send it
    "[::1": `[::1` is no host: square brackets around something other than an IPv6 address [[::1] help: write a host name or an address as clients send it
    "[::1]80": `[::1]80` is no host: square brackets around something other than an IPv6 address [[::1]80] help: write a host name or an address as clients send it
    "2130706433": `2130706433` is no host: an address in a spelling other than four decimal numbers [2130706433] help: write a host name or an address as clients send it
    "0x7f.1": `0x7f.1` is no host: an address in a spelling other than four decimal numbers [0x7f.1] help: write a host name or an address as clients send it
    "bücher.test": `bücher.test` is no host: a byte that no host name can hold [bücher.test] help: write `xn--bcher-kva.test`, as clients do
    "http://a.test/ü": the path holds `ü` [/ü] help: percent-encode it, as clients do
    "https:///x": `` is no host: empty host [] help: write a host name or an address as clients send it
    "#);
}

#[test]
fn a_method_can_be_named_where_it_is_visible() {
    let method = |text| {
        let asked = Asked::parse(text).unwrap().with_method("POST");
        asked.method.map(String::from)
    };
    assert_eq!(method("http://a.test").as_deref(), Some("POST"));
    assert_eq!(method("https://a.test"), None);
}
