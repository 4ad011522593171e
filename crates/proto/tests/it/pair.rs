//! Tests of the Pair itself, with a stop-and-wait transport.

use crate::support::{Pair, Path};
use shallop_core::{Class, Ecn, Span, Time};
use shallop_proto::{Endpoint, EndpointCounters, Out, wire};

/// Sends `size` bytes in segments of 1000, one at a time, and retransmits each until it is acknowledged.
#[derive(Default)]
struct StopAndWait {
    size: u64,
    sender: bool,
    at: u64,
    due: Option<Time>,
    speak: bool,
    sent: u64,
}

impl Endpoint for StopAndWait {
    type Head = u64;

    fn on_packet(&mut self, _now: Time, head: &u64, _ecn: Ecn) {
        if *head == self.at || !self.sender {
            self.speak = true;
        }
        if *head == self.at {
            self.at = (self.at + 1000).min(self.size);
            self.due = None;
        }
    }
    fn on_timer(&mut self, _now: Time) {
        (self.speak, self.due) = (true, None);
    }
    fn ready(&self, _now: Time) -> bool {
        self.speak && !(self.sender && self.is_complete())
    }
    fn poll(&mut self, now: Time) -> Option<Out<u64>> {
        self.speak = false;
        self.sent += 1;
        let stop = (self.at + 1000).min(self.size);
        let (body, class) = if self.sender {
            self.due = Some(now + Span::from_ms(100));
            (self.at..stop, Class::Data)
        } else {
            (0..0, Class::Ack)
        };
        let head = if self.sender { self.at } else { self.at.saturating_sub(1).div_euclid(1000) * 1000 };
        let size = wire::data_frame(body.end - body.start);
        Some(Out { head, body, size, class, ecn: Ecn::NotEct })
    }
    fn wakeup(&self) -> Option<Time> {
        self.due
    }
    fn is_complete(&self) -> bool {
        self.at == self.size
    }
    fn counters(&self) -> EndpointCounters {
        EndpointCounters { sent: self.sent, received: self.at, ..EndpointCounters::default() }
    }
}

fn pair(path: Path) -> Pair<StopAndWait> {
    let end = |sender| StopAndWait { size: 10_500, sender, ..StopAndWait::default() };
    Pair::new(end(true), end(false), path, 1)
}

#[test]
fn stop_and_wait_takes_a_round_trip_for_each_segment() {
    let pair = pair(Path::clean()).complete_by(Time::after_start(Span::from_secs(1)));
    assert_eq!(pair.carried(), [(0, 10_500)]);
    let trips = pair.now.since_start().ratio(Span::from_ms(10));
    assert!((11.0..11.1).contains(&trips), "{trips}");
}

#[test]
fn a_lossy_path_takes_longer_and_delivers_everything() {
    let mut pair = pair(Path { loss: 0.3, ..Path::clean() });
    assert!(pair.run(Time::after_start(Span::from_secs(60))));
    assert_eq!(pair.carried(), [(0, 10_500)]);
    assert!(pair.now > Time::after_start(Span::from_ms(200)));
}
