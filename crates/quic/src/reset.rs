//! Stateless resets (RFC 9000, 10.3) that survive a restart: a server that was killed and started again tells the peers
//! of its earlier connections that these are gone. Otherwise they would wait for the idle timeout of a minute.

use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{EndpointConfig, HashedConnectionIdGenerator};
use rustls::pki_types::PrivateKeyDer;
use std::sync::Arc;

/// The context in which the key of reset tokens is derived from the TLS key.
const TOKENS: &str = "shallop 2025 stateless reset tokens";
/// The context in which the key of connection IDs is derived from the TLS key.
const NAMES: &str = "shallop 2025 connection IDs";

/// The secrets of a server, derived from its TLS key and its port, so that they are equal after a restart. They differ
/// between ports: otherwise an observer could make another process with the same key reset a connection.
#[derive(Clone, Copy)]
pub(crate) struct ResetSecret {
    tokens: [u8; 32],
    names: u64,
}

impl ResetSecret {
    pub(crate) fn new(key: &PrivateKeyDer<'_>, port: u16) -> Self {
        let material = [key.secret_der(), &port.to_be_bytes()].concat();
        let mut names = [0; 8];
        names.copy_from_slice(&blake3::derive_key(NAMES, &material)[..8]);
        let names = u64::from_be_bytes(names);
        Self { tokens: blake3::derive_key(TOKENS, &material), names }
    }

    /// Creates an endpoint configuration whose reset tokens and connection IDs come from these secrets.
    pub(crate) fn endpoint_config(self) -> EndpointConfig {
        let mut config = EndpointConfig::new(Arc::new(Tokens(self.tokens)));
        config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(self.names)));
        config
    }
}

/// Computes reset tokens as keyed hashes of connection IDs.
struct Tokens([u8; 32]);

impl HmacKey for Tokens {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let hash = blake3::keyed_hash(&self.0, data);
        let count = signature_out.len().min(blake3::OUT_LEN);
        signature_out[..count].copy_from_slice(&hash.as_bytes()[..count]);
    }

    fn signature_len(&self) -> usize {
        blake3::OUT_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let Ok(signature) = <[u8; blake3::OUT_LEN]>::try_from(signature) else {
            return Err(CryptoError);
        };
        // `blake3::Hash` compares in constant time.
        if blake3::keyed_hash(&self.0, data) == signature { Ok(()) } else { Err(CryptoError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::identity::Identity;

    #[test]
    fn secrets_are_equal_for_one_key_and_port_and_differ_for_others() {
        let [one, other] = [(); 2].map(|()| Identity::make().unwrap().key());
        let token = |key: &PrivateKeyDer<'_>, port| {
            let secret = ResetSecret::new(key, port);
            let mut token = [0; 32];
            Tokens(secret.tokens).sign(b"a connection", &mut token);
            (token, secret.names)
        };
        let first = token(&one, 4_747);
        assert_eq!(first, token(&one, 4_747));
        for (token, names) in [token(&one, 4_748), token(&other, 4_747)] {
            assert!(token != first.0 && names != first.1);
        }
        let tokens = Tokens(ResetSecret::new(&one, 4_747).tokens);
        assert!(tokens.verify(b"a connection", &first.0).is_ok());
        assert!(tokens.verify(b"another", &first.0).is_err());
        assert!(tokens.verify(b"a connection", &first.0[..16]).is_err());
    }
}
