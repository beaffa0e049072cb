//! The certificate of `tls:` listeners: two PEM files into a configuration.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::ServerTls;
use crate::error::TlsError;

/// Reads both files. Only HTTP/1.1 is offered.
pub(crate) fn load(files: &ServerTls) -> Result<Arc<rustls::ServerConfig>, TlsError> {
    let chain = chain(&files.certificate)?;
    let key = key(&files.key)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mismatch = |source| TlsError::Unusable {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        source,
    };
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(mismatch)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(mismatch)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(TlsError::Empty {
            path: path.to_owned(),
            wanted: "certificate",
        }),
        Err(error) => Err(TlsError::Pem {
            path: path.to_owned(),
            problem: error.to_string(),
        }),
    }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path)?;
    match PrivateKeyDer::from_pem_slice(&text) {
        Ok(key) => Ok(key),
        Err(rustls::pki_types::pem::Error::NoItemsFound) => Err(TlsError::Empty {
            path: path.to_owned(),
            wanted: "private key",
        }),
        Err(error) => Err(TlsError::Pem {
            path: path.to_owned(),
            problem: error.to_string(),
        }),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;
