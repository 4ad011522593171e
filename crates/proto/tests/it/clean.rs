//! The CLEAN proxy: its effect on a flow of segments and acknowledgements, and the integrity of the stream.

use crate::support::tcp::{SEGMENT, ms, pair, us};
use crate::support::{Hook, Path};
use proptest::prelude::*;
use shallop_control::clean as law;
use shallop_control::{any, cubic, reno};
use shallop_core::{Bytes, Class, Ecn, End, Envelope, Packet, Span, Time};
use shallop_proto::clean::{Config, Proxy};
use shallop_proto::tcp::head::MAX_SCALE;
use shallop_proto::tcp::{DelayedAcks, Detection, Flags, Head, Stack};
use shallop_proto::{Endpoint, Middlebox, rtt};

/// The port to the receiver. Packets of receivers arrive from the opposite port, packets of senders from `OUTSIDE`.
const INSIDE: u32 = 6;
const OUTSIDE: u32 = 2;

fn proxy(config: &Config) -> Proxy<Head> {
    Proxy::new(config, vec![OUTSIDE], vec![INSIDE])
}

/// A proxy to which the test gives packets one by one.
struct ProxyHarness(Proxy<Head>);

impl ProxyHarness {
    fn new(config: &Config) -> Self {
        Self(proxy(config))
    }

    /// A segment crosses the proxy towards the receiver. Returns its ECN codepoint behind the proxy.
    fn data(&mut self, at: Time, flow: u32, number: u64, ecn: Ecn) -> Ecn {
        let cargo = Head { seq: number * SEGMENT, len: SEGMENT as u16, ..Head::default() };
        let end = End::receiver(flow);
        let mut packet = Packet { envelope: Envelope { end, size: 1538, class: Class::Data, ecn }, cargo };
        self.0.on_ingress(at, OUTSIDE, &mut packet);
        self.0.on_egress(at, INSIDE, &mut packet);
        packet.envelope.ecn
    }

    /// An acknowledgement with this window and scale crosses the proxy towards the sender. Returns its window behind
    /// the proxy, in bytes.
    fn ack(&mut self, at: Time, flow: u32, number: u64, offer: (u16, u8)) -> u64 {
        let (window, scale) = offer;
        let flags = Flags::ACK;
        let cargo = Head { ack: number * SEGMENT, window, scale, flags, ..Head::default() };
        let (end, ecn) = (End::sender(flow), Ecn::NotEct);
        let mut packet = Packet { envelope: Envelope { end, size: 84, class: Class::Ack, ecn }, cargo };
        self.0.on_ingress(at, INSIDE ^ 1, &mut packet);
        packet.cargo.right_edge() - packet.cargo.ack
    }
}

const OPEN: (u16, u8) = (u16::MAX, 7);

#[test]
fn marks_are_counted_and_cleared_and_nothing_leaves_ecn_capable() {
    let mut harness = ProxyHarness::new(&Config::default());
    for (number, ecn) in (0..).zip([Ecn::NotEct, Ecn::Ect, Ecn::Ce, Ecn::Ce, Ecn::NotEct]) {
        assert_eq!(harness.data(ms(number), 0, number, ecn), Ecn::NotEct);
    }
    let counts = harness.0.counters();
    assert_eq!((counts.made_ect, counts.data, counts.marked), (2, 5, 2));
}

#[test]
fn windows_follow_the_law_and_never_exceed_the_receivers() {
    let mut harness = ProxyHarness::new(&Config::default());
    assert_eq!(harness.ack(ms(0), 0, 0, (20, 0)), 20, "a receiver's own, smaller window stays");
    assert_eq!(harness.ack(ms(0), 0, 0, (0, 7)), 0, "even a closed one");
    // Ten segments, in units of 128 bytes.
    assert_eq!(harness.ack(ms(0), 0, 0, OPEN), 115 * 128);
    for number in 0..10 {
        harness.data(ms(1), 0, number, Ecn::Ect);
    }
    assert_eq!(harness.ack(ms(1), 0, 10, OPEN), (20u64 * SEGMENT).next_multiple_of(128));
}

