//! Pacing of whole transfers.

use crate::support::Path;
use crate::support::tcp::{SEGMENT, pair, sender};
use shallop_control::{Window, any, cubic, gemini, reno};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_proto::tcp::{self, EcnConfig, Stack};

#[test]
fn packets_are_paced_and_not_sent_in_bursts() {
    for control in [
        any::Config::Reno(reno::Config { pacing: true, ..reno::Config::LINUX_IDEAL }),
        any::Config::Cubic(cubic::Config { pacing: true, ..cubic::Config::LINUX_IDEAL }),
        any::Config::Gemini(gemini::Config::THESIS),
    ] {
        let path = Path { rate: BitsPerSec::gbps(40), ..Path::clean() };
        let config = tcp::Config {
            initial_threshold: Bytes::new(200 * SEGMENT),
            ecn: EcnConfig::EXACT,
            handshake: false,
            ..Stack::LINUX_IDEAL.tcp
        };
        let mut pair = pair(&config, &control, u64::MAX >> 16, path);
        let mut paces = vec![];
        for tick in 1..=4_000 {
            let before = sender(&pair).controller().pacing();
            pair.run(Time::after_start(Span::from_us(tick * 100)));
            paces.resize(pair.capture.len(), before.max(sender(&pair).controller().pacing()));
        }
        let data = pair.capture.iter().zip(paces).filter(|(packet, _)| packet.from == 0);
        // Packets before the first sample are not paced.
        let data: Vec<_> = data.skip(10).filter_map(|(packet, pace)| Some((packet, pace?))).collect();
        assert!(data.len() > 5_000);
        for few in data.windows(3).chain(data.windows(21)) {
            // One packet may make up for having waited for the window.
            let bytes = Bytes::new(SEGMENT * (few.len() as u64 - 2));
            let rate = bytes.per(few[few.len() - 1].0.sent - few[0].0.sent);
            let pace = few.iter().map(|(_, pace)| pace.get()).max().unwrap();
            assert!(rate <= pace as f64 * 1.001, "{rate} at {pace}");
        }
    }
}
