//! Undo of reductions for losses and RTOs that were spurious.

use crate::support::{FixedRtt, SEGMENT, start};
use shallop_control::any::{self, AnyWindow};
use shallop_control::{Bbr, Cubic, Dctcp, Loss, Undo, Window, bbr, cubic, dctcp, gemini, reno, vegas};
use shallop_core::{Bytes, Span};

const RTT: Span = Span::from_ms(100);

/// The state that a sender saves before a reduction.
fn prior(window: &impl Window) -> Undo {
    let (cwnd, ssthresh) = (window.window(), window.slow_start_threshold());
    Undo { prior_cwnd: cwnd, prior_ssthresh: ssthresh.max(Bytes::new(cwnd.get() / 4 * 3)) }
}

fn all() -> Vec<any::Config> {
    vec![
        any::Config::Reno(reno::Config::LINUX_IDEAL),
        any::Config::Cubic(cubic::Config::LINUX_IDEAL),
        any::Config::Cubic(cubic::Config::RFC),
        any::Config::Vegas(vegas::Config::LINUX_IDEAL),
        any::Config::Dctcp(dctcp::Config::LINUX_IDEAL),
        any::Config::Gemini(gemini::Config::THESIS),
    ]
}

/// A controller after a loss in slow start and five round trips without a loss.
fn working(config: &any::Config) -> (AnyWindow, FixedRtt) {
    let (mut window, mut path) = (config.build(&start()), FixedRtt::new(RTT));
    (0..3).for_each(|_| path.round(&mut window));
    window.on_loss(&path.loss(&window));
    window.on_recovery_exit(path.now);
    (0..5).for_each(|_| path.round(&mut window));
    (window, path)
}

fn congestion(path: &FixedRtt, window: &impl Window, timeout: bool) -> Loss {
    let loss = path.loss(window);
    if timeout { Loss { prior_in_flight: window.window(), ..loss } } else { loss }
}

/// Kernel: `tcp_undo_cwnd_reduction` with `tcp_reno_undo_cwnd`.
#[test]
fn undo_restores_cwnd_and_ssthresh_after_a_loss_and_after_an_rto() {
    for config in all() {
        for timeout in [false, true] {
            let (mut window, path) = working(&config);
            let before = prior(&window);
            let loss = congestion(&path, &window, timeout);
            if timeout {
                window.on_rto(&loss, true);
            } else {
                window.on_loss(&loss);
            }
            assert!(window.window() < before.prior_cwnd, "{config:?}");
            window.on_undo(&before);
            window.on_recovery_exit(path.now);
            assert_eq!(window.window(), before.prior_cwnd, "{config:?}");
            let threshold = window.slow_start_threshold();
            let off = threshold.get().abs_diff(before.prior_ssthresh.get());
            assert!(off < SEGMENT.get(), "{config:?}: {threshold:?}, {before:?}");
        }
    }
}

#[test]
fn undo_keeps_a_cwnd_that_has_grown_beyond_the_prior_one() {
    for config in all() {
        let (mut window, _) = working(&config);
        let now = window.window();
        window.on_undo(&Undo { prior_cwnd: SEGMENT * 3, prior_ssthresh: SEGMENT * 2 });
        assert_eq!(window.window(), now, "{config:?}");
    }
}

#[test]
fn undo_resumes_slow_start_that_a_spurious_loss_ended() {
    for config in all() {
        let (mut window, mut path) = (config.build(&start()), FixedRtt::new(RTT));
        path.round(&mut window);
        let before = prior(&window);
        assert_eq!(before.prior_ssthresh, Bytes::MAX);
        window.on_loss(&path.loss(&window));
        window.on_undo(&before);
        assert_eq!(window.slow_start_threshold(), Bytes::MAX, "{config:?}");
    }
}

