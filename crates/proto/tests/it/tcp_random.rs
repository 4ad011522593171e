//! TCP on paths that lose, delay, reorder and mark at random, and with arbitrary packets.

use crate::support::Path;
use crate::support::tcp::{SEGMENT, Spy, pair};
use proptest::prelude::*;
use shallop_control::any::{self, AnyWindow};
use shallop_control::binary::Fraction;
use shallop_control::{HostStack, copa, cubic, dctcp, gemini, reno, vegas};
use shallop_core::{BitsPerSec, Bytes, Ecn, Span, Time};
use shallop_proto::tcp::{
    Config, DelayedAcks, Detection, EcnConfig, Flags, Head, Receiver, SackBlock, Sender, Spurious, Stack, Tcp,
    Timestamp,
};
use shallop_proto::{Endpoint, rtt};

fn configs() -> impl Strategy<Value = Config> {
    let detection = prop::sample::select(vec![Detection::DuplicateAcks, Detection::Sack, Detection::Rack]);
    let acks = prop::sample::select(vec![
        DelayedAcks::OFF,
        DelayedAcks { ack_every: 2, ack_delay: Span::from_ms(40), ack_quick: 16, ack_size: None },
        DelayedAcks { ack_every: 4, ack_delay: Span::from_ms(200), ack_quick: 0, ack_size: None },
    ]);
    let gradual = EcnConfig { ecn_gradual: true, ..EcnConfig::CLASSIC };
    let marks = prop::sample::select(vec![EcnConfig::OFF, EcnConfig::CLASSIC, gradual, EcnConfig::EXACT]);
    let buffer = prop_oneof![Just(0u64), 3_000u64..100_000, Just(u64::MAX)];
    let segment = prop_oneof![Just(1460u16), 100u16..9_000];
    let spurious =
        prop::array::uniform3(any::<bool>()).prop_map(|[dsack, timestamps, frto]| Spurious { dsack, timestamps, frto });
    (detection, acks, (marks, spurious), buffer, any::<bool>(), segment).prop_map(
        |(detection, acks, (marks, spurious), buffer, handshake, segment)| {
            // Timeouts stay short, so that a path with 30 % loss takes bearable time.
            let max = Span::from_secs(4);
            let timeout = rtt::Config { rto_max: max, ..Stack::LINUX_IDEAL.tcp.timeout };
            let buffer = Bytes::new(buffer);
            Config {
                detection,
                acks,
                ecn: marks,
                spurious,
                receive_buffer: buffer,
                handshake,
                segment,
                timeout,
                ..Stack::LINUX_IDEAL.tcp
            }
        },
    )
}

fn paths() -> impl Strategy<Value = Path> {
    let delay = prop_oneof![Just(0u64), 1u64..50_000];
    let chance = || prop_oneof![Just(0.0), 0.0..0.3f64];
    let rates = vec![10_000_000, 1_000_000_000, 40_000_000_000];
    Path::random(rates, delay, chance(), chance(), 0u64..40_000, chance())
}

/// Every controller with the defaults of each stack, and some further configurations.
fn controls() -> impl Strategy<Value = any::Config> {
    let every = any::Config::kinds()
        .flat_map(|kind| HostStack::SIMULATED.map(|stack| any::Config::for_stack(kind.name, stack)))
        .flatten();
    let more = [
        any::Config::Reno(reno::Config::RFC),
        any::Config::Cubic(cubic::Config::RFC),
        any::Config::Vegas(vegas::Config::EXACT),
        any::Config::Copa(copa::Config { mode: copa::Mode::Competitive, delta: 0.05 }),
        any::Config::Reno(reno::Config { pacing: true, ..reno::Config::LINUX_IDEAL }),
        any::Config::Cubic(cubic::Config { pacing: true, ..cubic::Config::LINUX_IDEAL }),
        any::Config::Dctcp(dctcp::Config { alpha_initial: Fraction::new(0), ..dctcp::Config::RFC }),
        any::Config::Gemini(gemini::Config {
            rtt_noise: Span::from_ms(2),
            delay_threshold: Span::from_us(100),
            ..gemini::Config::THESIS
        }),
    ];
    prop::sample::select(every.chain(more).collect::<Vec<_>>())
}

/// A highest pacing rate, and the rate and the writes of an application.
fn limits() -> impl Strategy<Value = (Option<BitsPerSec>, Option<(BitsPerSec, Bytes)>)> {
    let rate = || (100_000u64..1_000_000_000).prop_map(BitsPerSec::at_least_one);
    let write = prop_oneof![1u64..2_000, 1u64..200_000].prop_map(Bytes::new);
    (prop::option::weighted(0.3, rate()), prop::option::weighted(0.3, (rate(), write)))
}

