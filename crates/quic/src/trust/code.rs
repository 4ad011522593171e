//! The code that both sides of a connection know, and the proof of it (docs/quic-wire.md). On its first bidirectional
//! stream the client proves that it knows the code, and the server answers with its own proof. A proof is an HMAC over
//! bytes that TLS derives from its secrets for this connection alone, so nobody in between can pass one on.

use crate::error::QuicError;
use quinn_proto::{Connection, Dir, ReadError, Side, StreamId};
use ring::hmac;
use std::{fmt, str::FromStr, time::Duration, time::Instant};

/// The digits of base 32 in the order of their values, by Crockford: no I, L, O or U.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The number of digits of a code. The first stands for 3 bits, the others for 5 each.
const LENGTH: u32 = 26;
/// The label of the TLS exporter (RFC 8446, 7.5) for the bytes that a proof covers, and the begin of what it covers.
const LABEL: &[u8] = b"EXPORTER-shallop-code/1";
/// The length of a proof, bytes.
const PROOF: usize = 32;
/// The time from a client's first packet to the end of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The time from the end of the handshake to the proof.
const PROOF_TIMEOUT: Duration = Duration::from_secs(5);

/// A secret of 128 random bits, by which the two ends of a connection know each other. It is written as 26 digits of
/// base 32; case and dashes do not count. Its debug form does not show it.
#[derive(Clone)]
pub struct Code(u128);

impl Code {
    /// Makes a code of random numbers of the system.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn make() -> Result<Self, QuicError> {
        let mut bytes = [0; 16];
        let random = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
        random.map_err(|_| QuicError::Identity("the system has no random numbers for a code".to_owned()))?;
        Ok(Self(u128::from_be_bytes(bytes)))
    }

    pub(crate) fn bytes(&self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.bytes())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..LENGTH).rev().try_for_each(|at| write!(f, "{}", char::from(DIGITS[(self.0 >> (5 * at)) as usize & 31])))
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(..)")
    }
}

/// A text is not a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a code has 26 digits and letters without i, l, o and u, as 'shallop receive' prints it; the first is 0 to 7")]
pub struct CodeError;

impl FromStr for Code {
    type Err = CodeError;

    fn from_str(text: &str) -> Result<Self, CodeError> {
        let (mut value, mut count) = (0_u128, 0);
        for digit in text.bytes().filter(|&digit| digit != b'-') {
            let digit = DIGITS.iter().position(|of| of.eq_ignore_ascii_case(&digit)).ok_or(CodeError)?;
            value = value.checked_mul(32).ok_or(CodeError)? | digit as u128;
            count += 1;
        }
        if count == LENGTH { Ok(Self(value)) } else { Err(CodeError) }
    }
}

/// What a proof is computed of: the label, the role of who proves, and the bytes of the TLS exporter.
fn message(is_client: bool, exported: &[u8; 32]) -> Vec<u8> {
    [LABEL, if is_client { b"client" } else { b"server" }, exported].concat()
}

/// The exchange of proofs at the begin of a connection, until the peer's proof has arrived.
pub(crate) struct Proof {
    code: Code,
    stream: Option<StreamId>,
    received: Vec<u8>,
    /// When the connection is closed unless the proof has arrived; `None` for a client whose handshake goes on.
    pub(crate) due: Option<Instant>,
}

impl Proof {
    pub(crate) fn new(now: Instant, code: Code, side: Side) -> Self {
        let due = side.is_server().then(|| now + HANDSHAKE_TIMEOUT);
        Self { code, stream: None, received: Vec::new(), due }
    }

    /// Begins at the end of the handshake: a client sends its proof.
    pub(crate) fn begin(&mut self, now: Instant, quic: &mut Connection) {
        self.due = Some(now + PROOF_TIMEOUT);
        if quic.side().is_client() {
            self.stream = quic.streams().open(Dir::Bi);
            self.send(quic);
        }
    }

    /// Sends this side's proof, which the flow control of a new stream allows.
    fn send(&self, quic: &mut Connection) {
        let Some((id, exported)) = self.stream.zip(exported(quic)) else { return };
        let proof = hmac::sign(&self.code.key(), &message(quic.side().is_client(), &exported));
        // A connection that has ended needs no proof.
        let _ = quic.send_stream(id).write(proof.as_ref());
        let _ = quic.send_stream(id).finish();
    }

    /// Reads the peer's proof, and answers a client. Returns whether it is right, once it has arrived.
    pub(crate) fn poll(&mut self, quic: &mut Connection) -> Option<bool> {
        if self.stream.is_none() && quic.side().is_server() {
            self.stream = quic.streams().accept(Dir::Bi);
        }
        if !self.receive(quic, self.stream?) {
            return None;
        }
        let message = message(quic.side().is_server(), &exported(quic)?);
        // The comparison takes equal time for all proofs of this length.
        let is_right = hmac::verify(&self.code.key(), &message, &self.received).is_ok();
        if is_right && quic.side().is_server() {
            self.send(quic);
        }
        Some(is_right)
    }

    /// Reads the stream to its end, or until it is longer than a proof. Returns whether nothing more is to come.
    fn receive(&mut self, quic: &mut Connection, id: StreamId) -> bool {
        let mut stream = quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return true };
        while self.received.len() <= PROOF {
            match chunks.next(PROOF + 1 - self.received.len()) {
                Ok(Some(chunk)) => self.received.extend_from_slice(&chunk.bytes),
                Err(ReadError::Blocked) => return false,
                Ok(None) | Err(ReadError::Reset(_)) => return true,
            }
        }
        true
    }
}

fn exported(quic: &Connection) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    quic.crypto_session().export_keying_material(&mut bytes, LABEL, b"").ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn a_proof_is_the_hmac_of_the_documented_message() {
        let exported: [u8; 32] = std::array::from_fn(|at| at as u8);
        let key = "00041061050r3gg28a1c60t3gf".parse::<Code>().unwrap().key();
        let page = include_str!("../../../../docs/quic-wire.md");
        for is_client in [true, false] {
            let proof = hmac::sign(&key, &message(is_client, &exported));
            let hex = proof.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
            assert!(page.contains(&hex), "{is_client}: {hex}");
        }
    }

    #[test]
    fn texts_of_other_length_or_digits_are_no_codes() {
        let code = Code(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        let text = code.to_string();
        let spaced = format!("{}-{}", &text[..5], text[5..].to_uppercase());
        assert_eq!(spaced.parse::<Code>().unwrap().0, code.0);
        assert_eq!(Code(u128::MAX).to_string(), "7zzzzzzzzzzzzzzzzzzzzzzzzz");
        assert!(!format!("{code:?}").contains(&text[..4]));
        for bad in ["", "-", &text[1..], &format!("{text}0"), &format!("8{}", &text[1..]), &text.replace('1', "l")] {
            assert_eq!(bad.parse::<Code>().err(), Some(CodeError), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn displayed_codes_parse(value in any::<u128>()) {
            prop_assert_eq!(Code(value).to_string().parse::<Code>().unwrap().0, value);
        }
    }
}
