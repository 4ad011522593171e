//! The dialogues of this folder: two hosts, what is done with them, and what can be asked of them.

use super::host::ShallopHost;
use super::hostile::{self, Forged};
use super::link::LinkConfig;
use super::network::{CLIENT, Direction, Network, SERVER, SentPacket, config, identities};
use crate::config::{Classes, Config};
use crate::credit::path_probe::{ProbeCounts, ProbePlan};
use crate::credit::send_mode::SendMode;
use crate::credit::unscheduled::Unscheduled;
use crate::trust::identity::SERVER_NAME;
use quinn_proto::VarInt;
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_testing::dialogue::{self, Scope};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Packets with twice the rate of a meter for 100 Mb/s, and a third of that with the DSCP of data.
const PLAN: ProbePlan = ProbePlan { trains: 20, packets: 200, gap: Span::from_ns(48_660), pause: Span::from_ms(10) };

#[derive(Default)]
struct World {
    network: Option<Network>,
    forged: Forged,
}

fn number(text: &str) -> f64 {
    dialogue::number(text).unwrap_or_else(|| panic!("no number: {text}"))
}

fn span(text: &str) -> Duration {
    Duration::from_secs_f64(number(text))
}

fn is_yes(text: &str) -> bool {
    text == "yes" || text != "no" && panic!("yes or no: {text}")
}

fn assigned<'a>(word: &&'a str) -> (&'a str, &'a str) {
    word.split_once('=').unwrap_or_else(|| panic!("no assignment: {word}"))
}

/// Changes a property of a link. Returns false if it has none of this name.
fn set_link(link: &mut LinkConfig, now: Instant, key: &str, value: &str) -> bool {
    match key {
        "rate" => link.rate = number(value) * 1e6,
        "delay" => link.delay = span(value),
        "buffer" => link.buffer = number(value) as u32,
        "loss" => link.loss = number(value),
        "data_loss" => link.data_loss = number(value),
        "duplication" => link.duplication = number(value),
        "late" => link.reordering.0 = number(value),
        "jitter" => link.reordering.1 = span(value),
        "mtu" => link.mtu = number(value) as usize,
        "down" => link.down = Some(now..now + span(value)),
        "blocked" => link.blocked = dscp(value),
        "erasing" => link.is_erasing = is_yes(value),
        "clears_ecn" => link.clears_ecn = is_yes(value),
        "metered" => link.is_unmetered = !is_yes(value),
        "burst" => link.emulation_burst = number(value) as u32,
        "selective" => link.selective = Some(number(value) as u32),
        _ => return false,
    }
    true
}

/// Changes a property of both hosts. Returns false if they have none of this name.
fn set_config(config: &mut Config, key: &str, value: &str) -> bool {
    let none = Unscheduled { burst: Bytes::new(0), until_first_data: false, renew_after: None };
    let of = config.unscheduled.unwrap_or(none);
    match key {
        "host" => config.link = BitsPerSec::at_least_one(number(value) as u64 * 1_000_000),
        "wait" => config.wait = span(value),
        "unscheduled" => config.unscheduled = Some(Unscheduled { burst: Bytes::new(number(value) as u64), ..of }),
        "until_data" => config.unscheduled = Some(Unscheduled { until_first_data: is_yes(value), ..of }),
        "renew" => {
            let renew_after = (value != "never").then(|| Span::from(span(value)));
            config.unscheduled = Some(Unscheduled { renew_after, ..of });
        }
        "paper" => *config = if is_yes(value) { config.as_in_paper() } else { *config },
        "batch" => config.batch = Some(number(value) as u8),
        "fallback" => config.fallback = value.parse().unwrap(),
        "keeps_credits" => config.keeps_credits = is_yes(value),
        _ => return false,
    }
    true
}

fn dscp(class: &str) -> Option<u8> {
    let classes = Classes::default();
    Some(match class {
        "emulation" => classes.emulation,
        "credit" => classes.credit,
        "data" => classes.data,
        "unscheduled" => classes.unscheduled,
        "control" => classes.control,
        _ => return None,
    })
}

