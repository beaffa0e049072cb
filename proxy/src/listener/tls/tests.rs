use std::fs;
use std::path::PathBuf;

use super::load;
use crate::config::ServerTls;

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["proxy.test".to_owned()]).unwrap();
        fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
        fs::write(
            folder.path().join("key.pem"),
            made.signing_key.serialize_pem(),
        )
        .unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The whole chain of causes, without the folder.
    fn problem(&self, certificate: &str, key: &str) -> String {
        let error = load(&ServerTls {
            certificate: self.path(certificate),
            key: self.path(key),
        })
        .unwrap_err();
        let folder = format!("{}/", self.folder.path().display());
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(next) = cause {
            text = format!("{text}: {next}");
            cause = next.source();
        }
        text.replace(&folder, "")
    }
}

#[test]
fn takes_a_certificate_and_its_key() {
    let files = Files::new();
    let config = load(&ServerTls {
        certificate: files.path("cert.pem"),
        key: files.path("key.pem"),
    })
    .unwrap();
    assert_eq!(config.alpn_protocols, [b"http/1.1".to_vec()]);
}

#[test]
fn names_the_file_and_the_cause() {
    let files = Files::new();
    fs::write(files.path("empty.pem"), "").unwrap();
    fs::write(
        files.path("broken.pem"),
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    insta::assert_snapshot!(files.problem("missing.pem", "key.pem"), @"cannot read `missing.pem`: No such file or directory (os error 2)");
    insta::assert_snapshot!(files.problem("empty.pem", "key.pem"), @"`empty.pem` holds no certificate");
    insta::assert_snapshot!(files.problem("broken.pem", "key.pem"), @"`broken.pem` is not PEM: base64 decode error: InvalidCharacter(33)");
    insta::assert_snapshot!(files.problem("cert.pem", "cert.pem"), @"`cert.pem` holds no private key");
    let other = Files::new();
    fs::copy(other.path("key.pem"), files.path("other.pem")).unwrap();
    insta::assert_snapshot!(files.problem("cert.pem", "other.pem"), @"cannot use the certificate in `cert.pem` with the key in `other.pem`: keys may not be consistent: KeyMismatch");
}
