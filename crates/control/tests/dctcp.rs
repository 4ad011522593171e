//! DCTCP: its integers are the kernel's, its answers those of RFC 8257.

mod support;

use shallop_control::dctcp::{Config, cut};
use shallop_control::ewma::{Marked, smooth};
use shallop_control::{Ack, Dctcp, Loss, Reno, Start, Window, reno};
use shallop_core::{Bytes, Span};
use support::{Course, SEGMENT, number, start, table};

fn dctcp(config: &Config, packets: u64, threshold: Bytes) -> Dctcp {
    Dctcp::new(config, &Start { window: SEGMENT * packets, threshold, ..start() })
}

fn packets(window: &impl Window) -> u64 {
    assert_eq!(window.window().get() % SEGMENT.get(), 0, "whole packets");
    window.window().get() / SEGMENT.get()
}

fn course() -> Course {
    Course::new(Span::from_us(100))
}

const ONE: u32 = Marked::ONE;

/// An acknowledgement of so many segments, as many of them echoed as marked.
fn ack(course: &mut Course, window: &impl Window, acked: u64, marked: u64) -> Ack {
    let acked = SEGMENT * acked;
    course.una += acked.get();
    Ack { marked: SEGMENT * marked, ..course.facts(window, acked) }
}

#[test]
fn alpha_and_cuts_are_the_kernels_integers() {
    for row in table(include_str!("../vectors/dctcp.csv")) {
        let [shift, before, delivered, marked, alpha, window, left] =
            [0, 1, 2, 3, 4, 5, 6].map(|field| number(row[field]) as u64);
        let (shift, before, alpha) = (shift as u32, before as u32, alpha as u32);
        assert_eq!(smooth(before, shift, delivered, marked), alpha, "{row:?}");
        assert_eq!(cut(window, alpha), left, "{row:?}");
        // Bytes of full segments give the same numbers, and so does the controller that is told of them.
        let config = Config { shift, alpha: before, ..Config::LINUX };
        let mut dctcp = dctcp(&config, window, Bytes::MAX);
        let mut course = course();
        let facts = ack(&mut course, &dctcp, delivered, marked);
        dctcp.on_ack(&Ack { recovering: true, ..facts });
        assert_eq!(dctcp.alpha(), alpha, "{row:?}");
        dctcp.on_mark(&course.loss(&dctcp));
        assert_eq!(packets(&dctcp), left, "{row:?}");
    }
}

#[test]
fn unmarked_alpha_decays_by_a_sixteenth_and_reaches_zero_after_75_windows() {
    let mut alpha = ONE;
    let mut seen = vec![alpha];
    for _ in 0..75 {
        alpha = smooth(alpha, 4, 100, 0);
        seen.push(alpha);
    }
    assert_eq!(seen[..8], [1024, 960, 900, 844, 792, 743, 697, 654]);
    assert_eq!((seen[74] > 0, seen[75]), (true, 0));
    // Each window's decrease is rounded down, so alpha stays above the real number by less than a unit a window.
    for (windows, real) in [(1, 0.9375), (11, 0.492), (16, 0.356)] {
        let over = f64::from(seen[windows]) / 1024.0 - real;
        let most = 16.0 * (1.0 - real) / 1024.0;
        assert!((-5e-4..most + 5e-4).contains(&over), "{windows} windows: {over}");
    }
    assert_eq!(smooth(0, 4, 100, 100), ONE / 16, "a sixteenth of a window marked throughout");
}

#[test]
fn a_window_of_data_lasts_until_what_was_sent_when_it_began_is_acknowledged() {
    // Given ten segments in flight, of which three come back marked,
    let mut dctcp = dctcp(&Config { alpha: 0, ..Config::RFC }, 10, SEGMENT * 10);
    let mut course = course();
    let mut alphas = vec![];
    let first = ack(&mut course, &dctcp, 1, 1);
    dctcp.on_ack(&first);
    alphas.push(dctcp.alpha());
    for nth in 1..=10 {
        let facts = ack(&mut course, &dctcp, 1, u64::from(nth % 4 == 0));
        let next = first.next + (course.una - first.una);
        dctcp.on_ack(&Ack { next, ..facts });
        alphas.push(dctcp.alpha());
    }
    // then the first acknowledgement ends a window of nothing else, and the ninth after it the next, with two marks.
    assert_eq!(alphas[..9], [64; 9]);
    assert_eq!(alphas[9], 64 - 4 + (2 << 6) / 9);
    assert_eq!(alphas[10], alphas[9]);
}

