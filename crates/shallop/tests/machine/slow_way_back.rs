//! Links whose directions differ, between kernels in virtual time and in the simulator.

use crate::{real::kernel, support::Folder};
use shallop_testing::Outcome;

const SCENARIO: &str = include_str!("slow_way_back/scenario.toml");

/// An acknowledgement with timestamps takes 90 bytes on the wire: 70 of the frame, 20 of preamble and gap. 100 kb/s
/// carry 138.9 a second, and each acknowledges two packets of 1,500 bytes: 3.33 Mb/s.
pub fn acknowledgements_over_a_slow_way_back_limit_kernels_and_the_simulator() -> Outcome {
    let folder = Folder::with(SCENARIO);
    kernel(&folder)?;
    folder.done(&["run", "scenario.toml", "--out", "out"]);
    let summary = folder.summary("out");
    let expected = 100e3 / (8.0 * 90.0) * 2.0 * 1_500.0 * 8.0;
    for run in summary["runs"].as_array().expect("runs") {
        let throughput = run["windows"][0]["throughput_bps"].as_f64().expect("a rate");
        assert!((0.94..1.06).contains(&(throughput / expected)), "{}: {throughput} b/s", run["scheme"]);
    }
    Ok(())
}
