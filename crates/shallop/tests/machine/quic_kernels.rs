//! The programs `shallop send` and `shallop receive` in hosts that are kernels in virtual time.

use crate::real::kernel;
use crate::support::{Folder, timeless};
use serde_json::Value;
use shallop_testing::Outcome;
use std::fs;

const EXAMPLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quic/programs.toml"));

/// The reports of the senders in a run, by host.
fn reports(folder: &Folder, out: &str) -> Vec<Value> {
    let run = &folder.summary(out)["runs"][0];
    let programs = run["programs"].as_array().unwrap().iter();
    let senders = programs.filter(|program| program["group"] == "send");
    let said = senders.map(|program| {
        assert_eq!(program["status"], 0, "{program}");
        let kept = folder.path(out).join(program["files"].as_str().unwrap());
        serde_json::from_str(&fs::read_to_string(kept.join("stdout")).unwrap()).unwrap()
    });
    said.collect()
}

pub fn the_programs_share_a_shallow_bottleneck_without_loss_or_lateness_the_same_way_twice() -> Outcome {
    // Fewer and smaller flows.
    let small = EXAMPLE.replace("= 4\n", "= 2\n").replace("500Mbps", "100Mbps").replace("350ms", "100ms");
    let folder = Folder::with(small);
    kernel(&folder)?;
    for out in ["once", "again"] {
        folder.done(&["run", "scenario.toml", "--out", out]);
    }
    let summary = |out: &str| timeless(&folder.path(out).join("summary.json"));
    assert_eq!(summary("once"), summary("again"));
    let run = folder.summary("once")["runs"][0].clone();
    assert_eq!(run["drops"]["data"], 0, "{}", run["drops"]);
    let all = reports(&folder, "once");
    assert_eq!(all.len(), 2);
    for report in &all {
        let credits = &report["credits"];
        assert_eq!(report["on_credits"], true);
        // No credit was more than 100 us late.
        assert_eq!((&credits["skipped"], &credits["late"][1]), (&0.into(), &0.into()), "{report}");
    }
    Ok(())
}
