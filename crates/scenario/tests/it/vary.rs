//! What `--vary` and `--seeds` make of a scenario, and what they refuse.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::malformed::GOOD;
use shallop_core::{BufferSize, Bytes};
use shallop_plan::Study;
use shallop_scenario::{Options, read, values};

const SCENARIO: &str = include_str!("../scenarios/varied.toml");

const POINTS: &str = include_str!("../scenarios/points.toml");

fn vary(keys: &[(&str, &str)]) -> Options {
    let keys = keys.iter().map(|(key, text)| ((*key).to_owned(), values(text).unwrap()));
    Options { vary: keys.collect(), ..Options::default() }
}

fn names(study: &Study) -> Vec<&str> {
    study.points.iter().map(|point| point.name.as_str()).collect()
}

#[test]
fn every_combination_of_values_is_a_point() {
    let options = vary(&[("switch.default.buffer", "20KB, \"8pkt\""), ("topology.senders", "20,200")]);
    let study = read(SCENARIO, &options).unwrap();
    assert_eq!(
        names(&study),
        [
            "switch.default.buffer=20KB, topology.senders=20",
            "switch.default.buffer=20KB, topology.senders=200",
            "switch.default.buffer=8pkt, topology.senders=20",
            "switch.default.buffer=8pkt, topology.senders=200",
        ]
    );
    let point = &study.points[1];
    assert_eq!(point.set["topology.senders"], 200);
    assert_eq!(point.set["switch.default.buffer"], "20KB");
    assert_eq!(point.plan.switches[0].buffer, BufferSize::Bytes(Bytes::new(20_000)));
    assert_eq!(point.plan.groups[0].flows, 200);
    assert_eq!((study.seeds.as_slice(), study.claims.len()), (&[5][..], 0));
}

#[test]
fn points_of_the_scenario_are_varied_too_and_give_way() {
    let text = format!("{SCENARIO}{POINTS}");
    let study = read(&text, &vary(&[("sample", "1ms,10ms")])).unwrap();
    assert_eq!(names(&study), ["few, sample=1ms", "few, sample=10ms", "many, sample=1ms", "many, sample=10ms"]);
    assert_eq!(study.points[2].set["topology.senders"], 8);
    let study = read(&text, &vary(&[("topology.senders", "4")])).unwrap();
    assert_eq!(study.points[1].set["topology.senders"], 4);
    assert_eq!(study.points[1].plan.groups[0].flows, 4);
}

#[test]
fn seeds_count_from_the_first_one_and_leave_the_claims() {
    let study = read(SCENARIO, &Options { seeds: Some(3), ..Options::default() }).unwrap();
    assert_eq!((study.seeds.as_slice(), study.claims.len()), (&[5, 6, 7][..], 1));
    let asked = Options { seeds: Some(2), seed: Some(40), ..vary(&[("sample", "1ms,2ms")]) };
    let study = read(SCENARIO, &asked).unwrap();
    assert_eq!((study.seeds.as_slice(), study.jobs().len()), (&[40, 41][..], 4));
    for (count, words) in [(0, "must be a seed"), (20_000, "more than 10000")] {
        let options = Options { seeds: Some(count), ..Options::default() };
        let problem = read(SCENARIO, &options).unwrap_err();
        assert!(problem.message().contains("--seeds") && problem.message().contains(words), "{problem}");
    }
}

fn with(keys: &[(&str, &str, &str)], options: Options) -> Options {
    let with = keys.iter().map(|(leader, key, text)| ((*leader).to_owned(), (*key).to_owned(), values(text).unwrap()));
    Options { with: with.collect(), ..options }
}

#[test]
fn keys_move_together_with_another_key() {
    let options = vary(&[("topology.senders", "20,200"), ("sample", "1ms,2ms")]);
    let pairs = [("topology.senders", "switch.default.buffer", "20KB,8pkt")];
    let study = read(SCENARIO, &with(&pairs, options.clone())).unwrap();
    assert_eq!(
        names(&study),
        [
            "topology.senders=20, switch.default.buffer=20KB, sample=1ms",
            "topology.senders=20, switch.default.buffer=20KB, sample=2ms",
            "topology.senders=200, switch.default.buffer=8pkt, sample=1ms",
            "topology.senders=200, switch.default.buffer=8pkt, sample=2ms",
        ]
    );
    assert_eq!(study.points[3].set["switch.default.buffer"], "8pkt");
    let same = with(&[("topology.senders", "switch.default.buffer", "8pkt,8pkt")], options.clone());
    assert_eq!(read(SCENARIO, &same).unwrap().points.len(), 4, "a value may be there twice");
}

/// Options of the command that are refused, and the words of the error.
#[test]
fn what_cannot_be_varied_is_told_with_the_option() {
    let known = |word: &str| word.replace("MANY", &(0..200).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    for row in include_str!("../scenarios/options.tsv").lines().filter(|row| !row.starts_with('#')) {
        let [vary, pairs, set, words] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("four columns: {row}") };
        let split = |text: &str| -> Vec<[String; 2]> {
            let all = text.split(" & ").filter_map(|change| change.split_once('='));
            all.map(|(key, value)| [key.to_owned(), known(value)]).collect()
        };
        let vary = split(vary).into_iter().map(|[key, text]| (key, values(&text).unwrap())).collect();
        let with = split(pairs).into_iter().map(|[keys, text]| {
            let (leader, key) = keys.split_once(": ").unwrap();
            (leader.to_owned(), key.to_owned(), values(&text).unwrap())
        });
        let set = split(set).into_iter().map(|[key, value]| (key, value)).collect();
        let options = Options { vary, with: with.collect(), set, ..Options::default() };
        let text = if row.starts_with("\t\t") { GOOD } else { SCENARIO };
        let problem = read(text, &options).expect_err(row);
        assert!(problem.span.is_none() || text == SCENARIO, "{row}: {problem:?}");
        let said = format!("{} {}", problem.message(), problem.help);
        for word in words.split(" | ") {
            assert!(said.contains(word), "{row}: {word} is not in: {said}");
        }
    }
}
