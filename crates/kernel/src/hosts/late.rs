//! Hosts that are late on purpose: late packets and frames, and standstills.

use super::{CardAction, HostCard, Kernels, RECEIVE, Waiting};
use crate::{error::KernelError, lateness::LateHosts};
use shallop_core::Span;
use std::cmp::Reverse;

impl Kernels {
    /// Queues a packet that a host sent. A late host sends it later than that.
    pub(super) fn queue_packet(&mut self, mut packet: Waiting) {
        let due = self.run_time(packet.at);
        let late = self.late.as_mut().map(|late| late.happens(due, 1)).filter(|&at| at > due);
        let Some(at) = late else { return self.waiting.push_back(packet) };
        packet.at = self.guest(at);
        if let Some(late) = &mut self.late {
            late.sends.push_back(packet);
        }
        self.schedule(at, CardAction::Send);
    }

    /// Makes hosts late on purpose for the rest of the run.
    pub(crate) fn make_late(&mut self, late: LateHosts) {
        for &(at, length) in &late.standstills {
            self.scheduled += 1;
            self.due.push(Reverse((at, self.scheduled, CardAction::StandStill(length))));
        }
        self.late = Some(late);
    }

    /// Lets the clocks of kernels go on by `length` nanoseconds. What they send waits for the network.
    pub(super) fn stand_still(&mut self, length: u64) -> Result<(), KernelError> {
        let until = self.guest(self.now).saturating_add(length);
        loop {
            let pause = if let Some(kernel) = self.paused.take() {
                let free = self.other_requests(kernel).min(until);
                (kernel, self.machines[kernel].resume(&mut self.clock, free)?)
            } else {
                let next = self.next_kernel().filter(|&(at, _)| at < until);
                let Some((at, kernel)) = next else { break };
                self.clock.advance(at);
                let free = self.other_requests(kernel).min(until);
                (kernel, self.machines[kernel].run(&mut self.clock, free)?)
            };
            self.on_pause(pause.0, pause.1)?;
        }
        self.clock.advance(until);
        self.stood_still += length;
        if let Some(late) = &mut self.late {
            late.stood_still.record(Span::from_ns(length));
        }
        Ok(())
    }

    pub(super) fn give(&mut self, host: u32, frame: &[u8]) -> Result<(), KernelError> {
        let HostCard { kernel, card, .. } = self.cards[host as usize];
        let given = self.machines[kernel].card(card)?.give(frame);
        if given.map_err(|why| KernelError::Malformed { kernel, why })? {
            self.raise(host, RECEIVE);
        } else {
            self.counters.no_receive_buffer += 1;
        }
        Ok(())
    }
}
