//! Sends and receives the emulation packets and credits of one connection. As a sender it decides when emulation
//! packets and data packets leave; as a receiver it answers each emulation packet with a credit. It knows nothing of
//! bytes and streams. All times, also those on the wire, count from the end of the handshake by this side's clock.

mod probing;

use crate::config::{Config, SPIN};
use crate::credit::fallback_detector::DataLossDetector;
use crate::credit::outstanding::{Outstanding, SentEmulation};
use crate::credit::packet::{Credit, Emulation, Encoded, MacKey, Packet, PacketKind, Parsed, Stamp};
use crate::credit::stats::CreditStats;
use crate::{credit::counters::DropCounters, credit::emulation_bucket::EmulationBucket};
use crate::{credit::path_probe::PathProbe, credit::replay::ReplayWindow, credit::settings::CreditSettings};
use shallop_control::flashpass::Law;
use shallop_core::{Seed, Span, Time};
use shallop_proto::flashpass::CreditEngine;

/// A sender that is later than this, and later than four gaps between emulation packets, skips those that it missed.
const MAX_LATENESS: Span = Span::from_ms(1);
/// The longest time for which packets that are due wait for others, and how often the slack has to hold it.
const MAX_TURN: Span = Span::from_us(100);
const TURNS_IN_SLACK: u64 = 8;
/// The resolution of send times on the wire, 8.192 ns.
const STEP: Span = shallop_proto::flashpass::head::TIMESTAMP_STEP;
/// The time that QUIC may need to detect losses, in addition to two waiting times: delays of acknowledgements.
const LOSS_DETECTION: Span = Span::from_ms(100);
/// The number of emulation packets without any credit after which the connection falls back: the path drops them.
const UNANSWERED: u64 = 64;
/// The number of authentic stamps of packets that were never sent, after which the peer counts as forging credits.
const MAX_FORGED: u64 = 16;

/// What happens at the planned time of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    Data,
    /// Nothing is sent, because the host is later than the slack.
    Skipped,
}

/// Whether a packet of the peer is authentic and new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketNovelty {
    /// The packet is not authentic, or has been accepted before.
    Rejected,
    New,
    /// The packet is an emulation packet and later than all others.
    NewestEmulation,
}

#[derive(Debug)]
pub(crate) struct CreditExchange {
    config: Config,
    pub(crate) engine: CreditEngine<Law>,
    /// The number of credit engines of this connection before the current one.
    engines: u64,
    pub(crate) loss_detector: DataLossDetector,
    outstanding: Outstanding,
    /// The newest test of how the path treats emulation packets.
    probe: Option<PathProbe>,
    probes: u64,
    /// The waiting time: the longer one of both sides.
    pub(crate) wait: Span,
    slack: Span,
    /// The send time of the newest emulation packet; each packet has a later one than the packet before.
    sent_at: Time,
    bucket: EmulationBucket,
    /// Before this time no emulation packet and no data packet leaves, so that several leave together.
    next_turn: Time,
    /// The send time of the first emulation packet.
    first_at: Option<Time>,
    own_key: MacKey,
    peer_key: MacKey,
    peer: CreditSettings,
    own_batch: usize,
    seen: ReplayWindow,
    /// The arrival time of the peer's newest emulation packet.
    newest_at: Time,
    /// The credit packet that is held back for further emulation packets.
    pending_credit: Option<Credit>,
    credit_due: Option<Time>,
    /// The longest time for which a credit packet is held back.
    credit_delay: Span,
    /// Counts of this connection, to which the current engine adds its counts.
    stats: CreditStats,
    /// Credits that were not used because there was nothing to send.
    pub(crate) unused: u64,
}

/// Creates a credit engine. `earlier` is the number of earlier engines of the connection, so that each draws other
/// random numbers.
fn engine(config: &Config, wait: Span, tag: u16, earlier: u64) -> CreditEngine<Law> {
    let stream = u64::from(tag) | earlier << 16;
    let random = Seed::new(config.seed).stream("emulation", stream);
    CreditEngine::new(config.engine(wait), config.law, random)
}

