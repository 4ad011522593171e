//! Marks above a threshold: DCTCP against its fluid model, the thresholds that DCTCP and ECN* need, and one reduction
//! each time that the queue passes the threshold.

use crate::support::shared_bottleneck::{Link, SharedBottleneck};
use crate::support::tcp::{SEGMENT, ms, plain, us};
use shallop_control::any::{self, AnyWindow};
use shallop_control::ewma::Alpha;
use shallop_control::{Window, cubic, dctcp, hystart, reno};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_proto::tcp::{Config, DelayedAcks, EcnConfig};

const DCTCP: any::Config = any::Config::Dctcp(dctcp::Config::RFC);
const RENO: any::Config = any::Config::Reno(reno::Config::RFC);

fn link(gbps: u64, us: u64, mark: u32) -> Link {
    Link { rate: BitsPerSec::gbps(gbps), delay: Span::from_us(us), mark }
}

/// Frames of 1538 B on the path and in service when the queue is empty.
fn path(link: Link) -> f64 {
    link.rate.get() as f64 * link.delay.as_secs_f64() / (8.0 * 1538.0) + 1.0
}

/// Flows that started within a round trip, after `warm` round trips.
fn flows(control: &any::Config, ecn: EcnConfig, count: usize, link: Link, warm: u64) -> SharedBottleneck {
    let config = Config { ecn, ..plain() };
    let mut shared = SharedBottleneck::at_once(link);
    shared.add_each(&config, control, count, link.delay / count as u64);
    shared.run(us(0) + link.delay * warm);
    shared
}

/// Runs for `rounds` more round trips and samples ten times in each. Returns the mean alpha of all flows.
fn mean_alpha(shared: &mut SharedBottleneck, rounds: u64) -> f64 {
    let (from, step) = (shared.now, shared.delay * 2 / 10);
    let mut alphas = vec![];
    for nth in 1..=rounds * 10 {
        shared.run(from + step * nth);
        alphas.extend(shared.flows.iter().map(|flow| match flow.sender().controller() {
            AnyWindow::Dctcp(dctcp) => f64::from(dctcp.alpha()) / f64::from(Alpha::MAX),
            _ => 0.0,
        }));
    }
    alphas.iter().sum::<f64>() / alphas.len() as f64
}

fn marked_part(shared: &SharedBottleneck, from: Time) -> f64 {
    let marked = shared.since(from).filter(|joined| joined.marked).count();
    marked as f64 / shared.since(from).count() as f64
}

/// Solves for the marked fraction of packets. Flows have a window of `full` when the queue is at the threshold, and
/// reduce it by `cut(fraction)`. The fraction is that of the round trip at the top in all packets of a tooth.
fn marked_by(full: f64, cut: impl Fn(f64) -> f64) -> f64 {
    let top = full + 1.0;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let alpha = f64::midpoint(low, high);
        let bottom = top - cut(alpha).max(1.0);
        let part = (2.0 * full + 1.0) / (top * top - bottom * bottom);
        if part > alpha { low = alpha } else { high = alpha }
    }
    low
}

#[test]
fn the_fluid_model_gives_the_values_of_the_table() {
    for (full, alpha) in [(148.3, 0.117), (74.2, 0.166), (14.8, 0.367), (14.2, 0.375), (66.7, 0.175)] {
        let solved = marked_by(full, |alpha| (full + 1.0) * alpha / 2.0);
        assert!((solved - alpha).abs() < 6e-4, "{solved} instead of {alpha}");
        assert!((solved / (2.0f64 / full).sqrt() - 1.0).abs() < 0.03, "about the root of 2/W");
    }
}

#[test]
fn dctcps_alpha_and_queue_match_the_fluid_model() {
    // Link and threshold; flows; the queue's maximum and minimum by the model (SIGCOMM 2010, packets of 1500 B).
    let table = [
        (link(10, 100, 65), 1, (66, 57.2)),
        (link(10, 100, 65), 2, (67, 54.5)),
        (link(10, 100, 65), 10, (75, 45.9)),
        (link(1, 100, 20), 2, (22, 16.3)),
        (link(100, 20, 100), 4, (104, 80.3)),
    ];
    for (link, count, (most, least)) in table {
        let mut shared = flows(&DCTCP, EcnConfig::EXACT, count, link, 300);
        let from = shared.now;
        let alpha = mean_alpha(&mut shared, 400);
        // In the model alpha is constant. Here it changes by up to a sixteenth between two reductions, and the
        // reduction precedes the latest marks: alpha is up to 1/32 below the mean, and reductions are whole packets. So
        // teeth are smaller, and a larger fraction is marked.
        let full = (path(link) + f64::from(link.mark)) / count as f64;
        let model = |alpha: f64| (full + 1.0) * alpha / 2.0;
        let smallest = |alpha: f64| (full + 1.0) * (alpha - 1.0 / 32.0) / 2.0 - 1.0;
        let (low, high) = (marked_by(full, model), marked_by(full, smallest));
        assert!((low..high).contains(&alpha), "{count} flows: {alpha}, not in {low}..{high}");
        let queue = shared.queue(from);
        assert_eq!(queue.1, most, "the threshold and a packet of each flow");
        // An arriving packet counts itself: one more than the fluid that it finds.
        let shallow = f64::from(most) - count as f64 * smallest(high).max(1.0) + 1.0;
        assert!((least - 1.0..=shallow).contains(&f64::from(queue.0)), "{count} flows: {queue:?}");
        assert!(shared.utilization(from) > 0.999);
    }
}

