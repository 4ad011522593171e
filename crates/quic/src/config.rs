//! What is said of an endpoint: the rate of its link, the waiting time, the class of each kind of packet.

use std::net::IpAddr;
use std::time::Duration;

use shallop_control::flashpass::{Aimd, AimdConfig, Law};
use shallop_core::{BitsPerSec, Bytes, Class, Share, Span};
use shallop_proto::flashpass::CreditEngineConfig;
use shallop_proto::wire;

use crate::credit::packet::{EMULATION_BYTES, PacketKind};
use crate::credit::path::Fallback;
use crate::credit::unscheduled::Unscheduled;

/// The default waiting time: longer than round trips across a continent.
const WAIT: Duration = Duration::from_millis(100);
/// A sender that is later than this against its planned time skips the credit.
const SLACK: Duration = Duration::from_millis(1);
/// Epochs in a round trip, jitter and expected loss, as in scenarios (`flashpass`).
const EPOCHS: u32 = 4;
const JITTER: f64 = 0.49;
const EXPECTED_LOSS: f64 = 0.1;

/// Waiting times that peers accept.
const WAITS: (Span, Span) = (Span::from_us(1), Span::from_secs(600));
/// Bytes of the headers of IPv4 and UDP, and by how much that of IPv6 is longer (RFC 791, 768 and 8200).
const IPV4_AND_UDP: u64 = 28;
const IPV6_OVER_IPV4: u64 = 20;

/// The waiting time is none that peers accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the waiting time is from 1us to 600s")]
pub struct WaitError;

/// The most data before the first credit, as in scenarios.
const MOST_UNSCHEDULED: Bytes = Bytes::new(1_000_000_000_000);

