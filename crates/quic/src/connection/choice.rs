//! Whether data of a connection leaves on credits: what both ends have agreed on, what speaks against credits on the
//! path, and the return to them. Each side decides on what it sends alone, so the other one need not be told.

use std::time::{Duration, Instant};

use shallop_core::{Span, Time};

use super::{Connection, Datagram, PATIENCE};
use crate::credit::credits::Credits;
use crate::credit::evidence::Answers;
use crate::credit::exchange;
use crate::credit::gate::Mode;
use crate::credit::path::Path;
use crate::credit::settings::{ALPN, Settings};

impl Connection {
    /// It is known what the peer speaks.
    pub(super) fn choose_path(&mut self) {
        let data = self.quic.crypto_session().handshake_data();
        let data = data
            .and_then(|data| data.downcast::<quinn_proto::crypto::rustls::HandshakeData>().ok());
        let protocol = data.and_then(|data| data.protocol);
        if !self.config.credits || protocol.as_deref() != Some(ALPN) {
            return self.leave_credits(Path::WithoutCredits);
        }
        let (wait, credit_delay) = (self.config.wait_span(), self.config.credit_delay());
        let settings = Settings { tag: self.tag, batch: self.config.batch, wait, credit_delay };
        if !self.exchange.begin(&mut self.quic, &settings) {
            self.leave_credits(Path::WithoutCredits);
        }
    }

    /// Reads the peer's settings: true if they are there, and credits begin.
    pub(super) fn read_settings(&mut self, time: Time) -> bool {
        // This side's own settings leave first: they need no credit.
        if self.stream_frames == 0 {
            return false;
        }
        let Some(settings) = self.exchange.settings(&mut self.quic) else { return false };
        match (settings, exchange::keys(&self.quic)) {
            (Ok(peer), Some(keys)) => {
                let credits = Credits::new(time, &self.config, keys, peer);
                self.streams.set_product(self.config.link.bytes_in(credits.wait()).get());
                self.credits = Some(credits);
                self.answers = self.fresh_answers();
                self.path = Path::Credits;
            }
            // What cannot be understood is a peer without credits.
            _ => self.leave_credits(Path::WithoutCredits),
        }
        true
    }

    fn fresh_answers(&self) -> Answers {
        let agreed = self.credits.as_ref().map_or(Span::ZERO, Credits::wait);
        let wait = Duration::from_nanos(agreed.as_ps() / 1_000);
        Answers::new(wait, wait * 4 + PATIENCE)
    }

    /// Reads what the peer has told since.
    pub(super) fn read_notice(&mut self) {
        if let Some(notice) = self.exchange.notice(&mut self.quic) {
            let differs = notice.differs_from(self.config.classes);
            self.objection = differs.then_some(Path::ClassesErased);
        }
    }

    fn leave_credits(&mut self, path: Path) {
        self.path = path;
        self.pending = false;
        self.lost_bytes = 0;
        self.gate.set(Mode::Window);
        self.wake();
    }

    /// Leaves credits if the path is not fit for them, or finds out.
    pub(super) fn judge(&mut self, now: Instant, time: Time, out: &mut Vec<Datagram>) {
        let waits = self.waiting_packets() > 0;
        let Some(credits) = &mut self.credits else { return };
        let (granted, emulated) = credits.answered();
        // A silent peer is asked for no credits. Data that waits is enough: a question finds out.
        self.answers.observe(now, (granted, emulated), waits);
        let why = if credits.is_unanswered(time) {
            Path::Unanswered
        } else if self.config.keeps_credits {
            return;
        } else if self.answers.have_stopped() {
            Path::CreditsStopped
        } else if let Some(told) = self.objection {
            told
        } else if credits.is_data_lost() {
            Path::DataLost
        } else {
            return self.ask_for_an_answer(now, emulated, out);
        };
        // The peer's emulation packets are answered as before.
        credits.stop();
        self.leave_credits(why);
    }

    fn ask_for_an_answer(&mut self, now: Instant, emulated: u64, out: &mut Vec<Datagram>) {
        if self.quic_silence.is_at(now)
            || !self.answers.asks(now, self.gate.newest_acked(), emulated)
        {
            return;
        }
        self.quic.ping();
        if self.pending {
            self.pass_one(now, out);
        }
    }

    /// Begins again with credits on a path where they were given up. False if they were not.
    pub(crate) fn use_credits(&mut self) -> bool {
        if !self.path.is_fallback() || self.quic.is_closed() {
            return false;
        }
        self.path = Path::Credits;
        self.answers = self.fresh_answers();
        self.objection = None;
        // QUIC may still hold data that was lost, or that the window has kept back.
        self.pending = true;
        self.gate.set(Mode::Shut);
        self.wake();
        true
    }
}
