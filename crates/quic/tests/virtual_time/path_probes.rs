//! Tests of how a path treats emulation packets, beside data on credits and alone.

use super::network::{Network, config, ms, secs};
use super::{MB, link::LinkConfig};
use crate::config::Config;
use crate::credit::path_probe::{ProbeCounts, ProbePlan};
use crate::credit::send_mode::SendMode;
use shallop_core::Span;

/// Packets with twice the rate of a meter for 100 Mb/s, and a third of that with the DSCP of data.
const PLAN: ProbePlan = ProbePlan { trains: 20, packets: 200, gap: Span::from_ns(48_660), pause: Span::from_ms(10) };

/// Runs a test over a path, while the client sends `bytes`.
fn probed(link: &LinkConfig, bytes: u64) -> (Network, ProbeCounts) {
    let mut network = Network::connected_with(config(100, 40), link);
    if bytes > 0 {
        network.client.send(bytes);
    }
    network.run(ms(100));
    let now = network.now;
    assert!(network.client.connection().start_probe(now, PLAN));
    network.run(ms(800));
    let (trains, is_over) = network.client.connection().probed().unwrap();
    assert!(is_over && trains.len() == 20);
    (network, ProbeCounts::sum(&trains))
}

fn link() -> LinkConfig {
    LinkConfig::new(100e6, ms(10))
}

#[test]
fn a_meter_drops_emulation_packets_and_not_those_of_the_control_group() {
    for loss in [0.0, 0.2] {
        let (mut network, sum) = probed(&LinkConfig { loss, ..link() }, 0);
        assert_eq!(sum.emulation.sent + sum.control.sent, 4_000);
        let (client, server) = (network.client.stats(), network.server.stats());
        assert_eq!((client.path_tests, client.emulated), (4_000, 0), "{client:?}");
        assert!(server.credits_sent <= client.path_tests, "{server:?}");
        // Of 150 packets in a train the meter passes 68, and its queue holds 8. Answers are lost as well.
        let lost = 1.0 - (1.0 - loss) * (1.0 - loss);
        assert!((sum.control.loss() - lost).abs() < 0.05, "{sum:?}");
        let metered = 1.0 - (1.0 - sum.emulation.loss()) / (1.0 - lost);
        assert!((0.45..0.53).contains(&metered), "{metered} {sum:?}");
        assert!(sum.difference() > 15.0 * sum.error(), "{sum:?}");
    }
}

#[test]
fn without_a_meter_both_groups_are_answered_alike() {
    let unmetered = LinkConfig { is_unmetered: true, ..link() };
    let erased = LinkConfig { is_erasing: true, ..link() };
    for path in [unmetered, erased] {
        for loss in [0.0, 0.3] {
            let (_, sum) = probed(&LinkConfig { loss, ..path.clone() }, 0);
            assert!(sum.difference().abs() < 5.0 * sum.error(), "{sum:?}");
            assert!(loss > 0.0 || sum.emulation.loss() + sum.control.loss() == 0.0, "{sum:?}");
        }
    }
}

#[test]
fn answers_that_come_late_are_answers() {
    // A round trip is longer than the waiting time, so that no credit is of use.
    let far = LinkConfig { delay: ms(150), is_unmetered: true, ..link() };
    let (_, sum) = probed(&far, 0);
    assert!(sum.emulation.loss() + sum.control.loss() == 0.0, "{sum:?}");
}

#[test]
fn a_test_beside_a_transfer_changes_no_data_and_loses_none() {
    let (mut network, sum) = probed(&link(), 5 * MB);
    assert!(sum.difference() > 0.3, "{sum:?}");
    network.finish(secs(5));
    assert_eq!(network.send_modes(), [SendMode::Credits; 2]);
    assert_eq!(network.server.received, 5 * MB);
    let stats = network.client.stats();
    assert!(stats.data_packets <= stats.used && stats.used <= stats.granted, "{stats:?}");
    assert_eq!(network.to_server.drops.data, 0);
}

#[test]
fn emulation_packets_overtake_data_that_fills_the_link_unless_both_share_a_queue() {
    let path = LinkConfig { buffer: 60, ..link() };
    let erased = LinkConfig { is_erasing: true, ..path.clone() };
    for (path, overtakes) in [(path, true), (erased, false)] {
        let mut network = Network::connected_with(Config { keeps_credits: true, ..config(100, 40) }, &path);
        network.client.send(20 * MB);
        network.run(ms(100));
        assert!(network.client.connection().leave_unmetered());
        network.run(ms(300));
        let now = network.now;
        network.client.connection().start_probe(now, ProbePlan { gap: PLAN.gap * 4, ..PLAN });
        network.run(ms(1_300));
        let seen = ProbeCounts::sum(&network.client.connection().probed().unwrap().0).overtaking();
        assert!(if overtakes { seen > 15.0 } else { seen.abs() < 5.0 }, "{seen}");
    }
}

#[test]
fn copies_of_answers_release_no_data() {
    let path = LinkConfig { duplication: 0.5, is_unmetered: true, ..link() };
    let (mut network, sum) = probed(&path, 0);
    assert_eq!(sum.emulation.answered, sum.emulation.sent);
    let stats = network.client.stats();
    assert_eq!((stats.granted, stats.used), (0, 0), "{stats:?}");
}

#[test]
fn a_path_without_a_meter_can_be_left_and_returned_to() {
    let unmetered = LinkConfig { is_unmetered: true, buffer: 100, ..link() };
    let mut network = Network::connected_with(config(100, 40), &unmetered);
    network.client.send(5 * MB);
    network.run(ms(300));
    assert!(network.client.connection().leave_unmetered());
    assert_eq!(network.client.send_mode(), SendMode::Unmetered);
    assert!(!network.client.connection().leave_unmetered());
    network.run(ms(200));
    assert!(network.client.connection().use_credits());
    network.finish(secs(5));
    assert_eq!(network.send_modes(), [SendMode::Credits; 2]);
    assert_eq!(network.server.received, 5 * MB);
}