impl World {
    fn network(&mut self) -> &mut Network {
        self.network.as_mut().unwrap()
    }

    /// Two hosts that have begun to connect, over links of 100 Mb/s and 10 ms unless the words say otherwise.
    fn begin(&mut self, words: &[&str]) -> &mut Network {
        let (mut config, mut link) = (config(100, 40), LinkConfig::new(100e6, Duration::from_millis(10)));
        for (key, value) in words.iter().map(assigned) {
            let is_known = set_config(&mut config, key, value) || set_link(&mut link, Instant::now(), key, value);
            assert!(is_known, "{key} is unknown");
        }
        self.network.insert(Network::new_pair(config, config, &link))
    }

    fn set_links(&mut self, which: &str, words: &[&str]) {
        let made = self.forged.clone();
        let network = self.network();
        for name in ["to_server", "to_client"].into_iter().filter(|name| which == "links" || which == *name) {
            for (key, value) in words.iter().map(assigned) {
                let attacker = (key == "attacker").then(|| hostile::attacker(value, name, &made, network));
                let link = if name == "to_server" { &mut network.to_server } else { &mut network.to_client };
                match (key, attacker) {
                    (_, Some(attacker)) => link.attacker = attacker,
                    ("foreseen", _) => link.is_foreseen = is_yes(value),
                    _ => assert!(set_link(&mut link.config, network.now, key, value), "{key} is unknown"),
                }
            }
        }
    }

    fn until(&mut self, words: &[&str], scope: &Scope) {
        let at = words.iter().position(|&word| word == "within").unwrap();
        let (claim, rest) = (&words[..at], &words[at + 1..]);
        let (within, kept) = rest.split_at(rest.iter().position(|&word| word == "keeping").unwrap_or(rest.len()));
        let end = self.network().now + Duration::from_secs_f64(scope.number(self, within));
        self.network().act();
        while let Err(why) = scope.check(self, claim) {
            let kept = kept.get(1..).map(|kept| scope.check(self, kept));
            kept.into_iter().for_each(Result::unwrap);
            assert!(self.network().step(end), "not within {within:?}: {why}");
        }
    }
}

impl dialogue::World for World {
    fn act(&mut self, words: &[&str], scope: &Scope) {
        match *words {
            ["begin", ref words @ ..] => drop(self.begin(words)),
            ["connect", ref words @ ..] => {
                let network = self.begin(words);
                network.connect();
                assert_eq!([network.client.send_mode(), network.server.send_mode()], [SendMode::Credits; 2]);
            }
            ["watch"] => self.network().watch(),
            ["run", ref span @ ..] => {
                let span = scope.number(self, span);
                self.network().run(Duration::from_secs_f64(span));
            }
            ["until", ref words @ ..] => self.until(words, scope),
            ["finish", within] => self.network().finish(span(within)),
            ["imitate_server", byte] => {
                // The connection ID is right.
                let network = self.network();
                let mut forged = network.to_client.last.clone().unwrap();
                forged.bytes.iter_mut().skip(9).for_each(|at| *at = number(byte) as u8);
                network.to_client.inject(network.now, forged);
            }
            ["begin_handshakes", count] => hostile::begin_handshakes(self.network(), number(count) as u64),
            ["client", "moves", address] => self.network().client_address = address.parse().unwrap(),
            [which @ ("to_server" | "to_client" | "links"), ref words @ ..] => self.set_links(which, words),
            ["client", verb, ref words @ ..] => order(self.network(), true, verb, words),
            ["server", verb, ref words @ ..] => order(self.network(), false, verb, words),
            _ => panic!("not understood: {words:?}"),
        }
    }

