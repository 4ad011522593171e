//! The settings that each side of a connection sends first, as a message on its first unidirectional stream
//! (docs/quic-wire.md).

use crate::credit::packet::MAX_STAMPS;
use shallop_core::Span;
use thiserror::Error;

/// The application protocol (ALPN) of QUIC with credits.
pub const ALPN: &[u8] = b"shallop-flashpass/1";
/// The application protocol (ALPN) of QUIC without credits.
pub(crate) const ALPN_WITHOUT_CREDITS: &[u8] = b"shallop-quic/1";
/// The application protocol (ALPN) of QUIC with credits between ends that prove a code first.
pub const ALPN_CODE: &[u8] = b"shallop-flashpass/1+code";
/// The application protocol (ALPN) of QUIC without credits between ends that prove a code first.
pub const ALPN_CODE_WITHOUT_CREDITS: &[u8] = b"shallop-quic/1+code";
/// The label of the TLS exporter (RFC 8446, 7.5) for the keys of emulation packets and credits, 16 bytes each.
pub const EXPORTER_LABEL: &[u8] = b"EXPORTER-shallop-flashpass/1";
/// The context of the TLS exporter for the client's key.
pub const CLIENT_CONTEXT: &[u8] = b"client";
/// The context of the TLS exporter for the server's key.
pub const SERVER_CONTEXT: &[u8] = b"server";

/// The version of the settings message, its first byte.
pub const VERSION: u8 = 1;
/// The length of a settings message, bytes.
pub const SETTINGS_BYTES: usize = 20;
/// The shortest waiting time that a peer accepts.
pub const MIN_WAIT: Span = Span::from_us(1);
/// The longest waiting time that a peer accepts, and the longest delay of a credit.
pub const MAX_WAIT: Span = Span::from_secs(600);

const PS_PER_NS: u64 = 1_000;

/// What one side of a connection tells the peer about its credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditSettings {
    /// The tag that identifies the connection in packets to this side.
    pub tag: u16,
    /// The most stamps in a credit that this side sends, 1 to [`MAX_STAMPS`]. A stamp answers one emulation packet.
    pub batch: u8,
    /// The waiting time of this side as a sender, whole ns, [`MIN_WAIT`] to [`MAX_WAIT`].
    pub wait: Span,
    /// The longest time for which this side holds back a credit, whole ns, at most [`MAX_WAIT`].
    pub credit_delay: Span,
}

/// Why a settings message is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// The version is unknown.
    #[error("the settings are of version {0}, and this side knows version {VERSION} alone")]
    Version(u8),
    /// The length of the message is wrong, bytes.
    #[error("the settings have {0} bytes, not {SETTINGS_BYTES}")]
    Length(usize),
    /// The number of stamps in a credit is out of bounds.
    #[error("a credit has 1 to {MAX_STAMPS} stamps, and the settings say {0}")]
    Batch(u8),
    /// The waiting time is out of bounds, ns.
    #[error("the waiting time is 1 us to 600 s, and the settings say {0} ns")]
    Wait(u64),
    /// The delay of credits is out of bounds, ns.
    #[error("a credit is held back for at most 600 s, and the settings say {0} ns")]
    CreditDelay(u64),
}

impl CreditSettings {
    /// Encodes a settings message. The waiting time is rounded down to ns and the delay of credits up.
    ///
    /// # Errors
    /// A value is out of bounds.
    pub fn encode(&self) -> Result<[u8; SETTINGS_BYTES], SettingsError> {
        let wait = self.wait.as_ps() / PS_PER_NS;
        let credit_delay = self.credit_delay.as_ps().div_ceil(PS_PER_NS);
        check(self.batch, wait, credit_delay)?;
        let mut message = [0; SETTINGS_BYTES];
        message[0] = VERSION;
        message[1..3].copy_from_slice(&self.tag.to_be_bytes());
        message[3] = self.batch;
        message[4..12].copy_from_slice(&wait.to_be_bytes());
        message[12..].copy_from_slice(&credit_delay.to_be_bytes());
        Ok(message)
    }

