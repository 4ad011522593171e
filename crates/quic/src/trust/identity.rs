//! The certificate of a host and its key: self-signed, or of an authority ([`crate::authority`]).

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// The longest file of certificates and keys, bytes.
const MAX_FILE: u64 = 64 * 1024;

/// The name in self-signed certificates, which nobody verifies.
pub const SERVER_NAME: &str = "shallop";

/// Why an identity cannot be used.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// The file cannot be read.
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, #[source] io::Error),
    /// Others than the owner have access to the file, which holds a key.
    #[error("{}: it holds a key, and others may use it: chmod 600 it, or remove it", .0.display())]
    Open(PathBuf),
    /// The file does not hold a certificate and a key. The text is the reason.
    #[error("{}: {}", .0.display(), .1)]
    Malformed(PathBuf, String),
    /// A key or certificate cannot be created.
    #[error("no identity can be made: {0}")]
    Make(#[from] rcgen::Error),
}

/// A certificate with its intermediate certificates, and its key.
#[derive(Debug)]
pub struct Identity {
    /// The host's certificate, followed by its intermediate certificates.
    pub chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Creates a self-signed identity in memory, which no file keeps.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn make() -> Result<Identity, IdentityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![SERVER_NAME.to_owned()])?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, SERVER_NAME);
        let chain = vec![params.self_signed(&key)?.der().clone()];
        Ok(Identity { chain, key: PrivateKeyDer::Pkcs8(key.serialize_der().into()) })
    }

    /// Reads an identity of an authority from two PEM files, which may be one: the certificate followed by intermediate
    /// certificates, and the key.
    ///
    /// # Errors
    /// A file cannot be read or parsed, or everybody has access to the key.
    pub fn load(certificate: &Path, key: &Path) -> Result<Identity, IdentityError> {
        let chain = certificates(certificate, &read(certificate)?)?;
        let metadata = std::fs::metadata(key).map_err(|why| IdentityError::File(key.to_owned(), why))?;
        // Keys of services are often shared with a group.
        if metadata.permissions().mode() & 0o007 != 0 {
            return Err(IdentityError::Open(key.to_owned()));
        }
        let found = PrivateKeyDer::from_pem_slice(&read(key)?);
        let none = |why| malformed(key, format!("it holds no key: {why:?}"));
        Ok(Identity { chain, key: found.map_err(none)? })
    }

    /// The private key of the host's certificate, in DER.
    pub fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }
}

/// Reads a file of certificates or keys, of at most 64 KiB.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, IdentityError> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut text));
    read.map_err(|why| IdentityError::File(path.to_owned(), why))?;
    Ok(text)
}

/// Parses the certificates of a PEM file, which has at least one.
pub(crate) fn certificates(path: &Path, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let all = all.map_err(|why| malformed(path, format!("a certificate in it is wrong: {why:?}")))?;
    if all.is_empty() {
        return Err(malformed(path, "it holds no certificate".to_owned()));
    }
    Ok(all)
}

fn malformed(path: &Path, reason: String) -> IdentityError {
    IdentityError::Malformed(path.to_owned(), reason)
}

/// Accepts every server that has the key of its certificate, whoever it is: for peers that prove a code afterwards, and
/// for clients that send nothing secret.
#[derive(Debug)]
pub struct AnyServer(WebPkiSupportedAlgorithms);

impl AnyServer {
    /// Creates the verifier.
    #[allow(clippy::new_ret_no_self, reason = "a verifier is always shared")]
    pub fn new() -> Arc<dyn ServerCertVerifier> {
        Arc::new(Self(rustls::crypto::ring::default_provider().signature_verification_algorithms))
    }
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self, _end_entity: &CertificateDer<'_>, _intermediates: &[CertificateDer<'_>], _server_name: &ServerName<'_>,
        _ocsp_response: &[u8], _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self, message: &[u8], cert: &CertificateDer<'_>, dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0)
    }

    fn verify_tls13_signature(
        &self, message: &[u8], cert: &CertificateDer<'_>, dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