    fn value(&mut self, name: &str) -> Option<String> {
        match name {
            "forged" => return Some(self.forged.get().to_string()),
            "forgeries" => return Some(hostile::forgeries().to_string()),
            _ => {}
        }
        let network = self.network.as_mut()?;
        match name.split_once('.').unwrap_or((name, "")) {
            ("now", "") => Some((network.now - network.began).as_secs_f64().to_string()),
            ("client", name) => of_host(&mut network.client, name),
            ("server", name) => of_host(&mut network.server, name),
            ("to_server", name) => of_link(network, Direction::ToServer, name),
            ("to_client", name) => of_link(network, Direction::ToClient, name),
            _ => None,
        }
    }
}

/// Lets a host do something. The last word of some orders is what it answers.
fn order(network: &mut Network, is_client: bool, verb: &str, words: &[&str]) {
    let now = network.now;
    let host = if is_client { &mut network.client } else { &mut network.server };
    match (verb, words) {
        ("connects", []) => {
            let crypto = identities().0.client_config().unwrap();
            host.number = Some(host.state.connect(now, crypto, SERVER, SERVER_NAME).unwrap());
        }
        ("sends", [bytes]) => host.send(number(bytes) as u64),
        ("uses_credits", ["any"]) => _ = host.connection().use_credits(),
        ("uses_credits", [answer]) => assert_eq!(host.connection().use_credits(), is_yes(answer)),
        ("leaves_unmetered", [answer]) => assert_eq!(host.connection().leave_unmetered(), is_yes(answer)),
        ("probes", [gaps]) => {
            let plan = ProbePlan { gap: PLAN.gap * number(gaps) as u64, ..PLAN };
            assert!(host.connection().start_probe(now, plan));
        }
        ("has_window", [mebibytes]) => {
            let bytes = VarInt::from_u32((number(mebibytes) as u32) << 20);
            host.connection().quic.set_receive_window(bytes);
        }
        ("closes", [reason]) => host.connection().close(now, 0, reason.as_bytes()),
        ("ends", []) => host.state.close(now),
        ("ages", [days]) => host.connection().age(span(days) * 24 * 3_600),
        _ => panic!("not understood: {verb} {words:?}"),
    }
}

fn of_host(host: &mut ShallopHost, name: &str) -> Option<String> {
    let found = match name {
        "received" => host.received.to_string(),
        "connections" => host.state.connections.len().to_string(),
        "drained" => host.state.connections.are_drained().to_string(),
        "wrong_length" => host.state.dropped.wrong_length.to_string(),
        "done" => host.is_done().to_string(),
        "mode" => format!("{:?}", host.send_mode()),
        "falls_back" => u8::from(host.send_mode().is_fallback()).to_string(),
        "close" => format!("{:?}", host.connection().close_reason),
        "gate" => format!("{:?}", host.connection().gate.mode()),
        "data_packets" => host.stats().data_packets.to_string(),
        "used" => host.stats().used.to_string(),
        "dropped" => host.stats().dropped.total().to_string(),
        "mtu" => host.connection().quic.current_mtu().to_string(),
        "peer" => host.connection().quic.remote_address().to_string(),
        "window_updates" => host.connection().quic.stats().frame_rx.max_data.to_string(),
        "unscheduled_acked" => host.connection().gate.unscheduled_acked().to_string(),
        _ => {
            if let Some(name) = name.strip_prefix("probe.") {
                return of_probe(&host.connection().probed()?, name);
            }
            if let Some(ip) = name.strip_prefix("connections_from.") {
                return Some(host.state.connections.count_from(ip.parse().unwrap()).to_string());
            }
            let path = serde_json::to_value(host.connection().path_stats()).unwrap();
            let stats = serde_json::to_value(host.stats()).unwrap();
            [&stats[name], &stats["dropped"][name], &path[name]].into_iter().find(|of| !of.is_null())?.to_string()
        }
    };
    Some(found)
}

