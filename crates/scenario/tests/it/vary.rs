//! What `--vary` and `--seeds` refuse.

use crate::malformed::GOOD;
use shallop_scenario::{Options, read, values};

const SCENARIO: &str = include_str!("../scenarios/varied.toml");

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
