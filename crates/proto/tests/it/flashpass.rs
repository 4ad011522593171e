//! Both ends of `FlashPass`, packet by packet. Known answers: flashpass-icnp21, III-B and III-C.

use crate::support::flashpass::{Setting, Spy, check, credited, data, emulations, epochs};
use crate::support::{CapturedPacket, DELAY, GAP, PAYLOAD, Pair, Path, RecordingNic, lose, ms, sleep};
use shallop_control::flashpass::{Law, Mimd, MimdConfig};
use shallop_core::{BitsPerSec, Class, Ecn, Span, Time};
use shallop_proto::flashpass::head::{Ack, NO_PACKET, TIMESTAMP_STEP, Timestamps, credit_size};
use shallop_proto::flashpass::{CreditEngineConfig, Head, Peer, ReceiverConfig};
use shallop_proto::{Endpoint, settle};

fn setting() -> Setting {
    Setting::for_link(BitsPerSec::gbps(10))
}

fn with(change: impl FnOnce(&mut CreditEngineConfig)) -> Setting {
    let mut setting = setting();
    change(&mut setting.engine);
    setting
}

const fn frames(count: u64) -> u64 {
    count * PAYLOAD
}

fn pair(setting: &Setting, count: u64) -> Pair<Peer<Spy>> {
    setting.pair(Some(frames(count)), Spy::aimd(), Path::fast())
}

fn finished(pair: Pair<Peer<Spy>>, setting: &Setting) -> Pair<Peer<Spy>> {
    let pair = pair.finished();
    assert_eq!(check(&pair, setting), Ok(()));
    pair
}

fn is_emulation(packet: &CapturedPacket<Head>) -> bool {
    packet.class == Class::Emulation
}

fn credit(time: Time) -> Head {
    Head::Credit { timestamps: Timestamps::one(time), ack: Ack::new(0, NO_PACKET, 0..0) }
}

#[test]
fn data_leaves_exactly_one_waiting_time_after_its_emulation_packet() {
    let setting = with(|engine| (engine.jitter, engine.over_provision) = (0.02, false));
    let pair = finished(pair(&setting, 50), &setting);
    let mut expected: Vec<Time> = emulations(&pair).into_iter().map(|(time, _)| time + setting.engine.wait).collect();
    expected.truncate(50);
    assert_eq!(data(&pair), expected);
    let gaps: Vec<Span> = expected.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(gaps.iter().any(|gap| *gap != gaps[0]), "jitter carries over: {gaps:?}");
    let full = pair.capture.iter().filter(|packet| packet.class == Class::Data);
    assert!(full.into_iter().all(|packet| packet.size == 1538));
}

#[test]
fn only_emulation_packets_that_arrived_release_data() {
    let setting = setting();
    let pair = finished(pair(&setting, 60).with_drops(lose(is_emulation, |turn| turn % 3 == 1)), &setting);
    let times: Vec<Time> = emulations(&pair).into_iter().map(|(time, _)| time).collect();
    let passed = times.iter().enumerate().filter(|(turn, _)| turn % 3 != 1).map(|(_, time)| time);
    let expected: Vec<Time> = passed.map(|time| *time + setting.engine.wait).take(60).collect();
    assert_eq!(data(&pair), expected);
}

#[test]
fn late_credits_are_wasted_and_counted() {
    let setting = setting();
    let mut sender = setting.sender(Some(frames(10)), Spy::aimd(), 1);
    let mut nic = RecordingNic(vec![]);
    sender.on_timer(Time::ZERO);
    let due = Time::ZERO + setting.engine.wait;
    assert!(sleep(&mut sender, Time::ZERO, due, &mut nic));
    let times: Vec<Time> = nic.0.iter().map(|(now, _)| *now).take(4).collect();
    // The first credit arrives when its data is due, so the data is sent at once. The second credit is one step too
    // late.
    sender.on_packet(due, &credit(times[0]), Ecn::Ect);
    settle(&mut sender, due, &mut nic);
    assert_eq!((nic.count(Class::Data), sender.counters().credits.used), (1, 1));
    let late = times[1] + setting.engine.wait + TIMESTAMP_STEP;
    assert!(sleep(&mut sender, due, late, &mut nic));
    sender.on_packet(late, &credit(times[1]), Ecn::Ect);
    assert!(sleep(&mut sender, late, late + GAP, &mut nic));
    let credits = sender.counters().credits;
    assert_eq!((credits.granted, credits.used, credits.wasted), (2, 1, 1));
    // A credit that is neither late nor due is granted, but neither used nor wasted yet.
    sender.on_packet(late + GAP, &credit(times[3]), Ecn::Ect);
    settle(&mut sender, late + GAP, &mut nic);
    let credits = sender.counters().credits;
    assert_eq!((credits.granted, credits.used, credits.wasted), (3, 1, 1));
    assert_eq!(nic.count(Class::Data), 1);
}

