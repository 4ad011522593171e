//! Listening as somebody: an identity of this host's own, or a certificate that an authority has signed.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::QuicError;
use crate::files::client::{CertificateFiles, Spelling};
use crate::files::session::{PORT, Receiving};
use crate::trust::authority::Authority;
use crate::trust::identity::{Identity, IdentityError};

/// Who this host is.
#[derive(Clone, Debug)]
pub enum Own {
    /// The identity in this folder, which is made there the first time.
    Folder(PathBuf),
    /// A certificate in files.
    Files(CertificateFiles),
    /// One that is made for this time.
    Passing,
}

/// Why nobody can be received.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A file with a certificate or a key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The folder is none.
    #[error("\"{}\" is no folder", .0.display())]
    Folder(PathBuf),
    /// The address cannot be had.
    #[error("cannot listen at {place}: {source}")]
    Bind {
        /// The address and port; without an address, the port of all of them.
        place: String,
        /// Why.
        source: QuicError,
    },
}

impl ListenError {
    /// What to do about it, with options as this user writes them.
    #[must_use]
    pub fn help(&self, option: Spelling<'_>) -> Option<String> {
        let why = match self {
            Self::Folder(_) => {
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
            io::ErrorKind::PermissionDenied => {
                Some(format!("ports below 1024 are for root: {bind} takes another one"))
            }
            _ => None,
        }
    }
}

/// Listens at this address, or at the usual port of all addresses, as this host. With a file of authorities, in PEM,
/// only clients are accepted whose certificate one of them has signed.
///
/// # Errors
/// If the address cannot be had, or a file that this needs cannot be used.
pub fn listen(
    bind: Option<SocketAddr>,
    config: Config,
    own: &Own,
    client_ca: Option<&Path>,
) -> Result<Receiving, ListenError> {
    let identity = match own {
        Own::Folder(folder) => Identity::load_or_make(folder)?,
        Own::Files(files) => files.load()?,
        Own::Passing => Identity::make()?,
    };
    let clients = client_ca.map(|file| Authority::load(file)?.of_clients()).transpose()?;
    match bind {
        Some(address) => Receiving::bind_by(address, config, &identity, clients)
            .map_err(|source| ListenError::Bind { place: address.to_string(), source }),
        None => Receiving::bind_everywhere(config, &identity, clients)
            .map_err(|source| ListenError::Bind { place: format!("port {PORT}"), source }),
    }
}

/// The same, for files: the folder that they are put into has to be there.
///
/// # Errors
/// As [`listen`], and if the folder is none.
pub fn listen_for_files(
    folder: &Path,
    bind: Option<SocketAddr>,
    config: Config,
    (own, client_ca): (&Own, Option<&Path>),
) -> Result<Receiving, ListenError> {
    if !folder.is_dir() {
        return Err(ListenError::Folder(folder.to_owned()));
    }
    listen(bind, config, own, client_ca)
}
