use super::Sockets;

#[test]
fn the_interface_of_a_server_is_put_back() {
    let parse = |text: &str| text.parse().unwrap();
    let sockets = Sockets::new(&[parse("[fe80::1%7]:53"), parse("192.0.2.1:53")]);
    for (known, whole) in [
        ("[fe80::1]:53", "[fe80::1%7]:53"),
        ("[fe80::1]:54", "[fe80::1]:54"),
        ("[fe80::2]:53", "[fe80::2]:53"),
        ("192.0.2.1:53", "192.0.2.1:53"),
    ] {
        assert_eq!(sockets.whole(parse(known)), parse(whole), "{known}");
    }
}