    /// Decodes a settings message.
    ///
    /// # Errors
    /// The version or the length is wrong, or a value is out of bounds.
    pub fn decode(message: &[u8]) -> Result<Self, SettingsError> {
        if let Some(&version) = message.first().filter(|&&version| version != VERSION) {
            return Err(SettingsError::Version(version));
        }
        let length = SettingsError::Length(message.len());
        let message: &[u8; SETTINGS_BYTES] = message.try_into().map_err(|_| length)?;
        let [_, high, low, batch, times @ ..] = *message;
        let number = |bytes: &[u8]| bytes.iter().fold(0, |all, &byte| all << 8 | u64::from(byte));
        let (wait, credit_delay) = (number(&times[..8]), number(&times[8..]));
        check(batch, wait, credit_delay)?;
        Ok(Self {
            tag: u16::from_be_bytes([high, low]),
            batch,
            wait: Span::from_ns(wait),
            credit_delay: Span::from_ns(credit_delay),
        })
    }
}

fn check(batch: u8, wait: u64, credit_delay: u64) -> Result<(), SettingsError> {
    let ns = |span: Span| span.as_ps() / PS_PER_NS;
    if !(1..=MAX_STAMPS).contains(&usize::from(batch)) {
        return Err(SettingsError::Batch(batch));
    }
    if !(ns(MIN_WAIT)..=ns(MAX_WAIT)).contains(&wait) {
        return Err(SettingsError::Wait(wait));
    }
    if credit_delay > ns(MAX_WAIT) {
        return Err(SettingsError::CreditDelay(credit_delay));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USUAL: CreditSettings =
        CreditSettings { tag: 0x1234, batch: 3, wait: Span::from_ms(40), credit_delay: Span::from_us(100) };

    #[test]
    fn invalid_settings_are_refused_with_the_reason() {
        let usual = USUAL.encode().unwrap();
        for length in 0..SETTINGS_BYTES {
            let error = CreditSettings::decode(&usual[..length]).unwrap_err();
            assert_eq!(error, SettingsError::Length(length));
        }
        let longer = [&usual[..], &[0]].concat();
        assert_eq!(CreditSettings::decode(&longer), Err(SettingsError::Length(21)));
        let changed = |at: usize, bytes: &[u8]| {
            let mut message = usual;
            message[at..at + bytes.len()].copy_from_slice(bytes);
            CreditSettings::decode(&message).unwrap_err().to_string()
        };
        let said = [
            changed(0, &[2]),
            changed(3, &[0]),
            changed(3, &[7]),
            changed(4, &999u64.to_be_bytes()),
            changed(4, &600_000_000_001u64.to_be_bytes()),
            changed(12, &u64::MAX.to_be_bytes()),
        ];
        let expected = [
            "the settings are of version 2, and this side knows version 1 alone",
            "a credit has 1 to 6 stamps, and the settings say 0",
            "a credit has 1 to 6 stamps, and the settings say 7",
            "the waiting time is 1 us to 600 s, and the settings say 999 ns",
            "the waiting time is 1 us to 600 s, and the settings say 600000000001 ns",
            "a credit is held back for at most 600 s, and the settings say 18446744073709551615 ns",
        ];
        assert_eq!(said, expected);
        assert_eq!(CreditSettings::decode(&[9]), Err(SettingsError::Version(9)));
        let settings = CreditSettings { wait: Span::from_ps(999_999), ..USUAL };
        assert_eq!(settings.encode(), Err(SettingsError::Wait(999)));
    }

    proptest! {
        #[test]
        fn encoded_settings_decode_to_themselves(
            (tag, batch, wait, credit_delay) in
                (any::<u16>(), 1..=6u8, 1_000..=600_000_000_000u64, 0..=600_000_000_000u64)
        ) {
            let (wait, credit_delay) = (Span::from_ns(wait), Span::from_ns(credit_delay));
            let sent = CreditSettings { tag, batch, wait, credit_delay };
            prop_assert_eq!(CreditSettings::decode(&sent.encode().unwrap()), Ok(sent));
        }

        #[test]
        fn decoded_messages_encode_to_themselves(message in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(settings) = CreditSettings::decode(&message) {
                prop_assert_eq!(&settings.encode().unwrap()[..], &message[..]);
            }
        }
    }
}
