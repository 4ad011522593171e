//! Options of Aeolus: the unscheduled data that a flow sends before its first credit.

use super::{FlowContext, LONGEST};
use shallop_core::{Bytes, Span};
use shallop_options::{Key, Options, Problem, Section, string_enum};
use shallop_proto::aeolus;

/// Limits of the unscheduled burst of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aeolus {
    /// The largest burst in bytes on the wire; `None` for what the sender's link carries while the burst may last.
    pub burst: Option<Bytes>,
    pub until: BurstUntil,
    /// How long a kept connection must be idle before its next flow has a burst.
    pub renew_after: Span,
    pub acks: UnscheduledAcks,
}

/// The option that turns Aeolus on, for transports whose name does not imply it.
#[derive(Clone, Copy, Debug, Options)]
pub struct AeolusSwitch {
    /// Whether a flow sends data before its first credit, as unscheduled packets (Aeolus).
    #[key(default = false)]
    pub aeolus: bool,
}

#[derive(Clone, Copy, Debug, Options)]
pub struct BurstSize {
    /// The most that a flow sends without a credit.
    #[key(
        Size(Bytes::new(1), Bytes::new(1_000_000_000_000)),
        shown = "what the sender's link carries in a base round-trip time; no limit in `aeolus-paper`"
    )]
    pub burst: Option<Bytes>,
    /// With `connections = "kept"`: how long a connection must be idle before its next flow sends data without credits
    /// (3.3.1: "renew a flow once a flow idles for a period"). `"0s"`: every flow does.
    #[key(Time(Span::ZERO, LONGEST), default = Span::ZERO)]
    pub renew_after: Span,
}

/// The option that ends the burst, for transports whose first credit cannot be used at once.
#[derive(Clone, Copy, Debug, Options)]
pub struct BurstEnd {
    /// When data is no longer sent without credits: at the first answer (`"first-credit"`), or when the first
    /// credit may be used, a waiting time after the start (`"wait"`).
    #[key(default = BurstUntil::FirstResponse)]
    pub burst_until: BurstUntil,
    /// How a receiver acknowledges data that was sent without credits: up to 64 packets together (`"together"`), or
    /// each packet by itself, as in the Aeolus paper (`"each"`).
    #[key(default = UnscheduledAcks::Together)]
    pub unscheduled_acks: UnscheduledAcks,
}

/// How unscheduled packets are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UnscheduledAcks {
    #[default]
    Together,
    Each,
}

string_enum! { UnscheduledAcks { Together = "together", Each = "each" } }

/// The event that ends a burst which has not reached its largest size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BurstUntil {
    /// The first packet from the receiver arrives.
    #[default]
    FirstResponse,
    /// The first credit may be used: in `FlashPass`, one waiting time after the start.
    FirstData,
}

string_enum! { BurstUntil { FirstResponse = "first-credit", FirstData = "wait" } }

impl Aeolus {
    /// Returns the burst if Aeolus is on. `keys` are the keys that describe the burst.
    ///
    /// # Errors
    /// If Aeolus is off and one of its keys is written.
    pub(super) fn when_on(
        self, on: bool, section: &Section<'_>, keys: &[&'static Key],
    ) -> Result<Option<Self>, Problem> {
        match keys.iter().copied().find(|key| section.is_written(*key)) {
            Some(key) if !on => {
                let message = "nothing is sent before the first credit";
                Err(section.reject(key, message).with_help("it goes with aeolus = true"))
            }
            _ => Ok(on.then_some(self)),
        }
    }

    /// The configuration of a flow's burst, which may last for `duration`.
    pub(super) fn burst_config(self, flow: &FlowContext, duration: Span) -> aeolus::Config {
        let link = flow.sender_link;
        let max_burst = self.burst.unwrap_or_else(|| link.bytes_in(duration));
        aeolus::Config { link, max_burst, renew_after: self.renew_after }
    }
}
