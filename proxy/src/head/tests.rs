use super::{Framing, Head, Version, check};

fn fault(text: &str) -> (u16, String) {
    match check(text.as_bytes()) {
        Ok(head) => (200, format!("{head:?}")),
        Err(refusal) => (refusal.status, refusal.detail.into_owned()),
    }
}

fn head(text: &str) -> Head<'_> {
    check(text.as_bytes()).unwrap()
}

#[test]
fn reads_what_doors_need() {
    let text = "POST http://a.test/x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\
                Expect: 100-continue\r\nConnection: close\r\nAccept: application/json\r\n\r\n";
    assert_eq!(
        head(text),
        Head {
            method: "POST",
            target: "http://a.test/x",
            version: Version::Http11,
            host: Some("a.test"),
            body: Framing::Length(5),
            expects: true,
            persists: false,
            websocket: false,
            json: true,
        }
    );
}

#[test]
fn refuses_every_head_that_two_readers_could_read_differently() {
    let start = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n";
    for rest in [
        "X: a\n\r\n",
        "X: a\rHost: b.test\r\n\r\n",
        "X: a\r\n folded\r\n\r\n",
        "X: a\r\n\tfolded\r\n\r\n",
        "X: \0\r\n\r\n",
        "X: \u{1b}[31m\r\n\r\n",
        "X: \u{7f}\r\n\r\n",
        "X : a\r\n\r\n",
        ": a\r\n\r\n",
        "X\r\n\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
        "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "Content-Length: 0\r\nContent-Length: 40\r\n\r\n",
        "Content-Length: 2, 2\r\n\r\n",
        "Content-Length: \r\n\r\n",
        "Content-Length: +2\r\n\r\n",
        "Content-Length: -2\r\n\r\n",
        "Content-Length: 2x\r\n\r\n",
        "Content-Length: 0x2\r\n\r\n",
        "Content-Length: 99999999999999999999\r\n\r\n",
        "Content-Length:\r\n 2\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n",
        "Transfer-Encoding: chunked, chunked\r\n\r\n",
        "Transfer-Encoding: identity\r\n\r\n",
        "Transfer-Encoding: \r\n\r\n",
        "Transfer-Encoding: chunked;q=1\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Host: a.test\r\n\r\n",
        "HOST: b.test\r\n\r\n",
    ] {
        let (status, detail) = fault(&format!("{start}{rest}"));
        assert_eq!(status, 400, "{rest:?}: {detail}");
    }
}

#[test]
fn refuses_request_lines_that_are_not_http_1() {
    for line in [
        "GET http://a.test/ HTTP/1.2",
        "GET http://a.test/ HTTP/2.0",
        "GET http://a.test/ HTTP/0.9",
        "GET http://a.test/ http/1.1",
        "GET http://a.test/",
        "GET  http://a.test/ HTTP/1.1",
        "GET http://a.test/ x HTTP/1.1",
        " GET http://a.test/ HTTP/1.1",
        "\r\nGET http://a.test/ HTTP/1.1",
        "G(T http://a.test/ HTTP/1.1",
        "GET\thttp://a.test/ HTTP/1.1",
        "",
    ] {
        let (status, detail) = fault(&format!("{line}\r\nHost: a.test\r\n\r\n"));
        assert_eq!(status, 400, "{line:?}: {detail}");
    }
}

