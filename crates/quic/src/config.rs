//! Configuration of a QUIC endpoint: the rate of its link, the waiting time between an emulation packet and its data
//! packet, and the DSCP of each kind of packet.

use crate::credit::packet::{EMULATION_BYTES, MAX_STAMPS, PacketKind};
use crate::{credit::send_mode::Fallback, credit::unscheduled::Unscheduled};
use shallop_control::flashpass::{Aimd, AimdConfig, Law, Mimd, MimdConfig};
use shallop_core::{BitsPerSec, Bytes, Class, Share, Span};
use shallop_proto::{flashpass::CreditEngineConfig, wire};
use std::{net::IpAddr, time::Duration};

/// Default of [`Config::wait`], longer than round trips across a continent.
const WAIT: Duration = Duration::from_millis(100);
/// Default of [`Config::slack`].
const SLACK: Duration = Duration::from_millis(1);
/// Default of [`Config::epochs`], equal to the scheme `flashpass` in scenarios.
const EPOCHS: u32 = 4;
/// Default of [`Config::jitter`], equal to the scheme `flashpass` in scenarios.
const JITTER: f64 = 0.49;
/// Default of [`Config::expected_loss`], equal to the scheme `flashpass` in scenarios.
const EXPECTED_LOSS: f64 = 0.1;

/// The shortest and the longest waiting time ([`Config::wait`]) that peers accept.
const WAITS: (Span, Span) = (Span::from_us(1), Span::from_secs(600));
/// The length of the IPv4 and UDP headers (RFC 791 and 768), bytes.
pub(crate) const IPV4_AND_UDP: u64 = 28;
/// The difference between the length of the IPv6 and the IPv4 header (RFC 8200), bytes.
const IPV6_OVER_IPV4: u64 = 20;

/// The UDP payload that each path of QUIC carries (RFC 9000, section 14), bytes. Larger packets leave once a probe has
/// arrived (RFC 8899).
pub(crate) const MIN_DATAGRAM: u16 = 1_200;

/// The least flow-control window of a stream, bytes.
const MIN_STREAM_WINDOW: u64 = 16 << 20;
/// The largest flow-control window of a stream, bytes.
const MAX_STREAM_WINDOW: u64 = 256 << 20;
/// The least flow-control window of a connection, bytes.
const MIN_WINDOW: u64 = 64 << 20;

/// The waiting time ([`Config::wait`]) is not from 1 us to 600 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the waiting time is from 1us to 600s")]
pub struct WaitError;

/// Upper bound of [`Unscheduled::burst`], the data sent before the first credit; scenarios have the same bound.
const MAX_UNSCHEDULED: Bytes = Bytes::new(1_000_000_000_000);

/// [`Unscheduled::burst`], the data sent before the first credit, exceeds 1 TB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at most 1 TB leave before the first credit")]
pub struct UnscheduledError;

/// The DSCP (6 bits) of each kind of packet, by which switches choose a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// QUIC packets with stream data.
    pub data: u8,
    /// Short QUIC packets without stream data, such as acknowledgements.
    pub ack: u8,
    /// Longer QUIC packets without stream data, such as handshakes, which would fill the short queue of
    /// acknowledgements and credits.
    pub control: u8,
    /// Emulation packets, which switches meter.
    pub emulation: u8,
    /// Credits, the receiver's answers to emulation packets.
    pub credit: u8,
    /// QUIC packets with stream data before the first credit. Switches with selective drop drop them first.
    pub unscheduled: u8,
}

/// The time before a deadline in which a thread polls the clock.
pub(crate) const SPIN: Duration = Duration::from_micros(60);
/// The ECN field of ECN-capable packets, ECT(0). Switches with selective drop spare such packets: data on credits,
/// credits, and emulation packets that are not tagged.
pub(crate) const ECT: u8 = 2;

impl Classes {
    /// The TOS byte (DSCP and ECN) of an emulation packet or a credit.
    pub(crate) fn tos_of(self, kind: PacketKind) -> u8 {
        match kind {
            PacketKind::Emulation => self.emulation << 2 | ECT,
            PacketKind::TaggedEmulation => self.emulation << 2,
            PacketKind::Credit => self.credit << 2 | ECT,
        }
    }
}

