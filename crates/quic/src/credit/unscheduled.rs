//! Unscheduled data of a connection (Aeolus, docs/aeolus.md): the first data, and data after a pause, is sent at the
//! rate of the link before any credit has arrived, followed by a probe. The rules are the simulator's
//! ([`UnscheduledBurst`]). QUIC detects losses, and retransmissions wait for credits.

use crate::config::IPV4_AND_UDP;
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_proto::aeolus::{self, UnscheduledBurst, UnscheduledPacket};
use shallop_proto::wire;

/// The difference between the UDP and the TCP payload of a frame: IP and UDP headers have 28 bytes, IP and TCP headers
/// 40.
const OVER_TCP_PAYLOAD: u16 = 12;

/// How much data a connection sends without credits, until when, and after which pauses again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unscheduled {
    /// The most data of a burst, bytes on the wire.
    pub burst: Bytes,
    /// Whether unscheduled data is sent until the first credit can be used, a waiting time after the start. Otherwise
    /// it ends with the first credit or acknowledgement.
    pub until_first_data: bool,
    /// How long the connection must have had nothing to send before its next data has a burst again; `None` if only
    /// the first data has one.
    pub renew_after: Option<Span>,
}

/// The state of unscheduled sending of a connection.
#[derive(Debug)]
pub(crate) struct UnscheduledStart {
    /// The newest burst.
    rule: UnscheduledBurst,
    burst: Option<aeolus::Config>,
    until_first_data: bool,
    renews: bool,
    /// Whether the newest burst is not the first.
    is_renewed: bool,
    /// Since when the connection has nothing to send.
    idle_since: Option<Time>,
    /// The UDP payload of the packets of the burst, bytes; 0 before it begins. QUIC may find a larger one meanwhile.
    pub(crate) datagram: u16,
    acked: u64,
    lost: u64,
}

/// What to send without a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnscheduledSend {
    /// A full packet of data, which may be the first of a burst.
    Data { is_first: bool },
    /// An ack-eliciting packet without data.
    Probe,
}

/// The payload of a packet with this UDP payload as the simulator's rules count it, with TCP headers, bytes.
fn payload_of(datagram: u16) -> u64 {
    u64::from(datagram.saturating_sub(OVER_TCP_PAYLOAD).max(1))
}

impl UnscheduledStart {
    /// Sends nothing if `burst` is `None`.
    pub(crate) fn new(burst: Option<Unscheduled>, link: BitsPerSec) -> Self {
        let rules = |of: Unscheduled| {
            let renew_after = of.renew_after.unwrap_or(Span::ZERO);
            aeolus::Config { link, max_burst: of.burst, renew_after }
        };
        Self {
            rule: UnscheduledBurst::new(None, 1, None),
            burst: burst.map(rules),
            until_first_data: burst.is_some_and(|burst| burst.until_first_data),
            renews: burst.is_some_and(|burst| burst.renew_after.is_some()),
            is_renewed: false,
            idle_since: None,
            datagram: 0,
            acked: 0,
            lost: 0,
        }
    }

    /// The packet to send now, if `queued` bytes wait; `may_grow` tells whether the application may write more to the
    /// same streams. A burst begins with the first data of the connection, or with the first data after a pause, and
    /// ends where the streams end. Its packets have the UDP payload `datagram` of its first call with data, bytes.
    pub(crate) fn next(&mut self, now: Time, queued: usize, may_grow: bool, datagram: u16) -> Option<UnscheduledSend> {
        self.rule.on_timer(now);
        if queued == 0 {
            self.idle_since.get_or_insert(now);
            if self.rule.is_bursting() && may_grow {
                return None;
            }
            self.rule.stop();
        } else {
            self.begin(now, datagram);
        }
        Some(match self.rule.poll(now)? {
            UnscheduledPacket::Payload(body) => {
                let is_first = body.start == 0;
                if is_first && !self.is_renewed {
                    // The end of the handshake and a probe of the MTU may leave with the first packet.
                    (0..2).for_each(|_| self.on_probe(now, usize::from(self.datagram)));
                }
                UnscheduledSend::Data { is_first }
            }
            UnscheduledPacket::Probe(_) => UnscheduledSend::Probe,
        })
    }