#[test]
fn emulation_starts_at_the_full_rate() {
    for (jitter, most) in [(0.0, 0), (0.1, 1), (0.4, 1)] {
        let setting = with(|engine| engine.jitter = jitter);
        let nothing = lose(is_emulation, |_| true);
        let pair = setting.pair(None, Spy::aimd(), Path::fast()).with_drops(nothing).after(ms(1));
        assert_eq!(check(&pair, &setting), Ok(()));
        let times: Vec<Time> = emulations(&pair).into_iter().map(|(time, _)| time).collect();
        // A millisecond has 770.65 gaps, and the first packet leaves at once.
        assert!(times.len().abs_diff(771) <= most, "{} packets, jitter {jitter}", times.len());
        assert_eq!(times[0], Time::ZERO);
        let ratios: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]).ratio(GAP) - 1.0).collect();
        let rounding = TIMESTAMP_STEP.ratio(GAP);
        let widest = ratios.iter().fold(0.0, |most: f64, ratio| ratio.abs().max(most));
        assert!(widest <= 2.0 * jitter + rounding, "{widest} at jitter {jitter}");
        assert!(widest >= 1.5 * jitter, "{widest} at jitter {jitter}: it is used");
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        assert!(mean.abs() < 2e-3, "the gap is {mean} off at jitter {jitter}");
    }
}

#[test]
fn the_law_is_told_each_epochs_loss_once() {
    let setting = with(|engine| engine.epochs = 2);
    let drops = lose(is_emulation, |turn| turn % 4 == 0);
    let pair = setting.pair(None, Spy::aimd(), Path::fast()).with_drops(drops).after(ms(20));
    assert_eq!(check(&pair, &setting), Ok(()));
    let told = epochs(&pair);
    // One round trip until the first credit, then two epochs in each; the outcome of the last is not known yet.
    assert!((36..=40).contains(&told.len()), "{} epochs in 20 round trips", told.len());
    assert!(told[0].rate >= 1.0 && told[0].sent.abs_diff(771) <= 1, "{:?}", told[0]);
    for epoch in told {
        assert!((epoch.sent / 4).abs_diff(epoch.sent - epoch.returned) <= 1, "{epoch:?}");
    }
    let sent: u64 = told.iter().map(|epoch| epoch.sent).sum();
    let last = emulations(&pair)[sent as usize].0;
    assert!(pair.now - last <= Span::from_us(1_600), "{last}: the rest is on its way");
}

#[test]
fn credits_that_overtake_each_other_are_no_loss() {
    let setting = setting();
    let mut path = Path::fast();
    (path.reorder, path.late) = (1.0, Span::from_us(300));
    let pair = setting.pair(None, Spy::aimd(), path).after(ms(30));
    let told = epochs(&pair);
    // The first epochs show by how much.
    assert!(told.len() > 10 && told[5..].iter().all(|epoch| epoch.loss() < 0.01), "{told:?}");
}

#[test]
fn the_paper_compares_credits_and_emulation_packets_of_one_round_trip() {
    let setting = with(|engine| engine.attribute = false);
    let drops = lose(is_emulation, |turn| turn % 4 != 0);
    let pair = setting.pair(None, Spy::mimd(), Path::fast()).with_drops(drops).after(ms(20));
    let told = epochs(&pair);
    // The credits of a round trip are for packets of the one before. A quarter returns, so the rate falls to 0.2525.
    // In the next round trip as many credits come as before, which is 99 % of what leaves: nothing falls twice.
    assert!(told[0].rate >= 1.0 && (told[0].loss() - 0.75).abs() < 0.01, "{:?}", told[0]);
    assert!((told[1].rate - 0.2525).abs() < 0.01 && told[1].loss() < 0.02, "{:?}", told[1]);
    assert!((told[2].loss() - 0.75).abs() < 0.05, "{:?}", told[2]);
}

