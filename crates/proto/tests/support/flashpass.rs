//! `FlashPass` ends on a Pair, a law that remembers what it was told, and what must be true of every recording.

use std::collections::BTreeMap;

use shallop_control::flashpass::{Aimd, AimdConfig, Law, Mimd, MimdConfig};
use shallop_control::{Epoch, Rate};
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Seed, Share, Span, Time};
use shallop_proto::flashpass::head::STEP;
use shallop_proto::flashpass::{
    Head, PassConfig, Peer, Receiver, ReceiverConfig, Sender, SenderConfig,
};
use shallop_proto::{Endpoint, Nic, Out, aeolus};

use super::{Pair, Path, Seen};

pub const PAYLOAD: u64 = 1460;

/// A law that remembers the epochs it was told of.
#[derive(Clone, Debug)]
pub struct Spy {
    /// `None` keeps the full rate.
    law: Option<Law>,
    pub epochs: Vec<Epoch>,
}

impl Spy {
    pub fn on(law: Law) -> Self {
        Self { law: Some(law), epochs: vec![] }
    }

    /// No law: the full rate whatever is lost.
    pub fn fixed() -> Self {
        Self { law: None, epochs: vec![] }
    }

    pub fn aimd() -> Self {
        Self::on(Law::Aimd(Aimd::new(AimdConfig::default())))
    }

    pub fn mimd() -> Self {
        Self::on(Law::Mimd(Mimd::new(MimdConfig::default())))
    }
}

impl Rate for Spy {
    fn on_epoch(&mut self, epoch: &Epoch) {
        assert!(epoch.returned <= epoch.sent, "{epoch:?}");
        self.epochs.push(*epoch);
        self.law.iter_mut().for_each(|law| law.on_epoch(epoch));
    }

    fn rate(&self) -> f64 {
        self.law.as_ref().map_or(1.0, Rate::rate)
    }
}

/// What both ends are made from.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub pass: PassConfig,
    pub receiver: ReceiverConfig,
    pub timeout: Span,
    pub start: Option<aeolus::Config>,
    pub burst_on: bool,
    pub send_buffer: Option<Bytes>,
}

impl Setting {
    /// No jitter, a waiting time of two milliseconds, emulation at the paper's share of a link of this rate.
    pub fn of(link: BitsPerSec) -> Self {
        let rate = Share::new(84, 84 + 1538).map_or(link, |share| link.share(share));
        let pass = PassConfig {
            rate,
            wait: Span::from_ms(2),
            epochs: 1,
            jitter: 0.0,
            expected_loss: 0.1,
            over_provision: true,
        };
        let receiver = ReceiverConfig::default();
        let timeout = Span::from_ms(200);
        Self { pass, receiver, timeout, start: None, burst_on: false, send_buffer: None }
    }

    /// Gap between emulation packets at the full rate.
    pub fn gap(&self) -> Span {
        Span::from_secs_f64(84.0 * 8.0 / self.pass.rate.get() as f64)
    }

    pub fn sender(&self, size: Option<u64>, law: Spy, seed: u64) -> Sender<Spy> {
        let config = SenderConfig {
            pass: self.pass,
            payload: PAYLOAD as u16,
            size,
            timeout: self.timeout,
            start: self.start,
            burst_on: self.burst_on,
            send_buffer: self.send_buffer,
        };
        Sender::new(config, law, Seed::new(seed).stream("emulation", 0))
    }

    pub fn pair(&self, size: Option<u64>, law: Spy, path: Path) -> Pair<Peer<Spy>> {
        let receiver = Receiver::new(self.receiver);
        let sender = self.sender(size, law, 1);
        Pair::new(Peer::Sender(sender), Peer::Receiver(receiver), path, 1)
    }
}

/// The epochs that the law of the sender was told of.
pub fn epochs(pair: &Pair<Peer<Spy>>) -> &[Epoch] {
    match &pair.ends[0] {
        Peer::Sender(sender) => &sender.pass().law().epochs,
        Peer::Receiver(_) => &[],
    }
}

/// Send times and ECN bits of the emulation packets.
pub fn emulations(pair: &Pair<Peer<Spy>>) -> Vec<(Time, Ecn)> {
    let time = |seen: &Seen<Head>| match seen.head {
        Head::Emulation { time, .. } => Some((time, seen.ecn)),
        _ => None,
    };
    pair.seen.iter().filter_map(time).collect()
}

/// Send times of the data packets.
pub fn data(pair: &Pair<Peer<Spy>>) -> Vec<Time> {
    let data = pair.seen.iter().filter(|seen| seen.class == Class::Data);
    data.map(|seen| seen.sent).collect()
}

/// The emulation packets that credits were returned for, each with the arrival of its credit.
pub fn credited(pair: &Pair<Peer<Spy>>) -> Vec<(Time, Time)> {
    let arrived = pair.seen.iter().filter(|seen| !seen.lost);
    let each = arrived.filter_map(|seen| match &seen.head {
        Head::Credit { times, .. } => Some((seen.arrives, times)),
        _ => None,
    });
    each.flat_map(|(arrives, times)| times.iter().map(move |time| (time, arrives))).collect()
}

