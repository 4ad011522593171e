//! `FlashPass` endpoints in a Pair, a feedback law that records its epochs, and invariants of every capture.

use super::{CapturedPacket, PAYLOAD, Pair, Path};
use shallop_control::flashpass::{Aimd, AimdConfig, Law, Mimd, MimdConfig};
use shallop_control::{Epoch, Rate};
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Seed, Share, Span, Time};
use shallop_proto::flashpass::head::TIMESTAMP_STEP;
use shallop_proto::flashpass::{CreditEngineConfig, Head, Peer, Receiver, ReceiverConfig, Sender, SenderConfig};
use shallop_proto::{Endpoint, aeolus};
use std::collections::BTreeMap;

/// A feedback law that records its epochs.
#[derive(Clone, Debug)]
pub struct Spy {
    /// `None` for a constant full rate.
    law: Option<Law>,
    pub epochs: Vec<Epoch>,
}

impl Spy {
    pub fn on(law: Law) -> Self {
        Self { law: Some(law), epochs: vec![] }
    }

    /// A law that always returns the full rate.
    pub fn fixed() -> Self {
        Self { law: None, epochs: vec![] }
    }

    pub fn aimd() -> Self {
        Self::on(Law::Aimd(Aimd::new(AimdConfig::default(), 1.0)))
    }

    pub fn mimd() -> Self {
        Self::on(Law::Mimd(Mimd::new(MimdConfig::default(), 1.0)))
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

#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub engine: CreditEngineConfig,
    pub receiver: ReceiverConfig,
    pub timeout: Span,
    pub unscheduled: Option<aeolus::Config>,
    pub burst_until_first_data: bool,
    pub send_buffer: Option<Bytes>,
}

impl Setting {
    /// Without jitter, with a waiting time of 2 ms and the paper's share of this link for emulation.
    pub fn for_link(link: BitsPerSec) -> Self {
        let rate = Share::new(84, 84 + 1538).map_or(link, |share| link.share(share));
        let engine = CreditEngineConfig {
            rate,
            wait: Span::from_ms(2),
            epochs: 1,
            jitter: 0.0,
            expected_loss: 0.1,
            attribute: true,
            min_sample: 10,
            count_tagged: false,
            expect_measured: true,
            over_provision: true,
        };
        Self {
            engine,
            receiver: ReceiverConfig::default(),
            timeout: Span::from_ms(200),
            unscheduled: None,
            burst_until_first_data: false,
            send_buffer: None,
        }
    }

    /// Gap between emulation packets at the full rate.
    pub fn gap(&self) -> Span {
        Span::from_secs_f64(84.0 * 8.0 / self.engine.rate.get() as f64)
    }

    pub fn sender(&self, size: Option<u64>, law: Spy, seed: u64) -> Sender<Spy> {
        let config = SenderConfig {
            engine: self.engine,
            payload: PAYLOAD as u16,
            size,
            timeout: self.timeout,
            unscheduled: self.unscheduled,
            burst_until_first_data: self.burst_until_first_data,
            send_buffer: self.send_buffer,
        };
        Sender::new(config, law, Seed::new(seed).stream("emulation", 0))
    }