fn of_probe((trains, is_over): &(Vec<ProbeCounts>, bool), name: &str) -> Option<String> {
    assert!(*is_over && trains.len() == 20);
    let sum = ProbeCounts::sum(trains);
    let (emulation, control) = (sum.emulation, sum.control);
    let found = match name {
        "sent" => (emulation.sent + control.sent) as f64,
        "unanswered" => (emulation.sent - emulation.answered) as f64,
        "loss" => emulation.loss(),
        "control_loss" => control.loss(),
        "difference" => sum.difference(),
        "error" => sum.error(),
        "overtaking" => sum.overtaking(),
        _ => return None,
    };
    Some(found.to_string())
}

/// A count of the link, or of the packets that were sent to it since the watch began, after filters with `+` between.
fn of_link(network: &Network, direction: Direction, name: &str) -> Option<String> {
    let link = if direction == Direction::ToServer { &network.to_server } else { &network.to_client };
    let (filters, what) = name.split_once('.')?;
    let drops = link.drops;
    let mtu = link.config.mtu;
    let found = match (filters, what) {
        ("dropped", "data") => drops.data,
        ("dropped", "unscheduled") => drops.unscheduled,
        ("dropped", "emulation") => drops.emulation,
        ("dropped", "faults") => drops.faults,
        _ => {
            let unscheduled = dscp("unscheduled");
            let burst_end = network.sent(direction, |seen| Some(seen.dscp) == unscheduled).last().map(|seen| seen.at);
            let passes = |seen: &SentPacket, filter| match filter {
                "all" => true,
                "quic" => seen.first_byte >= 64,
                "ect" => seen.ecn == 2,
                "not_ect" => seen.ecn == 0,
                "after_burst" => Some(seen.at) >= burst_end,
                "short" => seen.bytes < 100,
                "full" => seen.bytes > 1_200,
                "oversized" => seen.bytes > mtu,
                "elsewhere" => ![CLIENT, SERVER].contains(&seen.to),
                class => seen.dscp == dscp(class).unwrap_or_else(|| panic!("no filter: {class}")),
            };
            let sent = network.sent(direction, |seen| filters.split('+').all(|filter| passes(seen, filter)));
            return of_packets(network.began, &sent, what);
        }
    };
    Some(found.to_string())
}

fn of_packets(began: Instant, sent: &[SentPacket], what: &str) -> Option<String> {
    let at = |seen: &SentPacket| (seen.at - began).as_secs_f64();
    let found = match what {
        "count" => sent.len() as f64,
        "bytes" => sent.iter().map(|seen| seen.bytes).sum::<usize>() as f64,
        "longest" => sent.iter().map(|seen| seen.bytes).max().unwrap_or_default() as f64,
        "instants" => sent.iter().map(|seen| seen.at).collect::<BTreeSet<_>>().len() as f64,
        "first" => at(sent.first()?),
        "last" => at(sent.last()?),
        "least_gap" => sent.windows(2).map(|pair| pair[1].at - pair[0].at).min()?.as_secs_f64(),
        _ => {
            let instants = sent.iter().map(|seen| seen.at).collect::<BTreeSet<_>>();
            let gaps: Vec<Duration> =
                instants.iter().zip(instants.iter().skip(1)).map(|(at, next)| *next - *at).collect();
            match *what.split('_').collect::<Vec<_>>() {
                ["gap", at] => gaps.get(at.parse::<usize>().ok()?)?.as_secs_f64(),
                ["gaps", least, most] => {
                    let bounds = [least, most].map(|us| Duration::from_secs_f64(number(us) / 1e6));
                    gaps.iter().filter(|&gap| (bounds[0]..bounds[1]).contains(gap)).count() as f64
                }
                _ => return None,
            }
        }
    };
    Some(found.to_string())
}

/// A test for each file of dialogues.
macro_rules! dialogues {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            dialogue::run(include_str!(concat!(stringify!($name), ".txt")), World::default);
        })*
    };
}

dialogues! { addresses aeolus closed_gate credits fallback faults forgeries path_mtu path_probes renewal wraparound }
