//! A host whose own link is the bottleneck: data of TCP waits in the host, for at most about a millisecond. Simulated
//! hosts and real kernels behave alike.

use crate::{real::kernel, support::Folder};
use shallop_testing::Outcome;

const SCENARIO: &str = r#"
title = "the host's own link"
duration = "600ms"
topology = { kind = "parking-lot", hops = 1, hosts = 2, rate = "1Gbps", delay = "1ms" }
switch.default.buffer = "40KB"
scheme = [{ transport = "cubic", name = "hosts" }]
group = [{ name = "all", from = "p0h1", to = "p1h1" }]
"#;

/// The goodput in bits per second, the loss rate, and the longest switch queue in bytes.
fn of(folder: &Folder, stack: &str) -> [f64; 3] {
    folder.done(&["run", "scenario.toml", "--set", &format!("stack={stack}"), "--out", stack]);
    let run = &folder.summary(stack)["runs"][0];
    let longest = run["links"].as_array().into_iter().flatten();
    let longest = longest.filter_map(|link| link["max_queue_bytes"].as_f64()).fold(0.0, f64::max);
    // The first slow start takes 50 ms and has less than 1 % of the round-trip samples.
    for (quantile, most) in [("p50_s", 4.5e-3), ("p99_s", 5e-3)] {
        let rtt = run["rtt"][quantile].as_f64();
        assert!(rtt.is_some_and(|rtt| (2.4e-3..most).contains(&rtt)), "{stack}: {quantile} {rtt:?}");
    }
    let figure = |name: &str| run[name].as_f64().unwrap_or(f64::NAN);
    [figure("goodput_bps"), figure("loss_rate"), longest]
}

pub fn a_simulated_host_keeps_its_queue_short() {
    let folder = Folder::with(SCENARIO);
    let [goodput, loss, longest] = of(&folder, "linux");
    assert!(goodput > 0.85e9 && loss == 0.0, "{goodput} {loss}");
    assert!(longest <= 3_100.0, "the switches hold next to nothing: {longest}");
}

pub fn a_kernel_keeps_its_queue_short() -> Outcome {
    let folder = Folder::with(SCENARIO);
    kernel(&folder)?;
    let [goodput, loss, longest] = of(&folder, "kernel");
    let [simulated, ..] = of(&folder, "linux");
    assert!(loss == 0.0 && longest <= 3_100.0, "{loss} {longest}");
    assert!((simulated / goodput - 1.0).abs() < 0.02, "{simulated} {goodput}");
    Ok(())
}
