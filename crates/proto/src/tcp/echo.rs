//! How a receiver echoes congestion marks. State: one bit. Sources: RFC 3168, 6.1.3; RFC 8257, 3.2.

use shallop_core::Ecn;

/// The rule by which marks are echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Not at all.
    Off,
    /// From a mark on, until the sender says that it has reduced its window (RFC 3168).
    Latch,
    /// Exactly: an acknowledgement says whether what it acknowledges was marked (DCTCP).
    Exact,
}

/// The echo of one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    policy: Policy,
    on: bool,
}

impl Echo {
    /// Nothing was marked yet.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self { policy, on: false }
    }

    /// Whether an acknowledgement sent now echoes a mark.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// A data packet came. True if what came before must be acknowledged before this one changes the echo.
    pub fn on_data(&mut self, ecn: Ecn, reduced: bool) -> bool {
        let marked = ecn == Ecn::Ce;
        match self.policy {
            Policy::Off => false,
            Policy::Latch => {
                self.on = marked || (self.on && !reduced);
                false
            }
            Policy::Exact => marked != self.on,
        }
    }

    /// What came before is acknowledged, as [`Echo::on_data`] asked.
    pub const fn turn(&mut self) {
        self.on = !self.on;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latched_echo_lasts_until_the_sender_reduced_and_a_new_mark_starts_it_again() {
        let mut echo = Echo::new(Policy::Latch);
        let packets = [(Ecn::Ect, false), (Ecn::Ce, false), (Ecn::Ect, false), (Ecn::Ect, true)];
        let shown = packets.map(|(ecn, reduced)| {
            echo.on_data(ecn, reduced);
            echo.is_on()
        });
        assert_eq!(shown, [false, true, true, false]);
        echo.on_data(Ecn::Ce, true);
        assert!(echo.is_on(), "marked again, after the reduction");
    }

    #[test]
    fn an_exact_echo_turns_with_every_change_of_the_marks() {
        let mut echo = Echo::new(Policy::Exact);
        let turns = [Ecn::Ect, Ecn::Ce, Ecn::Ce, Ecn::Ect].map(|ecn| {
            let turns = echo.on_data(ecn, false);
            if turns {
                echo.turn();
            }
            turns
        });
        assert_eq!(turns, [false, true, false, true]);
    }
}
