//! The `FlashPass` side of a connection: as a sender, emulation packets and the departures that credits allow; as a
//! receiver, a credit for each emulation packet that arrives. It knows nothing of bytes or streams. Times are those of
//! this side's clock; on the wire they count from the beginning of the connection, as the peer knows no other.

use shallop_control::flashpass::Law;
use shallop_core::{Seed, Span, Time};
use shallop_proto::flashpass::CreditEngine;

use crate::config::{Config, span};
use crate::credit::counters::Counters;
use crate::credit::evidence::Losses;
use crate::credit::outstanding::{Departed, Outstanding};
use crate::credit::packet::{
    Credit, Emulation, Encoded, MacKey, Packet, PacketKind, Parsed, Stamp,
};
use crate::credit::replay::ReplayWindow;
use crate::credit::settings::Settings;
use crate::credit::stats::CreditStats;

/// The most emulation packets that leave at once because they are late: half of what the short queue of a switch holds.
const BURST: u32 = 4;
/// A sender that is later than this, and than four packets, begins anew.
const BEHIND: Span = Span::from_ms(1);
/// The steps of send times: 8.192 ns.
const STEP: Span = shallop_proto::flashpass::head::TIMESTAMP_STEP;
/// How much longer than two waiting times it may take until QUIC knows what was lost: delays of acknowledgements.
const FOUND: Span = Span::from_ms(100);
/// Emulation packets without any credit after which the path is taken for one without credits.
const UNANSWERED: u64 = 64;
/// Stamps of packets that were never sent after which the peer is taken to guess them. Others have no such stamps: the
/// MAC shows that they come from the peer.
const GUESSES: u64 = 16;

/// What is to leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// A data packet.
    Data,
    /// None: it would be later than the slack.
    Skipped,
}

/// What a packet of the peer was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing: it was not authentic, or it had come before.
    Nothing,
    /// Something new.
    New,
    /// An emulation packet that is newer than all others.
    NewestEmulation,
}

/// The credits of a connection.
#[derive(Debug)]
pub(crate) struct Credits {
    /// When the connection began: its own time is zero then.
    origin: Time,
    config: Config,
    engine: CreditEngine<Law>,
    /// Engines before this one.
    engines: u64,
    losses: Losses,
    outstanding: Outstanding,
    wait: Span,
    slack: Span,
    /// Two data packets may leave as one, if their departures are so close to each other.
    pairs_within: Option<Span>,
    /// The planned time of the departure that leaves with the one before.
    partner: Option<Time>,
    /// The newest time of an emulation packet sent: each has its own.
    sent_at: Time,
    /// The next one leaves no sooner: a bucket of `BURST` packets, which fills at twice their rate.
    not_before: Time,
    /// When the first one was sent.
    first_at: Option<Time>,
    own_key: MacKey,
    peer_key: MacKey,
    peer: Settings,
    own_batch: usize,
    seen: ReplayWindow,
    /// When the newest emulation packet of the peer arrived.
    newest_at: Time,
    filling: Option<Credit>,
    credit_due: Option<Time>,
    /// How long a credit may wait for others.
    credit_delay: Span,
    /// Counts, without those of the engine.
    stats: CreditStats,
    /// Credits whose time came when there was nothing to send.
    unused: u64,
}

/// The engine of a sender that waits this long for the peer with this tag, after so many others.
fn engine(config: &Config, (wait, tag): (Span, u16), before: u64) -> CreditEngine<Law> {
    let stream = u64::from(tag) | before << 16;
    let random = Seed::new(config.seed).stream("emulation", stream);
    CreditEngine::new(config.engine(wait), config.law, random)
}