impl Default for Classes {
    /// The DSCP are AF11 for data, which separates it from best-effort traffic, and the class selectors CS1 to CS5 (RFC
    /// 2474) for the rest, as the switches of rehearsals expect.
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

/// What an endpoint has to know about its link and network, and how it sends. [`Config::new`] has the defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "four choices that do not depend on each other")]
pub struct Config {
    /// The rate of this host's link, or the part of it that the endpoint may use.
    pub link: BitsPerSec,
    /// The waiting time, `T_wait`, between an emulation packet and its data packet. It must exceed the longest round
    /// trip time of the network. The longer value of both sides is used.
    pub wait: Duration,
    /// The longest delay of a data packet after its planned time. If the host is later than that, it skips the credit.
    pub slack: Duration,
    /// The most emulation packets that the receiver answers with one credit packet, 1 to 6, for which it waits up to
    /// `wait` / 100. By default it answers up to 6 that have arrived together, and waits for none.
    pub batch: Option<u8>,
    /// The longest UDP payload over IPv4, bytes: 1,472 for an MTU of 1,500. Over IPv6 20 bytes are subtracted.
    pub datagram: u16,
    /// The DSCP of each kind of packet.
    pub classes: Classes,
    /// The feedback law, in its initial state, with which senders adapt the rate of emulation packets to their loss.
    pub law: Law,
    /// The epochs in a round trip. Senders measure the loss of emulation packets once per epoch.
    pub epochs: u32,
    /// The jitter of emulation packets as a fraction of their gap, less than 0.5.
    pub jitter: f64,
    /// The least loss of emulation packets, 0 to 1, that a sender expects when it decides whether it has sent enough.
    pub expected_loss: f64,
    /// Whether the law receives the loss of whole epochs, and not of round trips (`CreditEngineConfig::attribute`).
    pub attribute: bool,
    /// Without `attribute`: the emulation packets that must leave before the law receives a loss.
    pub min_sample: u32,
    /// Whether tagged emulation packets count in the measured loss, and among those for which credits are expected.
    pub count_tagged: bool,
    /// Whether a sender expects the measured loss if it is higher than `expected_loss`.
    pub expect_measured: bool,
    /// Whether a sender that has sent enough emulation packets continues with tagged ones, which switches drop first.
    pub over_provision: bool,
    /// The highest rate of emulation packets on the wire; `None` stands for the rate at which emulation packets and
    /// their data packets fill the link.
    pub emulation: Option<BitsPerSec>,
    /// How much data is sent before the first credit, and after pauses (Aeolus); by default none.
    pub unscheduled: Option<Unscheduled>,
    /// Whether credits are used. Without credits the endpoint is QUIC with the fallback controller.
    pub credits: bool,
    /// The congestion controller for connections without credits.
    pub fallback: Fallback,
    /// Whether data stays on credits although the path was found unfit for them, as long as some credits arrive. Meant
    /// for measurements.
    pub keeps_credits: bool,
    /// The seed of the random numbers that the jitter of emulation packets uses.
    pub seed: u64,
}

impl Config {
    /// The default configuration for a link of this rate.
    pub fn new(link: BitsPerSec) -> Self {
        Self {
            link,
            wait: WAIT,
            slack: SLACK,
            batch: None,
            datagram: 1_472,
            classes: Classes::default(),
            law: Law::Aimd(Aimd::new(AimdConfig::default(), 1.0)),
            epochs: EPOCHS,
            jitter: JITTER,
            expected_loss: EXPECTED_LOSS,
            attribute: true,
            min_sample: 10,
            count_tagged: false,
            expect_measured: true,
            over_provision: false,
            emulation: None,
            unscheduled: None,
            credits: true,
            fallback: Fallback::Cubic,
            keeps_credits: false,
            seed: 0,
        }
    }

    /// A configuration for a link of this rate in a network that needs this waiting time.
    ///
    /// # Errors
    /// The waiting time is not from 1 us to 600 s.
    pub fn in_network(link: BitsPerSec, wait: Span) -> Result<Self, WaitError> {
        let (least, most) = WAITS;
        if wait < least || wait > most {
            return Err(WaitError);
        }
        let wait = Duration::from_nanos(wait.as_ps() / 1_000);
        Ok(Self { wait, ..Self::new(link) })
    }

