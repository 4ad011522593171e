//! Connecting to a receiver that is trusted: by its fingerprint, as a known host, or by an authority.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::Config;
use crate::error::QuicError;
use crate::files::host::Host;
use crate::files::session::{PORT, Sending};
use crate::files::transfer::TransferError;
use crate::trust::authority::Authority;
use crate::trust::identity::{Fingerprint, Identity, IdentityError, SERVER_NAME, ServerVerifier};
use crate::trust::known_hosts::{KnownHosts, KnownHostsError};
use crate::trust::tls::Tls;

/// Whether a receiver that is not known yet and shows this fingerprint is to be trusted.
pub type Accepts<'a> = &'a dyn Fn(Fingerprint) -> bool;

/// Which receiver is trusted.
pub enum Trust<'a> {
    /// The one with this fingerprint.
    Fingerprint(Fingerprint),
    /// The one whose fingerprint is in this file; a host that is not there yet is added if it is accepted.
    Known(PathBuf, Accepts<'a>),
    /// One whose certificate is for the name of the host and signed by an authority in this file, in PEM.
    Authority(PathBuf),
}

/// A certificate and its key, as files of PEM.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The certificate, with those that lead to its authority behind it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// Reads both.
    ///
    /// # Errors
    /// As [`Identity::load`].
    pub fn load(&self) -> Result<Identity, IdentityError> {
        Identity::load(&self.certificate, &self.key)
    }
}

