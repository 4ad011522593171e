//! The credit engine of a receiver: when the next credit leaves, and at what rate the one after it.
//! State: the grant that is being sent, the gap, the smoothed round trip and the fate of credits since the last update.
//! Units: gaps are times between credits, rates fractions of the maximum credit rate. Source: PROTOCOLS 7.4, 7.5.

use shallop_control::{Epoch, Rate};
use shallop_core::{Class, Ecn, Span, Stream, Time};

use super::config::{Config, StopPolicy};
use super::head::{ENDLESS, Head};
use super::outcomes::Outcomes;
use crate::endpoint::Out;

/// No rule may stop the credits altogether: at this fraction of the maximum one leaves in twenty minutes at 10 Gb/s.
const LEAST_RATE: f64 = 1e-9;

/// The credits of a flow.
#[derive(Clone, Debug)]
pub(super) struct Pacer<R> {
    rule: R,
    chance: Stream,
    /// The smallest credit, and how many sizes there are from it on.
    min_size: u16,
    sizes: u64,
    min_jitter: f64,
    max_jitter: f64,
    /// Whether a grant ends when it covers the demand.
    bounded: bool,
    /// The gap at the maximum rate, and now.
    full_gap: Span,
    gap: Span,
    /// When the next credit leaves; `None` between grants.
    due: Option<Time>,
    /// The number of the next credit, of the first one of this grant and of the first one not granted.
    next: u64,
    first: u64,
    limit: u64,
    /// When the request was sent that this grant answers.
    asked: Time,
    outcomes: Outcomes,
    rtt: Option<Span>,
    updated_at: Time,
    /// The rate before the last update, at which the credits were sent whose fate is known at the next one.
    earlier_rate: f64,
}

impl<R: Rate> Pacer<R> {
    /// No credit is due.
    pub(super) fn new(config: &Config, rule: R, chance: Stream) -> Self {
        let mean_size = f64::midpoint(config.min_credit.into(), config.max_credit.into());
        let max_rate = config.link.share(config.share);
        let full_gap = Span::from_secs_f64(mean_size * 8.0 / max_rate.get() as f64);
        Self {
            chance,
            min_size: config.min_credit,
            sizes: u64::from(config.max_credit.saturating_sub(config.min_credit)) + 1,
            min_jitter: config.min_jitter,
            max_jitter: config.max_jitter,
            bounded: config.stop == StopPolicy::Demand,
            full_gap,
            gap: full_gap,
            due: None,
            next: 0,
            first: 0,
            limit: 0,
            asked: Time::ZERO,
            outcomes: Outcomes::after(0),
            rtt: None,
            updated_at: Time::ZERO,
            earlier_rate: rule.rate(),
            rule,
        }
    }

    /// The rule that steers the rate.
    pub(super) fn rule(&self) -> &R {
        &self.rule
    }

    /// Smoothed round-trip time, once there was one.
    pub(super) fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// How many credits were sent.
    pub(super) fn sent(&self) -> u64 {
        self.next
    }

    /// When the next credit leaves.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Credits are wanted for so many frames. A grant that is being sent is only made longer, and not twice for the
    /// same demand.
    pub(super) fn on_request(&mut self, now: Time, demand: u32, asked: Time) {
        let granting = self.due.is_some();
        if !granting {
            self.rule.on_start((demand != ENDLESS).then_some(u64::from(demand)));
            self.outcomes = Outcomes::after(self.next);
            self.earlier_rate = self.rule.rate();
            self.set_gap();
            (self.first, self.limit, self.asked) = (self.next, self.next, asked);
            (self.updated_at, self.due) = (now, Some(now));
        }
        let bounded = self.bounded && demand != ENDLESS;
        let limit = if bounded { self.first + u64::from(demand.max(1)) } else { u64::MAX };
        self.limit = self.limit.max(limit);
    }

    /// No more credits are wanted.
    pub(super) fn stop(&mut self) {
        self.due = None;
    }

    /// Data came that was sent for this credit. Gives the round-trip time, or `None` if there was no such credit.
    pub(super) fn on_return(&mut self, now: Time, number: u64, sent: Time) -> Option<Span> {
        if number >= self.next || sent > now {
            return None;
        }
        self.outcomes.on_return(number);
        let sample = now - sent;
        self.rtt = Some(match self.rtt {
            None => sample,
            Some(rtt) => rtt - rtt / 5 + sample / 5,
        });
        Some(sample)
    }

    /// The next credit, if it is due.
    pub(super) fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        if self.due? > now {
            return None;
        }
        self.update(now);
        let size = match self.sizes {
            1 => self.min_size,
            sizes => self.min_size + self.chance.below(sizes) as u16,
        };
        let sequence = self.next;
        self.next += 1;
        let left = self.limit - self.next;
        self.due = (left > 0).then(|| now.saturating_add(self.jittered_gap()));
        let left = u32::try_from(left).unwrap_or(ENDLESS);
        let head = Head::Credit { sequence, sent: now, asked: self.asked, left };
        Some(Out { head, body: 0..0, size, class: Class::Credit, ecn: Ecn::Ect })
    }

    /// Lets the rule judge what became of the credits, once a round trip.
    fn update(&mut self, now: Time) {
        let Some(rtt) = self.rtt else { return };
        let elapsed = now.saturating_since(self.updated_at);
        if elapsed < rtt || elapsed.is_zero() || self.outcomes.is_empty() {
            return;
        }
        let (sent, returned) = self.outcomes.take();
        let epoch = Epoch {
            now,
            rate: self.earlier_rate,
            sent,
            returned,
            elapsed,
            returned_rate: returned as f64 * self.full_gap.ratio(elapsed),
            floor: self.full_gap.ratio(rtt),
        };
        self.earlier_rate = self.rule.rate();
        self.rule.on_epoch(&epoch);
        self.updated_at = now;
        self.set_gap();
    }

    fn set_gap(&mut self) {
        self.gap = self.full_gap.scale(1.0 / self.rule.rate().max(LEAST_RATE));
    }

    /// The gap to the next credit; at least a tick, so that time goes on whatever the jitter.
    fn jittered_gap(&mut self) -> Span {
        let gap = if self.min_jitter < self.max_jitter {
            self.gap.scale(1.0 + self.chance.between(self.min_jitter, self.max_jitter))
        } else {
            self.gap.scale(1.0 + self.min_jitter)
        };
        gap.max(Span::from_ps(1))
    }
}
