//! The TLS 1.3 configuration of endpoints.

use crate::credit::settings::{ALPN, ALPN_CODE, ALPN_CODE_WITHOUT_CREDITS, ALPN_WITHOUT_CREDITS};
use crate::trust::{code::Code, identity::AnyServer, identity::Identity};
use crate::{error::QuicError, reset::ResetSecret};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use std::{net::SocketAddr, sync::Arc};

/// A certificate with its intermediate certificates, and its key.
type CertifiedKey = (Vec<CertificateDer<'static>>, Arc<PrivateKeyDer<'static>>);

/// How an endpoint knows its peers: by a code that both ends know, or by certificates.
#[derive(Clone)]
pub struct Tls {
    /// The identity that a server shows to clients.
    server: Option<CertifiedKey>,
    /// The identity that a client shows to servers that ask for one.
    client: Option<CertifiedKey>,
    /// Decides which servers a client trusts.
    server_verifier: Option<Arc<dyn ServerCertVerifier>>,
    /// Decides which clients a server trusts; without it no client is asked for a certificate.
    client_verifier: Option<Arc<dyn ClientCertVerifier>>,
    /// The code that both ends prove after the handshake.
    pub(crate) code: Option<Code>,
    /// The application protocols (ALPN).
    protocols: Vec<Vec<u8>>,
}

impl Tls {
    fn empty() -> Self {
        Self {
            server: None,
            client: None,
            server_verifier: None,
            client_verifier: None,
            code: None,
            protocols: vec![ALPN.to_vec(), ALPN_WITHOUT_CREDITS.to_vec()],
        }
    }

    /// Lets an endpoint connect to servers that know this code, whatever their certificate is.
    pub fn client_with(code: Code) -> Self {
        Self::client(AnyServer::new()).proving(code)
    }

    /// Lets an endpoint accept connections of clients that know this code. Its certificate is made now.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn server_with(code: Code) -> Result<Self, QuicError> {
        Ok(Self::server(&Identity::make().map_err(|why| identity_error(&why))?).proving(code))
    }

    /// Lets an endpoint connect to the servers that `verifier` accepts.
    pub fn client(verifier: Arc<dyn ServerCertVerifier>) -> Self {
        Self { server_verifier: Some(verifier), ..Self::empty() }
    }

    /// Lets an endpoint accept connections of anybody, with this identity; see [`Tls::asking`].
    pub fn server(identity: &Identity) -> Self {
        Self { server: Some(certified_key(identity)), ..Self::empty() }
    }

    fn proving(self, code: Code) -> Self {
        Self { code: Some(code), ..self }.speaking(&[ALPN_CODE, ALPN_CODE_WITHOUT_CREDITS])
    }

    /// Shows this identity to servers that ask for a client certificate.
    #[must_use]
    pub fn showing(self, identity: &Identity) -> Self {
        Self { client: Some(certified_key(identity)), ..self }
    }

    /// Asks clients for a certificate, and accepts only the clients that `verifier` accepts.
    #[must_use]
    pub fn asking(self, verifier: Arc<dyn ClientCertVerifier>) -> Self {
        Self { client_verifier: Some(verifier), ..self }
    }

    /// Replaces the application protocols (ALPN). With other ones than this crate's, credits are not used.
    #[must_use]
    pub fn speaking(mut self, protocols: &[&[u8]]) -> Self {
        self.protocols = protocols.iter().map(|of| of.to_vec()).collect();
        self
    }

    /// Takes the application protocols with credits away.
    pub(crate) fn without_credits(mut self) -> Self {
        self.protocols.retain(|of| of != ALPN && of != ALPN_CODE);
        self
    }

    pub(crate) fn reset_secret(&self, address: SocketAddr) -> Option<ResetSecret> {
        let (_, key) = self.server.as_ref()?;
        let of_code = self.code.as_ref().map(Code::bytes);
        Some(ResetSecret::new(of_code.as_ref().map_or(key.secret_der(), |code| code), address))
    }

    pub(crate) fn client_config(&self) -> Result<Arc<dyn quinn_proto::crypto::ClientConfig>, QuicError> {
        let Some(verifier) = &self.server_verifier else {
            return Err(QuicError::Identity("this endpoint trusts no server".to_owned()));
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|why| identity_error(&why))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(verifier));
        let mut config = match &self.client {
            None => config.with_no_client_auth(),
            Some((chain, key)) => {
                config.with_client_auth_cert(chain.clone(), key.clone_key()).map_err(|why| identity_error(&why))?
            }
        };
        config.alpn_protocols.clone_from(&self.protocols);
        let config = QuicClientConfig::try_from(config).map_err(|why| identity_error(&why))?;
        Ok(Arc::new(config))
    }

    pub(crate) fn server_config(&self) -> Result<Option<Arc<dyn quinn_proto::crypto::ServerConfig>>, QuicError> {
        let Some((chain, key)) = &self.server else { return Ok(None) };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|why| identity_error(&why))?;
        let config = match &self.client_verifier {
            None => config.with_no_client_auth(),
            Some(verifier) => config.with_client_cert_verifier(Arc::clone(verifier)),
        };
        let mut config = config.with_single_cert(chain.clone(), key.clone_key()).map_err(|why| identity_error(&why))?;
        config.alpn_protocols.clone_from(&self.protocols);
        let config = QuicServerConfig::try_from(config).map_err(|why| identity_error(&why))?;
        Ok(Some(Arc::new(config)))
    }
}

fn certified_key(identity: &Identity) -> CertifiedKey {
    (identity.chain.clone(), Arc::new(identity.key()))
}

fn identity_error(why: &dyn std::fmt::Display) -> QuicError {
    QuicError::Identity(why.to_string())
}
