//! `FlashPass` with random loss, delay and reordering of every kind of packet, and with arbitrary headers.

use crate::support::flashpass::{Setting, Spy, check, emulations, epochs};
use crate::support::{PAYLOAD, Path, RecordingNic, ms, sleep};
use proptest::prelude::*;
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Span, Time};
use shallop_proto::flashpass::head::{Ack, AckBitmap, TIMESTAMP_STEP, Timestamps};
use shallop_proto::flashpass::{CreditEngineConfig, Head, Receiver, ReceiverConfig};
use shallop_proto::{Endpoint, aeolus, settle};

/// A bitmap with its first frame and the frame with this index.
fn bitmap(start: u64, index: u32) -> AckBitmap {
    let mut bitmap = AckBitmap::of_frame(start);
    bitmap.set(index);
    bitmap
}

fn law() -> impl Strategy<Value = Spy> {
    prop_oneof![Just(Spy::aimd()), Just(Spy::mimd())]
}

fn path() -> impl Strategy<Value = Path> {
    let loss = prop_oneof![Just(0.0), 0.0..0.3];
    let late = prop_oneof![Just(0), 0u64..100, 0u64..10_000];
    Path::random(vec![1_000_000_000], 0u64..20_000, loss, 0.0..0.5, late, 0.0..1.0)
}

/// Random parameters, with a waiting time that is long enough for every credit of this path.
fn setting(path: &Path) -> impl Strategy<Value = Setting> + use<> {
    let wait = (path.delay + path.late) * 2 + Span::from_us(500);
    let parts = (0u64..20_000, 1u32..4, 0.0..0.45, 0.0..0.3, any::<bool>(), 1u8..=6);
    let burst = prop::option::of((0u64..200_000, any::<bool>()));
    let buffer = prop::option::of(1u64..100_000);
    (parts, burst, buffer).prop_map(move |(parts, burst, buffer)| {
        let (more, epochs, jitter, expected_loss, over_provision, batch) = parts;
        let burst_until_first_data = burst.is_some_and(|(_, long)| long);
        let unscheduled = burst.map(|(max_burst, _)| aeolus::Config {
            link: BitsPerSec::gbps(1),
            max_burst: Bytes::new(max_burst),
            renew_after: Span::ZERO,
        });
        let plain = Setting::for_link(BitsPerSec::gbps(1));
        let wait = wait + Span::from_us(more);
        let engine = CreditEngineConfig { wait, epochs, jitter, expected_loss, over_provision, ..plain.engine };
        let receiver = ReceiverConfig { batch, ..plain.receiver };
        let timeout = wait * 2 + Span::from_ms(5);
        let send_buffer = buffer.map(Bytes::new);
        Setting { engine, receiver, timeout, unscheduled, burst_until_first_data, send_buffer }
    })
}

fn path_and_setting() -> impl Strategy<Value = (Path, Setting)> {
    path().prop_flat_map(|path| (Just(path), setting(&path)))
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..10, 0u64..400_000, any::<u64>()]
}

fn time() -> impl Strategy<Value = Time> {
    let step = |number| Time::after_start(TIMESTAMP_STEP * number);
    prop_oneof![(0u64..20_000).prop_map(step), number().prop_map(|ps| Time::after_start(Span::from_ps(ps)))]
}

fn ack() -> impl Strategy<Value = Ack> {
    let newest = prop_oneof![0u32..300, any::<u32>()];
    (number(), newest, number(), number()).prop_map(|(upto, newest, start, end)| Ack::new(upto, newest, start..end))
}

fn head() -> impl Strategy<Value = Head> {
    let timestamps = (time(), prop::collection::vec(0u64..70_000, 0..6)).prop_map(|(first, later)| {
        let mut timestamps = Timestamps::one(first);
        for steps in later {
            timestamps.add(first.saturating_add(TIMESTAMP_STEP * steps));
        }
        timestamps
    });
    prop_oneof![
        (time(), number()).prop_map(|(time, delay)| Head::Emulation { time, max_credit_delay: Span::from_ps(delay) }),
        (timestamps, ack()).prop_map(|(timestamps, ack)| Head::Credit { timestamps, ack }),
        (number(), any::<u16>(), any::<bool>(), any::<u32>()).prop_map(|(offset, length, last, number)| Head::Data {
            offset,
            length,
            last,
            number
        }),
        ack().prop_map(Head::Ack),
        (number(), any::<u16>(), any::<bool>()).prop_map(|(offset, length, last)| Head::Unscheduled {
            offset,
            length,
            last
        }),
        (number(), any::<bool>()).prop_map(|(upto, last)| Head::Probe { upto, last }),
        number().prop_map(|upto| Head::UnscheduledAck(AckBitmap::of_probe(upto))),
        (number(), 0u32..64).prop_map(|(start, index)| Head::UnscheduledAck(bitmap(start, index))),
        (0u64..140, 0u32..64).prop_map(|(frame, index)| Head::UnscheduledAck(bitmap(frame * 1460, index))),
    ]
}

