//! The pacer of a receiver's credits: the credit rate, and when the next credit is sent. State: the credits of the
//! current request, the gap, the smoothed round-trip time, and the credit loss since the last update. Units: gaps are
//! times between credits, rates are fractions of the maximum credit rate. Source: the paper and the public code, both
//! named in `mod.rs`.

use super::config::{Config, StopPolicy};
use super::credit_loss::CreditLoss;
use super::head::{Head, UNLIMITED};
use crate::endpoint::Out;
use crate::metered_run::{Clock, MeteredRun, jittered_gap};
use shallop_control::{Epoch, Rate};
use shallop_core::{Class, Ecn, Span, Stream, Time};

/// The minimum credit rate, so that no feedback rule stops the credits: at 10 Gb/s, one credit in about 20 minutes.
const MIN_RATE: f64 = 1e-9;

#[derive(Clone, Debug)]
pub(super) struct CreditPacer<R> {
    pub(super) rule: R,
    random: Stream,
    /// Size on the wire of the smallest credit, in bytes.
    min_size: u16,
    /// The number of sizes from which the size of a credit is drawn; each is one byte larger than the previous.
    sizes: u64,
    min_jitter: f64,
    max_jitter: f64,
    /// Whether the pacer stops when it has sent as many credits as the sender requested.
    bounded: bool,
    /// Mean gap between credits at the maximum rate.
    full_gap: Span,
    /// Mean gap between credits at the current rate.
    gap: Span,
    /// When the next credit is due; `None` while no credits are sent.
    pub(super) due: Option<Time>,
    next: u64,
    /// Number of the first credit for the current request.
    first: u64,
    /// Number of the first credit that the current request does not cover.
    limit: u64,
    /// When the sender sent the current request, by its clock; credits echo it.
    request_sent: Time,
    loss: CreditLoss,
    pub(super) rtt: Option<Span>,
    updated_at: Time,
    /// The rate before the last update. The credits whose outcome the next update learns were sent at this rate.
    previous_rate: f64,
}

impl<R: Rate> CreditPacer<R> {
    pub(super) fn new(config: &Config, rule: R, random: Stream) -> Self {
        let mean_size = f64::midpoint(config.min_credit.into(), config.max_credit.into());
        let max_rate = config.link.share(config.share);
        let full_gap = Span::from_secs_f64(mean_size * 8.0 / max_rate.get() as f64);
        Self {
            random,
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
            request_sent: Time::ZERO,
            loss: CreditLoss::starting_at(0),
            rtt: None,
            updated_at: Time::ZERO,
            previous_rate: rule.rate(),
            rule,
        }
    }

    /// The mean gap between credits while they are sent; `None` while they are not.
    pub(super) fn gap(&self) -> Option<Span> {
        self.due.map(|_| self.gap)
    }

    pub(super) fn sent(&self) -> u64 {
        self.next
    }

    /// Processes a request for credits for `demand` frames. If credits are being sent, it only raises their limit, and
    /// only once if the request is repeated.
    pub(super) fn on_request(&mut self, now: Time, demand: u32, request_sent: Time) {
        if self.due.is_none() {
            self.rule.on_start((demand != UNLIMITED).then_some(u64::from(demand)));
            self.loss = CreditLoss::starting_at(self.next);
            self.previous_rate = self.rule.rate();
            self.set_gap();
            (self.first, self.limit, self.request_sent) = (self.next, self.next, request_sent);
            (self.updated_at, self.due) = (now, Some(now));
        }
        let bounded = self.bounded && demand != UNLIMITED;
        let limit = if bounded { self.first + u64::from(demand.max(1)) } else { u64::MAX };
        self.limit = self.limit.max(limit);
    }

    pub(super) fn stop(&mut self) {
        self.due = None;
    }

