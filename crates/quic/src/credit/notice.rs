//! What the receiver of packets tells their sender of the classes with which they arrive (docs/quic-wire.md): a path
//! that erases DSCP has no queue for emulation packets. It tells when most of a number of packets have another class.

use std::time::{Duration, Instant};

use crate::config::Classes;

/// Bytes of a notice.
pub const NOTICE_BYTES: usize = 3;
/// The first byte of a notice on classes.
pub const CLASSES: u8 = 1;

/// Where a DSCP stands, of 6 bits: none is known.
const NONE: u8 = 0xFF;
/// Emulation packets after which it is looked whether most of them have another class.
const WINDOW: u32 = 64;
/// Packets with data that have to be seen with them for a judgement on data.
const LEAST_DATA: u32 = 32;

/// The classes with which packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The DSCP of the newest emulation packet.
    pub emulation: u8,
    /// The DSCP of the newest packet with data of streams; none if there were too few.
    pub data: Option<u8>,
}

impl Notice {
    /// The message.
    #[must_use]
    pub fn encode(self) -> [u8; NOTICE_BYTES] {
        [CLASSES, self.emulation, self.data.unwrap_or(NONE)]
    }

    /// Reads a message; `None` for one of another kind, which is not known, or with a DSCP of more than 6 bits.
    #[must_use]
    pub fn decode(message: [u8; NOTICE_BYTES]) -> Option<Self> {
        let [CLASSES, emulation, data] = message else { return None };
        let is_dscp = |dscp: u8| dscp < 64;
        let data = Some(data).filter(|&data| data != NONE);
        let is_valid = is_dscp(emulation) && data.is_none_or(is_dscp);
        is_valid.then_some(Self { emulation, data })
    }

    /// Whether these are not the classes that this sender has given its packets.
    pub(crate) fn differs_from(self, own: Classes) -> bool {
        self.emulation != own.emulation || self.data.is_some_and(|data| !own.is_of_data(data))
    }
}

impl Classes {
    /// Whether packets with data of streams may have this DSCP.
    fn is_of_data(self, dscp: u8) -> bool {
        [self.data, self.unscheduled].contains(&dscp)
    }
}

/// Packets of one kind since it was looked at them last.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: u32,
    other: u32,
    newest: u8,
}

impl Seen {
    fn add(&mut self, dscp: u8, is_right: bool) {
        self.count = self.count.saturating_add(1);
        self.other = self.other.saturating_add(u32::from(!is_right));
        self.newest = dscp;
    }

    /// Whether at least three of four packets have another class.
    fn is_other(&self) -> bool {
        self.other > 0 && u64::from(self.other) * 4 >= u64::from(self.count) * 3
    }
}

/// The classes of what arrives, at the receiver.
#[derive(Debug)]
pub(crate) struct Watch {
    own: Classes,
    emulation: Seen,
    data: Seen,
    /// A notice leaves no sooner than this after the one before it. A sender that is silent for longer begins anew.
    gap: Duration,
    told_at: Option<Instant>,
    newest_at: Option<Instant>,
}

impl Watch {
    /// A receiver whose own classes are these.
    pub(crate) fn new(own: Classes, gap: Duration) -> Self {
        let (emulation, data) = (Seen::default(), Seen::default());
        Self { own, emulation, data, gap, told_at: None, newest_at: None }
    }

    /// An authentic emulation packet arrived.
    pub(crate) fn on_emulation(&mut self, now: Instant, dscp: u8) {
        // Data that was seen meanwhile left without credits, perhaps.
        if self.newest_at.is_some_and(|at| at + self.gap < now) {
            (self.emulation, self.data) = (Seen::default(), Seen::default());
        }
        self.newest_at = Some(now);
        self.emulation.add(dscp, dscp == self.own.emulation);
    }

    /// A packet with data of streams arrived.
    pub(crate) fn on_data(&mut self, dscp: u8) {
        self.data.add(dscp, self.own.is_of_data(dscp));
    }