/// A stream position near those in use, or any number.
fn places() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => (0u64..40).prop_map(|number| number * SEGMENT),
        1 => 0u64..60_000,
        1 => any::<u64>(),
        1 => (0u64..9_000).prop_map(|below| u64::MAX - below),
    ]
}

fn heads() -> impl Strategy<Value = Head> {
    let offset = || prop_oneof![(-5i32..40).prop_map(|number| number * SEGMENT as i32), any::<i32>()];
    let block = (offset(), offset()).prop_map(|(from, to)| SackBlock { from, to });
    let blocks = prop::array::uniform3(block);
    let flags = prop::array::uniform4(any::<bool>()).prop_map(|[syn, ack, ece, cwr]| {
        Flags::SYN.when(syn && !ack) | Flags::ACK.when(ack) | Flags::ECE.when(ece) | Flags::CWR.when(cwr)
    });
    let len = prop_oneof![Just(0u16), Just(1460u16), any::<u16>()];
    let window = prop_oneof![Just(u16::MAX), any::<u16>()];
    let timestamp = any::<u16>().prop_map(Timestamp);
    (places(), places(), blocks, flags, len, (window, any::<u8>(), timestamp)).prop_map(
        |(seq, ack, blocks, flags, len, (window, scale, timestamp))| Head {
            timestamp,
            seq,
            ack,
            blocks,
            flags,
            len,
            window,
            scale,
        },
    )
}

/// Gives packets to an endpoint after pauses. Checks that its deadlines are not in the past and that it stops sending.
fn work(end: &mut impl Endpoint<Head = Head>, packets: &[(u64, Head, Ecn)]) {
    let mut now = Time::ZERO;
    end.on_timer(now);
    for (pause, head, ecn) in packets {
        let next = now + Span::from_us(*pause);
        while let Some(due) = end.wakeup().filter(|&due| due <= next) {
            assert!(due >= now, "a deadline in the past");
            now = due;
            end.on_timer(now);
            say(end, now);
        }
        now = next;
        end.on_packet(now, head, *ecn);
        say(end, now);
    }
}

fn say(end: &mut impl Endpoint<Head = Head>, now: Time) {
    for _ in 0..200 {
        if !end.ready(now) {
            assert!(end.wakeup().is_none_or(|due| due >= now), "a deadline in the past");
            return;
        }
        end.poll(now);
    }
    panic!("it does not stop talking");
}

fn packets() -> impl Strategy<Value = Vec<(u64, Head, Ecn)>> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect, Ecn::Ce]);
    let pause = prop_oneof![Just(0u64), 0u64..20_000, 0u64..3_000_000];
    prop::collection::vec((pause, heads(), ecn), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_byte_arrives_and_is_counted_once(
        config in configs(),
        control in controls(),
        path in paths(),
        size in prop_oneof![1u64..4_000, 1u64..400_000],
        (max_pacing_rate, application) in limits(),
    ) {
        let config = Config { max_pacing_rate, ..config };
        let mut pair = pair(&config, &control, size, path);
        if let Some((rate, write)) = application {
            let sender = Sender::new(&config, control.build(&config.start(path.rate, 1)), Some(size));
            pair.ends[0] = Tcp::sender(sender.offering(rate, write));
        }
        let done = pair.run(Time::after_start(Span::from_secs(20_000)));
        let reports = [pair.ends[0].counters(), pair.ends[1].counters()];
        prop_assert!(done, "not done: {reports:?}");
        prop_assert_eq!(pair.carried(), vec![(0, size)]);
        prop_assert_eq!(reports[1].received, size);
        let first = size.div_ceil(u64::from(config.segment));
        prop_assert_eq!(reports[0].sent, first + reports[0].retransmits);
        // A delayed acknowledgement may arrive after a timeout, and a segment on a slow link after a probe that was
        // timed by a SYN. Nothing else may cause an unnecessary retransmission.
        let patient = config.acks == DelayedAcks::OFF && config.detection != Detection::Rack;
        if path.loss == 0.0 && path.reorder == 0.0 && patient {
            prop_assert_eq!((reports[0].retransmits, reports[1].duplicates), (0, 0));
        }
    }

    #[test]
    fn arbitrary_packets_are_ignored(
        config in configs(),
        control in controls(),
        size in prop_oneof![Just(None), (1u64..60_000).prop_map(Some)],
        packets in packets(),
    ) {
        let window = control.build(&config.start(BitsPerSec::gbps(1), 0));
        work(&mut Sender::new(&config, window, size), &packets);
        work(&mut Receiver::new(&config, size), &packets);
        let pace = BitsPerSec::new(50_000_000);
        work(&mut Sender::new(&config, Spy { pace, ..Spy::new(20) }, size), &packets);
        let window: AnyWindow = control.build(&config.start(BitsPerSec::gbps(1), 0));
        let mut end = Tcp::sender(Sender::new(&config, window, size));
        work(&mut end, &packets);
    }
}
