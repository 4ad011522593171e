//! SACK compression: fewer acknowledgements while data is missing. After three acknowledgements of one byte, further
//! acknowledgements of data after the gap are combined: one is sent after a twentieth of the round trip, a millisecond
//! at most, or when 44 wait. State: the acknowledged byte, and how many acknowledgements wait.
//!
//! Source: kernel 6.12, `__tcp_ack_snd_check`, `tcp_sack_new_ofo_skb`; the sysctls `tcp_comp_sack_*`.

use shallop_core::{Span, Time};

/// The number of acknowledgements of one byte that are not delayed (kernel: `TCP_FASTRETRANS_THRESH`).
const DUPLICATES: u8 = 3;
/// The most acknowledgements that are combined into one (`tcp_comp_sack_nr`).
const MOST: u8 = 44;
/// The longest time for which an acknowledgement waits (`tcp_comp_sack_delay_ns`).
const LONGEST: Span = Span::from_ms(1);
/// The delay of the timer beyond its deadline (`tcp_comp_sack_slack_ns`), unless something else wakes the host.
const SLACK: Span = Span::from_us(100);

#[derive(Clone, Copy, Debug)]
pub(super) struct SackCompression {
    pub(super) on: bool,
    /// When the SYN was answered, until data arrives. Then `handshake` is set to the time in between.
    pub(super) answered_at: Option<Time>,
    handshake: Option<Span>,
    rcv_nxt: u64,
    duplicates: u8,
    /// The number of acknowledgements that wait. Sending one sets it to zero.
    pub(super) waiting: u8,
}

impl SackCompression {
    pub(super) const fn new(on: bool) -> Self {
        Self { on, answered_at: None, handshake: None, rcv_nxt: 0, duplicates: 0, waiting: 0 }
    }

    pub(super) fn on_data(&mut self, now: Time) {
        if let Some(at) = self.answered_at.take() {
            self.handshake = Some(now.saturating_since(at));
        }
    }

    /// Records data after a gap that begins at RCV.NXT. Returns how long its acknowledgement may wait; `None` if it
    /// must be sent at once.
    pub(super) fn wait(&mut self, rcv_nxt: u64, rtt: Span) -> Option<Span> {
        if !self.on || self.waiting >= MOST {
            return None;
        }
        if self.rcv_nxt != rcv_nxt {
            (self.rcv_nxt, self.duplicates) = (rcv_nxt, 0);
        }
        if self.duplicates < DUPLICATES {
            self.duplicates += 1;
            return None;
        }
        self.waiting += 1;
        let rtt = self.handshake.map_or(rtt, |handshake| handshake.min(rtt));
        Some((rtt / 20).min(LONGEST) + SLACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_acknowledgement_waits_a_twentieth_of_the_round_trip_and_1_ms_at_most() {
        let rtt = Span::from_ms(10);
        let mut compression = SackCompression::new(true);
        assert_eq!([(); 4].map(|()| compression.wait(7, rtt)), [None, None, None, Some(Span::from_us(600))]);
        assert_eq!(compression.wait(7, Span::from_ms(60)), Some(Span::from_us(1_100)));
        assert_eq!(compression.wait(8, rtt), None, "another byte");
        compression.answered_at = Some(Time::ZERO);
        compression.on_data(Time::after_start(Span::from_ms(2)));
        assert_eq!([(); 3].map(|()| compression.wait(8, rtt))[2], Some(Span::from_us(200)));
    }

    #[test]
    fn at_most_44_acknowledgements_wait() {
        let mut compression = SackCompression::new(true);
        let held = (0..60).filter(|_| compression.wait(7, LONGEST).is_some()).count();
        assert_eq!(held, 44);
        compression.waiting = 0;
        assert!(compression.wait(7, LONGEST).is_some());
        let mut off = SackCompression::new(false);
        assert!((0..60).all(|_| off.wait(7, LONGEST).is_none()));
    }
}
