//! Connects to a receiver that is known by a code or by an authority.

use crate::host_address::HostAddress;
use crate::protocol::TransferError;
use crate::session::{PORT, SendSession};
use shallop_quic::authority::Authority;
use shallop_quic::identity::{AnyServer, Identity, IdentityError, SERVER_NAME};
use shallop_quic::{Config, QuicError, Tls, code::Code};
use std::path::PathBuf;

/// How a sender knows the receiver.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Both ends prove this code.
    Code(Code),
    /// An authority in this PEM file must have signed the receiver's certificate for the host's name.
    Authority(PathBuf),
    /// Whoever answers is taken for the receiver.
    Anybody,
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
    #[error("{host}: the receiver has another code")]
    WrongCode { host: HostAddress },
    /// The certificate is expired, for another name, or not signed by one of the authorities.
    #[error("{host}: {source}")]
    UntrustedCertificate { host: HostAddress, authorities: PathBuf, source: QuicError },
    /// The host does not answer, or the connection ended during the handshake.
    #[error("{host}: {source}")]
    Unreachable { host: HostAddress, source: QuicError },
}

/// How the user's interface spells an option. The argument is the name with underscores, such as `client_ca`.
pub type OptionName<'a> = &'a dyn Fn(&str) -> String;

impl ConnectError {
    /// Advice for the user, with options as [`OptionName`] spells them.
    pub fn help(&self, option: OptionName<'_>) -> Option<String> {
        match self {
            Self::WrongCode { .. } => {
                Some(format!("with {}, pass the code that the receiver printed at its last start", option("code")))
            }
            Self::UntrustedCertificate { host, authorities, .. } => Some(format!(
                "its certificate has to be for the name {}, valid now, and signed by an authority in {}",
                host.name(),
                authorities.display()
            )),
            Self::Unreachable { source, .. } if is_certificate_required(&source.to_string()) => {
                Some(certificate_advice(option))
            }
            // The TLS alert no_application_protocol.
            Self::Unreachable { source, .. } if source.to_string().contains("error 120") => Some(format!(
                "both ends have to know each other in one way: by a code ({}), by authorities ({}), or not at all ({})",
                option("code"),
                option("ca"),
                option("anybody")
            )),
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

/// Connects to a receiver. `own` is the client's certificate, for a server that asks for one.
///
/// # Errors
/// The receiver does not answer or is not trusted, or a file cannot be used.
pub fn connect(
    host: &HostAddress, config: Config, trust: &Trust, own: Option<&CertificateFiles>,
) -> Result<SendSession, ConnectError> {
    let (tls, name) = match trust {
        Trust::Code(code) => (Tls::client_with(code.clone()), SERVER_NAME),
        Trust::Authority(authorities) => (Tls::client(Authority::load(authorities)?.of_servers()?), host.name()),
        Trust::Anybody => (Tls::client(AnyServer::new()), SERVER_NAME),
    };
    let own = own.map(CertificateFiles::load).transpose()?;
    let tls = own.iter().fold(tls, Tls::showing);
    let addresses = host.addresses().map_err(|source| ConnectError::Name { host: host.clone(), source })?;
    let host = host.clone();
    SendSession::connect(&addresses, name, config, &tls).map_err(|source| match trust {
        _ if matches!(source, QuicError::WrongCode) => ConnectError::WrongCode { host },
        Trust::Authority(authorities) if is_bad_certificate(&source) => {
            ConnectError::UntrustedCertificate { host, authorities: authorities.clone(), source }
        }
        _ => ConnectError::Unreachable { host, source },
    })
}

/// Whether this side has refused the peer's certificate.
fn is_bad_certificate(why: &QuicError) -> bool {
    let why = why.to_string();
    why.contains("certificate") && !is_certificate_required(&why)
}
