//! Certificate authorities, as an alternative to a code ([`crate::code`]).

use std::{path::Path, sync::Arc};

use crate::trust::identity::{IdentityError, certificates, read};
pub use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, client::WebPkiServerVerifier, client::danger::ServerCertVerifier, crypto::CryptoProvider};
use rustls::{crypto::ring::default_provider, server::WebPkiClientVerifier};

/// A set of authorities. A host is trusted if one of them has signed its certificate and the certificate is valid now.
#[derive(Clone, Debug)]
pub struct Authority {
    roots: Arc<RootCertStore>,
    path: std::path::PathBuf,
}

impl Authority {
    /// Reads a PEM file with one or more certificates.
    ///
    /// # Errors
    /// The file cannot be read, or a certificate in it cannot be an authority's.
    pub fn load(path: &Path) -> Result<Self, IdentityError> {
        let text = read(path)?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(path, &text)? {
            roots.add(certificate).map_err(|why| malformed(path, &why))?;
        }
        Ok(Self { roots: Arc::new(roots), path: path.to_owned() })
    }

    /// Creates a verifier that accepts servers with a certificate of these authorities for the name that the client
    /// connects to.
    ///
    /// # Errors
    /// The authorities are unusable.
    pub fn of_servers(&self) -> Result<Arc<dyn ServerCertVerifier>, IdentityError> {
        let roots = Arc::clone(&self.roots);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider()).build();
        Ok(verifier.map_err(|why| malformed(&self.path, &why))?)
    }

    /// Creates a verifier that accepts only clients with a certificate of these authorities, for any name.
    ///
    /// # Errors
    /// The authorities are unusable.
    pub fn of_clients(&self) -> Result<Arc<dyn ClientCertVerifier>, IdentityError> {
        let roots = Arc::clone(&self.roots);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
        verifier.map_err(|why| malformed(&self.path, &why))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

fn malformed(path: &Path, why: &dyn std::fmt::Display) -> IdentityError {
    let reason = format!("it cannot be used as an authority: {why}");
    IdentityError::Malformed(path.to_owned(), reason)
}
