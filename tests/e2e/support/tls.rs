//! A certificate authority of the bed's own, and the server side of TLS.

use std::io::{Read, Write};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};

/// Names that the bed's origins answer for.
const NAMES: [&str; 6] = [
    "allowed.test",
    "*.allowed.test",
    "*.wild.test",
    "other-allowed.test",
    "denied.test",
    "127.0.0.2",
];

/// The authority and one certificate that it signed.
#[derive(Clone)]
pub(crate) struct Authority {
    /// The authority's certificate, for the clients.
    pub(crate) certificate: String,
    /// The servers' certificate and key, for servers that are programs.
    pub(crate) chain: String,
    pub(crate) key: String,
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
            .distinguished_name
            .push(DnType::CommonName, "the test bed's authority");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = NAMES.map(str::to_owned).to_vec();
        let mut params = CertificateParams::new(names).unwrap();
        params.use_authority_key_identifier_extension = true;
        params
            .distinguished_name
            .push(DnType::CommonName, "an origin");
        let leaf = params.signed_by(&key, &issuer).unwrap();
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let server = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], private)
            .unwrap();
        Self {
            certificate: issuer.pem(),
            chain: leaf.pem(),
            key: key.serialize_pem(),
            server: Arc::new(server),
            client: Arc::new(trusting(issuer.der())),
        }
    }

    /// The server side of a handshake over `stream`.
    pub(crate) fn accept<S: Read + Write>(&self, stream: S) -> StreamOwned<ServerConnection, S> {
        let connection = ServerConnection::new(Arc::clone(&self.server)).unwrap();
        StreamOwned::new(connection, stream)
    }
}

impl Authority {
    /// The client side of a handshake for `name`, which is also the server name it sends.
    pub(crate) fn connect<S: Read + Write>(
        &self,
        stream: S,
        name: &str,
    ) -> StreamOwned<ClientConnection, S> {
        StreamOwned::new(self.client(name), stream)
    }

    /// A ClientHello for `name`; for an address it carries no server name.
    pub(crate) fn hello(&self, name: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.client(name).write_tls(&mut bytes).unwrap();
        bytes
    }

    fn client(&self, name: &str) -> ClientConnection {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        ClientConnection::new(Arc::clone(&self.client), name).unwrap()
    }
}

/// Adds an extension to a ClientHello that is one record.
pub(crate) fn with_extension(hello: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
    let mut hello = hello.to_vec();
    let size = u16::try_from(data.len()).unwrap();
    // Record header 5, message header 4, version 2, random 32, then three lists.
    let mut at = 5 + 4 + 2 + 32;
    at += 1 + usize::from(hello[at]);
    at += 2 + usize::from(u16::from_be_bytes([hello[at], hello[at + 1]]));
    at += 1 + usize::from(hello[at]);
    let extension = [&kind.to_be_bytes()[..], &size.to_be_bytes(), data].concat();
    let grown = u16::try_from(extension.len()).unwrap();
    // The lengths of the record, of the message (its lower two bytes) and of the extensions.
    for field in [3, 7, at] {
        let length = u16::from_be_bytes([hello[field], hello[field + 1]]) + grown;
        hello[field..field + 2].copy_from_slice(&length.to_be_bytes());
    }
    // In front: a pre-shared key must stay the last.
    hello.splice(at + 2..at + 2, extension);
    hello
}

fn trusting(issuer: &CertificateDer<'static>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(issuer.clone()).unwrap();
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
