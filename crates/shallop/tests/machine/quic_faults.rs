//! `shallop send` and `receive` in rehearsals with faults on their path: examples/quic/faults.toml with a small file.

#![expect(clippy::print_stderr, reason = "times are printed beside the bound")]

use crate::real::{hosts, programs};
use crate::support::Folder;
use serde_json::Value;
use shallop_testing::Outcome;
use std::fs;
use std::path::{Path, PathBuf};

const SCENARIO: &str = include_str!("../../../../examples/quic/faults.toml");

/// A small file, whose receiver changes its address in the middle.
const VARIABLES: [(&str, &str); 2] = [("BYTES", "60000000"), ("MOVE", "0.7")];

/// The report of a program. A receiver prints its address before it.
fn json(path: &Path) -> Value {
    let text = fs::read(path).unwrap();
    serde_json::Deserializer::from_slice(&text).into_iter().last().unwrap().unwrap()
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap()
}

pub fn a_file_arrives_whole_over_a_path_with_every_fault() -> Outcome {
    let scenario = SCENARIO.replace(r#"at = "5s""#, r#"at = "1500ms""#);
    let folder = Folder::with(scenario);
    hosts(&folder)?;
    let out = programs(&folder, &["--set", "duration=12s"], &VARIABLES);
    let [sent, received] = ["send.s0", "receive.r0"].map(|name| out.join(name));
    let checksum = read(sent.join("checksum"));
    assert_eq!(read(received.join("checksum")), checksum, "{}", read(received.join("stderr")));
    assert!(read(sent.join("moved")) < read(sent.join("done")), "the address changed too late");
    let [there, here] = [&sent, &received].map(|of| json(&of.join("report.json")));
    assert_eq!((&there["on_credits"], &here["on_credits"]), (&true.into(), &true.into()));
    let count = |of: &Value, key: &str| of["credits"][key].as_u64().unwrap();
    assert!(count(&there, "granted") <= count(&here, "credits_sent"));
    // A copy of an emulation packet gets no second credit, and a copied credit releases no data.
    let dropped = |of: &Value, key: &str| of["credits"]["dropped"][key].as_u64().unwrap();
    assert!(dropped(&here, "emulation_repeated") > 100 && dropped(&there, "stamp_repeated") > 100);
    assert_eq!(dropped(&there, "stamp_unknown") + dropped(&there, "wrong_mac"), 0);
    let asked = here["path"]["path_challenges"].as_u64().unwrap();
    assert!(asked > 0, "packets still came from the old address");
    assert!(there["path"]["packets_lost"].as_u64().unwrap() > 200, "{}", there["path"]);
    Ok(())
}

/// A file of 100 MB at 100 Mb/s, half of the bottleneck's rate. The attackers' datagrams therefore compete for
/// processor time only, not for bandwidth.
const WATCHED: &str = include_str!("quic_faults/watched.toml");

/// Groups for an attack by the host FROM on the host TO.
const ATTACK: &str = include_str!("quic_faults/attack.toml");

/// The result of a transfer with two attackers.
struct Watched {
    seconds: f64,
    sent: Value,
    received: Value,
    attacks: Vec<Value>,
}

fn watched(data: &Path, rate: u32, aim: &str) -> Watched {
    let attack = |name, from, to| ATTACK.replace("NAME", name).replace("FROM", from).replace("TO", to);
    let attacks = [attack("receiver", "s0", "r0"), attack("sender", "r0", "s0")].concat();
    let folder = Folder::with([WATCHED, &attacks].concat());
    let attacker = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machine/quic_faults/attacker.py");
    let (data, attacker) = (data.to_str().unwrap(), attacker.to_str().unwrap());
    let rate = rate.to_string();
    let variables = [("DATA", data), ("ATTACKER", attacker), ("RATE", rate.as_str()), ("AIM", aim)];
    let out = programs(&folder, &[], &variables);
    let report = |name: &str, file: &str| json(&out.join(name).join(file));
    let same = out.join("receive.r0/compared");
    assert!(same.is_file(), "{}", read(out.join("receive.r0/stderr")));
    let attacks = ["attack-receiver.s0", "attack-sender.r0"];
    let sent = report("send.s0", "report.json");
    Watched {
        seconds: sent["transfer"]["seconds"].as_f64().unwrap(),
        received: report("receive.r0", "report.json"),
        attacks: attacks.map(|name| report(name, "attack.json")).to_vec(),
        sent,
    }
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// `SHALLOP_PAIRS` says how many runs there are with attackers, each beside one whose attackers do the same work and
/// send to a port that nobody reads; one unless it is set. All share the processors of this machine.
/// `SHALLOP_ATTACK` is the rate of each attacker in datagrams a second; 2,000 unless it is set.
pub fn an_attacker_without_keys_who_sees_all_packets_changes_nothing() -> Outcome {
    let number = |name: &str, default| std::env::var(name).map_or(default, |of| of.parse().unwrap());
    let (pairs, rate) = (number("SHALLOP_PAIRS", 1), number("SHALLOP_ATTACK", 2_000));
    let place = Folder::with("");
    hosts(&place)?;
    let data = place.path("data.bin");
    let bytes: Vec<u8> = (0..100_000_000_u64).map(|at| (at * at / 7 + at) as u8).collect();
    fs::write(&data, bytes).unwrap();
    let mut times = [Vec::new(), Vec::new()];
    let mut all = 0;
    for _ in 0..pairs {
        let runs = ["beside", "connection"].map(|aim| watched(&data, rate, aim));
        for (times, run) in times.iter_mut().zip(&runs) {
            times.push(run.seconds);
        }
        let [beside, attacked] = runs;
        let sent = check(&attacked);
        eprintln!("{:.2} s, {:.2} s with {sent} datagrams", beside.seconds, attacked.seconds);
        eprintln!("{:?}", attacked.attacks);
        all += sent;
    }
    let [quiet, attacked] = times.clone().map(median);
    // A slow machine sends fewer datagrams.
    assert!(all > u64::from(pairs) * u64::from(rate), "{all} forged");
    // A single pair only shows that the transfer does not break down.
    let most = if pairs < 5 { 1.2 } else { 1.02 };
    assert!(attacked < quiet * most, "{quiet} s and {attacked} s: {times:?}");
    Ok(())
}

/// Checks the effects of an attack, and returns the number of forged datagrams.
fn check(run: &Watched) -> u64 {
    let of = |report: &Value, key: &str| report["credits"][key].as_u64().unwrap();
    let dropped = |report: &Value, key: &str| report["credits"]["dropped"][key].as_u64().unwrap();
    let (sent, received) = (&run.sent, &run.received);
    assert_eq!((&sent["on_credits"], &received["on_credits"]), (&true.into(), &true.into()));
    // Every counted credit was sent, and was sent for a packet that was sent.
    assert!(of(sent, "granted") <= of(received, "credits_sent"), "{sent} {received}");
    assert!(of(received, "credits_sent") <= of(sent, "emulated") + of(sent, "path_tests"), "{sent} {received}");
    assert_eq!(dropped(sent, "stamp_unknown"), 0);
    for report in [sent, received] {
        assert!(dropped(report, "wrong_mac") > 1_000, "{report}");
    }
    let mut asked = 0;
    for attack in &run.attacks {
        let number = |key: &str| attack[key].as_u64().unwrap();
        // QUIC answers packets of unknown connections with a reset, at most 50 times a second.
        assert_eq!(number("answers_of_ours"), 0, "{attack}");
        assert!(number("answers") < 50 * 12 && number("longest_answer") < 1_200, "{attack}");
        asked += number("challenges");
    }
    // A copy that arrives before its packet is authentic, but from another address: the peer may have moved (RFC 9000,
    // 9.3.3).
    let challenges = [sent, received].map(|report| report["path"]["path_challenges"].as_u64());
    let challenges: u64 = challenges.iter().map(|count| count.unwrap()).sum();
    assert!(asked <= challenges, "{challenges}: {:?}", run.attacks);
    run.attacks.iter().map(|attack| attack["sent"].as_u64().unwrap()).sum()
}