impl Credits {
    /// Those of a connection whose ends have these settings and keys.
    pub(crate) fn new(
        now: Time,
        config: &Config,
        (own_key, peer_key): (MacKey, MacKey),
        peer: Settings,
    ) -> Self {
        let wait = config.wait_span().max(peer.wait);
        Self {
            origin: now,
            newest_at: Time::ZERO,
            config: *config,
            engine: engine(config, (wait, peer.tag), 0),
            engines: 0,
            losses: Losses::new(wait, wait * 2 + FOUND),
            outstanding: Outstanding::default(),
            wait,
            slack: span(config.slack),
            pairs_within: (config.segments > 1).then(|| span(config.slack) / 2),
            partner: None,
            sent_at: Time::ZERO,
            not_before: Time::ZERO,
            first_at: None,
            own_key,
            peer_key,
            own_batch: usize::from(config.batch.clamp(1, 6)),
            seen: ReplayWindow::new(wait * 2),
            peer,
            filling: None,
            credit_due: None,
            credit_delay: config.credit_delay(),
            stats: CreditStats::default(),
            unused: 0,
        }
    }

    /// A time of this side as one of the connection.
    fn own(&self, now: Time) -> Time {
        Time::after_start(now.saturating_since(self.origin))
    }

    /// Says how many packets are to be sent.
    pub(crate) fn set_demand(&mut self, now: Time, packets: u64) {
        let now = self.own(now);
        self.engine.set_demand(now, Some(packets));
    }

    /// The emulation packet that is due, if any.
    pub(crate) fn emulate(&mut self, now: Time) -> Option<(PacketKind, Encoded)> {
        let now = self.own(now);
        self.emulation_due().filter(|&at| at <= now)?;
        let (planned, gap) = (self.engine.next_emulation()?, self.engine.gap());
        let at = floor(now).max(self.sent_at.saturating_add(STEP));
        // The engine knows packets by the slots in which they were due, and takes a missed slot for an interruption.
        let is_behind = at.saturating_since(planned) > BEHIND.max(gap * 4);
        let slot = if is_behind { at } else { planned };
        let emulation = self.engine.emulate(slot)?;
        self.sent_at = at;
        let late = at.saturating_since(slot);
        // A full bucket has room for a burst now.
        let room = (gap / 2 * u64::from(BURST - 1)).min(now.since_start());
        self.not_before = self.not_before.max(now - room).saturating_add(gap / 2);
        self.first_at.get_or_insert(at);
        self.losses.on_emulation(at);
        self.outstanding.expire(now, self.wait);
        let Stamp { sequence, time } = self.outstanding.note(at, late);
        let (tag, tagged) = (self.peer.tag, emulation.tagged);
        let packet = Emulation { tag, sequence, time, tagged };
        let kind = if tagged { PacketKind::TaggedEmulation } else { PacketKind::Emulation };
        Some((kind, packet.encode(&self.own_key)))
    }

    /// When the next emulation packet is to be sent.
    fn emulation_due(&self) -> Option<Time> {
        self.engine.next_emulation().map(|at| at.max(self.not_before))
    }

    /// What leaves now, if a departure is due.
    pub(crate) fn depart(&mut self, now: Time) -> Option<Departure> {
        let now = self.own(now);
        self.departure_due().filter(|&at| at <= now)?;
        let planned = self.engine.next_departure()?;
        self.engine.take_departure(now);
        let is_second = self.partner.take() == Some(planned);
        self.partner = self.engine.next_departure().filter(|&at| !is_second && at <= now);
        let late = now.saturating_since(planned);
        self.stats.late(late);
        if late > self.slack {
            self.stats.skipped += 1;
            return Some(Departure::Skipped);
        }
        Some(Departure::Data)
    }

    /// Nothing could leave on a credit whose time had come.
    pub(crate) fn on_unused(&mut self) {
        self.unused += 1;
    }

    /// A data packet leaves on a credit.
    pub(crate) fn on_data(&mut self, now: Time) {
        self.losses.on_data(self.own(now));
    }

    /// Data packets were lost, of which the newest left at this time.
    pub(crate) fn on_lost(&mut self, sent: Time, packets: u64) {
        self.losses.on_lost(self.own(sent), packets);
    }

