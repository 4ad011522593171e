//! What controllers get back when a loss or a timeout turns out to have been spurious.

use crate::support::{FixedRtt, SEGMENT, start};
use shallop_control::any::{self, AnyWindow};
use shallop_control::{
    Bbr, Cubic, Dctcp, Loss, Undo, Window, bbr, cubic, dctcp, gemini, reno, vegas,
};
use shallop_core::{Bytes, Span};

const RTT: Span = Span::from_ms(100);

/// What a sender keeps of a controller before a reduction.
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

/// A controller after five round trips without a loss, and one loss in slow start.
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
fn the_window_and_the_threshold_are_as_before_after_a_loss_and_after_a_timeout() {
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
fn a_window_that_has_grown_beyond_the_old_one_is_kept() {
    for config in all() {
        let (mut window, _) = working(&config);
        let now = window.window();
        window.on_undo(&Undo { prior_cwnd: SEGMENT * 3, prior_ssthresh: SEGMENT * 2 });
        assert_eq!(window.window(), now, "{config:?}");
    }
}

#[test]
fn slow_start_that_a_spurious_loss_ended_goes_on() {
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

/// A window of 100 segments that was lost to 70 goes back to 100 in 4.22 s, then slowly on (RFC 9438, 4.2).
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

/// RFC 9438, 4.9: what has grown beyond the old window since is newer than what would be restored.
#[test]
fn cubic_that_was_undone_too_late_keeps_its_new_curve() {
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
fn dctcp_keeps_its_alpha() {
    let mut path = FixedRtt::new(RTT);
    let mut dctcp = Dctcp::new(&dctcp::Config::LINUX_IDEAL, &start());
    (0..4).for_each(|_| path.round(&mut dctcp));
    let (alpha, before) = (dctcp.alpha(), prior(&dctcp));
    dctcp.on_loss(&path.loss(&dctcp));
    dctcp.on_undo(&before);
    assert_eq!((dctcp.alpha(), dctcp.window()), (alpha, before.prior_cwnd));
}

/// Kernel: `bbr_undo_cwnd` begins to look for a full pipe again, the window comes back as recovery ends.
#[test]
fn bbr_has_its_window_back_with_the_next_acknowledgement() {
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
