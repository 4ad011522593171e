//! What is said of an endpoint: the rate of its link, the waiting time, the class of each kind of packet.

use std::time::Duration;

use shallop_control::flashpass::{Aimd, AimdConfig, Law};
use shallop_core::{BitsPerSec, Bytes, Class, Share, Span};
use shallop_proto::flashpass::CreditEngineConfig;
use shallop_proto::wire;

use crate::packet::PacketKind;

/// The default waiting time: longer than round trips across a continent.
const WAIT: Duration = Duration::from_millis(100);
/// A sender that is later than this against its planned time skips the credit.
const SLACK: Duration = Duration::from_millis(1);
/// Epochs in a round trip, jitter and expected loss, as in scenarios (`flashpass`).
const EPOCHS: u32 = 4;
const JITTER: f64 = 0.49;
const EXPECTED_LOSS: f64 = 0.1;

/// How packets are marked for switches, as DSCP (6 bits), by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// QUIC packets with data of streams.
    pub data: u8,
    /// Small QUIC packets without data of streams, as acknowledgements are.
    pub ack: u8,
    /// Longer ones, as handshakes are: the queue of acknowledgements and credits is short.
    pub control: u8,
    /// Emulation packets, which switches meter and drop first.
    pub emulation: u8,
    /// Credits.
    pub credit: u8,
}

/// ECN-capable, as in the header of IP. Switches with selective drop spare such packets: data on credits, credits, and
/// emulation packets that are not tagged.
pub(crate) const ECT: u8 = 2;

impl Classes {
    /// DSCP and ECN of a small packet of this kind.
    pub(crate) fn tos_of(self, kind: PacketKind) -> u8 {
        match kind {
            PacketKind::Emulation => self.emulation << 2 | ECT,
            PacketKind::TaggedEmulation => self.emulation << 2,
            PacketKind::Credit => self.credit << 2 | ECT,
        }
    }
}

impl Default for Classes {
    /// AF11 for data, so that it is not in the queue of everything else, and class selectors (RFC 2474) CS1 to
    /// CS4, as the switches of rehearsals read them.
    fn default() -> Self {
        Self {
            data: Class::DSCP_ON_CREDITS,
            ack: Class::Ack.dscp(),
            control: Class::Control.dscp(),
            emulation: Class::Emulation.dscp(),
            credit: Class::Credit.dscp(),
        }
    }
}

/// The settings of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The rate of this host's link, or the part of it that may be used.
    pub link: BitsPerSec,
    /// `T_wait`, from an emulation packet to its data packet. Longer than the longest round trip of the network; the
    /// longer one of both ends counts.
    pub wait: Duration,
    /// The latest that a data packet may leave after its planned time; later, its credit is skipped.
    pub slack: Duration,
    /// Emulation packets that one credit packet answers, 1 to 6.
    pub batch: u8,
    /// Data packets that leave as one for the system (segmentation offload), 1 or 2. With two, one waits for the next
    /// if that is planned within half the slack.
    pub segments: u8,
    /// The longest UDP payload, bytes: 1,472 for an MTU of 1,500 over IPv4.
    pub datagram: u16,
    /// The class of each kind of packet.
    pub classes: Classes,
    /// The feedback law of senders, as a connection begins with it.
    pub law: Law,
    /// Epochs in a round trip, for which the loss of emulation packets is measured.
    pub epochs: u32,
    /// The part of their gap by which emulation packets leave early or late at most; less than a half.
    pub jitter: f64,
    /// The least loss of emulation packets that a sender expects when it decides whether it has sent enough of them.
    pub expected_loss: f64,
    /// Whether it goes on then, with tagged packets.
    pub over_provision: bool,
    /// The full rate of emulation packets, on the wire; without one, such that data packets fill the rest of the link.
    pub emulation: Option<BitsPerSec>,
    /// Whether data goes on credits at all; without them this is QUIC with CUBIC.
    pub credits: bool,
    /// Where random numbers start: the jitter of emulation packets.
    pub seed: u64,
}

impl Config {
    /// An endpoint whose link has this rate.
    #[must_use]
    pub fn new(link: BitsPerSec) -> Self {
        Self {
            link,
            wait: WAIT,
            slack: SLACK,
            batch: 1,
            segments: 1,
            datagram: 1_472,
            classes: Classes::default(),
            law: Law::Aimd(Aimd::new(AimdConfig::default())),
            epochs: EPOCHS,
            jitter: JITTER,
            expected_loss: EXPECTED_LOSS,
            over_provision: false,
            emulation: None,
            credits: true,
            seed: 0,
        }
    }

    /// The full rate of emulation packets, on the wire.
    #[must_use]
    pub fn emulation_rate(&self) -> BitsPerSec {
        self.emulation.unwrap_or_else(|| self.emulation_of_link())
    }

    fn emulation_of_link(&self) -> BitsPerSec {
        let data = wire::frame(u64::from(self.datagram) + 28);
        let share = Share::of(Bytes::new(u64::from(wire::MIN_FRAME)), Bytes::new(u64::from(data)));
        share.map_or(self.link, |share| self.link.share(share))
    }

    /// The credit engine of a sender that waits this long.
    pub(crate) fn engine(&self, wait: Span) -> CreditEngineConfig {
        CreditEngineConfig {
            rate: self.emulation_rate(),
            wait,
            epochs: self.epochs,
            jitter: self.jitter,
            expected_loss: self.expected_loss,
            over_provision: self.over_provision,
        }
    }

    /// DSCP and ECN of packets of which two may leave as one.
    pub(crate) fn paired(&self) -> Option<u8> {
        (self.segments > 1).then_some(self.classes.data << 2 | ECT)
    }

    /// How long a credit may wait for others: not at all without a batch.
    pub(crate) fn credit_delay(&self) -> Span {
        if self.batch > 1 { self.wait_span() / 100 } else { Span::ZERO }
    }

    /// The waiting time.
    pub(crate) fn wait_span(&self) -> Span {
        span(self.wait)
    }
}

/// A duration of the system as one of the machines.
pub(crate) fn span(duration: Duration) -> Span {
    Span::from_ns(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tagged_emulation_packets_are_not_ecn_capable_and_other_small_packets_are() {
        let classes = Classes::default();
        let [emulation, tagged, credit] =
            [PacketKind::Emulation, PacketKind::TaggedEmulation, PacketKind::Credit]
                .map(|kind| classes.tos_of(kind));
        assert_eq!((emulation, tagged, credit), (24 << 2 | 2, 24 << 2, 32 << 2 | 2));
    }
}
