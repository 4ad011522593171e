//! Copa: the equilibrium of the target rate. More of it is in `event_script.txt`.

use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::copa::{Config, Copa};
use shallop_control::{Ack, Start, Window};
use shallop_core::{Bytes, Span};

/// A flow after slow start with this cwnd, minimum RTT and standing RTT.
fn flow(config: &Config, cwnd: f64, min_rtt: Span, standing_rtt: Span) -> (Copa, FixedRtt) {
    let initial_window = Bytes::new((SEGMENT.get() as f64 * cwnd) as u64);
    let mut copa = Copa::new(config, &Start { initial_window, ..start() });
    let mut path = FixedRtt::new(min_rtt);
    // An ACK with an RTT sample, of too few bytes to move cwnd.
    let mut sample = |path: &FixedRtt, rtt| {
        let ack = path.ack(&copa, Bytes::ZERO);
        copa.on_ack(&Ack { rtt: Some(rtt), srtt: min_rtt, ..ack });
    };
    sample(&path, min_rtt);
    // A queueing delay that ends slow start at any cwnd, then the requested one.
    path.now += min_rtt * 4;
    sample(&path, min_rtt * 50);
    path.now += min_rtt * 12;
    path.rtt = standing_rtt;
    sample(&path, standing_rtt);
    (copa, path)
}

#[test]
fn cwnd_grows_below_and_shrinks_above_the_equilibrium_of_rate_and_target_rate() {
    for row in table(include_str!("../../vectors/copa.csv")) {
        let [delta, min_rtt, standing_rtt, cwnd] = [0, 1, 2, 3].map(|field| number(row[field]));
        let [min_rtt, standing_rtt] = [min_rtt, standing_rtt].map(|us| Span::from_us(us as u64));
        for (factor, grows) in [(0.998, true), (1.002, false)] {
            let config = Config { delta, ..Config::PAPER };
            let (mut copa, path) = flow(&config, cwnd * factor, min_rtt, standing_rtt);
            let before = copa.cwnd();
            copa.on_ack(&path.ack(&copa, SEGMENT));
            assert_eq!(copa.cwnd() > before, grows, "{row:?}: {before}");
            let step = (copa.cwnd() - before).abs();
            assert!((step * before * delta - 1.0).abs() < 1e-6, "{row:?}: {step}");
        }
    }
}
