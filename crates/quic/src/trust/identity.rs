//! The identity of a host: a self-signed certificate that clients know by its fingerprint, or a certificate of an
//! authority ([`crate::authority`]).

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// The name of an identity's file in its folder.
const FILE: &str = "identity.pem";

/// The longest file of certificates and keys, bytes.
const MAX_FILE: u64 = 64 * 1024;

/// The name in self-signed certificates. Clients verify the fingerprint and not the name.
pub const SERVER_NAME: &str = "shallop";

/// Why an identity cannot be used.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// The file cannot be read or created.
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
        let (certificate, key) = make()?;
        Ok(Identity { chain: vec![certificate.der().clone()], key: PrivateKeyDer::Pkcs8(key.serialize_der().into()) })
    }

    /// Loads the identity in `folder/identity.pem`. If there is none, creates a self-signed one, and the folder.
    ///
    /// # Errors
    /// The file cannot be read or created, others have access to it, or it does not hold a certificate and a key.
    pub fn load_or_make(folder: &Path) -> Result<Identity, IdentityError> {
        let path = folder.join(FILE);
        if let Some(identity) = load(&path)? {
            return Ok(identity);
        }
        let (certificate, key) = make()?;
        let text = format!("{}{}", certificate.pem(), key.serialize_pem());
        keep(folder, &path, text.as_bytes()).map_err(|why| IdentityError::File(path.clone(), why))?;
        // If another process has created the file meanwhile, its identity is used.
        load(&path)?.ok_or_else(|| IdentityError::File(path, io::ErrorKind::NotFound.into()))
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

    /// The host's own certificate in DER.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.chain[0]
    }

    /// The private key of the host's certificate, in DER.
    pub fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }

    /// The fingerprint of the host's certificate, by which clients know the host.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_certificate(self.certificate())
    }
}

fn make() -> Result<(rcgen::Certificate, KeyPair), IdentityError> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec![SERVER_NAME.to_owned()])?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, SERVER_NAME);
    Ok((params.self_signed(&key)?, key))
}

fn load(path: &Path) -> Result<Option<Identity>, IdentityError> {
    let at_file = |why| IdentityError::File(path.to_owned(), why);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(at_file(why)),
    };
    if file.metadata().map_err(at_file)?.permissions().mode() & 0o077 != 0 {
        return Err(IdentityError::Open(path.to_owned()));
    }
    let text = contents(file, path)?;
    let none =
        |what: &str, why| malformed(path, format!("it holds no {what}: {why:?}; when removed, a new identity is made"));
    let certificate = CertificateDer::from_pem_slice(&text).map_err(|why| none("certificate", why))?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|why| none("key", why))?;
    Ok(Some(Identity { chain: vec![certificate], key }))
}

/// Reads a file of certificates or keys, of at most 64 KiB.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, IdentityError> {
    let at_file = |why| IdentityError::File(path.to_owned(), why);
    contents(File::open(path).map_err(at_file)?, path)
}

fn contents(file: File, path: &Path) -> Result<Vec<u8>, IdentityError> {
    let mut text = Vec::new();
    let read = file.take(MAX_FILE).read_to_end(&mut text);
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

/// Creates a file with this text atomically, unless it exists.
fn keep(folder: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let draft = folder.join(format!(".{FILE}.{}", std::process::id()));
    match std::fs::remove_file(&draft) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        _ => {}
    }
    let written = File::options().write(true).create_new(true).mode(0o600).open(&draft).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()?;
        match std::fs::hard_link(&draft, path) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => Err(why),
            _ => Ok(()),
        }
    });
    std::fs::remove_file(&draft)?;
    written?;
    File::open(folder)?.sync_all()
}