/// The number of timestamps in a header that allow data if it arrives at `now`.
fn allowed(head: &Head, now: Time, wait: Span) -> usize {
    let Head::Credit { timestamps, .. } = head else { return 0 };
    timestamps.iter().filter(|&time| time <= now && time.saturating_add(wait) >= now).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_and_counts_once_and_the_flow_ends(
        (path, setting) in path_and_setting(),
        law in law(),
        size in prop_oneof![1u64..5_000, 1u64..150_000],
    ) {
        let mut pair = setting.pair(Some(size), law, path);
        prop_assert!(pair.run(ms(600_000)), "not complete after ten minutes");
        prop_assert_eq!(pair.carried(), vec![(0, size)]);
        let ended = (0..20_000).any(|_| !pair.run(ms(100_000_000)));
        prop_assert!(ended, "something goes on for ever");
        prop_assert_eq!(check(&pair, &setting), Ok(()));
        let (sender, receiver) = (pair.ends[0].counters(), pair.ends[1].counters());
        prop_assert_eq!(receiver.received, size);
        prop_assert_eq!(sender.credits.granted, sender.credits.used + sender.credits.wasted);
        prop_assert_eq!(sender.credits.used, sender.sent - sender.unscheduled);
        prop_assert_eq!(sender.sent - sender.retransmits, size.div_ceil(PAYLOAD));
        prop_assert_eq!(sender.metered, emulations(&pair).len() as u64);
        if path.loss == 0.0 {
            prop_assert_eq!(sender.credits.granted, sender.metered);
            prop_assert_eq!(receiver.duplicates, sender.retransmits);
        }
        let start = setting.unscheduled.is_some();
        if !start && path.loss == 0.0 && (path.late.is_zero() || path.reorder == 0.0) {
            prop_assert_eq!((sender.retransmits, sender.timeouts), (0, 0));
            let lossy = epochs(&pair).iter().find(|epoch| epoch.returned < epoch.sent);
            prop_assert_eq!(lossy, None, "nothing was lost");
        }
    }

    #[test]
    fn arbitrary_headers_cause_no_panic_no_early_end_and_no_data_without_credit(
        (_, setting) in path_and_setting(),
        law in law(),
        size in prop::option::of(1u64..300_000),
        inputs in prop::collection::vec((head(), 0u64..1_000, any::<bool>()), 1..60),
    ) {
        let mut sender = setting.sender(size, law, 1);
        let mut receiver = Receiver::new(setting.receiver);
        let (mut sent, mut returned) = (RecordingNic(vec![]), RecordingNic(vec![]));
        let (mut now, mut credits, mut ended) = (ms(1), 0, false);
        sender.on_timer(now);
        for (head, us, early) in inputs {
            let input = now + Span::from_us(us);
            prop_assert!(sleep(&mut sender, now, input, &mut sent), "the sender wakes in the past");
            let quiet = sleep(&mut receiver, now, input, &mut returned);
            prop_assert!(quiet, "the receiver wakes in the past");
            if early {
                sender.on_timer(input);
                receiver.on_timer(input);
            }
            sender.on_packet(input, &head, Ecn::Ce);
            receiver.on_packet(input, &head, Ecn::Ce);
            credits += allowed(&head, input, setting.engine.wait);
            ended |= matches!(
                head,
                Head::Data { last: true, .. }
                    | Head::Unscheduled { last: true, .. }
                    | Head::Probe { last: true, .. }
            );
            let wakeups =
                [settle(&mut sender, input, &mut sent), settle(&mut receiver, input, &mut returned)];
            for wakeup in wakeups {
                prop_assert!(wakeup.is_none_or(|at| at > input), "{:?} at {}", wakeup, input);
            }
            now = input;
            let report = sender.counters();
            prop_assert!(report.credits.granted >= report.credits.used + report.credits.wasted);
            prop_assert_eq!(report.credits.used, report.sent - report.unscheduled);
            prop_assert!(sent.count(Class::Data) <= credits);
            let all = size.is_some_and(|size| report.sent >= size.div_ceil(PAYLOAD));
            prop_assert!(all || !sender.is_complete(), "complete before all was sent");
            prop_assert!(ended || !receiver.is_complete(), "complete before any end was heard of");
            let scheduled = report.sent - report.unscheduled;
            prop_assert_eq!(sent.count(Class::Data) as u64, scheduled);
            prop_assert_eq!(returned.count(Class::Data) + returned.count(Class::Emulation), 0);
        }
    }
}