    /// Gives up all credits, and asks for none until there is a demand. Credits that still come are late. Numbers and
    /// times go on rising, so that the peer need not know.
    pub(crate) fn stop(&mut self) {
        let credits = self.engine.credits();
        self.stats.emulated += self.engine.emulated();
        self.stats.granted += credits.granted;
        self.stats.used += credits.used;
        self.stats.wasted += credits.granted - credits.used;
        self.engines += 1;
        self.engine = engine(&self.config, (self.wait, self.peer.tag), self.engines);
        self.losses = Losses::new(self.wait, self.wait * 2 + FOUND);
        self.outstanding.forget_all();
        self.first_at = None;
    }

    /// Credits that have come and emulation packets that were sent since it began, or began anew.
    pub(crate) fn answered(&self) -> (u64, u64) {
        (self.engine.credits().granted, self.engine.emulated())
    }

    /// When the next data packet is to leave. Where two may leave as one, it waits for the next one.
    fn departure_due(&self) -> Option<Time> {
        let mut departures = self.engine.departures();
        let (first, second) = (departures.next()?, departures.next());
        let within = self.pairs_within.filter(|_| self.partner != Some(first));
        let close = |at: &Time| within.is_some_and(|most| at.saturating_since(first) <= most);
        Some(second.filter(close).unwrap_or(first))
    }

    /// The credit packet that is due, if any.
    pub(crate) fn grant(&mut self, now: Time) -> Option<(PacketKind, Encoded)> {
        let now = self.own(now);
        let due = self.credit_due.is_none_or(|at| at <= now);
        let batch = self.own_batch;
        let credit = self.filling.take_if(|of| due || of.stamps().len() >= batch)?;
        self.credit_due = None;
        self.stats.credits_sent += credit.stamps().len() as u64;
        Some((PacketKind::Credit, credit.encode(&self.own_key)))
    }

    /// A packet with this connection's tag arrived. Nothing happens unless it is authentic and new.
    pub(crate) fn on_packet(&mut self, now: Time, parsed: &Parsed) -> Heard {
        let now = self.own(now);
        // The peer's clock has gone on since its last packet.
        let pause = now.saturating_since(self.newest_at);
        let reference = match parsed.kind() {
            PacketKind::Emulation | PacketKind::TaggedEmulation => {
                self.seen.newest().saturating_add(pause)
            }
            PacketKind::Credit => now,
        };
        match parsed.verify(&self.peer_key, reference) {
            None => {
                self.stats.dropped.wrong_mac += 1;
                Heard::Nothing
            }
            Some(Packet::Emulation(emulation)) => self.on_emulation(now, emulation.stamp()),
            Some(Packet::Credit(credit)) => self.on_credit(now, &credit),
        }
    }

    fn on_emulation(&mut self, now: Time, stamp: Stamp) -> Heard {
        // The first packet may have been sent at time zero.
        let newest = self.seen.newest();
        if self.seen.accept(stamp).is_err() {
            return Heard::Nothing;
        }
        let is_newest = stamp.time > newest || newest == Time::ZERO;
        if is_newest {
            self.newest_at = now;
        }
        match &mut self.filling {
            // A full credit leaves before the next packet is looked at.
            Some(credit) => {
                credit.push(stamp);
            }
            None => self.filling = Some(Credit::new(self.peer.tag, stamp)),
        }
        self.credit_due.get_or_insert(now.saturating_add(self.credit_delay));
        if is_newest { Heard::NewestEmulation } else { Heard::New }
    }

    fn on_credit(&mut self, now: Time, credit: &Credit) -> Heard {
        let mut heard = Heard::Nothing;
        for &stamp in credit.stamps() {
            if let Ok(Departed { time, late }) = self.outstanding.take(stamp) {
                self.losses.on_credit(time);
                self.engine.on_credit_of_late(now, time - late, late);
                heard = Heard::New;
            }
        }
        heard
    }

    /// When something is due.
    pub(crate) fn wakeup(&self) -> Option<Time> {
        let due = [self.emulation_due(), self.departure_due(), self.credit_due];
        let due = due.into_iter().flatten().min();
        due.map(|at| self.origin.saturating_add(at.since_start()))
    }

