//! The work for an acknowledgement does not grow with the window.

use crate::support::tcp::{SEGMENT, plain};
use shallop_control::{Ack, Loss, Window};
use shallop_core::{Bytes, Ecn, Seed, Span, Time};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config, Detection, Receiver, Sender, Stack};
use std::collections::VecDeque;

/// A controller with a constant window of this many segments.
#[derive(Clone, Debug)]
struct Fixed(u64);

impl Window for Fixed {
    fn on_ack(&mut self, _ack: &Ack) {}
    fn on_loss(&mut self, _loss: &Loss) {}
    fn on_rto(&mut self, _loss: &Loss, _first: bool) {}
    fn window(&self) -> Bytes {
        Bytes::new(self.0 * SEGMENT)
    }
    fn slow_start_threshold(&self) -> Bytes {
        Bytes::MAX
    }
    fn owns_recovery(&self) -> bool {
        true
    }
}

/// Records visited for each packet, with half of all segments lost and `window` segments in flight.
fn work(config: &Config, window: u64, packets: u64) -> f64 {
    let mut sender = Sender::new(config, Fixed(window), None);
    let mut receiver = Receiver::new(config, None);
    let mut chance = Seed::new(5).stream("loss", 0);
    let mut wire = VecDeque::new();
    let (mut now, mut events) = (Time::ZERO, 0);
    sender.on_timer(now);
    while events < packets {
        while let Some(out) = sender.poll(now) {
            events += 1;
            wire.push_back((!chance.chance(0.5)).then_some(out.head));
        }
        now += Span::from_ns(1_230);
        if let Some(arrived) = wire.pop_front() {
            let Some(head) = arrived else { continue };
            receiver.on_packet(now, &head, Ecn::NotEct);
            while let Some(out) = receiver.poll(now) {
                events += 1;
                sender.on_packet(now, &out.head, out.ecn);
            }
        } else if let Some(due) = sender.wakeup() {
            now = now.max(due);
        }
        if sender.wakeup().is_some_and(|due| due <= now) {
            sender.on_timer(now);
        }
    }
    assert!(sender.counters().retransmits > packets / 8);
    sender.scoreboard.records_visited as f64 / events as f64
}

#[test]
fn work_per_packet_does_not_grow_with_the_window() {
    let rack = Config { detection: Detection::Rack, ..Stack::LINUX_IDEAL.tcp };
    for config in [plain(), Config { handshake: false, ..rack }] {
        let (small, large) = (work(&config, 1_000, 400_000), work(&config, 33_000, 800_000));
        assert!(small < 6.0 && large < 6.0, "{:?}: {small} and {large}", config.detection);
    }
}