/// The SHA-256 of a certificate in DER, as `openssl x509 -noout -fingerprint -sha256` prints it.
///
/// It is displayed as eight groups of eight hexadecimal digits, `0f1e2d3c-…-c3d2e1f0`. When it is parsed, `-` and `:`
/// are ignored and digits may have either case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the SHA-256 of a certificate.
    pub fn of_certificate(certificate: &CertificateDer<'_>) -> Fingerprint {
        Fingerprint(Sha256::digest(certificate.as_ref()).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let between = if at > 0 && at % 4 == 0 { "-" } else { "" };
            write!(f, "{between}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// A text is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a fingerprint is 64 hexadecimal digits, with - or : between")]
pub struct FingerprintError;

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Fingerprint, FingerprintError> {
        let mut bytes = [0; 32];
        let mut count = 0;
        for digit in text.chars().filter(|it| !matches!(it, '-' | ':')) {
            let digit = digit.to_digit(16).ok_or(FingerprintError)? as u8;
            let byte: &mut u8 = bytes.get_mut(count / 2).ok_or(FingerprintError)?;
            *byte = *byte << 4 | digit;
            count += 1;
        }
        if count == 64 { Ok(Fingerprint(bytes)) } else { Err(FingerprintError) }
    }
}

/// Accepts the server with a given fingerprint, or the first server that it sees, and records the fingerprint that a
/// server showed. TLS verifies in both cases that the server has the key of its certificate.
#[derive(Debug)]
pub struct ServerVerifier {
    pinned: Option<Fingerprint>,
    seen: Mutex<Option<Fingerprint>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerVerifier {
    /// Accepts only the server with this fingerprint.
    pub fn pinned(fingerprint: Fingerprint) -> Arc<ServerVerifier> {
        ServerVerifier::new(Some(fingerprint))
    }

    /// Accepts the first server, and later only that one. The caller has to check its fingerprint before it sends
    /// anything.
    pub fn first_use() -> Arc<ServerVerifier> {
        ServerVerifier::new(None)
    }

    fn new(pinned: Option<Fingerprint>) -> Arc<ServerVerifier> {
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        Arc::new(ServerVerifier { pinned, seen: Mutex::new(None), algorithms })
    }

    /// The fingerprint that the last server showed, accepted or not. Whether the server has the key is known only after
    /// the handshake.
    pub fn seen(&self) -> Option<Fingerprint> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self, end_entity: &CertificateDer<'_>, _intermediates: &[CertificateDer<'_>], _server_name: &ServerName<'_>,
        _ocsp_response: &[u8], _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = Fingerprint::of_certificate(end_entity);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = self.pinned.or(*seen).unwrap_or(shown);
        if self.pinned.is_some() || seen.is_none() {
            *seen = Some(shown);
        }
        if shown == expected {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self, message: &[u8], cert: &CertificateDer<'_>, dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self, message: &[u8], cert: &CertificateDer<'_>, dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, Identity, IdentityError, SERVER_NAME, ServerVerifier};
    use proptest::prelude::{prop, proptest};
    use rustls::crypto::ring::{default_provider, sign};
    use rustls::sign::{CertifiedKey, SingleCertAndKey};
    use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};
    use rustls::{pki_types::ServerName, server::ResolvesServerCert};
    use std::{fs::Permissions, os::unix::fs::PermissionsExt, sync::Arc};

    fn server(certificate: &Identity, key: &Identity) -> Arc<dyn ResolvesServerCert> {
        let signer = sign::any_supported_type(&key.key()).unwrap();
        let chain = vec![certificate.certificate().clone()];
        Arc::new(SingleCertAndKey::from(CertifiedKey::new(chain, signer)))
    }

    fn shake(verifier: &Arc<ServerVerifier>, resolver: Arc<dyn ResolvesServerCert>) -> Result<(), rustls::Error> {
        let tls13 = &[&rustls::version::TLS13];
        let builder = ClientConfig::builder_with_provider(default_provider().into());
        let builder = builder.with_protocol_versions(tls13)?.dangerous();
        let client = builder.with_custom_certificate_verifier(Arc::clone(verifier) as _).with_no_client_auth();
        let builder = ServerConfig::builder_with_provider(default_provider().into());
        let builder = builder.with_protocol_versions(tls13)?.with_no_client_auth();
        let name = ServerName::try_from(SERVER_NAME).unwrap();
        let mut client = ClientConnection::new(client.into(), name)?;
        let mut server = ServerConnection::new(builder.with_cert_resolver(resolver).into())?;
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut wire.as_slice()).unwrap();
            server.process_new_packets()?;
            wire.clear();
            server.write_tls(&mut wire).unwrap();
            client.read_tls(&mut wire.as_slice()).unwrap();
            client.process_new_packets()?;
        }
        Ok(())
    }

    #[test]
    fn an_identity_is_created_once_and_readable_by_its_owner_only() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        let first = Identity::load_or_make(&folder).unwrap();
        let second = Identity::load_or_make(&folder).unwrap();
        assert_eq!(first.fingerprint(), second.fingerprint());
        assert_eq!(first.key(), second.key());
        let path = folder.join("identity.pem");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no draft stays");
        shake(&ServerVerifier::pinned(first.fingerprint()), server(&second, &second)).unwrap();

        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Identity::load_or_make(&folder), Err(IdentityError::Open(_))));
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "nothing").unwrap();
        assert!(matches!(Identity::load_or_make(&folder), Err(IdentityError::Malformed(..))));
    }

    #[test]
    fn a_second_process_keeps_the_identity_of_the_first() {
        let place = tempfile::tempdir().unwrap();
        super::keep(place.path(), &place.path().join("identity.pem"), b"first").unwrap();
        super::keep(place.path(), &place.path().join("identity.pem"), b"second").unwrap();
        assert_eq!(std::fs::read(place.path().join("identity.pem")).unwrap(), b"first");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_the_pinned_server_is_accepted() {
        let (right, wrong) = (Identity::make().unwrap(), Identity::make().unwrap());
        let verifier = ServerVerifier::pinned(right.fingerprint());
        shake(&verifier, server(&right, &right)).unwrap();
        assert!(shake(&verifier, server(&wrong, &wrong)).is_err());
        assert_eq!(verifier.seen(), Some(wrong.fingerprint()));
        shake(&verifier, server(&right, &right)).unwrap();
    }

    #[test]
    fn the_first_server_is_recorded_and_no_other_accepted() {
        let (first, second) = (Identity::make().unwrap(), Identity::make().unwrap());
        let verifier = ServerVerifier::first_use();
        assert_eq!(verifier.seen(), None);
        shake(&verifier, server(&first, &first)).unwrap();
        assert_eq!(verifier.seen(), Some(first.fingerprint()));
        assert!(shake(&verifier, server(&second, &second)).is_err());
        assert_eq!(verifier.seen(), Some(first.fingerprint()));
    }

    #[test]
    fn a_certificate_without_its_key_is_refused() {
        let (right, thief) = (Identity::make().unwrap(), Identity::make().unwrap());
        let verifier = ServerVerifier::pinned(right.fingerprint());
        let why = shake(&verifier, server(&right, &thief)).unwrap_err();
        assert!(matches!(why, rustls::Error::InvalidCertificate(_)), "{why}");
        assert!(shake(&ServerVerifier::first_use(), server(&right, &thief)).is_err());
    }

    #[test]
    fn fingerprints_parse_in_both_forms() {
        let text = "00112233-44556677-8899aabb-ccddeeff-00112233-44556677-8899aabb-ccddeeff";
        let fingerprint: Fingerprint = text.parse().unwrap();
        assert_eq!(fingerprint.to_string(), text);
        let openssl: Vec<_> = fingerprint.0.iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(openssl.join(":").parse(), Ok(fingerprint));
        for bad in ["", "00", &text[1..], &format!("{text}0"), &text.replace('a', "g")] {
            assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn displayed_fingerprints_parse(bytes in prop::array::uniform32(0u8..)) {
            let fingerprint = Fingerprint(bytes);
            assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        }

        #[test]
        fn only_texts_with_64_digits_parse(text in "[0-9a-fA-F]{63,65}[g:-]?|.{0,80}") {
            let digits: Vec<char> = text.chars().filter(|of| !"-:".contains(*of)).collect();
            let is_fingerprint = digits.len() == 64 && digits.iter().all(char::is_ascii_hexdigit);
            assert_eq!(text.parse::<Fingerprint>().is_ok(), is_fingerprint, "{text}");
        }
    }
}