    /// Whether the path seems to have no credits: many emulation packets, and not one answer after their time.
    pub(crate) fn is_unanswered(&self, now: Time) -> bool {
        let now = self.own(now);
        self.engine.credits().granted == 0
            && self.engine.emulated() >= UNANSWERED
            && self.first_at.is_some_and(|at| at.saturating_add(self.wait * 2) < now)
    }

    /// Whether data is lost where emulation packets are not.
    pub(crate) fn is_data_lost(&self) -> bool {
        self.losses.are_of_data()
    }

    /// The waiting time that both ends have agreed on.
    pub(crate) fn wait(&self) -> Span {
        self.wait
    }

    /// Whether the peer grants credits for packets that it has not received.
    pub(crate) fn is_cheated(&self) -> bool {
        self.outstanding.dropped().stamp_unknown > GUESSES
    }

    /// Counts so far.
    pub(crate) fn stats(&self) -> CreditStats {
        let credits = self.engine.credits();
        let parts = [self.stats.dropped, self.seen.dropped(), self.outstanding.dropped()];
        let dropped: Counters = parts.into_iter().sum();
        CreditStats {
            granted: self.stats.granted + credits.granted,
            // The engine has used those that were skipped, too, and those on which nothing left.
            used: self.stats.used + credits.used - self.stats.skipped - self.unused,
            wasted: self.stats.wasted + credits.wasted + self.unused,
            emulated: self.stats.emulated + self.engine.emulated(),
            dropped,
            ..self.stats.clone()
        }
    }
}