#[test]
fn alpha_is_the_marked_fraction_of_packets_with_delayed_acknowledgements() {
    for every in [1, 2, 4] {
        for (count, gradual) in [(1, false), (4, false), (2, true)] {
            let acks = DelayedAcks { ack_every: every, ack_delay: Span::from_ms(1), ack_quick: 0, ack_size: None };
            let config = Config { ecn: EcnConfig { ecn_gradual: gradual, ..EcnConfig::EXACT }, acks, ..plain() };
            let link = link(10, 100, 65);
            let mut shared = SharedBottleneck::at_once(link);
            shared.add_each(&config, &DCTCP, count, Span::from_us(20));
            shared.run(ms(30));
            let from = shared.now;
            let alpha = mean_alpha(&mut shared, 400);
            let marked = marked_part(&shared, from);
            // Each update is rounded down by less than 1/1024, over a memory of 16 windows.
            assert!((alpha - marked).abs() < 16.0 / 1024.0, "{every}, {count}: {alpha}, {marked}");
            assert!(marked > 0.05);
        }
    }
}

#[test]
fn dctcp_fills_the_link_with_a_threshold_of_a_seventh_bdp_and_not_with_much_less() {
    let utilization = |count, mark| {
        let mut shared = flows(&DCTCP, EcnConfig::EXACT, count, link(10, 100, mark), 200);
        let from = shared.now;
        shared.run(ms(60));
        shared.utilization(from)
    };
    // A seventh of 82.3 packets is 11.8. Twelve flows, (path + threshold) / 8, need the most.
    for count in [1, 2, 4, 8, 12, 16] {
        assert!(utilization(count, 12) > 0.998, "{count} flows: {}", utilization(count, 12));
        assert!(utilization(count, 2) < 0.993, "{count} flows: {}", utilization(count, 2));
    }
    assert!(utilization(12, 4) < 0.993, "less than a seventh: {}", utilization(12, 4));
    assert!(utilization(1, 6) > 0.999, "a lone flow needs only 5.7 packets");
}

/// The utilization by a flow that halves its window, with this path and threshold in packets. It grows by one packet in
/// each round trip, which lasts longer when there is a queue, and stays for one round trip at the top and, while the
/// echo lasts, for one below.
fn halving(path: f64, mark: f64) -> f64 {
    let top = path + mark;
    let (bottom, squares) = (top / 2.0, top * top - path * path);
    let carried = (top * top - bottom * bottom) / 2.0 + top + bottom;
    let lasts = path * (path - bottom).max(0.0) + squares / 2.0 + top + path.max(bottom);
    carried / lasts
}

#[test]
fn ecn_star_needs_a_threshold_of_one_bdp_where_dctcp_needs_a_sixth() {
    let run = |control, marks, count, mark| {
        let mut shared = flows(control, marks, count, link(10, 100, mark), 200);
        let from = shared.now;
        shared.run(ms(60));
        (shared.utilization(from), shared.queue(from).0)
    };
    let whole = path(link(10, 100, 0));
    for mark in [12, 14, 40, 60] {
        let (used, least) = run(&RENO, EcnConfig::CLASSIC, 1, mark);
        let theory = halving(whole, f64::from(mark));
        assert!((used / theory - 1.0).abs() < 0.01, "{mark}: {used} instead of {theory}");
        assert!(used < 0.992 && least == 1, "{mark}: {used}, {least}");
    }
    for count in [1, 2, 4, 8] {
        let (used, least) = run(&RENO, EcnConfig::CLASSIC, count, 83);
        assert!(used > 0.997 && least <= 2, "{count} flows: {used}, and it touches {least}");
        // 0.17 of the path is 14 packets.
        let ((star, _), (dctcp, _)) =
            (run(&RENO, EcnConfig::CLASSIC, count, 14), run(&DCTCP, EcnConfig::EXACT, count, 14));
        assert!(star < 0.88 && dctcp > 0.999, "{count} flows: {star} and {dctcp}");
    }
}

/// Windows in packets just before and after each reduction.
fn reductions(control: &any::Config, gradual: bool) -> Vec<(f64, f64)> {
    let marks = EcnConfig { ecn_gradual: gradual, ..EcnConfig::CLASSIC };
    let mut shared = flows(control, marks, 1, link(10, 100, 100), 200);
    let from = shared.now;
    let mut windows = vec![];
    for nth in 1..10_000 {
        shared.run(from + Span::from_us(10) * nth);
        windows.push(shared.flows[0].sender().controller().window().ratio(Bytes::new(SEGMENT)));
    }
    windows.windows(2).filter(|pair| pair[1] < pair[0]).map(|pair| (pair[0], pair[1])).collect()
}

#[test]
fn newreno_and_cubic_reduce_once_each_time_the_queue_passes_the_threshold() {
    let slow_start = hystart::Config::STANDARD;
    let cubic = any::Config::Cubic(cubic::Config { slow_start, ..cubic::Config::RFC });
    for (control, kept) in [(&RENO, 0.5), (&cubic, 0.7)] {
        let cuts = reductions(control, false);
        assert!(cuts.len() >= 5, "{cuts:?}");
        for (before, after) in cuts {
            // The threshold, what the path holds, and the packet that exceeds the threshold.
            assert!((before - 183.3).abs() < 1.0, "from {before}");
            assert!((after / before - kept).abs() < 0.005, "{before} to {after}");
        }
    }
}

#[test]
fn gradual_reduction_happens_twice_as_its_first_packet_meets_the_long_queue() {
    // Proportional rate reduction sends a packet on the first echo (RFC 9937), which belongs to the next window.
    let cuts = reductions(&RENO, true);
    for pair in cuts.chunks_exact(2) {
        assert!((pair[0].0 - 183.3).abs() < 1.0 && (pair[1].0 - pair[0].1).abs() < 1.0, "{cuts:?}");
    }
}
