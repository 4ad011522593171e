//! Aeolus's start of a connection: its first data leaves at the rate of the link before there is a credit, and a probe
//! behind it (docs/aeolus.md). The rule is that of the simulator ([`UnscheduledBurst`]); what is lost is QUIC's to
//! find, and leaves again on credits.

use shallop_core::{Bytes, Time};
use shallop_proto::aeolus::{self, UnscheduledBurst, UnscheduledPacket};

use crate::config::Config;

/// UDP payload that is longer than the payload of TCP in a frame of the same length: headers of IP and TCP are 40
/// bytes, those of IP and UDP 28.
const OVER_PAYLOAD: u16 = 12;

/// Data before the first credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unscheduled {
    /// The most that leaves without a credit, bytes on the wire.
    pub burst: Bytes,
    /// Whether it leaves until the first credit may be used, `T_wait` after the start, and not only until the first
    /// answer.
    pub until_first_data: bool,
}

/// The start of a connection.
#[derive(Debug)]
pub(crate) struct Burst {
    rule: UnscheduledBurst,
    until_first_data: bool,
    has_begun: bool,
    /// Bytes of a full packet, as the rule counts them.
    payload: u64,
    acked: u64,
    lost: u64,
}

/// What leaves without a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A packet with data.
    Data,
    /// The probe: a packet that asks for an acknowledgement, and has no data.
    Probe,
}

impl Burst {
    pub(crate) fn new(config: &Config) -> Self {
        let payload = u64::from(config.datagram.saturating_sub(OVER_PAYLOAD).max(1));
        let burst = config.unscheduled.filter(|_| config.credits);
        let of = |of: Unscheduled| aeolus::Config { link: config.link, max_burst: of.burst };
        Self {
            rule: UnscheduledBurst::new(burst.map(of), payload, None),
            until_first_data: burst.is_some_and(|burst| burst.until_first_data),
            has_begun: false,
            payload,
            acked: 0,
            lost: 0,
        }
    }

    /// What leaves now, if `queued` bytes of data wait, and more may come of the same streams. The first data of the
    /// connection begins the burst; it ends where streams end.
    pub(crate) fn next(&mut self, now: Time, queued: usize, may_grow: bool) -> Option<Next> {
        self.rule.on_timer(now);
        if !self.has_begun && queued > 0 {
            self.has_begun = true;
            self.rule.start();
        }
        if self.rule.is_bursting() && queued == 0 {
            if may_grow {
                return None;
            }
            self.rule.stop();
        }
        Some(match self.rule.poll(now)? {
            UnscheduledPacket::Payload(_) => Next::Data,
            UnscheduledPacket::Probe(_) => Next::Probe,
        })
    }

    /// A credit arrived, or an acknowledgement of unscheduled data.
    pub(crate) fn on_answer(&mut self) {
        if !self.until_first_data {
            self.stop();
        }
    }

    /// The first credit may be used, or something was lost.
    pub(crate) fn stop(&mut self) {
        self.rule.stop();
    }

    /// So many unscheduled packets are acknowledged by now.
    pub(crate) fn on_acked(&mut self, count: u64) {
        if count > self.acked {
            self.acked = count;
            self.settle();
            self.on_answer();
        }
    }

    /// So many packets are lost: says how many of them are taken for unscheduled ones, which are the first that QUIC
    /// finds.
    pub(crate) fn on_lost(&mut self, packets: u64) -> u64 {
        let of_burst = packets.min(self.outstanding());
        self.lost += of_burst;
        self.settle();
        of_burst
    }

    fn settle(&mut self) {
        self.rule.on_acked(0..(self.acked + self.lost).saturating_mul(self.payload));
    }

    /// Unscheduled packets of which nothing is known. Credits are asked for them, too: what is lost has its credits by
    /// then.
    pub(crate) fn outstanding(&self) -> u64 {
        self.rule.outstanding()
    }

    /// When the next packet is due.
    pub(crate) fn wakeup(&self) -> Option<Time> {
        self.rule.wakeup()
    }
}
