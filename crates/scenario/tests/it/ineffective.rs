//! Keys without effect: a note names them, and a sweep over one is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its scenario should fail there")]

use shallop_plan::files::FilesInMemory;
use shallop_scenario::{Options, Problem, read};
use std::sync::Arc;

/// Two hosts at one switch, with these keys of the scenario, of the default switch, and this transport.
fn text(top: &str, switch: &str, transport: &str) -> String {
    format!(
        "title = \"t\"\nduration = \"1ms\"\n{top}\n\
         topology = {{ kind = \"dumbbell\", senders = 1, rate = \"1Gbps\", delay = \"1us\" }}\n\
         [switch.default]\n{switch}\n[[scheme]]\ntransport = \"{transport}\"\n\
         [[group]]\nname = \"all\"\n"
    )
}

fn notes(text: &str) -> Vec<String> {
    read(text, &Options::default()).unwrap().notes
}

fn sweep(text: &str, key: &str, values: &[&str]) -> Result<Vec<String>, Problem> {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    let vary = vec![(key.to_owned(), values)];
    read(text, &Options { vary, ..Options::default() }).map(|study| study.notes)
}

#[test]
fn a_key_without_effect_is_noted_and_not_swept_and_one_with_an_effect_is() {
    for row in include_str!("../scenarios/ineffective.tsv").lines().filter(|row| !row.starts_with('#')) {
        let columns: Vec<String> = row.split('\t').map(|cell| cell.replace("\\n", "\n")).collect();
        let [top, switch, transport, key, values, why] = &columns[..] else { panic!("six columns: {row}") };
        let text = text(top, switch, transport);
        let values: Vec<&str> = values.split(',').collect();
        if why == "-" {
            let notes = sweep(&text, key, &values).unwrap();
            assert!(notes.is_empty(), "{key}: {notes:?}");
            continue;
        }
        let notes = notes(&text);
        let [note] = &notes[..] else { panic!("{key}: {notes:?}") };
        let named = key.strip_suffix(".above").unwrap_or(key);
        assert!(note.contains(&format!("`{named}` has no effect: ")) && note.contains(why), "{note}");
        let refused = sweep(&text, key, &values).expect_err(key);
        let place = format!("--vary {key}: `{key}` has no effect: ");
        assert!(refused.message().starts_with(&place) && refused.message().contains(why), "{refused:?}");
    }
}

#[test]
fn hosts_of_a_group_have_no_effect_beside_a_matrix() {
    let group = "flows = 1\npattern = \"matrix\"\nmatrix = [{ from = \"left\", to = \"right\", weight = 1 }]\n";
    let text = text("", "", "cubic") + group;
    assert!(notes(&text).is_empty());
    let with_from = notes(&(text + "from = \"left\"\n"));
    assert_eq!(with_from, ["`group.all.from` has no effect: `matrix` names the hosts of each pair"]);
}

#[test]
fn a_buffer_beside_chips_of_nodes_has_no_effect() {
    let files = |csv: &str| FilesInMemory::from_texts([("n.csv", csv)]);
    let text = text("", "buffer = \"1MB\"", "cubic").replace(
        "{ kind = \"dumbbell\", senders = 1, rate = \"1Gbps\", delay = \"1us\" }",
        "{ kind = \"file\", file = \"n.csv\" }",
    );
    let text = format!("{text}from = \"a.h0\"\nto = \"b.h0\"\n");
    let sweep = |csv: &str| {
        let vary = vec![("switch.default.buffer".to_owned(), vec!["1MB".to_owned(), "2MB".to_owned()])];
        read(&text, &Options { vary, files: Arc::new(files(csv)), ..Options::default() })
    };
    let both = "from,to,rate,delay,chip\na,b,1Gbps,1us,\na,,,,trident2\nb,,,,tofino\n";
    let refused = sweep(both).unwrap_err();
    assert!(refused.message().contains("has a `chip` in the network file"), "{refused:?}");
    let one = "from,to,rate,delay,chip\na,b,1Gbps,1us,\na,,,,trident2\n";
    assert!(sweep(one).unwrap().notes.is_empty());
}

/// Two hosts at a switch that has the section `core`.
const GRAPH: &str = include_str!("../scenarios/two_hosts.toml");

#[test]
fn a_default_switch_that_no_node_is_has_no_effect() {
    let text = GRAPH.replace("set = { \"switch.default.shared.size\" = \"3MB\" }\n", "");
    let why = "no node of this network is a switch of that section";
    assert_eq!(notes(&text), [format!("`switch.default.buffer` has no effect: {why}")]);
    let refused = sweep(&text, "switch.default.buffer", &["1MB", "2MB"]).unwrap_err();
    assert!(refused.message().contains(why), "{refused:?}");
    assert_eq!(sweep(&text, "switch.core.buffer", &["1MB", "2MB"]).unwrap().len(), 1);
    let of_a_scheme = GRAPH.replace("buffer = \"1MB\"\n", "");
    let note = format!("`switch.default.shared.size` has no effect: {why}");
    assert_eq!(notes(&of_a_scheme), [note]);
}
