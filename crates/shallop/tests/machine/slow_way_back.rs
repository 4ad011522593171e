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

/// Where the receiver's own link is slow, acknowledgements wait in the host, and the host drops those that find its
/// queue full. So the length of that queue sets the round-trip time, and with it the goodput: 410 Mb/s here and 401 in
/// a kernel over 10 s with a queue of 100 acknowledgements, 586 with one of 64.
pub fn as_many_acknowledgements_wait_in_simulated_hosts_as_in_kernels() -> Outcome {
    let fast = SCENARIO.replace(r#"["100Mbps", "100Kbps"]"#, r#""1Gbps""#).replace(r#""8s""#, r#""7s""#);
    let text = fast.replace(r#"rate = "100Mbps""#, r#"rate = ["1Gbps", "1Mbps"]"#).replace("4s..8s", "4s..7s");
    let folder = Folder::with(format!("nic_jitter = \"0s\"\n{text}"));
    kernel(&folder)?;
    folder.done(&["run", "scenario.toml", "--out", "out"]);
    let summary = folder.summary("out");
    let rates =
        summary["runs"].as_array().expect("runs").iter().map(|run| run["windows"][0]["throughput_bps"].as_f64());
    let rates: Vec<f64> = rates.map(|rate| rate.expect("a rate")).collect();
    assert!((0.9..1.1).contains(&(rates[0] / rates[1])), "{rates:?} b/s");
    Ok(())
}