    pub fn pair(&self, size: Option<u64>, law: Spy, path: Path) -> Pair<Peer<Spy>> {
        let receiver = Receiver::new(self.receiver);
        let sender = self.sender(size, law, 1);
        Pair::new(Peer::sender(sender), Peer::receiver(receiver), path, 1)
    }
}

/// The epochs that were reported to the law of the sender.
pub fn epochs(pair: &Pair<Peer<Spy>>) -> &[Epoch] {
    match &pair.ends[0] {
        Peer::Sender(sender) => &sender.engine.law().epochs,
        Peer::Receiver(_) => &[],
    }
}

/// Send times and ECN codepoints of the emulation packets.
pub fn emulations(pair: &Pair<Peer<Spy>>) -> Vec<(Time, Ecn)> {
    let time = |packet: &CapturedPacket<Head>| match packet.head {
        Head::Emulation { time, .. } => Some((time, packet.ecn)),
        _ => None,
    };
    pair.capture.iter().filter_map(time).collect()
}

pub fn data(pair: &Pair<Peer<Spy>>) -> Vec<Time> {
    pair.of_class(Class::Data).map(|packet| packet.sent).collect()
}

/// For each emulation packet with a credit: its send time, and the arrival time of the credit.
pub fn credited(pair: &Pair<Peer<Spy>>) -> Vec<(Time, Time)> {
    let arrived = pair.capture.iter().filter(|packet| !packet.lost);
    let each = arrived.filter_map(|packet| match &packet.head {
        Head::Credit { timestamps, .. } => Some((packet.arrives, timestamps)),
        _ => None,
    });
    each.flat_map(|(arrives, timestamps)| timestamps.iter().map(move |time| (time, arrives))).collect()
}

/// Checks the invariants of every capture, with and without losses.
pub fn check(pair: &Pair<Peer<Spy>>, setting: &Setting) -> Result<(), String> {
    data_is_credited(pair, setting)?;
    emulation_keeps_its_distance(pair, setting)?;
    credits_are_what_came(pair, setting)
}

/// The `n`-th data packet is not sent before the `n`-th departure time of a credit that arrived in time.
fn data_is_credited(pair: &Pair<Peer<Spy>>, setting: &Setting) -> Result<(), String> {
    let allowed = credited(pair).into_iter().map(|(time, came)| (time + setting.engine.wait, came));
    let mut due: Vec<Time> =
        allowed.filter(|(due, came)| due >= came && *came <= pair.now).map(|(due, _)| due).collect();
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

/// No two emulation packets are closer than the full rate and its jitter allow, and all send times are whole steps.
/// After a pause (of emulation without over-provisioning, or due to a send buffer, unscheduled data or losses) one
/// packet may be late by up to half a gap and the next one on time; three packets are never that close.
fn emulation_keeps_its_distance(pair: &Pair<Peer<Spy>>, setting: &Setting) -> Result<(), String> {
    let CreditEngineConfig { jitter, over_provision, .. } = setting.engine;
    let stops = setting.send_buffer.is_some()
        || setting.unscheduled.is_some()
        || pair.path.reorder > 0.0
        || pair.ends[0].counters().retransmits > 0;
    let pauses = !over_provision || stops;
    let two = if pauses { 0.5 - jitter } else { 1.0 - 2.0 * jitter };
    let times = emulations(pair);
    if let Some((time, _)) = times.iter().find(|(time, _)| time.since_start().as_ps() % TIMESTAMP_STEP.as_ps() != 0) {
        return Err(format!("an emulation packet at {time} is off the steps"));
    }
    for (count, gaps) in [(2, two), (3, 1.5 - 2.0 * jitter)] {
        let least = setting.gap().scale(gaps).saturating_sub(TIMESTAMP_STEP);
        let close = |some: &&[(Time, Ecn)]| some[count - 1].0.saturating_since(some[0].0) < least;
        if let Some(some) = times.windows(count).find(close) {
            let (from, to) = (some[0].0, some[count - 1].0);
            return Err(format!("{count} emulation packets from {from} to {to}"));
        }
    }
    Ok(())
}

/// A credit has timestamps of emulation packets that were sent, each at most once and no more than a batch, and the
/// size that follows.
fn credits_are_what_came(pair: &Pair<Peer<Spy>>, setting: &Setting) -> Result<(), String> {
    let mut sent: BTreeMap<Time, u32> = BTreeMap::new();
    for (time, _) in emulations(pair) {
        *sent.entry(time).or_default() += 1;
    }
    for packet in &pair.capture {
        let Head::Credit { timestamps, ack } = &packet.head else { continue };
        let (count, most) = (timestamps.count(), usize::from(setting.receiver.batch));
        let block = if ack.block().is_empty() { 0 } else { 8 };
        // An IP packet of 42 bytes and 2 for each time but the first, at least the 46 of the smallest frame.
        let size = (42 + 2 * (count - 1) + block + 38).max(84);
        if count > most || usize::from(packet.size) != size {
            return Err(format!("a credit of {count} times takes {} bytes", packet.size));
        }
        for time in timestamps.iter() {
            match sent.get_mut(&time) {
                Some(left) if *left > 0 => *left -= 1,
                _ => return Err(format!("a credit for {time}, when nothing was sent, or again")),
            }
        }
    }
    Ok(())
}