    /// The notice that is to be sent now, if any.
    pub(crate) fn notice(&mut self, now: Instant) -> Option<Notice> {
        if self.emulation.count < WINDOW {
            return None;
        }
        let (emulation, data) =
            (std::mem::take(&mut self.emulation), std::mem::take(&mut self.data));
        let knows_data = data.count >= LEAST_DATA;
        let is_other = emulation.is_other() || knows_data && data.is_other();
        let is_due = self.told_at.is_none_or(|at| at + self.gap <= now);
        if is_other && is_due {
            self.told_at = Some(now);
            let data = knows_data.then_some(data.newest);
            return Some(Notice { emulation: emulation.newest, data });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_millis(80);

    fn watch() -> Watch {
        Watch::new(Classes::default(), GAP)
    }

    fn emulation(watch: &mut Watch, now: Instant, (count, dscp): (u32, u8)) {
        (0..count).for_each(|_| watch.on_emulation(now, dscp));
    }

    #[test]
    fn most_of_a_number_of_packets_decide() {
        let (now, right) = (Instant::now(), Classes::default().emulation);
        // So many of 64 with another class.
        for (other, is_told) in [(0, false), (1, false), (47, false), (48, true), (64, true)] {
            let mut watch = watch();
            emulation(&mut watch, now, (WINDOW - other, right));
            emulation(&mut watch, now, (other.saturating_sub(1), 0));
            assert!(other == 0 || watch.notice(now).is_none(), "too few");
            emulation(&mut watch, now, (other.min(1), 0));
            assert_eq!(watch.notice(now).is_some(), is_told, "{other}");
        }
    }

    #[test]
    fn data_counts_with_emulation_packets_and_may_be_unscheduled() {
        let (now, classes) = (Instant::now(), Classes::default());
        for (count, dscp, told) in [
            (31, 0, None),
            (32, 0, Some(Notice { emulation: classes.emulation, data: Some(0) })),
            (500, classes.data, None),
            (500, classes.unscheduled, None),
        ] {
            let mut watch = watch();
            (0..count).for_each(|_| watch.on_data(dscp));
            assert_eq!(watch.notice(now), None, "no emulation packet was seen");
            emulation(&mut watch, now, (WINDOW, classes.emulation));
            assert_eq!(watch.notice(now), told, "{count} of {dscp}");
        }
    }

    #[test]
    fn it_is_told_again_after_a_while() {
        let (begun, mut watch) = (Instant::now(), watch());
        let mut told = 0;
        for millis in 0..200 {
            let now = begun + Duration::from_millis(millis);
            emulation(&mut watch, now, (WINDOW, 0));
            told += u32::from(watch.notice(now).is_some());
        }
        assert_eq!(told, 3);
    }

    #[test]
    fn data_of_a_time_without_emulation_packets_does_not_count() {
        let (begun, mut watch) = (Instant::now(), watch());
        let classes = Classes::default();
        emulation(&mut watch, begun, (1, classes.emulation));
        (0..500).for_each(|_| watch.on_data(0));
        let later = begun + GAP * 2;
        emulation(&mut watch, later, (WINDOW, classes.emulation));
        assert_eq!(watch.notice(later), None);
    }

    #[test]
    fn a_sender_knows_its_own_classes() {
        let own = Classes::default();
        let notice = |emulation, data| Notice { emulation, data }.differs_from(own);
        assert!(!notice(own.emulation, None) && !notice(own.emulation, Some(own.data)));
        assert!(!notice(own.emulation, Some(own.unscheduled)));
        assert!(notice(0, None) && notice(own.emulation, Some(0)) && notice(0, Some(own.data)));
    }

    #[test]
    fn other_messages_are_none() {
        for message in [[0, 0, 0], [2, 24, 10], [1, 64, 10], [1, 24, 64], [1, 0xFF, 0xFF]] {
            assert_eq!(Notice::decode(message), None, "{message:?}");
        }
        for notice in [Notice { emulation: 63, data: Some(0) }, Notice { emulation: 0, data: None }]
        {
            assert_eq!(Notice::decode(notice.encode()), Some(notice));
        }
    }
}
