//! Connects to a receiver that is trusted by its fingerprint, as a known host, or by an authority.

use crate::host_address::HostAddress;
use crate::known_hosts::{KnownHosts, KnownHostsError};
use crate::protocol::TransferError;
use crate::session::{PORT, SendSession};
use shallop_quic::authority::Authority;
use shallop_quic::identity::{Fingerprint, Identity, IdentityError, SERVER_NAME, ServerVerifier};
use shallop_quic::{Config, QuicError, Tls};
use std::{path::PathBuf, sync::Arc};

/// How a receiver is authenticated.
pub enum Trust<'a> {
    /// The receiver's certificate must have this fingerprint.
    Fingerprint(Fingerprint),
    /// The receiver must have the fingerprint that the file of known hosts gives for it.
    KnownHosts {
        file: PathBuf,
        /// Called with the fingerprint of a host that is not in the file. If it returns true, the host is added.
        accept_new: &'a dyn Fn(Fingerprint) -> bool,
    },
    /// An authority in this PEM file must have signed the receiver's certificate for the host's name.
    Authority(PathBuf),
}

/// The PEM files of a certificate and of its private key.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The certificate, then the intermediate certificates up to the authority.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl CertificateFiles {
    /// Reads the certificate and the key.
    ///
    /// # Errors
    /// As [`Identity::load`].
    pub fn load(&self) -> Result<Identity, IdentityError> {
        Identity::load(&self.certificate, &self.key)
    }
}

/// Why a connection to a trusted receiver failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{host} is no host that can be found: {source}")]
    Name { host: HostAddress, source: std::io::Error },
    /// A file with a certificate or a key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    KnownHosts(#[from] KnownHostsError),
    /// The host is not in the file of known hosts, and the user did not accept its fingerprint.
    #[error("{host} is not known, and shows {seen}")]
    UnknownHost { host: HostAddress, seen: Fingerprint },
    #[error("{host} shows the fingerprint {seen}, and not {expected}")]
    FingerprintMismatch {
        host: HostAddress,
        expected: Fingerprint,
        seen: Fingerprint,
        /// The file of known hosts that has the expected fingerprint.
        known_hosts: Option<PathBuf>,
    },
    /// The certificate is expired, for another name, or not signed by one of the authorities.
    #[error("{host}: {source}")]
    UntrustedCertificate { host: HostAddress, authorities: PathBuf, source: QuicError },
    /// The host does not answer, or the connection ended during the handshake.
    #[error("{host}: {source}")]
    Unreachable { host: HostAddress, source: QuicError },
}

/// How the user's interface spells an option. The argument is the name with underscores, such as `trust_new`.
pub type OptionName<'a> = &'a dyn Fn(&str) -> String;

impl ConnectError {
    /// Advice for the user, with options as [`OptionName`] spells them.
    pub fn help(&self, option: OptionName<'_>) -> Option<String> {
        match self {
            Self::UnknownHost { seen, .. } => Some(format!(
                "compare with what 'shallop receive' prints there; then {}, or {} {seen}",
                option("trust_new"),
                option("fingerprint")
            )),
            Self::FingerprintMismatch { host, known_hosts, .. } => {
                let then = known_hosts.as_ref().map_or_else(String::new, |file| {
                    format!("; if it is the new one, remove the line of {host} in {}", file.display())
                });
                Some(format!(
                    "somebody else answers there, or it has a new identity: compare with what 'shallop receive' prints \
                     there{then}"
                ))
            }
            Self::UntrustedCertificate { host, authorities, .. } => Some(format!(
                "its certificate has to be for the name {}, valid now, and signed by an authority in {}",
                host.name(),
                authorities.display()
            )),
            Self::Unreachable { source, .. } if is_certificate_required(&source.to_string()) => {
                Some(certificate_advice(option))
            }
            Self::Unreachable { host, source: QuicError::NoAnswer(_) } => {
                let port = host.port();
                let usual = if port == PORT { "" } else { " with the port that it prints" };
                Some(format!(
                    "is 'shallop receive' running there{usual}, and do firewalls let UDP to port {port} and back pass?"
                ))
            }
            _ => None,
        }
    }
}