#[test]
fn the_papers_rate_grows_on_an_idle_path_if_a_change_takes_ten_emulation_packets() {
    // At 1.5 packets in a round trip, a round trip with two packets and one credit reads as a loss of 50 %.
    let after = |min_sample| {
        let setting = with(|engine| (engine.attribute, engine.min_sample) = (false, min_sample));
        let law = Law::Mimd(Mimd::new(MimdConfig::default(), 0.002));
        let pair = setting.pair(None, Spy::on(law), Path::fast()).after(ms(100));
        let told = epochs(&pair);
        assert!(told.iter().all(|epoch| epoch.sent >= u64::from(min_sample)), "{told:?}");
        told.last().map(|epoch| epoch.rate)
    };
    assert!(after(1) < Some(0.004), "{:?}", after(1));
    assert!(after(10) > Some(0.02), "{:?}", after(10));
}

#[test]
fn emulation_is_tagged_once_the_expected_credits_cover_the_demand() {
    // Equation 2: ten packets of which one may be lost are enough for nine.
    for (demand, loss, plain) in [(9, 0.1, 10), (18, 0.1, 20), (1, 0.1, 2), (5, 0.5, 10)] {
        let setting = with(|engine| engine.expected_loss = loss);
        let pair = finished(pair(&setting, demand), &setting);
        let marks: Vec<Ecn> = emulations(&pair).into_iter().map(|(_, ecn)| ecn).collect();
        let (first, rest) = marks.split_at(plain);
        assert!(first.iter().all(|ecn| *ecn == Ecn::Ect), "{demand}: {first:?}");
        assert!(rest.iter().all(|ecn| *ecn == Ecn::NotEct), "{demand}: {rest:?}");
        // Emulation continues until the credits arrive: for a round trip and the demand's own gaps.
        let expected = 771 + demand - 1;
        assert!((marks.len() as u64).abs_diff(expected) <= 1, "{demand}: {}", marks.len());
        let report = pair.ends[0].counters();
        assert_eq!((report.sent, report.retransmits), (demand, 0));
        assert_eq!(report.credits.wasted, marks.len() as u64 - demand);
    }
}

#[test]
fn without_over_provisioning_emulation_pauses_instead_of_tagging() {
    let setting = with(|engine| engine.over_provision = false);
    let pair = finished(pair(&setting, 9), &setting);
    assert_eq!(emulations(&pair).len(), 10);
    assert_eq!(pair.ends[0].counters().credits.wasted, 1);
}

#[test]
fn a_measured_loss_above_the_expected_one_delays_tagging() {
    let setting = with(|engine| engine.epochs = 1);
    let drops = lose(is_emulation, |turn| turn % 2 == 0);
    let pair = finished(setting.pair(Some(frames(3_000)), Spy::fixed(), Path::fast()).with_drops(drops), &setting);
    let all = emulations(&pair);
    let first_tagged = all.iter().position(|(_, ecn)| *ecn == Ecn::NotEct).unwrap();
    let when = all[first_tagged].0;
    let granted = credited(&pair).iter().filter(|(_, came)| *came <= when).count() as f64;
    // Of the packets in flight, half are expected to return, by the measured loss; not nine tenths.
    let on_way = all.iter().filter(|(time, _)| *time < when && *time + DELAY * 2 > when).count();
    let missing = 3_000.0 - granted;
    let counted = missing / on_way as f64;
    assert!((0.47..0.53).contains(&counted), "{counted}: {missing} missing, {on_way} on the way");
}

fn is_data(packet: &CapturedPacket<Head>) -> bool {
    packet.class == Class::Data
}

#[test]
fn lost_data_is_sent_again_with_a_credit_of_its_own() {
    let setting = setting();
    let drops = lose(is_data, |turn| turn == 3);
    let pair = finished(pair(&setting, 20).with_drops(drops), &setting);
    let (sender, receiver) = (pair.ends[0].counters(), pair.ends[1].counters());
    assert_eq!((sender.sent, sender.retransmits, sender.timeouts), (21, 1, 0));
    assert_eq!((sender.credits.used, receiver.received), (21, 20 * PAYLOAD));
    let sent = data(&pair);
    // The next packet shows the loss a round trip later. Then an emulation packet is sent, and a waiting time passes.
    let soonest = DELAY * 2 + setting.engine.wait;
    let repeated = sent[20] - sent[4];
    assert!(repeated >= soonest && repeated <= soonest + Span::from_us(5), "{repeated}");
}

#[test]
fn lost_data_at_the_tail_is_sent_again_after_the_timeout() {
    let setting = setting();
    let drops = lose(is_data, |turn| (18..21).contains(&turn));
    let pair = finished(pair(&setting, 20).with_drops(drops), &setting);
    let report = pair.ends[0].counters();
    // Two packets are lost, then the first of their retransmissions, which the second one shows.
    assert_eq!((report.sent, report.retransmits, report.timeouts), (23, 3, 1));
    let sent = data(&pair);
    assert!(sent[20] - sent[19] >= setting.timeout);
    assert!(sent[22] - sent[21] < Span::from_ms(4));
}

