//! Packets of a test of the path ([`PathProbe`]), beside the emulation packets of the engine.

use super::{CreditExchange, STEP, floor};
use crate::credit::packet::{Emulation, Encoded, PacketKind};
use crate::credit::path_probe::{PathProbe, ProbeCounts, ProbePlan};
use shallop_core::{Seed, Span, Time};

impl CreditExchange {
    /// Starts a test of the path, and forgets the one before.
    pub(crate) fn start_probe(&mut self, now: Time, plan: ProbePlan) {
        let random = Seed::new(self.config.seed).stream("path probe", self.probes);
        self.probes += 1;
        self.probe = Some(PathProbe::new(now, plan, random));
    }

    /// Returns the packet of the test that is due, if any, and whether it leaves with the DSCP of data.
    pub(crate) fn probe(&mut self, now: Time) -> Option<((PacketKind, Encoded), bool)> {
        let probe = self.probe.as_mut()?;
        let is_control = probe.take(now)?;
        self.loss_detector.on_test(now);
        let at = floor(now).max(self.sent_at.saturating_add(STEP));
        self.sent_at = at;
        self.outstanding.expire(now, self.wait);
        let stamp = self.outstanding.note(at, Span::ZERO);
        // No data packet leaves on an answer.
        self.outstanding.settle(stamp);
        probe.on_sent(stamp, is_control);
        self.stats.path_tests += 1;
        let packet = Emulation { tag: self.peer.tag, stamp, tagged: false };
        Some(((PacketKind::Emulation, packet.encode(&self.own_key)), is_control))
    }

    /// The counts of the newest test, and whether all of its packets have left.
    pub(crate) fn probed(&self) -> Option<(&[ProbeCounts], bool)> {
        self.probe.as_ref().map(|probe| (probe.trains(), probe.due().is_none()))
    }
}