#[test]
fn a_smaller_window_takes_effect_as_acknowledgements_catch_up() {
    let law = law::Config { decrease: law::Decrease::Half, initial_window: 20, ..law::Config::default() };
    let mut harness = ProxyHarness::new(&Config { law, ..Config::default() });
    let exact = (65_535, 0);
    assert_eq!(harness.ack(ms(0), 0, 0, exact), 20 * SEGMENT);
    harness.data(ms(10), 0, 0, Ecn::Ce);
    // Ten segments are allowed from now on, after twenty: nothing new until ten are acknowledged.
    let windows: Vec<u64> = (1..=12).map(|ack| harness.ack(ms(10), 0, ack, exact) / SEGMENT).collect();
    assert_eq!(windows, [19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 10, 10]);
}

#[test]
fn a_flow_first_seen_midway_may_send_what_is_in_flight_and_slow_starts() {
    let mut harness = ProxyHarness::new(&Config::default());
    harness.data(ms(0), 5, 1_000_000, Ecn::Ect);
    assert_eq!(harness.ack(ms(0), 5, 1_000_001, OPEN), (11 * SEGMENT).next_multiple_of(128));
    // Sixty more segments were sent before the window arrived. They stay within the right edge.
    for number in 1_000_001..1_000_060 {
        harness.data(ms(1), 5, number, Ecn::Ect);
        let flow = harness.0.flows().get(5).unwrap();
        assert!(flow.right_edge() > number * SEGMENT);
    }
    let window = harness.ack(ms(1), 5, 1_000_020, OPEN) / SEGMENT;
    assert_eq!(window, 70, "ten, and one for each that passed");
}

#[test]
fn forged_packets_of_a_flow_with_data_change_nothing() {
    let state = |harness: &ProxyHarness| format!("{:?}", harness.0.flows());
    let mut harness = ProxyHarness::new(&Config::default());
    harness.ack(ms(0), 0, 0, (1_000, 7));
    harness.data(ms(1), 0, 0, Ecn::Ce);
    let (before, far) = (state(&harness), (1 << 31) / SEGMENT);
    // A SYN and its answer with window scale 14, data and an acknowledgement half of the sequence space ahead.
    let syn = Head { window: u16::MAX, scale: 14, flags: Flags::SYN | Flags::ACK, ..Head::default() };
    let of = |end| Envelope { end, size: 84, class: Class::Control, ecn: Ecn::NotEct };
    harness.0.on_egress(ms(2), INSIDE, &mut Packet { envelope: of(End::receiver(0)), cargo: syn });
    harness.0.on_ingress(ms(2), INSIDE ^ 1, &mut Packet { envelope: of(End::sender(0)), cargo: syn });
    harness.data(ms(2), 0, far, Ecn::Ce);
    harness.ack(ms(2), 0, far, OPEN);
    assert_eq!(state(&harness), before);
    assert_eq!(harness.ack(ms(2), 0, 1, (u16::MAX, 7)), (10 * SEGMENT - SEGMENT).next_multiple_of(128));
}

#[test]
fn idle_flows_expire_and_the_cache_stays_within_its_capacity() {
    let config = Config { flows: 100, idle: Span::from_ms(50), ..Config::default() };
    let mut harness = ProxyHarness::new(&config);
    // One flow in each millisecond: fifty are live at a time.
    for number in 0..10_000 {
        harness.data(ms(u64::from(number)), number, 0, Ecn::Ect);
        assert!(harness.0.flows().len() <= 100);
    }
    assert_eq!(harness.0.counters().cache_full, 0);
    assert!(harness.0.flows().len() < 80, "{}", harness.0.flows().len());
    // Thousands at once: flows that do not fit keep their receivers' windows.
    for number in 20_000..25_000 {
        harness.data(ms(20_000), number, 0, Ecn::Ce);
    }
    assert_eq!(harness.0.flows().len(), 100);
    assert!(harness.0.counters().cache_full > 4_500);
    assert_eq!(harness.ack(ms(20_000), 24_999, 1, OPEN), 65_535 << 7);
}

#[test]
fn an_expired_flow_restarts_and_keeps_its_right_edge() {
    let config = Config { idle: Span::from_ms(50), ..Config::default() };
    let mut harness = ProxyHarness::new(&config);
    (0..100).for_each(|number| _ = harness.data(ms(0), 0, number, Ecn::Ect));
    assert_eq!(harness.ack(ms(0), 0, 0, OPEN), (110 * SEGMENT).next_multiple_of(128));
    let later = harness.ack(ms(51), 0, 50, OPEN);
    assert!((60 * SEGMENT - 127..=60 * SEGMENT).contains(&later), "what it was allowed: {later}");
    harness.ack(ms(51), 0, 110, OPEN);
    assert_eq!(harness.ack(ms(52), 0, 130, OPEN), (10 * SEGMENT).next_multiple_of(128));
}