#[test]
fn a_timeout_for_lost_acknowledgements_retransmits_nothing() {
    let setting = setting();
    let drops = lose(|packet| packet.class == Class::Ack, |_| true);
    let pair = finished(pair(&setting, 20).with_drops(drops), &setting);
    let report = pair.ends[0].counters();
    // The credit that the sender then requests carries the acknowledgement.
    assert_eq!((report.sent, report.retransmits, report.timeouts), (20, 0, 1));
}

#[test]
fn lost_emulation_packets_are_repeated_even_without_over_provisioning() {
    let setting = with(|engine| engine.over_provision = false);
    let pair = finished(pair(&setting, 1).with_drops(lose(is_emulation, |turn| turn < 4)), &setting);
    let times: Vec<Time> = emulations(&pair).into_iter().map(|(time, _)| time).collect();
    assert_eq!(times.len(), 5, "{times:?}");
    // The law was told that all packets were lost, and sends at its minimum rate: about one packet in a waiting time.
    for two in times.windows(2) {
        assert!(two[1] - two[0] <= setting.engine.wait + GAP * 3, "{times:?}");
    }
}

#[test]
fn emulation_resumes_from_a_pause_without_a_burst() {
    for epochs in 1..4 {
        let setting = with(|engine| {
            (engine.over_provision, engine.epochs, engine.jitter) = (false, epochs, 0.1);
        });
        for period in [2, 3, 5, 7] {
            let drops = lose(is_emulation, move |turn| turn % period == 0);
            finished(pair(&setting, 1_500).with_drops(drops), &setting);
        }
    }
}

#[test]
fn credits_are_delayed_until_a_packet_is_full_but_arrive_in_time() {
    for (batch, size) in [(1, 84), (2, 84), (3, 84), (4, 86), (5, 88), (6, 90)] {
        assert_eq!(credit_size(batch), size);
        let receiver = ReceiverConfig { batch: batch as u8, ..ReceiverConfig::default() };
        let setting = Setting { receiver, ..setting() };
        let pair = setting.pair(None, Spy::aimd(), Path::fast()).after(ms(10));
        assert_eq!(check(&pair, &setting), Ok(()));
        let held = |packet: &CapturedPacket<Head>| match &packet.head {
            Head::Credit { timestamps, .. } => Some((packet.sent, timestamps.count() as u64, packet.size)),
            _ => None,
        };
        let credits: Vec<_> = pair.capture.iter().filter_map(held).collect();
        // Until the sender knows the round trip, it allows no delay.
        let (early, later) = credits.split_at(credits.partition_point(|credit| credit.0 < ms(2)));
        assert!(early.iter().take(100).all(|&(_, count, _)| count == 1));
        let full = later.iter().filter(|&&(_, count, bytes)| (count, bytes) == (batch, size));
        let share = full.count() as f64 / later.len() as f64;
        assert!(share > 0.99, "batch {batch}: {share} of {} are full", later.len());
        let report = pair.ends[0].counters();
        assert_eq!((report.credits.wasted, report.retransmits), (0, 0), "batch {batch}");
    }
}

#[test]
fn a_slow_flow_sends_partly_filled_credit_packets_in_time() {
    // A gap of 130 us: six credits take longer to gather than the waiting time leaves.
    let receiver = ReceiverConfig { batch: 6, ..ReceiverConfig::default() };
    let slow = Setting::for_link(BitsPerSec::at_least_one(100_000_000));
    let engine = CreditEngineConfig { wait: Span::from_us(1_500), ..slow.engine };
    let setting = Setting { engine, receiver, ..slow };
    let pair = finished(pair(&setting, 200), &setting);
    let report = pair.ends[0].counters();
    assert_eq!(report.retransmits, 0);
    let late = credited(&pair).iter().filter(|(time, came)| *time + engine.wait < *came).count();
    assert_eq!(late, 0);
}

#[test]
fn credits_carry_the_acknowledgements_while_there_are_any() {
    let setting = setting();
    let pair = setting.pair(None, Spy::aimd(), Path::fast()).after(ms(20));
    let alone = pair.capture.iter().filter(|packet| packet.class == Class::Ack).count();
    let credits = pair.capture.iter().filter(|packet| packet.class == Class::Credit).count();
    assert!(alone == 0 && credits > 10_000, "{alone} alone, {credits} credits");
}
