//! What is held of a response.

use super::{LAST, Origin, exchange, get, stage};
use crate::testing::local;

const MOST: usize = 64 * 1024;

#[test]
fn reads_no_more_than_64_kib_ahead_of_its_client() {
    local(async {
        // Without a length: the client gets each piece that was read as one chunk.
        let origin = Origin::start(|_| {
            let mut answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
            answer.resize(answer.len() + 32 * MOST, b'.');
            answer
        })
        .await;
        let (worker, _records) = stage();
        let response = exchange(&worker, &get(&origin.address, "/", LAST)).await;
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        let pieces: Vec<usize> = body
            .split("\r\n")
            .filter(|line| line.starts_with('.'))
            .map(str::len)
            .collect();
        assert_eq!(pieces.iter().sum::<usize>(), 32 * MOST);
        assert!(pieces.iter().all(|&piece| piece <= MOST), "{pieces:?}");
    });
}

#[test]
fn answers_502_to_a_response_whose_head_is_too_long() {
    local(async {
        let origin = Origin::start(|head| {
            let length = if head.contains("/short") {
                60_000
            } else {
                70_000
            };
            let value = "v".repeat(length);
            format!("HTTP/1.1 200 OK\r\nX: {value}\r\nContent-Length: 2\r\n\r\nok").into_bytes()
        })
        .await;
        let (worker, _records) = stage();
        let short = exchange(&worker, &get(&origin.address, "/short", LAST)).await;
        assert!(short.starts_with("HTTP/1.1 200 "), "{}", short.len());
        let long = exchange(&worker, &get(&origin.address, "/long", LAST)).await;
        assert!(long.starts_with("HTTP/1.1 502 "), "{}", long.len());
    });
}