#[test]
fn an_unused_window_stops_growing() {
    // Given ten segments each round trip of 10 ms, for ten seconds,
    let grown = |validate, answered| {
        let mut harness = ProxyHarness::new(&Config { validate, ..Config::default() });
        let syn_ack = Head { window: 65_535, scale: 7, flags: Flags::SYN | Flags::ACK, ..Head::default() };
        let envelope = Envelope { end: End::sender(0), size: 84, class: Class::Control, ecn: Ecn::NotEct };
        let syn = Head { flags: Flags::SYN, ..Head::default() };
        let to_receiver = Envelope { end: End::receiver(0), ..envelope };
        harness.0.on_egress(ms(0), INSIDE, &mut Packet { envelope: to_receiver, cargo: syn });
        harness.0.on_ingress(ms(answered), INSIDE ^ 1, &mut Packet { envelope, cargo: syn_ack });
        for number in 0..10_000 {
            harness.data(ms(10 + number), 0, number, Ecn::Ect);
        }
        harness.0.flows().get(0).unwrap().law().window_size / law::SEGMENT
    };
    assert_eq!(grown(false, 0), 10_010);
    // near the receiver, and near the sender.
    for answered in [0, 9] {
        let most = grown(true, answered);
        assert!((20..=52).contains(&most), "{most}");
    }
}

#[test]
fn upstream_data_and_traffic_on_other_ports_stay_unchanged() {
    let mut proxy = proxy(&Config::default());
    let cargo = Head { window: 65_535, scale: 7, flags: Flags::ACK, len: 1460, ..Head::default() };
    for (end, port) in [(End::sender(0), 0), (End::receiver(0), INSIDE ^ 1), (End::sender(0), OUTSIDE ^ 1)] {
        let envelope = Envelope { end, size: 1538, class: Class::Data, ecn: Ecn::Ce };
        let mut packet = Packet { envelope, cargo };
        let before = packet;
        proxy.on_ingress(ms(0), port, &mut packet);
        proxy.on_egress(ms(0), port, &mut packet);
        assert_eq!(packet, before);
    }
    assert!(proxy.flows().is_empty());
}

/// A proxy at one end of the path, with checks of every packet.
struct Watched {
    proxy: Proxy<Head>,
    /// Index of the endpoint at which the proxy is.
    near: usize,
    /// The number of packets before the proxy starts.
    before: u32,
    /// The highest right edge that the sender was offered.
    told: u64,
    sent: u64,
}

impl Watched {
    fn see(&mut self, now: Time, point: Hook, head: &mut Head, ecn: &mut Ecn) {
        if let Hook::Egress(0) = point {
            if *ecn == Ecn::NotEct {
                *ecn = Ecn::Ect;
            }
            self.sent = self.sent.max(head.seq + u64::from(head.len));
        }
        let (Hook::Egress(end) | Hook::Ingress(end)) = point;
        if end != self.near {
            return;
        }
        if self.before > 0 {
            self.before -= 1;
            return;
        }
        // Packets that leave the near end go to the other end.
        let to = if point == Hook::Egress(end) { 1 - end } else { end };
        self.through(now, to, head, ecn);
    }

    fn through(&mut self, now: Time, to: usize, head: &mut Head, ecn: &mut Ecn) {
        let end = if to == 0 { End::sender(0) } else { End::receiver(0) };
        let envelope = Envelope { end, size: 1538, class: Class::Data, ecn: *ecn };
        let mut packet = Packet { envelope, cargo: *head };
        if to == 1 {
            self.proxy.on_egress(now, INSIDE, &mut packet);
            assert_eq!(packet.cargo, *head, "data passes as it is");
        } else {
            self.proxy.on_ingress(now, INSIDE ^ 1, &mut packet);
            let window = packet.cargo.window;
            assert!(window <= head.window, "never more than the receiver offers");
            assert_eq!(packet.cargo, Head { window, ..*head }, "nothing but the window");
            let unit = 1u64 << head.scale;
            let offered = head.right_edge();
            let edge = packet.cargo.right_edge();
            // But for rounding to the unit, the edge moves back only where the receiver's own edge does.
            assert!(edge + unit > self.told.min(offered), "{edge} after {}", self.told);
            assert!(head.window == 0 || window > 0, "never closed");
            self.told = self.told.max(edge);
        }
        (*head, *ecn) = (packet.cargo, packet.envelope.ecn);
    }
}