#[test]
fn refuses_transfer_encoding_in_http_1_0() {
    let (status, _) = fault("POST http://a.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_eq!(status, 400);
}

#[test]
fn takes_a_hundred_headers_and_no_more() {
    let many = |count| {
        let headers = "X: 1\r\n".repeat(count);
        format!("GET http://a.test/ HTTP/1.1\r\n{headers}\r\n")
    };
    assert_eq!(fault(&many(100)).0, 200);
    assert_eq!(fault(&many(101)).0, 431);
}

#[test]
fn keeps_a_connection_as_its_version_says() {
    let persists = |line: &str, connection: &str| {
        head(&format!(
            "GET http://a.test/ {line}\r\nConnection: {connection}\r\n\r\n"
        ))
        .persists
    };
    assert!(persists("HTTP/1.1", "x"));
    assert!(!persists("HTTP/1.1", "x, CLOSE"));
    assert!(!persists("HTTP/1.0", "x"));
    assert!(persists("HTTP/1.0", "Keep-Alive"));
}

#[test]
fn knows_a_websocket_by_both_headers() {
    let websocket =
        |headers: &str| head(&format!("GET http://a.test/ HTTP/1.1\r\n{headers}\r\n")).websocket;
    assert!(websocket(
        "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
    ));
    assert!(!websocket("Upgrade: websocket\r\n"));
    assert!(!websocket("Connection: upgrade\r\nUpgrade: h2c\r\n"));
    assert!(!websocket(
        "Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n"
    ));
}

/// Feeds the text in pieces and gives what was read as the head and what stayed behind it.
async fn read(text: &[u8], step: usize) -> Result<(Vec<u8>, Vec<u8>), u16> {
    use tokio::io::AsyncWriteExt as _;
    let (mut near, mut far) = tokio::io::duplex(step);
    let mut bytes = bytes::BytesMut::new();
    let limit = std::time::Duration::from_secs(5);
    let write = async move {
        drop(near.write_all(text).await);
    };
    let (read, ()) = tokio::join!(
        async {
            let outcome = super::read(&mut far, &mut bytes, limit).await;
            drop(far);
            outcome
        },
        write
    );
    match read {
        Ok(length) => {
            let head = bytes.split_to(length);
            Ok((head.to_vec(), bytes.to_vec()))
        }
        Err(refusal) => Err(refusal.status),
    }
}

#[tokio::test]
async fn finds_the_end_of_a_head_however_it_is_cut() {
    let head = b"\r\nGET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n";
    for step in [1, 2, 3, 7, 64] {
        let (found, rest) = read(head, step).await.unwrap();
        assert_eq!(found, head[2..], "in steps of {step}");
        assert_eq!(rest, b"");
    }
}

#[tokio::test]
async fn refuses_a_second_empty_line_in_front_however_it_is_cut() {
    for step in [1, 2, 3, 64] {
        let twice = read(b"\r\n\r\nGET / HTTP/1.1\r\n\r\n", step).await;
        assert_eq!(twice, Err(400), "in steps of {step}");
    }
}

#[tokio::test]
async fn keeps_what_came_behind_the_head() {
    let (head, rest) = read(b"GET / HTTP/1.1\r\n\r\nearly", 64).await.unwrap();
    assert_eq!(head, b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(rest, b"early");
}

#[tokio::test]
async fn answers_400_to_a_bare_line_feed_without_waiting_for_more() {
    assert_eq!(
        read(b"GET http://a.test/ HTTP/1.1\nHost: a.test\n\n", 64).await,
        Err(400)
    );
}

#[tokio::test]
async fn answers_431_to_a_head_over_the_limit() {
    let mut head = b"GET http://a.test/ HTTP/1.1\r\nX: ".to_vec();
    head.resize(1024 * 1024, b'a');
    assert_eq!(read(&head, 4096).await, Err(431));
}

#[tokio::test(start_paused = true)]
async fn answers_408_to_a_head_that_stops() {
    let (near, mut far) = tokio::io::duplex(64);
    let mut bytes = bytes::BytesMut::from(&b"GET http://a.test/ HTTP/1.1\r\nX: "[..]);
    let limit = std::time::Duration::from_secs(3);
    let refusal = super::read(&mut far, &mut bytes, limit).await.unwrap_err();
    assert_eq!(refusal.status, 408);
    drop(near);
}

#[test]
fn survives_ten_thousand_random_heads() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    let whole = b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\
                  Transfer-Encoding: chunked\r\nConnection: close, X\r\nUpgrade: websocket\r\n\r\n";
    for _ in 0..10_000 {
        let mut bytes = whole.to_vec();
        for _ in 0..next() % 4 {
            let at = next() % bytes.len();
            bytes[at] = u8::try_from(next() % 256).unwrap();
        }
        bytes.truncate(next() % (bytes.len() + 1));
        if let Ok(head) = check(&bytes) {
            assert!(bytes.ends_with(b"\r\n\r\n"), "{head:?}");
            assert!(
                !bytes
                    .windows(2)
                    .any(|pair| pair[1] == b'\n' && pair[0] != b'\r')
            );
        }
    }
}