/// CUBIC 3 s after a loss at 100 segments, which left 70. cwnd is back at 100 after 4.22 s (RFC 9438, 4.2).
fn at_w_max(config: &cubic::Config) -> (Cubic, FixedRtt) {
    let start = shallop_control::Start { initial_window: SEGMENT * 100, ..start() };
    let (mut cubic, mut path) = (Cubic::new(config, &start), FixedRtt::new(RTT));
    cubic.on_loss(&path.loss(&cubic));
    assert!((cubic.cwnd() - 70.0).abs() < 0.1);
    (0..30).for_each(|_| path.round(&mut cubic));
    (cubic, path)
}

/// RFC 9438, 4.9.2: `W_max`, K, the epoch and `W_est` are restored with the window; `tcp_cubic.c` begins a new epoch.
#[test]
fn cubic_stays_on_its_curve_by_the_rfc_and_starts_from_a_new_w_max_in_linux() {
    for (config, same) in [(cubic::Config::RFC, true), (cubic::Config::LINUX_IDEAL, false)] {
        let (mut cubic, mut path) = at_w_max(&config);
        let (mut alone, mut alone_course) = (cubic.clone(), path);
        let before = prior(&cubic);
        cubic.on_loss(&path.loss(&cubic));
        cubic.on_undo(&before);
        assert_eq!(cubic.window(), alone.window());
        (0..10).for_each(|_| path.round(&mut cubic));
        (0..10).for_each(|_| alone_course.round(&mut alone));
        let apart = (cubic.cwnd() - alone.cwnd()).abs();
        assert_eq!(apart < 1e-9, same, "{:?}: {apart}", config.form);
        assert!(apart < 5.0, "{apart}");
    }
}

/// RFC 9438, 4.9: a cwnd that has grown beyond the prior one is newer than the saved curve.
#[test]
fn cubic_keeps_its_new_curve_if_cwnd_has_grown_beyond_the_prior_one() {
    let (mut cubic, mut path) = at_w_max(&cubic::Config::RFC);
    let before = prior(&cubic);
    cubic.on_loss(&path.loss(&cubic));
    (0..200).for_each(|_| path.round(&mut cubic));
    assert!(cubic.window() > before.prior_cwnd);
    let (mut alone, mut alone_course) = (cubic.clone(), path);
    cubic.on_undo(&before);
    (0..10).for_each(|_| path.round(&mut cubic));
    (0..10).for_each(|_| alone_course.round(&mut alone));
    assert_eq!(cubic.window(), alone.window());
}

/// Kernel: `dctcp_cwnd_undo` leaves alpha alone.
#[test]
fn undo_does_not_change_alpha_of_dctcp() {
    let mut path = FixedRtt::new(RTT);
    let mut dctcp = Dctcp::new(&dctcp::Config::LINUX_IDEAL, &start());
    (0..4).for_each(|_| path.round(&mut dctcp));
    let (alpha, before) = (dctcp.alpha(), prior(&dctcp));
    dctcp.on_loss(&path.loss(&dctcp));
    dctcp.on_undo(&before);
    assert_eq!((dctcp.alpha(), dctcp.window()), (alpha, before.prior_cwnd));
}

/// Kernel: `bbr_undo_cwnd` discards the evidence of a full pipe; the end of recovery restores cwnd.
#[test]
fn bbr_restores_cwnd_with_the_first_ack_after_recovery() {
    let mut path = FixedRtt::new(RTT);
    let mut bbr = Bbr::new(&bbr::Config::LINUX_IDEAL, &start());
    (0..2).for_each(|_| path.round(&mut bbr));
    let before = prior(&bbr);
    bbr.on_rto(&path.loss(&bbr), true);
    assert_eq!(bbr.window(), SEGMENT);
    bbr.on_undo(&before);
    bbr.on_recovery_exit(path.now + Span::from_ms(1));
    path.segment(&mut bbr);
    assert!(bbr.window() >= before.prior_cwnd, "{:?}", bbr.window());
}
