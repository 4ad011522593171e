//! What both sides tell each other on streams of their own, which no application sees: their settings
//! (docs/quic-wire.md), and what both know by TLS: the keys of small packets.

use quinn_proto::{Connection, Dir, StreamId};

use crate::packet::MacKey;
use crate::settings::{
    CLIENT_CONTEXT, EXPORTER_LABEL, SERVER_CONTEXT, SETTINGS_BYTES, Settings, SettingsError,
};

/// The streams of one connection.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    own: Option<StreamId>,
    peer: Option<StreamId>,
    read: Vec<u8>,
}

impl Exchange {
    /// Opens this side's stream and sends the settings. False if they cannot be sent.
    pub(crate) fn begin(&mut self, quic: &mut Connection, settings: &Settings) -> bool {
        let Ok(message) = settings.encode() else { return false };
        self.own = quic.streams().open(Dir::Uni);
        let Some(id) = self.own else { return false };
        // A stream that was just opened takes these few bytes.
        quic.send_stream(id).write(&message) == Ok(SETTINGS_BYTES)
    }

    /// The peer's settings, once they are there and this side's are sent.
    pub(crate) fn settings(
        &mut self,
        quic: &mut Connection,
    ) -> Option<Result<Settings, SettingsError>> {
        self.own?;
        if self.peer.is_none() {
            self.peer = quic.streams().accept(Dir::Uni);
        }
        self.receive(quic);
        self.read.get(..SETTINGS_BYTES).map(Settings::decode)
    }

    /// Reads what has arrived of the settings.
    fn receive(&mut self, quic: &mut Connection) {
        let Some(id) = self.peer else { return };
        let mut stream = quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while self.read.len() < SETTINGS_BYTES {
            let missing = SETTINGS_BYTES - self.read.len();
            let Ok(Some(chunk)) = chunks.next(missing) else { break };
            self.read.extend_from_slice(&chunk.bytes);
        }
        // What follows from it is sent with the next packets.
        let _ = chunks.finalize();
    }
}

/// The keys of small packets: this side's and the peer's.
pub(crate) fn keys(quic: &Connection) -> Option<(MacKey, MacKey)> {
    let key = |context: &[u8]| {
        let mut bytes = [0; 16];
        let session = quic.crypto_session();
        session.export_keying_material(&mut bytes, EXPORTER_LABEL, context).ok()?;
        Some(MacKey::new(bytes))
    };
    let (client, server) = (key(CLIENT_CONTEXT)?, key(SERVER_CONTEXT)?);
    Some(if quic.side().is_client() { (client, server) } else { (server, client) })
}
