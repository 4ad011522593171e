//! Stateless resets (RFC 9000, 10.3) that survive a restart: a server that was killed and started again tells the peers
//! of its earlier connections that these are gone. Otherwise they would wait for the idle timeout of a minute.

use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{EndpointConfig, HashedConnectionIdGenerator};
use std::{net::SocketAddr, sync::Arc};

/// The context in which the key of reset tokens is derived from the secret of the server.
const TOKENS: &str = "shallop 2025 stateless reset tokens";
/// The context in which the key of connection IDs is derived from the secret of the server.
const NAMES: &str = "shallop 2025 connection IDs";

/// The identifier of the machine, which hosts do not tell others (machine-id(5)).
const MACHINE: &str = "/etc/machine-id";

/// The secrets of a server, derived from its code or its TLS key, so that they are equal after a restart, and from the
/// name of its host and the address that it listens at: otherwise an observer could make another server with the same
/// key reset a connection. The identifier of the machine keeps senders, who know the code, from computing them.
#[derive(Clone, Copy)]
pub(crate) struct ResetSecret {
    tokens: [u8; 32],
    names: u64,
}

impl ResetSecret {
    pub(crate) fn new(secret: &[u8], address: SocketAddr) -> Self {
        // Some containers have none.
        Self::of_machine(&std::fs::read(MACHINE).unwrap_or_default(), secret, address)
    }

    fn of_machine(machine: &[u8], secret: &[u8], address: SocketAddr) -> Self {
        let place = format!("{address} {}", rustix::system::uname().nodename().to_string_lossy());
        let material = [secret, place.as_bytes(), b"\0", machine].concat();
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

    #[test]
    fn a_code_alone_does_not_tell_the_secrets() {
        let address = "192.0.2.1:4747".parse().unwrap();
        let [mine, guessed] = [&b"7a"[..], b""].map(|machine| ResetSecret::of_machine(machine, b"a code", address));
        assert!(mine.tokens != guessed.tokens && mine.names != guessed.names);
    }

    #[test]
    fn secrets_are_equal_for_one_key_and_address_and_differ_for_others() {
        let token = |key: &[u8], address: &str| {
            let secret = ResetSecret::new(key, address.parse().unwrap());
            let mut token = [0; 32];
            Tokens(secret.tokens).sign(b"a connection", &mut token);
            (token, secret.names)
        };
        let first = token(b"one", "192.0.2.1:4747");
        assert_eq!(first, token(b"one", "192.0.2.1:4747"));
        for (token, names) in [("one", "192.0.2.1:4748"), ("one", "192.0.2.2:4747"), ("other", "192.0.2.1:4747")]
            .map(|(key, at)| token(key.as_bytes(), at))
        {
            assert!(token != first.0 && names != first.1);
        }
        let tokens = Tokens(ResetSecret::new(b"one", "192.0.2.1:4747".parse().unwrap()).tokens);
        assert!(tokens.verify(b"a connection", &first.0).is_ok());
        assert!(tokens.verify(b"another", &first.0).is_err());
        assert!(tokens.verify(b"a connection", &first.0[..16]).is_err());
    }
}
