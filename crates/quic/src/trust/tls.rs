//! The identities of endpoints, for TLS 1.3.

use std::sync::Arc;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;

use crate::connection::WITHOUT;
use crate::credit::settings::ALPN;
use crate::error::QuicError;
use crate::reset::ResetSecret;
use crate::trust::identity::Identity;

/// A certificate with those that lead to its authority, and its key.
type Own = (Vec<CertificateDer<'static>>, Arc<PrivateKeyDer<'static>>);

/// Who this endpoint is, and whom it trusts.
#[derive(Clone)]
pub struct Tls {
    /// As a server.
    own: Option<Own>,
    /// As a client, to servers that ask.
    shown: Option<Own>,
    trusts: Option<Arc<dyn ServerCertVerifier>>,
    asks: Option<Arc<dyn ClientCertVerifier>>,
    protocols: Vec<Vec<u8>>,
}

impl Tls {
    /// An endpoint that connects to servers that `trusts` accepts.
    #[must_use]
    pub fn client(trusts: Arc<dyn ServerCertVerifier>) -> Self {
        Self { own: None, shown: None, trusts: Some(trusts), asks: None, protocols: protocols() }
    }

    /// An endpoint that accepts connections as `identity`.
    #[must_use]
    pub fn server(identity: &Identity) -> Self {
        let own = Some(own(identity));
        Self { own, shown: None, trusts: None, asks: None, protocols: protocols() }
    }

    /// The same, which shows this identity to servers that ask for one.
    #[must_use]
    pub fn showing(mut self, identity: &Identity) -> Self {
        self.shown = Some(own(identity));
        self
    }

    /// The same, which accepts clients that `trusts` accepts, and no others.
    #[must_use]
    pub fn asking(mut self, trusts: Arc<dyn ClientCertVerifier>) -> Self {
        self.asks = Some(trusts);
        self
    }

    /// The same, which speaks these application protocols (ALPN) in place of shallop's: without credits.
    #[must_use]
    pub fn speaking(mut self, protocols: &[&[u8]]) -> Self {
        self.protocols = protocols.iter().map(|of| of.to_vec()).collect();
        self
    }

    /// The secret of a server at this port; clients have none that they keep.
    pub(crate) fn reset_secret(&self, port: u16) -> Option<ResetSecret> {
        self.own.as_ref().map(|(_, key)| ResetSecret::new(key, port))
    }

    pub(crate) fn client_config(
        &self,
    ) -> Result<Arc<dyn quinn_proto::crypto::ClientConfig>, QuicError> {
        let Some(trusts) = &self.trusts else {
            return Err(QuicError::Identity("this endpoint trusts no server".to_owned()));
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|why| refused(&why))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(trusts));
        let mut config = match &self.shown {
            None => config.with_no_client_auth(),
            Some((chain, key)) => config
                .with_client_auth_cert(chain.clone(), key.clone_key())
                .map_err(|why| refused(&why))?,
        };
        config.alpn_protocols.clone_from(&self.protocols);
        let config = QuicClientConfig::try_from(config).map_err(|why| refused(&why))?;
        Ok(Arc::new(config))
    }

    pub(crate) fn server_config(
        &self,
    ) -> Result<Option<Arc<dyn quinn_proto::crypto::ServerConfig>>, QuicError> {
        let Some((chain, key)) = &self.own else { return Ok(None) };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|why| refused(&why))?;
        let config = match &self.asks {
            None => config.with_no_client_auth(),
            Some(asks) => config.with_client_cert_verifier(Arc::clone(asks)),
        };
        let mut config =
            config.with_single_cert(chain.clone(), key.clone_key()).map_err(|why| refused(&why))?;
        config.alpn_protocols.clone_from(&self.protocols);
        let config = QuicServerConfig::try_from(config).map_err(|why| refused(&why))?;
        Ok(Some(Arc::new(config)))
    }
}

fn own(identity: &Identity) -> Own {
    (identity.chain().to_vec(), Arc::new(identity.key()))
}

fn protocols() -> Vec<Vec<u8>> {
    vec![ALPN.to_vec(), WITHOUT.to_vec()]
}

fn refused(why: &dyn std::fmt::Display) -> QuicError {
    QuicError::Identity(why.to_string())
}