impl CreditExchange {
    /// Creates the exchange of a connection. `own_key` authenticates the packets of this side, and `peer_key` the
    /// packets of the peer.
    pub(crate) fn new(config: &Config, own_key: MacKey, peer_key: MacKey, peer: CreditSettings) -> Self {
        let wait = config.wait_span().max(peer.wait);
        Self {
            newest_at: Time::ZERO,
            config: *config,
            engine: engine(config, wait, peer.tag, 0),
            engines: 0,
            loss_detector: DataLossDetector::new(wait, wait * 2 + LOSS_DETECTION),
            outstanding: Outstanding::default(),
            probe: None,
            probes: 0,
            wait,
            slack: Span::from(config.slack),
            sent_at: Time::ZERO,
            bucket: EmulationBucket::new(wait * 4, config.slack.into()),
            next_turn: Time::ZERO,
            first_at: None,
            own_key,
            peer_key,
            own_batch: usize::from(config.stamps()),
            seen: ReplayWindow::new(wait * 2),
            peer,
            pending_credit: None,
            credit_due: None,
            credit_delay: config.credit_delay(),
            stats: CreditStats::default(),
            unused: 0,
        }
    }

    /// Sets the number of packets that wait for credits.
    pub(crate) fn set_demand(&mut self, now: Time, packets: u64) {
        self.engine.set_demand(now, Some(packets));
    }

    /// Returns the emulation packet that is due, if any.
    pub(crate) fn emulate(&mut self, now: Time) -> Option<(PacketKind, Encoded)> {
        self.emulation_due().filter(|&at| at <= now)?;
        let (planned, gap) = (self.engine.next_emulation()?, self.engine.gap());
        let at = floor(now).max(self.sent_at.saturating_add(STEP));
        // The engine has one slot for each packet and takes skipped slots for a pause.
        let is_behind = at.saturating_since(planned) > MAX_LATENESS.max(gap * 4);
        let slot = if is_behind { at } else { planned };
        let emulation = self.engine.emulate(slot)?;
        self.sent_at = at;
        let late = at.saturating_since(slot);
        self.bucket.take(now, planned, gap);
        self.first_at.get_or_insert(at);
        self.loss_detector.on_emulation(at);
        self.outstanding.expire(now, self.wait);
        let stamp = self.outstanding.note(at, late);
        let (tag, tagged) = (self.peer.tag, emulation.tagged);
        let packet = Emulation { tag, stamp, tagged };
        let kind = if tagged { PacketKind::TaggedEmulation } else { PacketKind::Emulation };
        Some((kind, packet.encode(&self.own_key)))
    }

    fn emulation_due(&self) -> Option<Time> {
        self.engine.next_emulation().map(|at| self.bucket.earliest(at).max(self.next_turn))
    }

    /// Ends a turn, in which all that was due has left.
    pub(crate) fn end_turn(&mut self, now: Time) {
        self.next_turn = now.saturating_add(self.turn());
    }

    fn turn(&self) -> Span {
        self.bucket.turn(self.engine.gap()).min(self.slack / TURNS_IN_SLACK).min(MAX_TURN)
    }

    /// Takes the departure of a data packet that is due, if any.
    pub(crate) fn depart(&mut self, now: Time) -> Option<Departure> {
        self.departure_due().filter(|&at| at <= now)?;
        let planned = self.engine.next_departure()?;
        self.engine.take_departure(now);
        let late = now.saturating_since(planned);
        self.stats.count_departure(late);
        self.bucket.on_departure(now, late > self.slack, self.engine.loss());
        if late > self.slack {
            self.stats.skipped += 1;
            return Some(Departure::Skipped);
        }
        Some(Departure::Data)
    }

    /// Discards all credits and starts a new engine without demand. Credits that still arrive count as late. Sequence
    /// numbers and times continue, so the peer need not know.
    pub(crate) fn restart(&mut self) {
        let credits = self.engine.credits();
        self.stats.emulated += self.engine.emulated();
        self.stats.granted += credits.granted;
        self.stats.used += credits.used;
        self.stats.wasted += credits.granted - credits.used;
        self.engines += 1;
        self.engine = engine(&self.config, self.wait, self.peer.tag, self.engines);
        self.loss_detector = DataLossDetector::new(self.wait, self.wait * 2 + LOSS_DETECTION);
        self.outstanding.forget_all();
        self.first_at = None;
    }

    /// The time of the next departure of a data packet.
    fn departure_due(&self) -> Option<Time> {
        self.engine.next_departure().map(|at| at.max(self.next_turn))
    }

    /// Returns the credit packet that is due, if any.
    pub(crate) fn grant(&mut self, now: Time) -> Option<(PacketKind, Encoded)> {
        let due = self.credit_due.is_none_or(|at| at <= now);
        if due { self.grant_if_of(1) } else { self.grant_full() }
    }

    /// Returns the credit packet that has no room for another emulation packet, if any.
    pub(crate) fn grant_full(&mut self) -> Option<(PacketKind, Encoded)> {
        self.grant_if_of(self.own_batch)
    }