    /// Processes data that echoes credit `number`, which was sent at `sent`. Returns the round-trip time, or `None` if
    /// no such credit was sent.
    pub(super) fn on_return(&mut self, now: Time, number: u64, sent: Time) -> Option<Span> {
        if number >= self.next || sent > now {
            return None;
        }
        self.loss.on_return(number);
        let sample = now - sent;
        self.rtt = Some(match self.rtt {
            None => sample,
            Some(rtt) => rtt - rtt / 5 + sample / 5,
        });
        Some(sample)
    }

    /// The next credits that are sent before `until`, before the rate changes and before the last credit.
    pub(super) fn run(&self, until: Time) -> Option<MeteredRun> {
        let at = self.due.filter(|&at| !self.updates(at))?;
        let update = self.rtt.filter(|_| !self.loss.is_empty()).map(|rtt| self.updated_at.saturating_add(rtt));
        // The last credit is not sent before this time.
        let min_gap = self.gap.scale(1.0 + self.min_jitter).max(Span::from_ps(1));
        let others = Span::from_ps(min_gap.as_ps().saturating_mul(self.limit - self.next - 1));
        let until = until.min(update.unwrap_or(Time::LAST)).min(at.saturating_add(others));
        let clock = Clock::Gaps { gap: self.gap, low: self.min_jitter, high: self.max_jitter };
        let &Self { next: sent, min_size, .. } = self;
        let sizes = self.sizes as u16;
        let (random, class) = (self.random.clone(), Class::Credit);
        (at < until).then_some(MeteredRun { at, until, sent, last: at, class, min_size, sizes, random, clock })
    }

    pub(super) fn end_run(&mut self, run: &MeteredRun) -> u64 {
        let sent = run.sent - self.next;
        (self.due, self.next, self.random) = (Some(run.at), run.sent, run.random.clone());
        sent
    }

    pub(super) fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        if self.due? > now {
            return None;
        }
        self.update(now);
        let size = match self.sizes {
            1 => self.min_size,
            sizes => self.min_size + self.random.below(sizes) as u16,
        };
        let credit = self.credit(now, self.next, size);
        self.next += 1;
        let gap = || jittered_gap(self.gap, self.min_jitter, self.max_jitter, &mut self.random);
        self.due = (self.limit > self.next).then(gap).map(|gap| now.saturating_add(gap));
        Some(credit)
    }

    /// The credit with this number, which is sent at `sent`.
    pub(super) fn credit(&self, sent: Time, sequence: u64, size: u16) -> Out<Head> {
        let remaining = u32::try_from(self.limit - (sequence + 1)).unwrap_or(UNLIMITED);
        let head = Head::Credit { sequence, sent, request_sent: self.request_sent, remaining };
        Out { head, body: 0..0, size, class: Class::Credit, ecn: Ecn::Ect }
    }

    /// Whether a credit at `now` updates the credit rate.
    fn updates(&self, now: Time) -> bool {
        let elapsed = now.saturating_since(self.updated_at);
        self.rtt.is_some_and(|rtt| elapsed >= rtt) && !elapsed.is_zero() && !self.loss.is_empty()
    }

    /// Updates the credit rate once in a round trip: reports the loss of credits to the feedback rule.
    fn update(&mut self, now: Time) {
        let Some(rtt) = self.rtt.filter(|_| self.updates(now)) else { return };
        let elapsed = now.saturating_since(self.updated_at);
        let (sent, returned) = self.loss.take_counts();
        let epoch = Epoch {
            now,
            rate: self.previous_rate,
            sent,
            returned,
            elapsed,
            returned_rate: returned as f64 * self.full_gap.ratio(elapsed),
            min_rate: self.full_gap.ratio(rtt),
        };
        self.previous_rate = self.rule.rate();
        self.rule.on_epoch(&epoch);
        self.updated_at = now;
        self.set_gap();
    }

    fn set_gap(&mut self) {
        self.gap = self.full_gap.scale(1.0 / self.rule.rate().max(MIN_RATE));
    }
}
