//! Notices of a receiver about the DSCP with which packets arrive (docs/quic-wire.md). A path that rewrites the DSCP
//! has no queue for emulation packets, so its sender has to stop using credits. A receiver sends a notice when most
//! packets arrive with an unexpected DSCP.

use crate::config::Classes;
use std::time::{Duration, Instant};

/// The length of a notice, bytes.
pub const NOTICE_BYTES: usize = 3;
/// The first byte of a notice about DSCP, its type.
pub const CLASSES: u8 = 1;

/// The value in place of a DSCP, which has 6 bits, if it is unknown.
const UNKNOWN: u8 = 0xFF;
/// The number of emulation packets after which the DSCP seen meanwhile are evaluated.
const WINDOW: u32 = 64;
/// The least number of data packets in a window for a notice about data.
const MIN_DATA: u32 = 32;

/// The DSCP with which packets of the peer arrive, as reported to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DscpNotice {
    /// The DSCP of the newest emulation packet.
    pub emulation: u8,
    /// The DSCP of the newest data packet; `None` if too few data packets arrived.
    pub data: Option<u8>,
}

impl DscpNotice {
    /// Encodes the message.
    pub fn encode(self) -> [u8; NOTICE_BYTES] {
        [CLASSES, self.emulation, self.data.unwrap_or(UNKNOWN)]
    }

    /// Decodes a message; `None` if its type is unknown or a DSCP has more than 6 bits.
    pub fn decode(message: [u8; NOTICE_BYTES]) -> Option<Self> {
        let [CLASSES, emulation, data] = message else { return None };
        let is_dscp = |dscp: u8| dscp < 64;
        let data = Some(data).filter(|&data| data != UNKNOWN);
        let is_valid = is_dscp(emulation) && data.is_none_or(is_dscp);
        is_valid.then_some(Self { emulation, data })
    }

    /// Whether the DSCP at the receiver differ from `own`, the DSCP that the sender sets.
    pub(crate) fn differs_from(self, own: Classes) -> bool {
        self.emulation != own.emulation || self.data.is_some_and(|data| !own.is_of_data(data))
    }
}

impl Classes {
    /// Whether data packets of a sender with these classes may have this DSCP.
    fn is_of_data(self, dscp: u8) -> bool {
        [self.data, self.unscheduled].contains(&dscp)
    }
}

/// Counts of the DSCP that packets of one kind had since the last evaluation.
#[derive(Clone, Copy, Debug, Default)]
struct DscpCounts {
    count: u32,
    /// Packets whose DSCP is not the expected one.
    unexpected: u32,
    /// Emulation packets with the DSCP of data, as tests of the path send them: a meter drops the others first.
    as_data: u32,
    newest: u8,
}

impl DscpCounts {
    fn add(&mut self, dscp: u8, is_expected: bool) {
        self.count = self.count.saturating_add(1);
        self.unexpected = self.unexpected.saturating_add(u32::from(!is_expected));
        self.newest = dscp;
    }

    /// Whether all packets have an unexpected DSCP, or three quarters of the packets that are not of a path test.
    fn are_mostly_unexpected(&self) -> bool {
        let [others, all] = [self.unexpected, self.count].map(|count| u64::from(count - self.as_data));
        self.unexpected > 0 && (self.unexpected == self.count || others * 4 >= all * 3)
    }
}

/// Watches the DSCP of arriving packets at the receiver.
#[derive(Debug)]
pub(crate) struct DscpMonitor {
    own: Classes,
    emulation: DscpCounts,
    data: DscpCounts,
    /// The least time between two notices. A sender's pause of this length restarts the counts.
    gap: Duration,
    notice_at: Option<Instant>,
    newest_emulation_at: Option<Instant>,
}

impl DscpMonitor {
    pub(crate) fn new(own: Classes, gap: Duration) -> Self {
        let (emulation, data) = (DscpCounts::default(), DscpCounts::default());
        Self { own, emulation, data, gap, notice_at: None, newest_emulation_at: None }
    }

    /// Notes an authentic emulation packet.
    pub(crate) fn on_emulation(&mut self, now: Instant, dscp: u8) {
        // Data packets of the pause may have been sent without credits.
        if self.newest_emulation_at.is_some_and(|at| at + self.gap < now) {
            (self.emulation, self.data) = (DscpCounts::default(), DscpCounts::default());
        }
        self.newest_emulation_at = Some(now);
        let is_expected = dscp == self.own.emulation;
        self.emulation.add(dscp, is_expected);
        self.emulation.as_data += u32::from(!is_expected && dscp == self.own.data);
    }

    pub(crate) fn on_data(&mut self, dscp: u8) {
        self.data.add(dscp, self.own.is_of_data(dscp));
    }

