//! The start of a connection with Aeolus (docs/aeolus.md): the first data is sent at the rate of the link before any
//! credit has arrived, followed by a probe. The rules are the simulator's ([`UnscheduledBurst`]). QUIC detects losses,
//! and retransmissions wait for credits.

use crate::config::IPV4_AND_UDP;
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_proto::aeolus::{self, UnscheduledBurst, UnscheduledPacket};
use shallop_proto::wire;

/// The difference between the UDP and the TCP payload of a frame: IP and UDP headers have 28 bytes, IP and TCP headers
/// 40.
const OVER_TCP_PAYLOAD: u16 = 12;

/// How much data a connection sends before the first credit, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unscheduled {
    /// The most data that is sent without a credit, bytes on the wire.
    pub burst: Bytes,
    /// Whether unscheduled data is sent until the first credit can be used, a waiting time after the start. Otherwise
    /// it ends with the first credit or acknowledgement.
    pub until_first_data: bool,
}

/// The state of unscheduled sending at the start of a connection.
#[derive(Debug)]
pub(crate) struct UnscheduledStart {
    rule: UnscheduledBurst,
    burst: Option<aeolus::Config>,
    until_first_data: bool,
    /// The UDP payload of the packets of the burst, bytes; 0 before it begins. QUIC may find a larger one meanwhile.
    pub(crate) datagram: u16,
    acked: u64,
    lost: u64,
}

/// What to send without a credit at the start of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnscheduledSend {
    /// A full packet of data.
    Data,
    /// An ack-eliciting packet without data.
    Probe,
}

impl UnscheduledStart {
    /// Sends nothing if `burst` is `None`.
    pub(crate) fn new(burst: Option<Unscheduled>, link: BitsPerSec) -> Self {
        let rules = |of: Unscheduled| aeolus::Config { link, max_burst: of.burst, renew_after: Span::ZERO };
        Self {
            rule: UnscheduledBurst::new(None, 1, None),
            burst: burst.map(rules),
            until_first_data: burst.is_some_and(|burst| burst.until_first_data),
            datagram: 0,
            acked: 0,
            lost: 0,
        }
    }

    /// The payload of a full packet of the burst as the simulator's rules count it, with TCP headers, bytes.
    fn payload(&self) -> u64 {
        u64::from(self.datagram.saturating_sub(OVER_TCP_PAYLOAD).max(1))
    }

    /// The packet to send now, if `queued` bytes wait; `may_grow` tells whether the application may write more to the
    /// same streams. The burst begins with the first data of the connection and ends where its streams end. Its packets
    /// have the UDP payload `datagram` of the first call with data, bytes.
    pub(crate) fn next(&mut self, now: Time, queued: usize, may_grow: bool, datagram: u16) -> Option<UnscheduledSend> {
        self.rule.on_timer(now);
        if self.datagram == 0 && queued > 0 {
            self.datagram = datagram;
            self.rule = UnscheduledBurst::new(self.burst.take(), self.payload(), None);
            self.rule.start(Time::ZERO);
        }
        if self.rule.is_bursting() && queued == 0 {
            if may_grow {
                return None;
            }
            self.rule.stop();
        }
        Some(match self.rule.poll(now)? {
            UnscheduledPacket::Payload(body) => {
                // The end of the handshake and a probe of the MTU may leave with the first packet.
                if body.start == 0 {
                    (0..2).for_each(|_| self.on_probe(now, usize::from(self.datagram)));
                }
                UnscheduledSend::Data
            }
            UnscheduledPacket::Probe(_) => UnscheduledSend::Probe,
        })
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

    /// Sets the number of unscheduled packets acknowledged so far.
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
        self.rule.on_acked(0..(self.acked + self.lost).saturating_mul(self.payload()));
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