    /// Begins a burst, if the queued data is the first of the connection, or the first after a pause that was long
    /// enough. Nothing of an earlier burst may be outstanding.
    fn begin(&mut self, now: Time, datagram: u16) {
        let (is_renewed, idle_since) = (self.datagram > 0, self.idle_since.take());
        if is_renewed && (idle_since.is_none() || !self.renews || self.outstanding() > 0) {
            return;
        }
        let mut rule = UnscheduledBurst::new(self.burst, payload_of(datagram), None);
        if let Some(since) = idle_since.filter(|_| is_renewed) {
            rule.continue_connection(since);
        }
        rule.start(now);
        if rule.is_bursting() {
            *self = Self { rule, is_renewed, datagram, acked: 0, lost: 0, ..*self };
        }
    }

    /// Notes that a packet with data leaves, or that data waits to be sent again, so that no pause has begun before.
    pub(crate) fn on_busy(&mut self) {
        self.idle_since = None;
    }

    /// Notes a packet beside the burst, with this UDP payload, bytes: a probe of the path's MTU.
    pub(crate) fn on_probe(&mut self, now: Time, datagram: usize) {
        self.rule.delay(now, Bytes::new(u64::from(wire::frame(datagram as u64 + IPV4_AND_UDP))));
    }

    /// Notes a credit, or an acknowledgement of unscheduled data.
    pub(crate) fn on_answer(&mut self) {
        if !self.until_first_data {
            self.stop();
        }
    }

    /// Ends the burst, because the first credit can be used or a packet was lost.
    pub(crate) fn stop(&mut self) {
        self.rule.stop();
    }

    /// Sets the number of acknowledged packets of the newest burst.
    pub(crate) fn on_acked(&mut self, count: u64) {
        if count > self.acked {
            self.acked = count;
            self.settle();
            self.on_answer();
        }
    }

    /// Notes lost packets and returns how many of them count as unscheduled: QUIC detects losses of the oldest packets
    /// first.
    pub(crate) fn on_lost(&mut self, packets: u64) -> u64 {
        let of_burst = packets.min(self.outstanding());
        self.lost += of_burst;
        self.settle();
        of_burst
    }

    fn settle(&mut self) {
        self.rule.on_acked(0..(self.acked + self.lost).saturating_mul(payload_of(self.datagram)));
    }

    /// The number of unscheduled packets that are neither acknowledged nor lost. The sender asks for credits for them
    /// as well, so that retransmissions of lost ones need not wait.
    pub(crate) fn outstanding(&self) -> u64 {
        self.rule.outstanding()
    }

    pub(crate) fn wakeup(&self) -> Option<Time> {
        self.rule.wakeup()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_left_otherwise_ends_a_pause() {
        let at = |ms| Time::after_start(Span::from_ms(ms));
        for (busy, renews) in [(false, true), (true, false)] {
            let renew_after = Some(Span::from_ms(10));
            let of = Unscheduled { burst: Bytes::new(1_538), until_first_data: false, renew_after };
            let mut start = UnscheduledStart::new(Some(of), BitsPerSec::gbps(1));
            assert_eq!(start.next(at(0), 1_000, false, 1_472), Some(UnscheduledSend::Data { is_first: true }));
            assert_eq!(start.next(at(1), 0, false, 1_472), Some(UnscheduledSend::Probe));
            start.on_acked(1);
            if busy {
                start.on_busy();
            }
            let sent = start.next(at(11), 1_000, false, 1_472);
            assert_eq!(sent.is_some(), renews, "{sent:?}");
        }
    }
}
