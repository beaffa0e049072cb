use std::sync::Arc;

use moat_policy::host::Host;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::{Hello, HelloError, LIMIT, read};

/// A `ClientHello` as rustls sends it.
pub(crate) fn hello(name: &str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).unwrap();
    bytes
}

/// A `ClientHello` with exactly these extensions.
pub(crate) fn hello_with(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut list = Vec::new();
    for (kind, body) in extensions {
        list.extend(kind.to_be_bytes());
        list.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        list.extend(body);
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.push(0);
    body.extend([0, 2, 0x13, 0x01]); // TLS_AES_128_GCM_SHA256
    body.extend([1, 0]);
    body.extend(u16::try_from(list.len()).unwrap().to_be_bytes());
    body.extend(list);
    let mut message = vec![1, 0];
    message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    message.extend(body);
    records(&message, message.len())
}

/// What rustls asks of every hello, so that one with a name of our choice passes.
pub(crate) fn usual(name: Option<&[u8]>) -> Vec<(u16, Vec<u8>)> {
    let mut extensions = vec![
        (10, vec![0, 2, 0, 29]), // supported_groups: x25519
        (13, vec![0, 2, 8, 4]),  // signature_algorithms: rsa_pss_rsae_sha256
        (43, vec![2, 3, 4]),     // supported_versions: 1.3
    ];
    let mut share = vec![0, 36, 0, 29, 0, 32];
    share.extend([9; 32]);
    extensions.push((51, share));
    if let Some(name) = name {
        let length = u16::try_from(name.len()).unwrap();
        let mut body = (length + 3).to_be_bytes().to_vec();
        body.push(0);
        body.extend(length.to_be_bytes());
        body.extend(name);
        extensions.push((0, body));
    }
    extensions
}

/// The extension that real and feigned Encrypted Client Hello share.
pub(crate) fn ech() -> (u16, Vec<u8>) {
    let mut body = vec![0, 0, 1, 0, 1, 5, 0, 32];
    body.extend([3; 32]);
    body.extend([0, 16]);
    body.extend([4; 16]);
    (0xfe0d, body)
}

fn records(message: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for fragment in message.chunks(size) {
        bytes.extend([22, 3, 1]);
        bytes.extend(u16::try_from(fragment.len()).unwrap().to_be_bytes());
        bytes.extend(fragment);
    }
    bytes
}

fn host(text: &str) -> Host {
    Host::parse(text.as_bytes()).unwrap()
}

#[test]
fn reads_the_server_name_of_a_real_hello() {
    let hello = read(&hello("allowed.test")).unwrap().unwrap();
    assert_eq!(hello.server_name, Some(host("allowed.test")));
    assert!(!hello.has_ech);
}

#[test]
fn every_prefix_needs_more_and_never_errs() {
    let bytes = hello("allowed.test");
    for length in 0..bytes.len() {
        assert_eq!(read(&bytes[..length]), Ok(None), "{length} bytes");
    }
}

#[test]
fn borders_between_records_mean_nothing() {
    let whole = hello("allowed.test");
    let message = &whole[5..];
    for size in [1, 2, 7, 100] {
        let bytes = records(message, size);
        let hello = read(&bytes).unwrap().unwrap();
        assert_eq!(
            hello.server_name,
            Some(host("allowed.test")),
            "records of {size}"
        );
    }
}

#[test]
fn names_are_compared_in_lower_case_and_without_a_final_dot() {
    let hello = read(&hello_with(&usual(Some(b"ALLOWED.Test"))))
        .unwrap()
        .unwrap();
    assert_eq!(hello.server_name, Some(host("allowed.test")));
}

#[test]
fn sees_encrypted_client_hello_and_the_outer_name() {
    let mut extensions = usual(Some(b"outer.test"));
    extensions.push(ech());
    let hello = read(&hello_with(&extensions)).unwrap().unwrap();
    assert_eq!(hello.server_name, Some(host("outer.test")));
    assert!(hello.has_ech);
}

#[test]
fn an_address_in_the_place_of_a_name_is_seen() {
    let hello = read(&hello_with(&usual(Some(b"127.0.0.1"))))
        .unwrap()
        .unwrap();
    assert_eq!(hello.server_name, Some(host("127.0.0.1")));
}

#[test]
fn a_hello_without_a_name_has_none() {
    let hello = read(&hello_with(&usual(None))).unwrap().unwrap();
    assert_eq!(
        hello,
        Hello {
            server_name: None,
            has_ech: false
        }
    );
}

#[test]
fn names_that_are_no_host_names_are_refused() {
    for bad in [
        &b"a\0.test"[..],
        b"a b.test",
        b"",
        b"a..test",
        b"\xc3\xa4.test",
        b"0x7f.1",
    ] {
        let read = read(&hello_with(&usual(Some(bad))));
        assert!(read.is_err(), "{bad:?}: {read:?}");
    }
}

#[test]
fn two_server_names_are_refused() {
    let mut extensions = usual(Some(b"allowed.test"));
    extensions.extend(
        usual(Some(b"denied.test"))
            .into_iter()
            .filter(|(kind, _)| *kind == 0),
    );
    assert_eq!(read(&hello_with(&extensions)), Err(HelloError::Malformed));
}

#[test]
fn a_list_of_more_than_one_host_name_is_refused() {
    let entry = |kind: u8, name: &str| {
        let length = u8::try_from(name.len()).unwrap();
        [&[kind, 0, length], name.as_bytes()].concat()
    };
    let list = |entries: &[Vec<u8>]| {
        let entries = entries.concat();
        let length = u8::try_from(entries.len()).unwrap();
        let mut extensions = usual(None);
        extensions.push((0, [&[0, length], &*entries].concat()));
        read(&hello_with(&extensions))
    };
    for name in ["allowed.test", "127.0.0.2"] {
        assert!(list(&[entry(0, name)]).is_ok(), "{name}");
        for entries in [
            [entry(0, name), entry(0, "denied.test")],
            [entry(1, name), entry(0, "denied.test")],
            [entry(0, name), entry(1, "denied.test")],
            [entry(0, name), vec![0]],
            [entry(1, name), Vec::new()],
        ] {
            assert_eq!(list(&entries), Err(HelloError::Malformed), "{name}");
        }
    }
}

#[test]
fn what_is_not_tls_is_refused_at_once() {
    assert_eq!(read(b"SSH-2.0-x\r\n"), Err(HelloError::Malformed));
    assert_eq!(read(&[22, 3, 1, 0, 0]), Err(HelloError::Malformed));
    assert_eq!(
        read(&[22, 3, 1, 0, 4, 2, 0, 0, 0]),
        Err(HelloError::Malformed)
    );
}

#[test]
fn a_hello_over_the_limit_is_refused_by_its_own_length() {
    assert_eq!(
        read(&[22, 3, 1, 0, 4, 1, 1, 0, 0]),
        Err(HelloError::TooLarge)
    );
    let endless = records(&[1, 0, 0x3f, 0xff], 4)
        .into_iter()
        .chain([22, 3, 1]);
    let endless: Vec<u8> = endless.chain(std::iter::repeat_n(0x40, LIMIT)).collect();
    assert_eq!(read(&endless), Err(HelloError::TooLarge));
}
