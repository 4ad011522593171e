//! The unidirectional stream on which each side sends its settings and notices (docs/quic-wire.md), hidden from the
//! application, and the keys of emulation packets and credits.

use crate::credit::notice::{DscpNotice, NOTICE_BYTES};
use crate::credit::packet::MacKey;
use crate::credit::settings::{
    CLIENT_CONTEXT, CreditSettings, EXPORTER_LABEL, SERVER_CONTEXT, SETTINGS_BYTES, SettingsError,
};
use quinn_proto::{Connection, Dir, StreamId};

/// The most bytes of the peer's stream that are buffered; further bytes stay in QUIC.
const MAX_BUFFERED: usize = 1_024;

/// The settings streams of both sides of a connection.
#[derive(Debug, Default)]
pub(crate) struct SettingsStream {
    own: Option<StreamId>,
    peer: Option<StreamId>,
    received: Vec<u8>,
}

impl SettingsStream {
    /// Opens this side's stream and sends the settings. Returns false if they cannot be sent.
    pub(crate) fn open(&mut self, quic: &mut Connection, settings: &CreditSettings) -> bool {
        let Ok(message) = settings.encode() else { return false };
        self.own = quic.streams().open(Dir::Uni);
        let Some(id) = self.own else { return false };
        // The flow control of a new stream allows these few bytes.
        quic.send_stream(id).write(&message) == Ok(SETTINGS_BYTES)
    }

    /// The peer's settings, once they have arrived and this side's are sent.
    pub(crate) fn settings(&mut self, quic: &mut Connection) -> Option<Result<CreditSettings, SettingsError>> {
        self.own?;
        if self.peer.is_none() {
            self.peer = quic.streams().accept(Dir::Uni);
        }
        self.receive(quic);
        let message = self.take(SETTINGS_BYTES)?;
        Some(CreditSettings::decode(&message))
    }

    pub(crate) fn send_notice(&self, quic: &mut Connection, notice: DscpNotice) {
        if let Some(id) = self.own {
            // Without room in the stream a later notice will do.
            let _ = quic.send_stream(id).write(&notice.encode());
        }
    }

    /// The newest unread notice of the peer, after its settings were read.
    pub(crate) fn newest_notice(&mut self, quic: &mut Connection) -> Option<DscpNotice> {
        self.receive(quic);
        let mut newest = None;
        while let Some(message) = self.take(NOTICE_BYTES) {
            let message = message.try_into().ok().and_then(DscpNotice::decode);
            newest = message.or(newest);
        }
        newest
    }

    /// Takes `count` bytes from the buffer, if as many have arrived.
    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        (self.received.len() >= count).then(|| self.received.drain(..count).collect())
    }

    /// Reads the peer's stream into the buffer.
    fn receive(&mut self, quic: &mut Connection) {
        let Some(id) = self.peer else { return };
        let mut stream = quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while self.received.len() < MAX_BUFFERED {
            let Ok(Some(chunk)) = chunks.next(MAX_BUFFERED - self.received.len()) else { break };
            self.received.extend_from_slice(&chunk.bytes);
        }
        // Frames that follow from reading are sent with the next packets.
        let _ = chunks.finalize();
    }
}

/// The keys with which this side and the peer authenticate emulation packets and credits.
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