    /// The feedback law of the `FlashPass` paper to the letter, as `flashpass-paper` of scenarios: Algorithm 1, Eq. 2
    /// (III.C) with tagged emulation packets, and no jitter.
    #[must_use]
    pub fn as_in_paper(self) -> Self {
        let law = MimdConfig::default();
        Self {
            law: Law::Mimd(Mimd::new(law, 1.0)),
            epochs: 1,
            jitter: 0.0,
            expected_loss: law.max_target_loss,
            attribute: false,
            min_sample: law.min_sample(),
            count_tagged: true,
            expect_measured: false,
            over_provision: true,
            ..self
        }
    }

    /// Sends up to `burst` of the first data before the first credit (Aeolus), and of the first data after each pause
    /// of a waiting time. Nothing of the data before such a pause is in flight, and its credits are over.
    ///
    /// # Errors
    /// `burst` is more than 1 TB.
    pub fn starting_with(self, burst: Bytes) -> Result<Self, UnscheduledError> {
        if burst > MAX_UNSCHEDULED {
            return Err(UnscheduledError);
        }
        let renew_after = Some(self.wait_span());
        let unscheduled = Some(Unscheduled { burst, until_first_data: false, renew_after });
        Ok(Self { unscheduled: unscheduled.filter(|_| burst.get() > 0), ..self })
    }

    /// The highest rate of emulation packets over IPv4 on the wire, preamble and gap included: 5.2 % of the link for
    /// data packets of 1,500 bytes. Over IPv6, where an emulation packet has 104 bytes instead of 84, it is 6.3 %.
    pub fn emulation_rate(&self) -> BitsPerSec {
        self.emulation.unwrap_or_else(|| self.emulation_of_link(wire::MIN_FRAME))
    }

    /// The rate at which emulation packets of `frame` bytes on the wire, together with their data packets, fill the
    /// link.
    fn emulation_of_link(&self, frame: u16) -> BitsPerSec {
        let data = wire::frame(u64::from(self.datagram) + IPV4_AND_UDP);
        let share = Share::of(Bytes::new(u64::from(frame)), Bytes::new(u64::from(data)));
        share.map_or(self.link, |share| self.link.share(share))
    }

    /// The configuration for a peer with this address. The IPv6 header makes emulation packets longer and leaves less
    /// payload for data packets.
    pub(crate) fn for_peer(&self, peer: IpAddr) -> Self {
        if peer.to_canonical().is_ipv4() {
            return *self;
        }
        let frame = wire::frame(EMULATION_BYTES as u64 + IPV4_AND_UDP + IPV6_OVER_IPV4);
        let on_wire = self.emulation.unwrap_or_else(|| self.emulation_of_link(frame));
        // The credit engine assumes that an emulation packet is an Ethernet frame of the smallest length.
        let as_smallest = Share::new(u64::from(wire::MIN_FRAME), u64::from(frame));
        Self {
            datagram: self.datagram.saturating_sub(IPV6_OVER_IPV4 as u16),
            emulation: Some(as_smallest.map_or(on_wire, |share| on_wire.share(share))),
            ..*self
        }
    }

    /// Translates this configuration for the simulator's credit engine. `wait` is the longer waiting time of both
    /// sides.
    pub(crate) fn engine(&self, wait: Span) -> CreditEngineConfig {
        CreditEngineConfig {
            rate: self.emulation_rate(),
            wait,
            epochs: self.epochs,
            jitter: self.jitter,
            expected_loss: self.expected_loss,
            attribute: self.attribute,
            min_sample: self.min_sample,
            count_tagged: self.count_tagged,
            expect_measured: self.expect_measured,
            over_provision: self.over_provision,
        }
    }

    /// The most emulation packets that the receiver answers with one credit packet.
    pub(crate) fn stamps(&self) -> u8 {
        self.batch.unwrap_or(MAX_STAMPS as u8).clamp(1, MAX_STAMPS as u8)
    }

