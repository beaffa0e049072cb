//! Where a message ends: one reading, or a refusal.

use crate::support::origin::After;
use crate::support::{Bed, bed};

const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: denied.test\r\n\r\n";

/// Sends each of these, after a request line and a Host, and wants a refusal and an end.
fn refuses_each(bed: &Bed, rests: &[String]) {
    let moat = bed.moat().start();
    for rest in rests {
        let head = "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n";
        let said = moat.raw_to_end(format!("{head}{rest}"));
        assert!(said.starts_with("HTTP/1.1 400 "), "{rest:?}: {said}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{rest:?}: {said}");
    }
    assert_eq!(bed.origins.connections(), 0);
    moat.finish();
}

#[test]
fn content_length_with_transfer_encoding_is_malformed() {
    bed(|bed| {
        refuses_each(
            bed,
            &[
                format!("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}"),
                format!("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{HIDDEN}"),
            ],
        );
    });
}

#[test]
fn a_transfer_encoding_other_than_chunked_is_malformed() {
    bed(|bed| {
        let values = [
            "gzip, chunked",
            "chunked, chunked",
            "chunked, gzip",
            "identity",
            "xchunked",
        ];
        let rests = values.map(|value| format!("Transfer-Encoding: {value}\r\n\r\n0\r\n\r\n"));
        refuses_each(bed, &rests);
    });
}

#[test]
fn a_repeated_or_malformed_content_length_is_refused() {
    bed(|bed| {
        let mut rests = vec![format!(
            "Content-Length: 0\r\nContent-Length: 40\r\n\r\n{HIDDEN}"
        )];
        for value in [
            "2, 2",
            "",
            "+2",
            "2x",
            "-2",
            "0x2",
            "99999999999999999999999",
        ] {
            rests.push(format!("Content-Length: {value}\r\n\r\nok"));
        }
        refuses_each(bed, &rests);
    });
}

#[test]
fn folded_headers_and_bare_line_ends_are_malformed() {
    bed(|bed| {
        refuses_each(
            bed,
            &[
                "Content-Length:\r\n 2\r\n\r\nok".to_owned(),
                "X: a\r\n Transfer-Encoding: chunked\r\n\r\n".to_owned(),
                "X: a\rHost: denied.test\r\n\r\n".to_owned(),
                "X: a\nContent-Length: 0\r\n\r\n".to_owned(),
                "X: a\0b\r\n\r\n".to_owned(),
                "X : a\r\n\r\n".to_owned(),
            ],
        );
    });
}

#[test]
fn garbage_in_a_chunk_size_ends_the_connection() {
    bed(|bed| {
        let moat = bed.moat().start();
        for size in ["1zz", " 1", "-1", "0x1", "1 ", "ffffffffffffffffff"] {
            let head = "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n";
            let body = format!("Transfer-Encoding: chunked\r\n\r\n{size}\r\nZ\r\n0\r\n\r\n");
            let said = moat.raw_to_end(format!("{head}{body}"));
            assert!(
                said.is_empty() || said.starts_with("HTTP/1.1 400 "),
                "{size:?}: {said}"
            );
        }
        assert_eq!(bed.origins.requests().len(), 0);
        let seen = bed.origins.everything();
        assert!(!seen.contains("1zz") && !seen.contains("0x1"), "{seen}");
        moat.finish();
    });
}

#[test]
fn an_answer_with_two_lengths_is_a_bad_gateway() {
    bed(|bed| {
        let moat = bed.moat().start();
        let both = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
                    0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nFAKE";
        bed.origins.answer("/both", both, After::Keep);
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok";
        bed.origins.answer("/twice", twice, After::Keep);
        for path in ["/both", "/twice"] {
            let mut client = moat.dial();
            moat.count(1);
            let first =
                format!("GET http://allowed.test{path} HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
            let answer = client.send(first).answer();
            assert_eq!(answer.status(), 502, "{path}");
            let second = moat.get("other-allowed.test/");
            assert_eq!(second.status(), 200, "{path}");
            assert!(!second.text().contains("FAKE"), "{path}");
        }
        moat.finish();
    });
}
