//! What both sides tell each other on streams of their own, which no application sees: their settings and notices
//! (docs/quic-wire.md), and what both know by TLS: the keys of small packets.

use quinn_proto::{Connection, Dir, StreamId};

use crate::credit::notice::{NOTICE_BYTES, Notice};
use crate::credit::packet::MacKey;
use crate::credit::settings::{
    CLIENT_CONTEXT, EXPORTER_LABEL, SERVER_CONTEXT, SETTINGS_BYTES, Settings, SettingsError,
};

/// Bytes that are read at a time: more of them are no use to anybody.
const MOST_READ: usize = 1_024;

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
        let message = self.take(SETTINGS_BYTES)?;
        Some(Settings::decode(&message))
    }

    /// Sends a notice behind the settings.
    pub(crate) fn tell(&self, quic: &mut Connection, notice: Notice) {
        if let Some(id) = self.own {
            // One that finds no room is late: the next one will do.
            let _ = quic.send_stream(id).write(&notice.encode());
        }
    }

    /// The newest notice of the peer that has not been read, once its settings are.
    pub(crate) fn notice(&mut self, quic: &mut Connection) -> Option<Notice> {
        self.receive(quic);
        let mut newest = None;
        while let Some(message) = self.take(NOTICE_BYTES) {
            let message = message.try_into().ok().and_then(Notice::decode);
            newest = message.or(newest);
        }
        newest
    }

    /// Takes so many bytes, if they are there.
    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        (self.read.len() >= count).then(|| self.read.drain(..count).collect())
    }

    /// Reads what has arrived.
    fn receive(&mut self, quic: &mut Connection) {
        let Some(id) = self.peer else { return };
        let mut stream = quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while self.read.len() < MOST_READ {
            let Ok(Some(chunk)) = chunks.next(MOST_READ - self.read.len()) else { break };
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
