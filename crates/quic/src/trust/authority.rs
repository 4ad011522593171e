//! Authorities: who signs the certificates of hosts, beside certificates that are known by their fingerprint
//! ([`crate::identity`]).

use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
pub use rustls::server::danger::ClientCertVerifier;

use crate::trust::identity::{IdentityError, certificates, read};

/// Certificates of authorities. A host is trusted if its certificate leads to one of them and is valid now.
#[derive(Clone, Debug)]
pub struct Authority {
    roots: Arc<RootCertStore>,
    path: std::path::PathBuf,
}

impl Authority {
    /// Reads a file of PEM with one certificate or several.
    ///
    /// # Errors
    /// If it cannot be read, or holds no certificate that an authority may have.
    pub fn load(path: &Path) -> Result<Self, IdentityError> {
        let text = read(path)?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(path, &text)? {
            roots.add(certificate).map_err(|why| malformed(path, &why))?;
        }
        Ok(Self { roots: Arc::new(roots), path: path.to_owned() })
    }

    /// Trusts servers whose certificate leads here and has the name that the client has asked for.
    ///
    /// # Errors
    /// If the authorities cannot be used.
    pub fn of_servers(&self) -> Result<Arc<dyn ServerCertVerifier>, IdentityError> {
        let roots = Arc::clone(&self.roots);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider()).build();
        Ok(verifier.map_err(|why| malformed(&self.path, &why))?)
    }

    /// Trusts clients whose certificate leads here, whatever their name, and no others.
    ///
    /// # Errors
    /// If the authorities cannot be used.
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
    IdentityError::Malformed { path: path.to_owned(), reason }
}
