//! Starts a server that senders know by a code or by a certificate of an authority.

use crate::client::{CertificateFiles, OptionName};
use crate::session::{PORT, ReceiveServer};
use shallop_quic::authority::Authority;
use shallop_quic::identity::{Identity, IdentityError};
use shallop_quic::{Config, QuicError, Tls, code::Code};
use std::path::{Path, PathBuf};
use std::{io, net::SocketAddr};

/// Who may send.
#[derive(Clone, Debug)]
pub enum Admission {
    /// Senders that prove this code, and to which the server proves it.
    Code(Code),
    /// Senders whose certificate an authority in this PEM file has signed.
    Authority { own: CertificateFiles, senders: PathBuf },
    /// Everybody. Without files the certificate is self-signed.
    Anybody(Option<CertificateFiles>),
}

impl Admission {
    fn tls(&self) -> Result<Tls, ListenError> {
        Ok(match self {
            Self::Code(code) => Tls::server_with(code.clone())?,
            Self::Authority { own, senders } => {
                Tls::server(&own.load()?).asking(Authority::load(senders)?.of_clients()?)
            }
            Self::Anybody(Some(own)) => Tls::server(&own.load()?),
            Self::Anybody(None) => Tls::server(&Identity::make()?),
        })
    }
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A file with a certificate or a key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// No code or certificate can be made.
    #[error(transparent)]
    Random(#[from] QuicError),
    #[error("\"{}\" is no folder", .0.display())]
    NoFolder(PathBuf),
    #[error("cannot listen at {place}: {source}")]
    Bind {
        /// The address and port to listen at, or the port of all addresses.
        place: String,
        source: QuicError,
    },
}

impl ListenError {
    /// Advice for the user, with options as [`OptionName`] spells them.
    pub fn help(&self, option: OptionName<'_>) -> Option<String> {
        let why = match self {
            Self::NoFolder(_) => {
                return Some("it has to be there: make it first, or give another one".to_owned());
            }
            Self::Bind { source: QuicError::System(why), .. } => why,
            _ => return None,
        };
        let bind = option("bind");
        match why.kind() {
            io::ErrorKind::AddrInUse => Some(format!(
                "another program has this port, perhaps another 'shallop receive': {bind} takes another one, as in \
                 {bind} 0.0.0.0:4748"
            )),
            io::ErrorKind::AddrNotAvailable => {
                Some(format!("{bind} takes an address of this host; 'ip address' shows them"))
            }
            io::ErrorKind::PermissionDenied => Some(format!("ports below 1024 are for root: {bind} takes another one")),
            _ => None,
        }
    }
}

/// Listens at `address`; without one, at [`PORT`] of all addresses.
///
/// # Errors
/// The address cannot be used, or one of the files.
pub fn listen(address: Option<SocketAddr>, config: Config, who: &Admission) -> Result<ReceiveServer, ListenError> {
    ReceiveServer::bind(address, config, &who.tls()?).map_err(|source| {
        let place = address.map_or_else(|| format!("port {PORT}"), |address| address.to_string());
        ListenError::Bind { place, source }
    })
}

/// Listens like [`listen`], after checking that `folder` for the received files exists.
///
/// # Errors
/// As [`listen`], or `folder` does not exist.
pub fn listen_for_files(
    folder: &Path, address: Option<SocketAddr>, config: Config, who: &Admission,
) -> Result<ReceiveServer, ListenError> {
    if !folder.is_dir() {
        return Err(ListenError::NoFolder(folder.to_owned()));
    }
    listen(address, config, who)
}