    /// The notice to send now, if any.
    pub(crate) fn notice(&mut self, now: Instant) -> Option<DscpNotice> {
        if self.emulation.count < WINDOW {
            return None;
        }
        let (emulation, data) = (std::mem::take(&mut self.emulation), std::mem::take(&mut self.data));
        let knows_data = data.count >= MIN_DATA;
        let is_unexpected = emulation.are_mostly_unexpected() || knows_data && data.are_mostly_unexpected();
        let is_due = self.notice_at.is_none_or(|at| at + self.gap <= now);
        if is_unexpected && is_due {
            self.notice_at = Some(now);
            let data = knows_data.then_some(data.newest);
            return Some(DscpNotice { emulation: emulation.newest, data });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_millis(80);

    fn monitor() -> DscpMonitor {
        DscpMonitor::new(Classes::default(), GAP)
    }

    fn emulation(monitor: &mut DscpMonitor, now: Instant, count: u32, dscp: u8) {
        (0..count).for_each(|_| monitor.on_emulation(now, dscp));
    }

    #[test]
    fn a_notice_needs_three_of_four_emulation_packets_with_another_dscp() {
        let (now, right) = (Instant::now(), Classes::default().emulation);
        // The number of 64 packets with another DSCP.
        for (other, is_told) in [(0, false), (1, false), (47, false), (48, true), (64, true)] {
            let mut monitor = monitor();
            emulation(&mut monitor, now, WINDOW - other, right);
            emulation(&mut monitor, now, other.saturating_sub(1), 0);
            assert!(other == 0 || monitor.notice(now).is_none(), "too few");
            emulation(&mut monitor, now, other.min(1), 0);
            assert_eq!(monitor.notice(now).is_some(), is_told, "{other}");
        }
    }

    #[test]
    fn a_test_whose_marked_packets_a_meter_drops_causes_no_notice() {
        let (now, own) = (Instant::now(), Classes::default());
        for (marked, is_told) in [(1, false), (0, true)] {
            let mut monitor = monitor();
            emulation(&mut monitor, now, marked, own.emulation);
            emulation(&mut monitor, now, WINDOW - marked, own.data);
            assert_eq!(monitor.notice(now).is_some(), is_told, "{marked}");
        }
    }

    #[test]
    fn data_is_evaluated_with_emulation_packets_and_may_be_unscheduled() {
        let (now, classes) = (Instant::now(), Classes::default());
        for (count, dscp, told) in [
            (31, 0, None),
            (32, 0, Some(DscpNotice { emulation: classes.emulation, data: Some(0) })),
            (500, classes.data, None),
            (500, classes.unscheduled, None),
        ] {
            let mut monitor = monitor();
            (0..count).for_each(|_| monitor.on_data(dscp));
            assert_eq!(monitor.notice(now), None, "no emulation packet was seen");
            emulation(&mut monitor, now, WINDOW, classes.emulation);
            assert_eq!(monitor.notice(now), told, "{count} of {dscp}");
        }
    }

    #[test]
    fn a_notice_is_repeated_after_the_gap() {
        let (begun, mut monitor) = (Instant::now(), monitor());
        let mut told = 0;
        for millis in 0..200 {
            let now = begun + Duration::from_millis(millis);
            emulation(&mut monitor, now, WINDOW, 0);
            told += u32::from(monitor.notice(now).is_some());
        }
        assert_eq!(told, 3);
    }

    #[test]
    fn data_of_a_pause_of_the_sender_does_not_count() {
        let (begun, mut monitor) = (Instant::now(), monitor());
        let classes = Classes::default();
        emulation(&mut monitor, begun, 1, classes.emulation);
        (0..500).for_each(|_| monitor.on_data(0));
        let later = begun + GAP * 2;
        emulation(&mut monitor, later, WINDOW, classes.emulation);
        assert_eq!(monitor.notice(later), None);
    }

    #[test]
    fn a_notice_differs_if_any_dscp_is_not_the_senders() {
        let own = Classes::default();
        let notice = |emulation, data| DscpNotice { emulation, data }.differs_from(own);
        assert!(!notice(own.emulation, None) && !notice(own.emulation, Some(own.data)));
        assert!(!notice(own.emulation, Some(own.unscheduled)));
        assert!(notice(0, None) && notice(own.emulation, Some(0)) && notice(0, Some(own.data)));
    }

    #[test]
    fn malformed_notices_are_refused() {
        for message in [[0, 0, 0], [2, 24, 10], [1, 64, 10], [1, 24, 64], [1, 0xFF, 0xFF]] {
            assert_eq!(DscpNotice::decode(message), None, "{message:?}");
        }
        for notice in [DscpNotice { emulation: 63, data: Some(0) }, DscpNotice { emulation: 0, data: None }] {
            assert_eq!(DscpNotice::decode(notice.encode()), Some(notice));
        }
    }
}