fn paths() -> impl Strategy<Value = Path> {
    let chance = |most: f64| prop_oneof![Just(0.0), 0.0..most];
    let rates = vec![10_000_000, 1_000_000_000];
    Path::random(rates, 0u64..30_000, chance(0.2), chance(0.3), 0u64..20_000, chance(0.5))
}

fn tcps() -> impl Strategy<Value = shallop_proto::tcp::Config> {
    let detection = prop::sample::select(vec![Detection::DuplicateAcks, Detection::Sack, Detection::Rack]);
    let acks = prop::sample::select(vec![DelayedAcks::OFF, Stack::LINUX_IDEAL.tcp.acks]);
    // All window scales, with buffers that do not fill the scaled window.
    let buffer = (0..=MAX_SCALE, 0.5..1.0f64)
        .prop_map(|(scale, part)| Bytes::new(((f64::from(u16::MAX) * part) as u64 + 1) << scale));
    (detection, acks, buffer, any::<bool>()).prop_map(|(detection, acks, buffer, handshake)| {
        let timeout = rtt::Config { rto_max: Span::from_secs(4), ..Stack::LINUX_IDEAL.tcp.timeout };
        shallop_proto::tcp::Config {
            detection,
            acks,
            receive_buffer: buffer,
            handshake,
            timeout,
            ..Stack::LINUX_IDEAL.tcp
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_byte_arrives_once_on_any_path_with_a_proxy_anywhere(
        path in paths(),
        tcp in tcps(),
        is_cubic in any::<bool>(),
        decrease in prop::sample::select(vec![law::Decrease::Half, law::Decrease::Marked]),
        increase in prop::sample::select(vec![law::Increase::Cubic, law::Increase::Root]),
        near in 0usize..2,
        before in prop_oneof![Just(0u32), 1u32..200],
        size in 1u64..1_500_000,
    ) {
        let control = if is_cubic {
            any::Config::Cubic(cubic::Config::LINUX_IDEAL)
        } else {
            any::Config::Reno(reno::Config::LINUX_IDEAL)
        };
        let law = law::Config { decrease, increase, ..law::Config::default() };
        let config = Config { law, idle: Span::from_secs(2), ..Config::default() };
        let mut watched = Watched { proxy: proxy(&config), near, before, told: 0, sent: 0 };
        let mut pair = pair(&tcp, &control, size, path).with_middlebox(move |now, point, head, ecn| {
            watched.see(now, point, head, ecn);
        });
        prop_assert!(pair.run(Time::after_start(Span::from_secs(2_000))), "it never ends");
        prop_assert_eq!(pair.carried(), vec![(0, size)]);
        prop_assert_eq!(pair.ends[1].counters().received, size);
    }

    #[test]
    fn a_window_of_every_scale_is_rounded_within_its_unit_and_never_closed(
        scale in 0u8..=MAX_SCALE, acks in prop::collection::vec((0u64..5, any::<bool>()), 1..300),
    ) {
        let law = law::Config { decrease: law::Decrease::Half, ..law::Config::default() };
        let mut harness = ProxyHarness::new(&Config { law, ..Config::default() });
        let (mut next, mut told) = (0, 0);
        for (number, (more, marked)) in (0..).zip(acks) {
            harness.data(us(number), 0, next, if marked { Ecn::Ce } else { Ecn::Ect });
            next += more;
            let window = harness.ack(us(number), 0, next, (u16::MAX, scale));
            let law = harness.0.flows().get(0).unwrap().law().window_bytes(SEGMENT as u16).get();
            let most = u64::from(u16::MAX) << scale;
            prop_assert!(window >= law.min(most) && window > 0, "{} of {}", window, law);
            let edge = next * SEGMENT + window;
            prop_assert!(edge + (1 << scale) > told);
            told = edge.max(told);
        }
    }
}