    /// How long a receiver holds back a credit so that it can answer further emulation packets.
    pub(crate) fn credit_delay(&self) -> Span {
        if self.batch.is_some_and(|batch| batch > 1) { self.wait_span() / 100 } else { Span::ZERO }
    }

    /// The flow-control windows of a stream and of a connection, bytes. A single stream can fill the link: its window
    /// holds what the link carries in one round trip, which is at most the waiting time, and in a second one until the
    /// update of the window arrives.
    pub(crate) fn windows(&self) -> (u32, u32) {
        let product = self.link.bytes_in(self.wait_span() * 2).get();
        let stream = product.clamp(MIN_STREAM_WINDOW, MAX_STREAM_WINDOW);
        (stream as u32, (stream * 2).max(MIN_WINDOW) as u32)
    }

    pub(crate) fn wait_span(&self) -> Span {
        Span::from(self.wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_and_untagged_emulation_packets_are_ecn_capable() {
        let classes = Classes::default();
        let [emulation, tagged, credit] =
            [PacketKind::Emulation, PacketKind::TaggedEmulation, PacketKind::Credit].map(|kind| classes.tos_of(kind));
        assert_eq!((emulation, tagged, credit), (24 << 2 | 2, 24 << 2, 32 << 2 | 2));
    }

    /// The fractions of the link that emulation packets of `frame` bytes, and their data packets, take at the rate
    /// `engine`.
    fn fractions(config: &Config, engine: BitsPerSec, frame: f64) -> (f64, f64) {
        let packets = engine.get() as f64 / f64::from(8 * wire::MIN_FRAME);
        let link = config.link.get() as f64;
        (packets * frame * 8.0 / link, packets * 1_538.0 * 8.0 / link)
    }

    #[test]
    fn emulation_and_data_packets_fill_the_link_over_ipv4_and_ipv6() {
        let config = Config::new(BitsPerSec::at_least_one(1_000_000_000));
        for (peer, frame, emulation) in [("192.0.2.1", 84.0, 0.0518), ("2001:db8::1", 104.0, 0.0633)] {
            let towards = config.for_peer(peer.parse().unwrap());
            let (small, data) = fractions(&config, towards.emulation_rate(), frame);
            assert!((small - emulation).abs() < 1e-4, "{peer}: {small}");
            assert!((small + data - 1.0).abs() < 1e-6, "{peer}: {small} and {data}");
        }
        let lengths = ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1"]
            .map(|peer| config.for_peer(peer.parse().unwrap()).datagram);
        assert_eq!(lengths, [1_472, 1_472, 1_452]);
    }

    #[test]
    fn a_given_emulation_rate_holds_on_the_wire_of_ipv4_and_ipv6() {
        let given = BitsPerSec::at_least_one(10_000_000);
        let config = Config { emulation: Some(given), ..Config::new(BitsPerSec::at_least_one(1_000_000_000)) };
        for (peer, frame) in [("192.0.2.1", 84.0), ("2001:db8::1", 104.0)] {
            let towards = config.for_peer(peer.parse().unwrap());
            let (small, _) = fractions(&config, towards.emulation_rate(), frame);
            assert!((small - 0.01).abs() < 1e-6, "{peer}: {small}");
        }
    }

    #[test]
    fn windows_follow_the_link_and_the_waiting_time_within_bounds() {
        let of = |link, wait| Config { wait: Duration::from_millis(wait), ..Config::new(link) }.windows();
        assert_eq!(of(BitsPerSec::gbps(10), 60), (150_000_000, 300_000_000));
        assert_eq!(of(BitsPerSec::gbps(1), 1), (16 << 20, 64 << 20));
        assert_eq!(of(BitsPerSec::gbps(1_000), 60_000), (256 << 20, 512 << 20));
    }

    #[test]
    fn waiting_times_out_of_bounds_are_refused() {
        let of = |wait| Config::in_network(BitsPerSec::at_least_one(1_000_000), wait);
        assert_eq!(of(Span::from_ms(20)).unwrap().wait, Duration::from_millis(20));
        for wait in [Span::ZERO, Span::from_ns(999), Span::from_secs(601)] {
            assert_eq!(of(wait).err(), Some(WaitError));
        }
    }
}
