//! AIMD: the window grows by a segment in each round trip and loses a fraction on congestion. No slow start.
//! State: the window. Units: bytes. Source: Chiu and Jain, Computer Networks and ISDN Systems 17, 1989.

use shallop_control::{Ack, Controller, ControllerName, Loss, Marking, Parameters, Start, Window};
use shallop_core::Bytes;
use shallop_options::Options;

/// Parameters of AIMD.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults)]
pub struct Config {
    /// The fraction of the window that congestion leaves.
    #[key(Number(0.1, 0.9), default = 0.5)]
    pub keep: f64,
}

impl Parameters for Config {
    const KINDS: &[ControllerName] = &[ControllerName {
        name: "aimd",
        about: "losses and marks: a fraction of the window at each",
        marking: Marking::Off,
    }];
}

impl Controller for Config {
    type Window = Aimd;

    fn build(&self, start: &Start) -> Aimd {
        Aimd { keep: self.keep, segment: start.mss, window: start.initial_window }
    }
}

/// State of AIMD for one connection.
#[derive(Clone, Debug)]
pub struct Aimd {
    keep: f64,
    segment: Bytes,
    window: Bytes,
}

impl Window for Aimd {
    fn on_ack(&mut self, ack: &Ack) {
        // A sender that does not use its window has not learned that the path carries a larger one.
        if ack.is_cwnd_limited && !ack.in_cwnd_reduction {
            let more = self.segment.get() * ack.acked_sacked.get() / self.window.get();
            self.window += Bytes::new(more);
        }
    }
    fn on_loss(&mut self, _: &Loss) {
        let kept = Bytes::new((self.window.get() as f64 * self.keep) as u64);
        self.window = kept.max(self.segment);
    }
    fn on_rto(&mut self, _: &Loss, _first: bool) {
        self.window = self.segment;
    }
    fn on_mark(&mut self, mark: &Loss) {
        self.on_loss(mark);
    }
    fn window(&self) -> Bytes {
        self.window
    }
    fn slow_start_threshold(&self) -> Bytes {
        self.window
    }
}