/// Advice about a transfer that failed, with options as [`OptionName`] spells them.
pub fn help_of_transfer(why: &TransferError, option: OptionName<'_>) -> Option<String> {
    is_certificate_required(&why.to_string()).then(|| certificate_advice(option))
}

/// Whether an error is the TLS alert `certificate_required` (116). With TLS 1.3 it may arrive after the client's
/// handshake has succeeded.
fn is_certificate_required(why: &str) -> bool {
    why.contains("error 116")
}

fn certificate_advice(option: OptionName<'_>) -> String {
    format!(
        "the receiver takes files of senders with a certificate alone: give {} and {}",
        option("cert"),
        option("key")
    )
}

/// Connects to a trusted receiver. `own` is the client's certificate, for a server that asks for one.
///
/// # Errors
/// The receiver does not answer or is not trusted, or a file cannot be used.
pub fn connect(
    host: &HostAddress, config: Config, trust: &Trust<'_>, own: Option<&CertificateFiles>,
) -> Result<SendSession, ConnectError> {
    let own = own.map(CertificateFiles::load).transpose()?;
    let showing = |tls: Tls| own.iter().fold(tls, Tls::showing);
    let (expected, known_hosts, mut unknown) = match trust {
        Trust::Authority(authorities) => {
            let tls = showing(Tls::client(Authority::load(authorities)?.of_servers()?));
            return connect_by(host, host.name(), config, &tls).map_err(|why| match why {
                ConnectError::Unreachable { host, source } if is_bad_certificate(&source) => {
                    let authorities = authorities.clone();
                    ConnectError::UntrustedCertificate { host, authorities, source }
                }
                other => other,
            });
        }
        Trust::Fingerprint(fingerprint) => (Some(*fingerprint), None, None),
        Trust::KnownHosts { file, accept_new } => {
            let known = KnownHosts::load(file)?;
            match known.fingerprint(&host.to_string()) {
                None => (None, None, Some((known, accept_new))),
                expected => (expected, Some(file.clone()), None),
            }
        }
    };
    let verifier = expected.map_or_else(ServerVerifier::first_use, ServerVerifier::pinned);
    let tls = showing(Tls::client(Arc::clone(&verifier) as Arc<_>));
    let session = connect_by(host, SERVER_NAME, config, &tls).map_err(|why| {
        match (expected, verifier.seen().filter(|&seen| expected != Some(seen))) {
            (Some(expected), Some(seen)) => {
                let host = host.clone();
                ConnectError::FingerprintMismatch { host, expected, seen, known_hosts }
            }
            _ => why,
        }
    })?;
    if let (Some((known, accept_new)), Some(seen)) = (&mut unknown, session.fingerprint()) {
        if !accept_new(seen) {
            return Err(ConnectError::UnknownHost { host: host.clone(), seen });
        }
        known.add(&host.to_string(), seen)?;
    }
    Ok(session)
}

/// Connects for a measurement to a server with this fingerprint; without one, to any server.
///
/// # Errors
/// As [`connect`].
pub fn connect_for_ping(
    host: &HostAddress, config: Config, fingerprint: Option<Fingerprint>,
) -> Result<SendSession, ConnectError> {
    if let Some(fingerprint) = fingerprint {
        return connect(host, config, &Trust::Fingerprint(fingerprint), None);
    }
    connect_by(host, SERVER_NAME, config, &Tls::client(ServerVerifier::first_use()))
}

fn connect_by(host: &HostAddress, name: &str, config: Config, tls: &Tls) -> Result<SendSession, ConnectError> {
    let addresses = host.addresses().map_err(|source| ConnectError::Name { host: host.clone(), source })?;
    SendSession::connect(&addresses, name, config, tls)
        .map_err(|source| ConnectError::Unreachable { host: host.clone(), source })
}

/// Whether this side has refused the peer's certificate.
fn is_bad_certificate(why: &QuicError) -> bool {
    let why = why.to_string();
    why.contains("certificate") && !is_certificate_required(&why)
}
