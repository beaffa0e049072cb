use super::{parse, wants_tcp};

/// The servers of a text, and the skipped lines with their numbers.
fn read(text: &str) -> (Vec<String>, Vec<String>) {
    let index = |name: &str| (name == "eth0").then_some(7);
    let (servers, skipped) = parse(text, index);
    let servers = servers.iter().map(ToString::to_string);
    let skipped = skipped.iter();
    let skipped = skipped.map(|line| format!("{}: `{}`: {}", line.line, line.text, line.problem));
    (servers.collect(), skipped.collect())
}

#[test]
fn servers_come_out_of_the_lines_that_people_have() {
    let text = "# c\n; c\nnameserver 192.0.2.53  \nsearch a.test b.test\ndomain a.test\n\
                options ndots:5 timeout:1 attempts:3 rotate use-vc edns0\n\
                sortlist 192.0.2.0\nnameserver\t2001:db8::53 # c\r\n\nnameserver ::1\n";
    let expected = ["192.0.2.53:53", "[2001:db8::53]:53", "[::1]:53"];
    assert_eq!(read(text), (expected.map(str::to_owned).into(), Vec::new()));
}

#[test]
fn a_link_local_server_is_asked_through_its_interface() {
    let (servers, skipped) = read("nameserver fe80::1%eth0\nnameserver fe80::2%3\n");
    assert_eq!(servers, ["[fe80::1%7]:53", "[fe80::2%3]:53"]);
    assert!(skipped.is_empty(), "{skipped:?}");
}

#[test]
fn a_line_that_cannot_be_used_is_told_with_its_number_and_a_fix() {
    let text = "nameserver\nnameserver fe80::1%wlan9\nnameserver fe80::1\n\
                nameserver [2001:db8::53]:53\nnameserver 192.0.2.053\nnameserver dns.test\n\
                nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n\
                nameserver 192.0.2.4\n";
    let (servers, skipped) = read(text);
    assert_eq!(servers, ["192.0.2.1:53", "192.0.2.2:53", "192.0.2.3:53"]);
    insta::assert_snapshot!(skipped.join("\n"), @r"
    1: ``: write an IPv4 or IPv6 address
    2: `fe80::1%wlan9`: this host has no such interface
    3: `fe80::1`: a link-local server needs its interface, as in `fe80::1%eth0`
    4: `[2001:db8::53]:53`: write the address without brackets and port, or give the server with `--dns`
    5: `192.0.2.053`: write an IPv4 or IPv6 address
    6: `dns.test`: write an IPv4 or IPv6 address
    10: `192.0.2.4`: only the first three servers are asked
    ");
}

#[test]
fn without_a_server_the_one_on_this_host_is_asked() {
    for text in ["", "search a.test\n", "nameserver nonsense\n"] {
        assert_eq!(read(text).0, ["127.0.0.1:53"], "{text:?}");
    }
}

#[test]
fn a_wish_for_tcp_alone_is_seen_in_options_and_nowhere_else() {
    assert!(wants_tcp("nameserver ::1\noptions ndots:5 use-vc\n"));
    for text in [
        "",
        "# options use-vc\n",
        "search use-vc\n",
        "options edns0\n",
    ] {
        assert!(!wants_tcp(text), "{text:?}");
    }
}