/// More data before the first credit than there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at most 1 TB leave before the first credit")]
pub struct UnscheduledError;

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
    /// QUIC packets with data before the first credit, which switches with selective drop drop first.
    pub unscheduled: u8,
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
    /// CS5, as the switches of rehearsals read them.
    fn default() -> Self {
        Self {
            data: Class::DSCP_ON_CREDITS,
            ack: Class::Ack.dscp(),
            control: Class::Control.dscp(),
            emulation: Class::Emulation.dscp(),
            credit: Class::Credit.dscp(),
            unscheduled: Class::Unscheduled.dscp(),
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
    /// The longest UDP payload over IPv4, bytes: 1,472 for an MTU of 1,500. Over IPv6 it is 20 bytes less, as the
    /// header is longer.
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
    /// Data before the first credit (Aeolus); none without it.
    pub unscheduled: Option<Unscheduled>,
    /// Whether data goes on credits at all; without them this is QUIC with the fallback controller.
    pub credits: bool,
    /// The congestion controller without credits.
    pub fallback: Fallback,
    /// Whether data stays on credits where some were answered and the path is not fit for them: to measure it.
    pub keeps_credits: bool,
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
            unscheduled: None,
            credits: true,
            fallback: Fallback::Cubic,
            keeps_credits: false,
            seed: 0,
        }
    }

    /// An endpoint whose link has this rate, in a network that needs this waiting time.
    ///
    /// # Errors
    /// If peers would refuse the waiting time.
    pub fn in_network(link: BitsPerSec, wait: Span) -> Result<Self, WaitError> {
        let (least, most) = WAITS;
        if wait < least || wait > most {
            return Err(WaitError);
        }
        let wait = Duration::from_nanos(wait.as_ps() / 1_000);
        Ok(Self { wait, ..Self::new(link) })
    }

    /// The same, which sends up to so much of the first data before the first credit (Aeolus's start).
    ///
    /// # Errors
    /// If it is more than 1 TB.
    pub fn starting_with(self, burst: Bytes) -> Result<Self, UnscheduledError> {
        if burst > MOST_UNSCHEDULED {
            return Err(UnscheduledError);
        }
        let unscheduled = Some(Unscheduled { burst, until_first_data: false });
        Ok(Self { unscheduled: unscheduled.filter(|_| burst.get() > 0), ..self })
    }

    /// The full rate of emulation packets over IPv4, on the wire, preamble and gap included: 5.2 % of the link with
    /// packets of 1,500 bytes. Over IPv6, whose emulation packets are 104 bytes long and not 84, it is 6.3 %.
    #[must_use]
    pub fn emulation_rate(&self) -> BitsPerSec {
        self.emulation.unwrap_or_else(|| self.emulation_of_link(wire::MIN_FRAME))
    }

    /// The rate of emulation packets of this length on the wire with which data packets fill the rest of the link.
    fn emulation_of_link(&self, frame: u16) -> BitsPerSec {
        let data = wire::frame(u64::from(self.datagram) + IPV4_AND_UDP);
        let share = Share::of(Bytes::new(u64::from(frame)), Bytes::new(u64::from(data)));
        share.map_or(self.link, |share| self.link.share(share))
    }

    /// The same for connections with a peer of this address. The header of IPv6 makes emulation packets longer and
    /// leaves data packets less payload.
    pub(crate) fn towards(&self, peer: IpAddr) -> Self {
        if peer.to_canonical().is_ipv4() {
            return *self;
        }
        let frame = wire::frame(EMULATION_BYTES as u64 + IPV4_AND_UDP + IPV6_OVER_IPV4);
        let on_wire = self.emulation.unwrap_or_else(|| self.emulation_of_link(frame));
        // The credit engine takes each packet for a smallest frame.
        let as_smallest = Share::new(u64::from(wire::MIN_FRAME), u64::from(frame));
        Self {
            datagram: self.datagram.saturating_sub(IPV6_OVER_IPV4 as u16),
            emulation: Some(as_smallest.map_or(on_wire, |share| on_wire.share(share))),
            ..*self
        }
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

    /// Emulation packets a second, and data packets a second at that rate, as parts of what the link takes.
    fn parts(config: &Config, engine: BitsPerSec, frame: f64) -> (f64, f64) {
        let packets = engine.get() as f64 / f64::from(8 * wire::MIN_FRAME);
        let link = config.link.get() as f64;
        (packets * frame * 8.0 / link, packets * 1_538.0 * 8.0 / link)
    }

    #[test]
    fn emulation_and_data_fill_the_link_over_either_family() {
        let config = Config::new(BitsPerSec::at_least_one(1_000_000_000));
        for (peer, frame, emulation) in
            [("192.0.2.1", 84.0, 0.0518), ("2001:db8::1", 104.0, 0.0633)]
        {
            let towards = config.towards(peer.parse().unwrap());
            let (small, data) = parts(&config, towards.emulation_rate(), frame);
            assert!((small - emulation).abs() < 1e-4, "{peer}: {small}");
            assert!((small + data - 1.0).abs() < 1e-6, "{peer}: {small} and {data}");
        }
        let lengths = ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1"]
            .map(|peer| config.towards(peer.parse().unwrap()).datagram);
        assert_eq!(lengths, [1_472, 1_472, 1_452]);
    }

    #[test]
    fn a_rate_that_was_given_holds_on_the_wire_of_either_family() {
        let given = BitsPerSec::at_least_one(10_000_000);
        let config = Config {
            emulation: Some(given),
            ..Config::new(BitsPerSec::at_least_one(1_000_000_000))
        };
        for (peer, frame) in [("192.0.2.1", 84.0), ("2001:db8::1", 104.0)] {
            let towards = config.towards(peer.parse().unwrap());
            let (small, _) = parts(&config, towards.emulation_rate(), frame);
            assert!((small - 0.01).abs() < 1e-6, "{peer}: {small}");
        }
    }

    #[test]
    fn waiting_times_that_peers_refuse_are_refused() {
        let of = |wait| Config::in_network(BitsPerSec::at_least_one(1_000_000), wait);
        assert_eq!(of(Span::from_ms(20)).unwrap().wait, Duration::from_millis(20));
        for wait in [Span::ZERO, Span::from_ns(999), Span::from_secs(601)] {
            assert_eq!(of(wait).err(), Some(WaitError));
        }
    }
}