/// What must be true of every recording, whatever was lost: `Err` says what is not.
pub fn check(pair: &Pair<Peer<Spy>>, setting: &Setting) -> Result<(), String> {
    data_is_credited(pair, setting)?;
    emulation_keeps_its_distance(pair, setting)?;
    credits_are_what_came(pair, setting)
}

/// The `n`-th data packet does not leave before the `n`-th time that a credit allowed, and came early enough to allow.
fn data_is_credited(pair: &Pair<Peer<Spy>>, setting: &Setting) -> Result<(), String> {
    let allowed = credited(pair).into_iter().map(|(time, came)| (time + setting.pass.wait, came));
    let mut due: Vec<Time> = allowed
        .filter(|(due, came)| due >= came && *came <= pair.now)
        .map(|(due, _)| due)
        .collect();
    due.sort_unstable();
    let sent = data(pair);
    if sent.len() > due.len() {
        return Err(format!("{} data packets for {} credits", sent.len(), due.len()));
    }
    match sent.iter().zip(&due).position(|(sent, due)| sent < due) {
        Some(n) => Err(format!("data packet {n} left at {}, allowed at {}", sent[n], due[n])),
        None => Ok(()),
    }
}

/// No two emulation packets are closer than the full rate and its jitter allow, and all lie on the steps of time. After
/// a pause, which only holding, send buffers, data without credits and what is lost or taken for lost cause, one may be
/// late by up to half a gap and the next one on time; never are three that close.
fn emulation_keeps_its_distance(pair: &Pair<Peer<Spy>>, setting: &Setting) -> Result<(), String> {
    let PassConfig { jitter, over_provision, .. } = setting.pass;
    let stops = setting.send_buffer.is_some()
        || setting.start.is_some()
        || pair.path.reorder > 0.0
        || pair.ends[0].report().retransmits > 0;
    let pauses = !over_provision || stops;
    let two = if pauses { 0.5 - jitter } else { 1.0 - 2.0 * jitter };
    let times = emulations(pair);
    if let Some((time, _)) =
        times.iter().find(|(time, _)| time.since_start().as_ps() % STEP.as_ps() != 0)
    {
        return Err(format!("an emulation packet at {time} is off the steps"));
    }
    for (count, gaps) in [(2, two), (3, 1.5 - 2.0 * jitter)] {
        let least = setting.gap().scale(gaps).saturating_sub(STEP);
        let close = |some: &&[(Time, Ecn)]| some[count - 1].0.saturating_since(some[0].0) < least;
        if let Some(some) = times.windows(count).find(close) {
            let (from, to) = (some[0].0, some[count - 1].0);
            return Err(format!("{count} emulation packets from {from} to {to}"));
        }
    }
    Ok(())
}

/// A credit names emulation packets that were sent, each at most once, no more than agreed, and takes its size.
fn credits_are_what_came(pair: &Pair<Peer<Spy>>, setting: &Setting) -> Result<(), String> {
    let mut sent: BTreeMap<Time, u32> = BTreeMap::new();
    for (time, _) in emulations(pair) {
        *sent.entry(time).or_default() += 1;
    }
    for seen in &pair.seen {
        let Head::Credit { times, ack } = &seen.head else { continue };
        let (count, most) = (times.count(), usize::from(setting.receiver.batch));
        let block = if ack.block().is_empty() { 0 } else { 8 };
        // An IP packet of 42 bytes and 2 for each time but the first, at least the 46 of the smallest frame.
        let size = (42 + 2 * (count - 1) + block + 38).max(84);
        if count > most || usize::from(seen.size) != size {
            return Err(format!("a credit of {count} times takes {} bytes", seen.size));
        }
        for time in times.iter() {
            match sent.get_mut(&time) {
                Some(left) if *left > 0 => *left -= 1,
                _ => return Err(format!("a credit for {time}, when nothing was sent, or again")),
            }
        }
    }
    Ok(())
}

/// A link that is always free and keeps what it is given.
#[derive(Default)]
pub struct Kept(pub Vec<(Time, Out<Head>)>);

impl Kept {
    pub fn count(&self, class: Class) -> usize {
        self.0.iter().filter(|(_, out)| out.class == class).count()
    }
}

impl Nic<Head> for Kept {
    fn meter(&mut self, now: Time, out: Out<Head>) {
        self.0.push((now, out));
    }
    fn is_free(&mut self, _now: Time) -> bool {
        true
    }
    fn send(&mut self, now: Time, out: Out<Head>) {
        self.0.push((now, out));
    }
    fn wait(&mut self, _now: Time, _may_wait: bool) {}
}

/// Lets an end do what it does by itself from `now` to `until`. False if it wakes up no later than it was asked.
pub fn sleep<E: Endpoint<Head = Head>>(
    end: &mut E,
    mut now: Time,
    until: Time,
    nic: &mut Kept,
) -> bool {
    let mut wakeup = shallop_proto::settle(end, now, nic);
    while let Some(at) = wakeup.filter(|&at| at <= until) {
        if at <= now {
            return false;
        }
        now = at;
        end.on_timer(now);
        wakeup = shallop_proto::settle(end, now, nic);
    }
    true
}
