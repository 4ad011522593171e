//! The identities of endpoints, for TLS 1.3.

use std::sync::Arc;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::connection::WITHOUT;
use crate::error::QuicError;
use crate::settings::ALPN;

/// Who this endpoint is, and whom it trusts.
#[derive(Clone)]
pub struct Tls {
    own: Option<(CertificateDer<'static>, Arc<PrivateKeyDer<'static>>)>,
    trusts: Option<Arc<dyn ServerCertVerifier>>,
    protocols: Vec<Vec<u8>>,
}

impl Tls {
    /// An endpoint that connects to servers that `trusts` accepts.
    #[must_use]
    pub fn client(trusts: Arc<dyn ServerCertVerifier>) -> Self {
        Self { own: None, trusts: Some(trusts), protocols: protocols() }
    }

    /// An endpoint that accepts connections, with this certificate and key.
    #[must_use]
    pub fn server(certificate: CertificateDer<'static>, key: PrivateKeyDer<'static>) -> Self {
        Self { own: Some((certificate, Arc::new(key))), trusts: None, protocols: protocols() }
    }

    /// The same, which speaks these application protocols (ALPN) in place of shallop's: without credits.
    #[must_use]
    pub fn speaking(mut self, protocols: &[&[u8]]) -> Self {
        self.protocols = protocols.iter().map(|of| of.to_vec()).collect();
        self
    }

    pub(crate) fn client_config(
        &self,
    ) -> Result<Arc<dyn quinn_proto::crypto::ClientConfig>, QuicError> {
        let Some(trusts) = &self.trusts else {
            return Err(QuicError::Identity("this endpoint trusts no server".to_owned()));
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|why| refused(&why))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(trusts))
            .with_no_client_auth();
        config.alpn_protocols.clone_from(&self.protocols);
        let config = QuicClientConfig::try_from(config).map_err(|why| refused(&why))?;
        Ok(Arc::new(config))
    }

    pub(crate) fn server_config(
        &self,
    ) -> Result<Option<Arc<dyn quinn_proto::crypto::ServerConfig>>, QuicError> {
        let Some((certificate, key)) = &self.own else { return Ok(None) };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|why| refused(&why))?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.clone_key())
            .map_err(|why| refused(&why))?;
        config.alpn_protocols.clone_from(&self.protocols);
        let config = QuicServerConfig::try_from(config).map_err(|why| refused(&why))?;
        Ok(Some(Arc::new(config)))
    }
}

fn protocols() -> Vec<Vec<u8>> {
    vec![ALPN.to_vec(), WITHOUT.to_vec()]
}

fn refused(why: &dyn std::fmt::Display) -> QuicError {
    QuicError::Identity(why.to_string())
}