#[test]
fn the_acknowledgement_that_shrinks_the_window_adds_nothing_and_others_do() {
    let mut dctcp = dctcp(&Config { alpha: 512, ..Config::RFC }, 40, Bytes::MAX);
    let mut course = course();
    let facts = ack(&mut course, &dctcp, 1, 1);
    dctcp.on_ack(&facts);
    dctcp.on_mark(&course.loss(&dctcp));
    let alpha = smooth(512, 4, 1, 1);
    assert_eq!(packets(&dctcp), cut(40, alpha), "of 40, not of 41");
    assert_eq!(dctcp.slow_start_threshold(), dctcp.window(), "slow start is over");
    let after = packets(&dctcp);
    for _ in 0..after {
        let facts = ack(&mut course, &dctcp, 1, 1);
        dctcp.on_ack(&facts);
    }
    assert_eq!(packets(&dctcp), after + 1);
}

#[test]
fn the_first_mark_halves_by_the_rfc_and_hardly_reduces_in_ns2() {
    for (alpha, left) in [(ONE, 20), (0, 39)] {
        let mut dctcp = dctcp(&Config { alpha, ..Config::RFC }, 40, Bytes::MAX);
        let mut course = course();
        let facts = ack(&mut course, &dctcp, 1, 1);
        dctcp.on_ack(&facts);
        dctcp.on_mark(&course.loss(&dctcp));
        assert_eq!(packets(&dctcp), left);
        assert_eq!(dctcp.slow_start_threshold(), SEGMENT * left);
    }
}

#[test]
fn with_everything_marked_alpha_becomes_one_and_it_is_reno_with_marks() {
    let like = Config { reno: reno::Config::LINUX, shift: 4, alpha: 0 };
    let start = Start { window: SEGMENT * 64, threshold: SEGMENT, ..start() };
    let mut course = course();
    let mut dctcp = Dctcp::new(&like, &start);
    for _ in 0..150 {
        let facts = ack(&mut course, &dctcp, 10, 10);
        dctcp.on_ack(&Ack { recovering: true, next: course.una, ..facts });
    }
    assert_eq!(dctcp.alpha(), ONE);
    let mut reno = Reno::new(&reno::Config::LINUX, &start);
    dctcp.on_mark(&course.loss(&dctcp));
    reno.on_mark(&course.loss(&reno));
    assert_eq!((packets(&dctcp), packets(&reno)), (32, 32));
}

#[test]
fn a_loss_halves_whatever_alpha_is_and_with_marks_in_the_same_window_no_more() {
    let marked_then_lost = |alpha| {
        let mut dctcp = dctcp(&Config { alpha, ..Config::LINUX }, 41, Bytes::MAX);
        let course = course();
        let loss = course.loss(&dctcp);
        dctcp.on_mark(&loss);
        let marked = packets(&dctcp);
        dctcp.on_loss(&Loss { after_mark: true, ..loss });
        (marked, packets(&dctcp))
    };
    assert_eq!(marked_then_lost(0), (41, 20));
    assert_eq!(marked_then_lost(128), (39, 20));
    assert_eq!(marked_then_lost(ONE), (21, 20));
    let mut alone = dctcp(&Config::LINUX, 41, Bytes::MAX);
    alone.on_loss(&course().loss(&alone));
    assert_eq!((packets(&alone), alone.slow_start_threshold()), (20, SEGMENT * 20));
}

#[test]
fn losses_are_measured_by_the_flight_in_the_rfc_and_by_the_window_in_linux() {
    for (config, left) in [(Config::RFC, 10), (Config::LINUX, 20)] {
        let mut dctcp = dctcp(&config, 40, Bytes::MAX);
        dctcp.on_loss(&course().loss_of(SEGMENT * 20));
        assert_eq!(packets(&dctcp), left);
    }
}

#[test]
fn a_timeout_leaves_one_packet_and_slow_start_to_half_and_a_cut_two() {
    let mut dctcp = dctcp(&Config::LINUX, 41, Bytes::MAX);
    let course = course();
    let loss = course.loss(&dctcp);
    dctcp.on_rto(&loss, true);
    dctcp.on_rto(&loss, false);
    assert_eq!((packets(&dctcp), dctcp.slow_start_threshold()), (1, SEGMENT * 20));
    dctcp.on_mark(&course.loss(&dctcp));
    assert_eq!((packets(&dctcp), dctcp.slow_start_threshold()), (2, SEGMENT * 2));
}