    /// Returns the pending credit packet if it has this number of stamps.
    fn grant_if_of(&mut self, stamps: usize) -> Option<(PacketKind, Encoded)> {
        let credit = self.pending_credit.take_if(|of| of.stamps().len() >= stamps)?;
        self.credit_due = None;
        self.stats.credits_sent += credit.stamps().len() as u64;
        Some((PacketKind::Credit, credit.encode(&self.own_key)))
    }

    /// Processes an emulation packet or a credit with this connection's tag.
    pub(crate) fn on_packet(&mut self, now: Time, parsed: &Parsed) -> PacketNovelty {
        // The wrapped time of an emulation packet is resolved by the peer's clock, and the time in a credit by this
        // side's.
        let pause = now.saturating_since(self.newest_at);
        let reference = match parsed.kind {
            PacketKind::Emulation | PacketKind::TaggedEmulation => self.seen.newest().saturating_add(pause),
            PacketKind::Credit => now,
        };
        match parsed.verify(&self.peer_key, reference) {
            None => {
                self.stats.dropped.wrong_mac += 1;
                PacketNovelty::Rejected
            }
            Some(Packet::Emulation(emulation)) => self.on_emulation(now, emulation.stamp),
            Some(Packet::Credit(credit)) => self.on_credit(now, &credit),
        }
    }

    fn on_emulation(&mut self, now: Time, stamp: Stamp) -> PacketNovelty {
        // Before the first packet the newest time is zero, which may also be the first packet's time.
        let newest = self.seen.newest();
        if self.seen.accept(stamp).is_err() {
            return PacketNovelty::Rejected;
        }
        let is_newest = stamp.time > newest || newest == Time::ZERO;
        if is_newest {
            self.newest_at = now;
        }
        match &mut self.pending_credit {
            // A full credit is sent before the next packet is processed, so there is room.
            Some(credit) => {
                credit.push(stamp);
            }
            None => self.pending_credit = Some(Credit::new(self.peer.tag, stamp)),
        }
        self.credit_due.get_or_insert(now.saturating_add(self.credit_delay));
        if is_newest { PacketNovelty::NewestEmulation } else { PacketNovelty::New }
    }

    fn on_credit(&mut self, now: Time, credit: &Credit) -> PacketNovelty {
        let mut novelty = PacketNovelty::Rejected;
        for &stamp in credit.stamps() {
            if self.probe.as_mut().is_some_and(|probe| probe.on_answer(now, stamp)) {
                novelty = PacketNovelty::New;
            } else if let Ok(SentEmulation { time, late }) = self.outstanding.take(stamp) {
                self.loss_detector.on_credit(time);
                self.engine.on_credit_of_late(now, time - late, late);
                novelty = PacketNovelty::New;
            }
        }
        novelty
    }

    pub(crate) fn wakeup(&self) -> Option<Time> {
        let probe = self.probe.as_ref().and_then(PathProbe::due);
        let packets = [self.emulation_due(), self.departure_due()].into_iter().flatten().min();
        // Where packets wait for each other, the thread need not poll the clock for the first of them.
        let lateness = if self.turn().is_zero() { Span::ZERO } else { SPIN.into() };
        let packets = packets.map(|at| at.saturating_add(lateness));
        [packets, self.credit_due, probe].into_iter().flatten().min()
    }

    /// Whether many emulation packets were sent and no credit has arrived in twice the waiting time.
    pub(crate) fn is_unanswered(&self, now: Time) -> bool {
        self.engine.credits().granted == 0
            && self.engine.emulated() >= UNANSWERED
            && self.first_at.is_some_and(|at| at.saturating_add(self.wait * 2) < now)
    }

    /// Whether the peer has sent credits for emulation packets that were never sent.
    pub(crate) fn has_forged_credits(&self) -> bool {
        self.outstanding.dropped.stamp_unknown > MAX_FORGED
    }

    pub(crate) fn stats(&self) -> CreditStats {
        let credits = self.engine.credits();
        let parts = [self.stats.dropped, self.seen.dropped, self.outstanding.dropped];
        let dropped: DropCounters = parts.into_iter().sum();
        CreditStats {
            granted: self.stats.granted + credits.granted,
            // For the engine, skipped and unused credits are used ones.
            used: self.stats.used + credits.used - self.stats.skipped - self.unused,
            wasted: self.stats.wasted + credits.wasted + self.unused,
            emulated: self.stats.emulated + self.engine.emulated(),
            dropped,
            ..self.stats.clone()
        }
    }
}

/// Rounds a time down to [`STEP`].
fn floor(at: Time) -> Time {
    let steps = at.since_start().as_ps() / STEP.as_ps();
    Time::after_start(STEP * steps)
}

#[cfg(test)]
mod tests;
