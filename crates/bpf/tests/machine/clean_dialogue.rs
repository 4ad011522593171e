//! The dialogues of `clean_packets.txt`: a proxy, and frames that pass it.

use crate::clean_packets::{PLAIN, load};
use crate::kernel_programs;
use crate::packets::{ACK, RST, SYN, ecn, ip_sum, tcp_sum, window};
use shallop_bpf::clean::{Flow, Program, Proxy};
use shallop_proto::clean::Config;
use shallop_testing::Outcome;
use shallop_testing::dialogue::{self, Scope, number};
use std::time::Duration;

#[derive(Default)]
struct World {
    proxy: Option<Proxy>,
    /// The last frame before and after the proxy.
    given: Vec<u8>,
    passed: Vec<u8>,
    noted: Vec<Flow>,
}

impl World {
    fn proxy(&mut self) -> &mut Proxy {
        self.proxy.as_mut().unwrap()
    }

    fn flows(&mut self) -> Vec<Flow> {
        self.proxy().maps().flows().unwrap()
    }

    fn pass(&mut self, words: &[&str]) {
        let (mut frame, mut edge, mut udp, mut burst) = (PLAIN, false, false, (0, 0));
        for (key, value) in words.iter().filter_map(|word| word.split_once('=')) {
            let whole = || number(value).unwrap() as u32;
            match key {
                "from" => frame.is_of_sender = value == "sender",
                "through" => edge = value == "edge",
                "v6" => frame.is_v6 = value == "yes",
                "udp" => udp = value == "yes",
                "port" => frame.ports.0 = whole() as u16,
                "receiver_port" => frame.ports.1 = whole() as u16,
                "ecn" => frame.ecn = whole() as u8,
                "flags" => {
                    let flags = [("syn", SYN), ("ack", ACK), ("rst", RST)];
                    frame.flags = flags.iter().filter(|flag| value.contains(flag.0)).map(|flag| flag.1).sum();
                }
                "seq" => frame.seq = whole(),
                "ack" => frame.ack = whole(),
                "window" => frame.window = whole() as u16,
                "scale" => frame.scale = number(value).map(|scale| scale as u8),
                "payload" => frame.payload = whole() as usize,
                "segments" => burst.0 = whole(),
                "segment_bytes" => burst.1 = whole(),
                _ => panic!("{key} is unknown"),
            }
        }
        self.given = frame.bytes();
        if udp {
            self.given[if frame.is_v6 { 20 } else { 23 }] = 17;
        }
        let program = match (edge, frame.is_of_sender) {
            (true, _) => Program::Edge,
            (_, true) => Program::Data,
            _ => Program::Acks,
        };
        let given = self.given.clone();
        self.passed = self.proxy().run(program, &given, burst.0, burst.1, 1).unwrap().0;
    }
}

impl dialogue::World for World {
    fn act(&mut self, words: &[&str], _: &Scope) {
        match *words {
            ["load"] => self.proxy = load(Config::default()).ok(),
            ["load_with_flows", flows] => {
                let flows = number(flows).unwrap() as u32;
                self.proxy = load(Config { flows, ..Config::default() }).ok();
            }
            ["pass", ref words @ ..] => self.pass(words),
            ["wait", span] => std::thread::sleep(Duration::from_secs_f64(number(span).unwrap())),
            ["note_flows"] => self.noted = self.flows(),
            _ => panic!("not understood: {words:?}"),
        }
    }

    fn value(&mut self, name: &str) -> Option<String> {
        let sums = [tcp_sum(&self.passed), ip_sum(&self.passed).or(Some(0xffff))];
        let value = match *name.split('.').collect::<Vec<_>>() {
            ["ecn"] => ecn(&self.passed).to_string(),
            ["window"] => window(&self.passed)?.to_string(),
            ["checksums"] => if sums == [Some(0xffff); 2] { "right" } else { "wrong" }.to_owned(),
            ["passed"] => if self.passed == self.given { "unchanged" } else { "changed" }.to_owned(),
            ["changed_flows"] => (self.flows() != self.noted).to_string(),
            ["flows"] => self.flows().len().to_string(),
            ["counted"] => format!("{:?}", self.proxy().maps().counters().unwrap()),
            ["flow", number] => format!("{:?}", self.flows().get(number.parse::<usize>().ok()?)?),
            ["window_of", number] => self.flows().get(number.parse::<usize>().ok()?)?.window_segments.to_string(),
            _ => return None,
        };
        Some(value)
    }
}

pub fn frames_pass_a_proxy_as_the_dialogues_say() -> Outcome {
    kernel_programs()?;
    dialogue::run(include_str!("clean_packets.txt"), World::default);
    Ok(())
}