/// Why nobody was reached, or nobody that is trusted.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The name leads nowhere.
    #[error("{host} is no host that can be found: {source}")]
    Name {
        /// The host.
        host: Host,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file with a certificate or a key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The file of known hosts cannot be used.
    #[error(transparent)]
    KnownHosts(#[from] KnownHostsError),
    /// The host is not known, and was not accepted.
    #[error("{host} is not known, and shows {seen}")]
    Unknown {
        /// The host.
        host: Host,
        /// The fingerprint that it shows.
        seen: Fingerprint,
    },
    /// Another host answers than the one with this fingerprint.
    #[error("{host} shows the fingerprint {seen}, and not {pinned}")]
    Other {
        /// The host.
        host: Host,
        /// The fingerprint that was expected.
        pinned: Fingerprint,
        /// The one that it shows.
        seen: Fingerprint,
        /// The file of known hosts that has the expected one, unless it was given.
        file: Option<PathBuf>,
    },
    /// The authorities do not vouch for the host.
    #[error("{host}: {source}")]
    NotVouchedFor {
        /// The host.
        host: Host,
        /// The file of authorities.
        authorities: PathBuf,
        /// What TLS says.
        source: QuicError,
    },
    /// Nobody answers, or the connection has ended at once.
    #[error("{host}: {source}")]
    Reach {
        /// The host.
        host: Host,
        /// Why.
        source: QuicError,
    },
}

/// The name of an option as a user writes it, from its name with underscores.
pub type Spelling<'a> = &'a dyn Fn(&str) -> String;

impl ConnectError {
    /// What to do about it, with options as this user writes them.
    #[must_use]
    pub fn help(&self, option: Spelling<'_>) -> Option<String> {
        match self {
            Self::Unknown { seen, .. } => Some(format!(
                "compare with what 'shallop receive' prints there; then {}, or {} {seen}",
                option("trust_new"),
                option("fingerprint")
            )),
            Self::Other { host, file, .. } => {
                let then = file.as_ref().map_or_else(String::new, |file| {
                    format!(
                        "; if it is the new one, remove the line of {host} in {}",
                        file.display()
                    )
                });
                Some(format!(
                    "somebody else answers there, or it has a new identity: compare with what 'shallop receive' prints \
                     there{then}"
                ))
            }
            Self::NotVouchedFor { host, authorities, .. } => Some(format!(
                "its certificate has to be for the name {}, valid now, and signed by an authority in {}",
                host.name(),
                authorities.display()
            )),
            Self::Reach { source, .. } if asks_for_certificate(&source.to_string()) => {
                Some(shown_certificate(option))
            }
            Self::Reach { host, source: QuicError::NoAnswer(_) } => {
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

/// What to do about a transfer that has failed, with options as this user writes them.
#[must_use]
pub fn help_of_transfer(why: &TransferError, option: Spelling<'_>) -> Option<String> {
    asks_for_certificate(&why.to_string()).then(|| shown_certificate(option))
}

/// Alert 116 of TLS: a certificate is required. It may come when the connection is there for the sender.
fn asks_for_certificate(why: &str) -> bool {
    why.contains("error 116")
}

fn shown_certificate(option: Spelling<'_>) -> String {
    format!(
        "the receiver takes files of senders with a certificate alone: give {} and {}",
        option("cert"),
        option("key")
    )
}

/// Connects to a receiver that is trusted, showing it this certificate if it asks for one.
///
/// # Errors
/// If nobody answers, or nobody that is trusted, or a file that this needs cannot be used.
pub fn connect(
    host: &Host,
    config: Config,
    trust: &Trust<'_>,
    own: Option<&CertificateFiles>,
) -> Result<Sending, ConnectError> {
    let own = own.map(CertificateFiles::load).transpose()?;
    let showing = |tls: Tls| own.iter().fold(tls, Tls::showing);
    let (pinned, file, mut unknown) = match trust {
        Trust::Authority(authorities) => {
            let tls = showing(Tls::client(Authority::load(authorities)?.of_servers()?));
            return reach(host, host.name(), config, tls).map_err(|why| match why {
                ConnectError::Reach { host, source } if is_of_certificate(&source) => {
                    let authorities = authorities.clone();
                    ConnectError::NotVouchedFor { host, authorities, source }
                }
                other => other,
            });
        }
        Trust::Fingerprint(fingerprint) => (Some(*fingerprint), None, None),
        Trust::Known(file, accepts) => {
            let known = KnownHosts::load(file)?;
            match known.fingerprint(&host.to_string()) {
                None => (None, None, Some((known, accepts))),
                pinned => (pinned, Some(file.clone()), None),
            }
        }
    };
    let trusts = pinned.map_or_else(ServerVerifier::first_use, ServerVerifier::pinned);
    let tls = showing(Tls::client(Arc::clone(&trusts) as Arc<_>));
    let sending = reach(host, SERVER_NAME, config, tls).map_err(|why| {
        match (pinned, trusts.seen().filter(|&seen| pinned != Some(seen))) {
            (Some(pinned), Some(seen)) => {
                ConnectError::Other { host: host.clone(), pinned, seen, file }
            }
            _ => why,
        }
    })?;
    if let (Some((known, accepts)), Some(seen)) = (&mut unknown, sending.fingerprint()) {
        if !accepts(seen) {
            return Err(ConnectError::Unknown { host: host.clone(), seen });
        }
        known.add(&host.to_string(), seen)?;
    }
    Ok(sending)
}

/// Connects to a host of any identity, or of this one, as pings do.
///
/// # Errors
/// As [`connect`].
pub fn connect_for_ping(
    host: &Host,
    config: Config,
    fingerprint: Option<Fingerprint>,
) -> Result<Sending, ConnectError> {
    if let Some(fingerprint) = fingerprint {
        return connect(host, config, &Trust::Fingerprint(fingerprint), None);
    }
    reach(host, SERVER_NAME, config, Tls::client(ServerVerifier::first_use()))
}

fn reach(host: &Host, name: &str, config: Config, tls: Tls) -> Result<Sending, ConnectError> {
    let addresses =
        host.addresses().map_err(|source| ConnectError::Name { host: host.clone(), source })?;
    Sending::connect_by(&addresses[..], name, config, tls)
        .map_err(|source| ConnectError::Reach { host: host.clone(), source })
}

/// Whether this side has refused the peer's certificate.
fn is_of_certificate(why: &QuicError) -> bool {
    let why = why.to_string();
    why.contains("certificate") && !asks_for_certificate(&why)
}
