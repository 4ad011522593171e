//! Connections that carry flow after flow: who takes which, and what that changes.

use crate::support::{self, filled, study};
use proptest::prelude::*;
use shallop_measure::Outcome;
use shallop_scenario::{Options, read};

const DUMBBELL: &str = include_str!("scenarios/kept_dumbbell.toml");

const LEAF_SPINE: &str = include_str!("scenarios/kept_leaf_spine.toml");

fn outcome(network: &str, connections: &str, group: &str) -> Outcome {
    let text =
        format!("{network}\n[[group]]\nname = \"all\"\nsize = \"100KB\"\nconnections = \"{connections}\"\n{group}\n");
    support::outcome(&study(&text).points[0].plan, 0, 1)
}

fn times(outcome: &Outcome) -> Vec<f64> {
    outcome.flows.iter().map(|flow| flow.fct_s.unwrap()).collect()
}

const ONE_BY_ONE: &str = "flows = 20\narrivals = { every = \"100ms\", at_once = 1 }";

#[test]
fn a_flow_goes_on_where_the_one_before_it_ended() {
    let [new, kept] = ["new", "kept"].map(|which| times(&outcome(DUMBBELL, which, ONE_BY_ONE)));
    assert_eq!(new[0].to_bits(), kept[0].to_bits(), "the first opens a connection in any case");
    // The handshake of a new connection takes 10 ms, and its first window takes three more round trips to become 69
    // segments; on a connection that is open and has the window for it, all of it leaves at once.
    assert!(new[1..].iter().all(|&time| time > 0.035), "{new:?}");
    assert!(kept[3..].iter().all(|&time| time < 0.012), "{kept:?}");
}

#[test]
fn flows_at_once_have_a_connection_each_and_all_bytes_arrive() {
    let group = "flows = 30\narrivals = { every = \"200ms\", at_once = 3 }";
    let kept = outcome(DUMBBELL, "kept", group);
    assert_eq!((kept.run.fct.all.as_ref().unwrap().count, kept.run.fct.all.as_ref().unwrap().unfinished), (30, 0));
    assert!((kept.run.goodput_bps * kept.run.duration_s / 8.0 - 3e6).abs() < 1.0);
    // The first three have a handshake.
    assert!(times(&kept)[..3].iter().all(|&time| time > 0.035));
    assert!(times(&kept)[9..].iter().all(|&time| time < 0.02));
    let again = outcome(DUMBBELL, "kept", group);
    assert_eq!(times(&kept), times(&again), "what is idle is taken in one order");
}

#[test]
fn a_connection_keeps_its_way() {
    let ways = |connections| {
        let group = format!("from = [\"leaf0h0\"]\nto = [\"leaf1h0\"]\n{ONE_BY_ONE}");
        let run = outcome(LEAF_SPINE, connections, &group).run;
        run.utilization_by_place.iter().filter(|&(_, &busy)| busy > 0.0003).count()
    };
    let (new, kept) = (ways("new"), ways("kept"));
    // There: a leaf's port, a spine's and that to the host.
    assert!(kept <= 4 && new > kept + 2, "{kept} ports carry data where connections are kept, {new}");
}

#[test]
fn groups_may_share_connections() {
    let text = |[warm, all]: [&str; 2]| {
        let group = "size = \"100KB\"\nflows = 1";
        format!("{DUMBBELL}[[group]]\nname = \"warm\"\n{group}\n{warm}\n[[group]]\nname = \"all\"\n{group}\n{all}")
    };
    let kept = "connections = \"kept\"\nstart = \"100ms\"";
    let of = |name: &str| format!("{kept}\nconnections_of = \"{name}\"");
    let second = |all: &str| {
        let text = text(["connections = \"kept\"", all]);
        times(&support::outcome(&study(&text).points[0].plan, 0, 1))[1]
    };
    // As between flows of one group: the second flow has no handshake, and the window of the first.
    let one = outcome(DUMBBELL, "kept", "flows = 2\narrivals = { every = \"100ms\", at_once = 1 }");
    assert_eq!(second(&of("warm")).to_bits(), times(&one)[1].to_bits());
    assert!(second(kept) > 0.035 && times(&one)[1] < 0.03, "its own connection is new");
    let other = "connections = \"kept\"\ntransport = { transport = \"dctcp\" }";
    let wrong = [("", "all", "no earlier"), ("", "warm", "no connections"), (other, "warm", "different transports")];
    for (warm, name, part) in wrong {
        let message = read(&text([warm, &of(name)]), &Options::default()).unwrap_err().message();
        assert!(message.contains(part), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is lost, and whatever the controller: every flow of a connection ends, and its bytes arrive once.
    #[test]
    fn every_flow_of_a_connection_ends(
        transport in prop::sample::select(vec![
            "newreno", "cubic", "vegas", "dctcp", "prague", "bbr", "copa", "gemini",
        ]),
        stack in prop::sample::select(vec!["linux", "linux-ideal", "ns2", "ns3"]),
        (loss, seed) in (0.0..0.02, 1u64..1000),
        (gap, sizes) in (1u64..60, prop::sample::select(vec!["1B", "60KB", "600KB"])),
    ) {
        let (loss, gap) = (format!("{loss}"), format!("{gap}"));
        let values = [("stack", stack), ("transport", transport), ("loss", &loss), ("gap", &gap), ("sizes", sizes)];
        let text = filled(include_str!("scenarios/kept_connections.toml"), &values);
        let outcome = support::outcome(&study(&text).points[0].plan, 0, seed);
        let all = outcome.run.fct.all.as_ref().unwrap();
        prop_assert_eq!((all.count, all.unfinished), (30, 0));
        let size = outcome.flows[0].size_bytes.unwrap() * 30;
        let arrived = outcome.run.goodput_bps * outcome.run.duration_s / 8.0;
        prop_assert!((arrived - size as f64).abs() < 1.0, "{} of {} bytes", arrived, size);
    }
}
