//! What is held of a response.

use super::{LAST, Origin, exchange, get, stage};
use crate::testing::local;

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
