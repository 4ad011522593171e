//! `ExpressPass` with random loss, delay and reordering of every kind of packet, and with arbitrary headers.

use crate::support::{Pair, Path, RecordingNic, ms, sleep};
use proptest::prelude::*;
use shallop_control::expresspass::{CodeConfig, PaperConfig, Rule};
use shallop_core::{BitsPerSec, Bytes, Ecn, Seed, Span, Time};
use shallop_proto::expresspass::{Config, Head, Peer, Receiver, Sender, StopPolicy};
use shallop_proto::{Endpoint, aeolus, settle};

fn rule() -> impl Strategy<Value = Rule> {
    let adaptive = CodeConfig { full_start: Some(40), ..CodeConfig::default() };
    prop_oneof![
        Just(Rule::code(CodeConfig::default())),
        Just(Rule::code(adaptive)),
        Just(Rule::code(CodeConfig { alpha: 1.0, ..CodeConfig::default() })),
        Just(Rule::paper(PaperConfig::default())),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let stop = prop_oneof![Just(StopPolicy::LastData), Just(StopPolicy::Early), Just(StopPolicy::Demand)];
    let buffer = prop::option::of(1u64..100_000);
    let wait = prop::option::of((0u64..300_000).prop_map(Span::from_ns));
    (stop, 84u16..=92, 0u32..4, prop::option::of(0u64..200_000), buffer, wait).prop_map(
        |(stop, max_credit, reordering, burst, buffer, wait)| Config {
            wait,
            stop,
            max_credit,
            reordering,
            unscheduled: burst.map(|max_burst| aeolus::Config {
                link: BitsPerSec::gbps(1),
                max_burst: Bytes::new(max_burst),
                renew_after: Span::ZERO,
            }),
            send_buffer: buffer.map(Bytes::new),
            ..Config::new(BitsPerSec::gbps(1))
        },
    )
}

fn path() -> impl Strategy<Value = Path> {
    let loss = prop_oneof![Just(0.0), 0.0..0.3];
    let late = prop_oneof![Just(0), 0u64..100, 0u64..40_000];
    Path::random(vec![1_000_000_000], 0u64..40_000, loss, 0.0..0.5, late, 0.0..1.0)
}

fn pair(config: &Config, rule: Rule, size: u64, path: Path, seed: u64) -> Pair<Peer<Rule>> {
    let receiver = Receiver::new(config, rule, Seed::new(seed).stream("credits", 0));
    let sender = Sender::new(config, Some(size));
    Pair::new(Peer::sender(sender), Peer::receiver(receiver), path, seed)
}

fn head() -> impl Strategy<Value = Head> {
    let number = || prop_oneof![0u64..10, 0u64..400_000, any::<u64>()];
    let time = || number().prop_map(|us| Time::after_start(Span::from_ps(us)));
    let count = || prop_oneof![0u32..10, any::<u32>()];
    prop_oneof![
        (count(), prop::option::of(number()), time()).prop_map(|(demand, end, sent)| Head::Request {
            demand,
            end,
            sent
        }),
        (number(), time(), time(), count()).prop_map(|(sequence, sent, request_sent, remaining)| {
            Head::Credit { sequence, sent, request_sent, remaining }
        }),
        (number(), any::<u16>(), count(), number(), time()).prop_map(
            |(offset, length, generation, credit, credit_sent)| Head::Data {
                offset,
                length,
                generation,
                credit,
                credit_sent
            }
        ),
        (number(), count(), any::<bool>())
            .prop_map(|(end, generation, reply_requested)| { Head::Stop { end, generation, reply_requested } }),
        (number(), count()).prop_map(|(expected, generation)| Head::Nack { expected, generation }),
        number().prop_map(|end| Head::Complete { end }),
        (number(), any::<u16>(), any::<bool>()).prop_map(|(offset, length, last)| Head::Unscheduled {
            offset,
            length,
            last
        }),
        (number(), prop::option::of(number())).prop_map(|(upto, end)| Head::Probe { upto, end }),
        (number(), any::<u16>()).prop_map(|(offset, length)| Head::UnscheduledAck { offset, length }),
        (0u64..140).prop_map(|frame| Head::UnscheduledAck { offset: frame * 1460, length: 1460 }),
    ]
}

/// Credits out of order fall due close to each other, while the link is busy with a frame. `Pair` refuses deadlines in
/// the past.
#[test]
fn a_credit_that_is_due_while_the_link_is_busy_sets_no_timer() {
    let (rate, delay, late) = (BitsPerSec::gbps(1), Span::from_us(44), Span::from_us(68));
    let path = Path { rate, delay, loss: 0.0, reorder: 0.3, late, mark: 0.0 };
    let config = Config { wait: Some(Span::from_ns(99_345)), reordering: 0, ..Config::new(rate) };
    for seed in 0..200 {
        assert!(pair(&config, Rule::code(CodeConfig::default()), 43_801, path, seed).run(ms(600_000)), "{seed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_and_counts_once_and_the_flow_ends(
        config in config(),
        rule in rule(),
        size in prop_oneof![0u64..5_000, 0u64..300_000],
        path in path(),
        seed in any::<u64>(),
    ) {
        let mut pair = pair(&config, rule, size, path, seed);
        prop_assert!(pair.run(ms(600_000)), "not complete after ten minutes");
        let whole = if size == 0 { vec![] } else { vec![(0, size)] };
        prop_assert_eq!(pair.carried(), whole);
        let ended = (0..20_000).any(|_| !pair.run(ms(100_000_000)));
        prop_assert!(ended, "something goes on for ever");
        let (sender, receiver) = (pair.ends[0].counters(), pair.ends[1].counters());
        prop_assert_eq!(receiver.received, size);
        prop_assert_eq!(sender.credits.granted, sender.credits.used + sender.credits.wasted);
        prop_assert_eq!(sender.credits.used, sender.sent - sender.unscheduled);
        let fresh = sender.sent - sender.retransmits;
        prop_assert_eq!(fresh, size.div_ceil(1460));
        if path.loss == 0.0 {
            prop_assert_eq!(receiver.metered, sender.credits.granted);
            prop_assert_eq!(receiver.duplicates, sender.retransmits);
        }
    }

    #[test]
    fn arbitrary_headers_cause_no_panic_and_no_deadline_in_the_past(
        config in config(),
        rule in rule(),
        size in prop::option::of(0u64..300_000),
        inputs in prop::collection::vec((head(), 0u64..3_000, any::<bool>()), 1..60),
    ) {
        let chance = Seed::new(1).stream("credits", 0);
        let mut ends =
            [Peer::sender(Sender::new(&config, size)), Peer::receiver(Receiver::new(&config, rule, chance))];
        let (mut now, mut nic) = (ms(1), RecordingNic(vec![]));
        ends[0].on_timer(now);
        for (head, us, early) in inputs {
            let input = now + Span::from_us(us);
            for end in &mut ends {
                prop_assert!(sleep(end, now, input, &mut nic), "an end wakes up in the past");
                if early {
                    end.on_timer(input);
                }
                end.on_packet(input, &head, Ecn::Ce);
                let wakeup = settle(end, input, &mut nic);
                prop_assert!(wakeup.is_none_or(|at| at > input), "{wakeup:?} at {input}");
            }
            now = input;
            let credits = ends[0].counters().credits;
            prop_assert_eq!(credits.granted, credits.used + credits.wasted);
        }
    }
}
