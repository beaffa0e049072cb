use bytes::BytesMut;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, proptest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::Gate;
use crate::head::Framing;

const HEAD: &[u8] = b"POST /x HTTP/1.1\r\n\r\n";

/// What the reader got, and then either what was left behind the message or the status of a fault.
type Seen = (Vec<u8>, Result<Vec<u8>, u16>);

fn feed(text: &[u8], framing: Framing, step: usize) -> Seen {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (mut near, far) = tokio::io::duplex(step);
        let mut gate = Gate::new(far, BytesMut::from(HEAD), b"", framing);
        let mut got = Vec::new();
        let read = async {
            let outcome = gate.read_to_end(&mut got).await;
            let fault = gate.take_fault();
            let (mut far, mut behind) = gate.into_inner();
            far.read_buf(&mut behind).await.unwrap();
            while far.read_buf(&mut behind).await.unwrap() > 0 {}
            match (outcome, fault) {
                (Ok(_), None) => Ok(behind.to_vec()),
                (_, fault) => Err(fault.unwrap().status),
            }
        };
        let write = async move { drop(near.write_all(text).await) };
        let (end, ()) = tokio::join!(read, write);
        (got, end)
    })
}

fn passes(text: &[u8], framing: Framing, length: usize) {
    for step in [1, 2, 7, 4096] {
        let (got, end) = feed(text, framing, step);
        assert_eq!(got[HEAD.len()..], text[..length], "in steps of {step}");
        assert_eq!(end.as_deref(), Ok(&text[length..]), "in steps of {step}");
    }
}

fn refuses(text: &[u8], framing: Framing, status: u16) {
    for step in [1, 2, 7, 4096] {
        let (_, end) = feed(text, framing, step);
        assert_eq!(
            end,
            Err(status),
            "{:?} in steps of {step}",
            String::from_utf8_lossy(text)
        );
    }
}

#[test]
fn ends_a_body_where_its_length_says() {
    passes(b"GET http://next.test/ HTTP/1.1\r\n\r\n", Framing::Empty, 0);
    passes(b"12345GET /", Framing::Length(5), 5);
    passes(&vec![b'a'; 100_000], Framing::Length(99_990), 99_990);
}

#[test]
fn ends_a_chunked_body_behind_its_trailer() {
    passes(b"5\r\n12345\r\n0\r\n\r\nGET /", Framing::Chunked, 15);
    passes(
        b"A;x=\"y\"\r\n1234567890\r\n00\r\nX: 1\r\nY: 2\r\n\r\nGET /",
        Framing::Chunked,
        39,
    );
}

#[test]
fn refuses_chunks_that_two_readers_could_read_differently() {
    for text in [
        &b"1zz\r\nZ\r\n0\r\n\r\n"[..],
        b" 1\r\nZ\r\n0\r\n\r\n",
        b"1 \r\nZ\r\n0\r\n\r\n",
        b"+1\r\nZ\r\n0\r\n\r\n",
        b"0x1\r\nZ\r\n0\r\n\r\n",
        b"\r\nZ\r\n0\r\n\r\n",
        b";x\r\nZ\r\n0\r\n\r\n",
        b"1\nZ\r\n0\r\n\r\n",
        b"1;a\x00\r\nZ\r\n0\r\n\r\n",
        b"1;a\rb\r\nZ\r\n0\r\n\r\n",
        b"1\r\nZZ\r\n0\r\n\r\n",
        b"1\r\nZ\n0\r\n\r\n",
        b"1000000000000000\r\nZ\r\n0\r\n\r\n",
        b"0\r\nX : 1\r\n\r\n",
        b"0\r\nX: 1\n\r\n",
        b"0\r\nX: 1\r\n folded\r\n\r\n",
        b"0\r\nno field\r\n\r\n",
    ] {
        refuses(text, Framing::Chunked, 400);
    }
}

#[test]
fn refuses_bodies_that_stop() {
    refuses(b"1234", Framing::Length(5), 400);
    refuses(b"5\r\n1234", Framing::Chunked, 400);
    refuses(b"5\r\n12345\r\n", Framing::Chunked, 400);
    refuses(b"5\r\n12345\r\n0\r\nX: 1\r\n", Framing::Chunked, 400);
}

#[test]
fn bounds_what_it_gathers() {
    refuses(&[b'1'; 300], Framing::Chunked, 400);
    let mut line = b"1;".to_vec();
    line.resize(100_000, b'x');
    refuses(&line, Framing::Chunked, 400);
    let mut trailer = b"0\r\nX: ".to_vec();
    trailer.resize(100_000, b'x');
    refuses(&trailer, Framing::Chunked, 431);
}

#[test]
fn bounds_what_chunk_extensions_take_together() {
    let chunks = |count| {
        [b"1;".to_vec(), vec![b'e'; 127], b"\r\nx\r\n".to_vec()]
            .concat()
            .repeat(count)
    };
    let whole = [chunks(64), b"0\r\n\r\n".to_vec()].concat();
    passes(&whole, Framing::Chunked, whole.len());
    refuses(&chunks(65), Framing::Chunked, 400);
}

#[test]
fn says_whether_the_reader_went_to_the_end() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (_near, far) = tokio::io::duplex(64);
        let mut gate = Gate::new(far, BytesMut::from(HEAD), b"123next", Framing::Length(3));
        let mut some = vec![0; HEAD.len() + 3];
        gate.read_exact(&mut some).await.unwrap();
        assert!(!gate.is_drained());
        assert_eq!(gate.read(&mut some).await.unwrap(), 0);
        assert!(gate.is_drained());
        assert_eq!(gate.into_inner().1, &b"next"[..]);
    });
}

/// Chunked bodies, most of them whole, some with a byte changed or cut off.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let chunks = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..5);
    (chunks, any::<Option<(u16, u8)>>(), any::<Option<u16>>()).prop_map(|(chunks, change, cut)| {
        let mut body = Vec::new();
        for chunk in &chunks {
            body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\nT: 1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
        let length = body.len();
        if let Some((at, byte)) = change {
            body[usize::from(at) % length] = byte;
        }
        if let Some(cut) = cut {
            body.truncate(usize::from(cut) % (2 * length));
        }
        body
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn reads_alike_however_the_bytes_arrive(body in bodies()) {
        let whole = feed(&body, Framing::Chunked, 1 << 16);
        for step in [1, 7] {
            let pieces = feed(&body, Framing::Chunked, step);
            prop_assert_eq!(&pieces.1, &whole.1);
            if whole.1.is_ok() {
                prop_assert_eq!(&pieces.0, &whole.0);
            }
        }
    }
}
