//! DCTCP: alpha and reductions in the kernel's integers; the response to marks and losses of RFC 8257.

use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::binary::{Fraction, Gain};
use shallop_control::dctcp::{Arithmetic, Config, reduced_cwnd};
use shallop_control::ewma::update_alpha;
use shallop_control::{Ack, Dctcp, Start, Window};
use shallop_core::{Bytes, Seed, Span};
use shallop_options::HostStack;

/// DCTCP with this cwnd in packets and this ssthresh.
fn dctcp(config: &Config, cwnd: u64, initial_ssthresh: Bytes) -> Dctcp {
    let start = Start { initial_window: SEGMENT * cwnd, initial_ssthresh, ..start() };
    Dctcp::new(config, &start)
}

fn packets(window: &impl Window) -> u64 {
    assert_eq!(window.window().get() % SEGMENT.get(), 0, "whole packets");
    window.window().get() / SEGMENT.get()
}

fn path() -> FixedRtt {
    FixedRtt::new(Span::from_us(100))
}

/// An ACK of `acked` segments, of which `marked` are acknowledged with ECN-Echo.
fn ack(path: &mut FixedRtt, window: &impl Window, acked: u64, marked: u64) -> Ack {
    let acked = SEGMENT * acked;
    path.snd_una += acked.get();
    Ack { marked: SEGMENT * marked, ..path.ack(window, acked) }
}

#[test]
fn alpha_and_reductions_match_the_kernels_integers() {
    for row in table(include_str!("../../vectors/dctcp.csv")) {
        let [shift, before, delivered, marked, alpha, cwnd, reduced] =
            [0, 1, 2, 3, 4, 5, 6].map(|field| number(row[field]) as u64);
        let (shift, before, alpha) = (shift as u32, before as u32, alpha as u32);
        assert_eq!(update_alpha(before, shift, delivered, marked), alpha, "{row:?}");
        assert_eq!(reduced_cwnd(cwnd, alpha), reduced, "{row:?}");
        // The controller counts the bytes of full-sized segments and gives equal values.
        let config = Config { gain: Gain::new(shift), alpha_initial: Fraction::new(before), ..Config::LINUX_IDEAL };
        let mut dctcp = dctcp(&config, cwnd, Bytes::MAX);
        let mut path = path();
        let ack = ack(&mut path, &dctcp, delivered, marked);
        dctcp.on_ack(&Ack { in_cwnd_reduction: true, ..ack });
        assert_eq!(dctcp.alpha(), alpha, "{row:?}");
        dctcp.on_mark(&path.loss(&dctcp));
        assert_eq!(packets(&dctcp), reduced, "{row:?}");
    }
}

/// The mean cwnd, in packets, of a flow of which a fraction `marked` of the packets is marked at random.
fn mean_under_random_marks(config: &Config, marked: f64) -> f64 {
    let mut dctcp = dctcp(config, 40, SEGMENT * 40);
    let mut path = path();
    let mut marks = Seed::new(1).stream("marks", 0);
    let (mut sum, mut reduced_until) = (0.0, 0);
    let acks = 400_000;
    for nth in 0..acks {
        let is_marked = marks.chance(marked);
        let in_flight = dctcp.window().get();
        let ack = ack(&mut path, &dctcp, 1, u64::from(is_marked));
        dctcp.on_ack(&Ack { snd_nxt: path.snd_una + in_flight, ..ack });
        if is_marked && path.snd_una >= reduced_until {
            dctcp.on_mark(&path.loss(&dctcp));
            reduced_until = path.snd_una + in_flight;
        }
        if nth >= acks / 2 {
            sum += dctcp.window().get() as f64 / SEGMENT.get() as f64;
        }
    }
    sum / f64::from(acks / 2)
}

#[test]
fn random_marks_hold_cwnd_at_two_over_their_fraction_in_real_numbers_and_not_in_integers() {
    let real = Config { arithmetic: Arithmetic::Real, ..Config::LINUX_IDEAL };
    for marked in [0.01, 0.04, 0.1] {
        let cwnd = mean_under_random_marks(&real, marked) * marked;
        // Two if each window has a mark; a seventh of the windows has none.
        assert!((1.8..3.0).contains(&cwnd), "{marked}: {cwnd} over the fraction");
    }
    let integers = mean_under_random_marks(&Config::LINUX_IDEAL, 0.01);
    assert!(integers > 400.0, "{integers}");
    assert_eq!(Config::defaults(HostStack::Ns3).arithmetic, Arithmetic::Real);
}