/// The last step of send times that is not after this time.
fn floor(at: Time) -> Time {
    let steps = at.since_start().as_ps() / STEP.as_ps();
    Time::after_start(STEP * steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credit::packet::Parsed;
    use shallop_core::BitsPerSec;

    /// The two ends of a connection, which began at these times of their clocks.
    fn pair(begun: [Time; 2]) -> [Credits; 2] {
        let wait = std::time::Duration::from_millis(20);
        let config = Config { wait, ..Config::new(BitsPerSec::gbps(1)) };
        let key = |byte: u8| MacKey::new([byte; 16]);
        let settings =
            Settings { tag: 7, batch: 1, wait: Span::from_ms(20), credit_delay: Span::ZERO };
        let first = Credits::new(begun[0], &config, (key(1), key(2)), settings);
        [first, Credits::new(begun[1], &config, (key(2), key(1)), settings)]
    }

    /// Lets the first end ask for this many packets at these times of both clocks, and says how many may leave.
    fn exchange([sender, receiver]: &mut [Credits; 2], at: [Time; 2], packets: u64) -> u64 {
        let end = Span::from_ms(200);
        let (mut passed, mut left) = (Span::ZERO, 0);
        sender.set_demand(at[0], packets);
        while passed < end {
            let [here, there] = at.map(|at| at.saturating_add(passed));
            while let Some((_, packet)) = sender.emulate(here) {
                receiver.on_packet(there, &Parsed::parse(&packet).unwrap());
                while let Some((_, credit)) = receiver.grant(there) {
                    sender.on_packet(here, &Parsed::parse(&credit).unwrap());
                }
            }
            while let Some(departure) = sender.depart(here) {
                left += u64::from(departure == Departure::Data);
            }
            passed += Span::from_us(50);
        }
        left
    }

    #[test]
    fn ends_whose_clocks_began_days_apart_understand_each_other_after_any_pause() {
        let hours = |count: u64| Time::after_start(Span::from_secs(3_600 * count));
        let mut ends = pair([hours(70), hours(1)]);
        assert_eq!(exchange(&mut ends, [hours(70), hours(1)], 50), 50);
        for pause in [2, 3, 100] {
            assert_eq!(exchange(&mut ends, [hours(70 + pause), hours(1 + pause)], 50), 50);
        }
        assert_eq!(ends[0].stats().dropped.total() + ends[1].stats().dropped.total(), 0);
        assert_eq!(ends[0].stats().granted, ends[1].stats().credits_sent);
    }

    /// The planned times of departures, us from now, and when each leaves. The slack is 100 us.
    fn departures(segments: u8, planned: &[u64]) -> Vec<(u64, u64)> {
        let config = Config {
            segments,
            slack: std::time::Duration::from_micros(100),
            wait: std::time::Duration::from_millis(20),
            ..Config::new(BitsPerSec::gbps(1))
        };
        let settings =
            Settings { tag: 7, batch: 1, wait: Span::from_ms(20), credit_delay: Span::ZERO };
        let keys = (MacKey::new([1; 16]), MacKey::new([2; 16]));
        let mut credits = Credits::new(Time::ZERO, &config, keys, settings);
        credits.set_demand(Time::ZERO, 100);
        let start = Time::after_start(Span::from_ms(21));
        for &us in planned {
            let sent = Time::after_start(Span::from_ms(1) + Span::from_us(us));
            credits.engine.on_credit(Time::after_start(Span::from_ms(2)), sent);
        }
        let (mut left, mut next) = (Vec::new(), 0);
        while let Some(at) = credits.departure_due() {
            while credits.depart(at).is_some() {
                left.push((planned[next], at.saturating_since(start).as_ps() / 1_000_000));
                next += 1;
            }
        }
        left
    }

    #[test]
    fn two_departures_join_if_they_are_planned_within_half_the_slack_and_no_third_does() {
        let planned = [0, 30, 60, 90, 200, 251, 300, 350, 360];
        let one: Vec<(u64, u64)> = planned.iter().map(|&us| (us, us)).collect();
        assert_eq!(departures(1, &planned), one);
        let two = [0, 30, 60, 90, 200, 251, 300, 350, 360]
            .into_iter()
            .zip([30, 30, 90, 90, 200, 300, 300, 360, 360])
            .collect::<Vec<_>>();
        assert_eq!(departures(2, &planned), two);
    }

    /// When the first end sends emulation packets, if it looks at the clock so long after each is due.
    fn emulation_times(sender: &mut Credits, late: Span, count: usize) -> Vec<Time> {
        let (mut now, mut sent) = (Time::ZERO, Vec::new());
        while sent.len() < count {
            now = now.max(sender.emulation_due().unwrap().saturating_add(late));
            while sender.emulate(now).is_some() {
                sent.push(now);
            }
        }
        sent
    }

    #[test]
    fn a_sender_that_is_a_little_late_keeps_its_rate() {
        for part in [0, 1, 3] {
            let [mut sender, _] = pair([Time::ZERO; 2]);
            sender.set_demand(Time::ZERO, 10_000);
            let gap = sender.engine.gap();
            let sent = emulation_times(&mut sender, gap * part / 2, 500);
            let last = sent[499].saturating_since(sent[0]).ratio(gap);
            assert!((490.0..=505.0).contains(&last), "{part}: {last}");
        }
    }

    #[test]
    fn after_a_pause_no_long_burst_leaves() {
        let [mut sender, _] = pair([Time::ZERO; 2]);
        sender.set_demand(Time::ZERO, 10_000);
        let gap = sender.engine.gap();
        emulation_times(&mut sender, Span::ZERO, 10);
        let pause = Time::after_start(Span::from_us(900));
        let mut sent = 0;
        while sender.emulate(pause).is_some() {
            sent += 1;
        }
        assert_eq!(sent, BURST);
        let after = emulation_times(&mut sender, Span::ZERO, 50);
        assert!(after.windows(2).all(|two| two[1].saturating_since(two[0]) > gap / 100));
        assert!(after[0].saturating_since(pause) >= gap / 2 - Span::from_ns(10));
    }

    #[test]
    fn data_keeps_to_the_time_at_which_its_emulation_packet_left() {
        let [mut sender, mut receiver] = pair([Time::ZERO; 2]);
        sender.set_demand(Time::ZERO, 1);
        let late = floor(Time::after_start(Span::from_us(40)));
        let (_, packet) = sender.emulate(late).unwrap();
        receiver.on_packet(late, &Parsed::parse(&packet).unwrap());
        let (_, credit) = receiver.grant(late).unwrap();
        sender.on_packet(late, &Parsed::parse(&credit).unwrap());
        assert_eq!(sender.engine.next_departure(), Some(late.saturating_add(Span::from_ms(20))));
    }
}
