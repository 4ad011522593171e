//! Tests of how the path treats emulation packets, and the change to QUIC without credits that follows from one.

use super::{Connection, OutgoingDatagram};
use crate::credit::path_probe::{ProbeCounts, ProbePlan};
use crate::credit::send_mode::SendMode;
use crate::{config::ECT, credit::packet::EMULATION_BYTES};
use std::time::Instant;

/// The most packets of a test that leave with one time.
const PROBES_AT_ONCE: u32 = 8;

impl Connection {
    /// Starts a test of the path. Returns false if the peer answers no emulation packets.
    pub(crate) fn start_probe(&mut self, now: Instant, plan: ProbePlan) -> bool {
        let time = self.time(now);
        self.needs_transmit = true;
        self.credits.as_mut().map(|credits| credits.start_probe(time, plan)).is_some()
    }

    /// The counts of the newest test, and whether all of its packets have left. `None` if the connection has ended.
    pub(crate) fn probed(&self) -> Option<(Vec<ProbeCounts>, bool)> {
        let credits = self.credits.as_ref().filter(|_| self.close_reason.is_none());
        let (trains, is_over) = credits?.probed()?;
        Some((trains.to_vec(), is_over))
    }

    /// Sends data without credits, because no switch of the path meters emulation packets. Returns false if data does
    /// not leave on credits.
    pub(crate) fn leave_unmetered(&mut self) -> bool {
        let is_on_credits = self.send_mode == SendMode::Credits && !self.quic.is_closed();
        if is_on_credits {
            if let Some(credits) = &mut self.credits {
                credits.restart();
            }
            self.leave_credits(SendMode::Unmetered);
        }
        is_on_credits
    }

    /// Appends the due packets of the path test to `out`, at most [`PROBES_AT_ONCE`] per call. All packets of a call
    /// get one departure time; with more of them, a host that sends too slowly would seem fast.
    pub(super) fn send_probes(&mut self, now: Instant, out: &mut Vec<OutgoingDatagram>) {
        let time = self.time(now);
        for _ in 0..PROBES_AT_ONCE {
            if !self.amplification_limit.allows(EMULATION_BYTES) {
                return;
            }
            let probe = self.credits.as_mut().and_then(|credits| credits.probe(time));
            let Some((packet, is_control)) = probe else { return };
            let datagram = self.credit_datagram(&packet);
            let tos = if is_control { self.config.classes.data << 2 | ECT } else { datagram.tos };
            out.push(OutgoingDatagram { tos, ..datagram });
            self.amplification_limit.on_departure(EMULATION_BYTES);
        }
    }
}
