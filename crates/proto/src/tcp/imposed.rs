//! Limits of a flow besides its windows: a highest pacing rate, an application that offers the message at a rate, in
//! writes of equal size, however slowly TCP takes them, and a time after which the application offers no more. State:
//! the bytes offered so far, and when the next write is due. Units: bytes of the stream.

use super::{config::Config, scoreboard::Scoreboard};
use shallop_core::{BitsPerSec, Bytes, Pace, Span, Time};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Imposed {
    pub(super) max_pacing_rate: Option<BitsPerSec>,
    application: Option<Application>,
    /// How long the application offers data, from the start of the flow on.
    pub(super) lasts: Option<Span>,
    /// When the application offers no more; `None` before the flow starts, and without `lasts`.
    ends: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Application {
    pace: Pace,
    write: Bytes,
    offered: u64,
    /// When the next write is due; `None` before the flow starts, which is the time of the first write.
    next: Option<Time>,
}

impl Imposed {
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        let max_pacing_rate = config.max_pacing_rate;
        max_pacing_rate.map(|_| Box::new(Self { max_pacing_rate, ..Self::default() }))
    }

    /// Limits the application to writes of `write` bytes at `rate`.
    pub(super) fn offer(&mut self, rate: BitsPerSec, write: Bytes) {
        let (pace, write) = (Pace::new(rate), write.max(Bytes::new(1)));
        self.application = Some(Application { pace, write, offered: 0, next: None });
    }

    /// Takes the writes that are due by `now`, and ends the message if the application offers no more: after its last
    /// write if it has a rate, and otherwise after `taken`, the end of the data that TCP has taken over.
    pub(super) fn take_writes(&mut self, now: Time, taken: u64, scoreboard: &mut Scoreboard) {
        let Some(lasts) = self.lasts else { return self.take_due(now, scoreboard) };
        let ends = *self.ends.get_or_insert(now.saturating_add(lasts));
        self.take_due(now.min(ends), scoreboard);
        if now >= ends {
            let offered = self.application.map_or(taken, |application| application.offered);
            scoreboard.end = scoreboard.end.min(offered.max(taken));
            scoreboard.written = scoreboard.end;
        }
    }

    /// Less than a full segment waits for the next write (Nagle's algorithm), unless it ends the message.
    fn take_due(&mut self, now: Time, scoreboard: &mut Scoreboard) {
        let Some(Application { pace, write, offered, next }) = &mut self.application else { return };
        let due = next.get_or_insert(now);
        while *due <= now && *offered < scoreboard.end {
            *offered = offered.saturating_add(write.get());
            *due = due.saturating_add(pace.charge(*write));
        }
        let whole = *offered / scoreboard.mss * scoreboard.mss;
        scoreboard.written = if *offered < scoreboard.end { whole } else { scoreboard.end };
    }

    /// When the application next offers data, if TCP has sent all that it offered before.
    pub(super) fn next_write(&self, scoreboard: &Scoreboard) -> Option<Time> {
        let more = scoreboard.unsent().is_empty() && scoreboard.written < scoreboard.end;
        self.application.filter(|_| more)?.next
    }
}
