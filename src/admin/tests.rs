use std::net::TcpListener;

use super::*;

/// Answers one connection with these bytes, and gives back what was asked.
fn answer(bytes: &'static str) -> (SocketAddr, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            asked.push(byte[0]);
        }
        stream.write_all(bytes.as_bytes()).unwrap();
        String::from_utf8(asked).unwrap()
    });
    (address, server)
}

#[test]
fn an_answer_has_a_status_and_a_body() {
    let (address, server) = answer("HTTP/1.0 503 Service Unavailable\r\nA: b\r\n\r\ndraining\n");
    let answer = fetch(address, "/readyz").unwrap();
    assert_eq!(answer.status, 503);
    assert_eq!(answer.body, "draining\n");
    assert!(
        server
            .join()
            .unwrap()
            .starts_with("GET /readyz HTTP/1.0\r\n")
    );
}

#[test]
fn what_is_no_http_is_no_answer() {
    for bytes in [
        "",
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
    ] {
        let (address, server) = answer(bytes);
        assert!(
            matches!(fetch(address, "/"), Err(AdminError::Malformed)),
            "{bytes}"
        );
        server.join().unwrap();
    }
}

#[test]
fn a_listener_on_every_address_is_asked_on_loopback() {
    for (bound, asked) in [
        ("0.0.0.0:9128", "127.0.0.1:9128"),
        ("[::]:9128", "[::1]:9128"),
        ("192.0.2.1:9128", "192.0.2.1:9128"),
    ] {
        assert_eq!(reachable(bound.parse().unwrap()), asked.parse().unwrap());
    }
}
