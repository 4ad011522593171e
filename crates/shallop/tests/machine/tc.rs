//! Scripts of `shallop config --os tc`: applied and undone by the kernel of this machine, and beside the simulated port
//! by kernels in virtual time. There the receiver has the script between its card and its TCP.

use crate::{real::kernel, support::Folder, support::text};
use serde_json::Value;
use shallop_testing::{Cause, Outcome, Stop, need, programs, skip};
use std::{fs, io, io::Write, process::Command};

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tc");

/// Applies a script in a namespace twice, gives what `tc` then shows, undoes it, and compares with the time before.
/// Skips the test if this kernel refuses the script, which leaves nothing either.
fn in_a_namespace(name: &str) -> Result<Value, Stop> {
    programs(&["unshare", "ip", "tc", "ethtool"])?;
    let folder = tempfile::tempdir().unwrap();
    let state = "{ ip link show eth0; ethtool -k eth0; tc qdisc show dev eth0; }";
    let lines = format!(
        "ip link add eth0 type veth peer name far && ip link set eth0 up && ip link set far up || exit 3
         {state} > before
         sh $0 apply eth0 2> why && sh $0 apply eth0 && sh $0 show eth0; status=$?
         sh $0 undo eth0
         {state} | diff before - >&2 && test ! -e shallop-tc.eth0 || exit 4
         exit $status"
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-c", &lines, &format!("{FILES}/{name}.sh")]);
    let output = command.current_dir(folder.path()).env("KEPT", folder.path()).output()?;
    let why = text(&output.stderr) + &fs::read_to_string(folder.path().join("why")).unwrap_or_default();
    match output.status.code() {
        Some(0) => Ok(serde_json::from_slice(&output.stdout)?),
        Some(4) => panic!("something is left: {why}"),
        Some(3) => Err(skip(Cause::Namespaces, why)),
        _ if why.contains("qdisc kind is unknown") => Err(skip(Cause::Namespaces, format!("{name}: {why}"))),
        _ => panic!("{why}"),
    }
}

pub fn a_script_is_applied_by_this_kernel_and_undone() -> Outcome {
    let shown = in_a_namespace("drop-tail")?;
    check(&shown, &[("tbf", "rate", 25e6), ("bfifo", "limit", 39_364.0)]);
    Ok(())
}

pub fn a_script_with_bands_and_marks_is_applied_by_this_kernel_and_undone() -> Outcome {
    check(&in_a_namespace("marked")?, &[("ets", "bands", 4.0)]);
    Ok(())
}

/// Compares options of queue disciplines with those that `tc` reads back.
fn check(shown: &Value, wanted: &[(&str, &str, f64)]) {
    for (kind, option, wanted) in wanted {
        assert_eq!(busiest(shown, kind)["options"][option].as_f64(), Some(*wanted), "{kind} {option}: {shown}");
    }
}

/// The queue discipline of this kind that has sent most.
fn busiest<'a>(shown: &'a Value, kind: &str) -> &'a Value {
    let all = shown.as_array().unwrap();
    all.iter().filter(|it| it["kind"] == kind).max_by_key(|it| it["bytes"].as_u64()).unwrap()
}

/// Means over two seeds: goodput in bits per second, median round trip in seconds, lost and marked packets as fractions
/// of those that arrived. With a script, `tc` has counted the packets; `shown` has what it shows in each run.
fn figures(folder: &Folder, scenario: &str, shown: &mut Vec<Value>) -> [f64; 4] {
    folder.done(&["run", scenario, "--out", "out", "--seeds", "2"]);
    let mut means = [0.0; 4];
    for run in folder.summary("out")["runs"].as_array().unwrap() {
        let values = [&run["goodput_bps"], &run["rtt"]["p50_s"], &run["loss_rate"], &run["marks"]];
        let mut values = values.map(|it| it.as_f64().unwrap());
        values[3] /= run["delivered_data_packets"].as_f64().unwrap();
        if let Some(program) = run["programs"].as_array().and_then(|all| all.first()) {
            let files = folder.path("out").join(program["files"].as_str().unwrap());
            let of = |name: &str| fs::read_to_string(files.join(name)).unwrap();
            assert_eq!((&program["status"], of("stderr").as_str()), (&0.into(), ""));
            assert!(!of("left").contains("tbf"));
            let all: Value = serde_json::from_str(&of("qdisc.json")).unwrap();
            let [drops, packets] = ["drops", "packets"].map(|name| busiest(&all, "tbf")[name].as_f64().unwrap());
            let marked = all.as_array().unwrap().iter().filter_map(|it| it["marked"].as_f64()).sum::<f64>();
            values = [values[0], values[1], drops / (drops + packets), marked / packets];
            shown.push(all);
        }
        for (mean, value) in means.iter_mut().zip(values) {
            *mean += value / 2.0;
        }
    }
    means
}

/// Compares a simulated port with its script: goodput and round trip within 10 %, lost and marked packets
/// within a factor of 1.5. `wanted` are the options that `tc` reads back.
fn compare(name: &str, wanted: &[(&str, &str, f64)]) -> Outcome {
    let scenario = fs::read_to_string(format!("{FILES}/{name}.toml"))?;
    let folder = Folder::with(&scenario);
    kernel(&folder)?;
    let newest = folder.json(&["kernel", "list", "--json"]).as_array().and_then(|all| all.last().cloned()).unwrap();
    let config = fs::read_to_string(folder.path(newest["folder"].as_str().unwrap()).join("config"))?;
    let old = "the kernel is of an older shallop: 'make kernel' builds it again";
    need(Cause::Kernel, config.contains("CONFIG_NET_SCH_ETS=y").then_some(()).ok_or(old))?;
    programs(&["ip", "tc", "ethtool"])?;
    let fast = scenario.split("[switch.default]").next().unwrap().replace("200Mbps", "10Gbps");
    let buffer = if fast.contains("flashpass") { "legacy_weight = 1\nbuffer = \"10MB\"" } else { "buffer = \"10MB\"" };
    let port = "[[group]]\nname = \"port\"\nfrom = \"r0\"\nto = \"s0\"\ncommand = [\"sh\", \"/scenario/port.sh\"]\n";
    fs::write(folder.path("tc.toml"), format!("{fast}\n{port}\n[switch.default]\n{buffer}\n"))?;
    fs::copy(format!("{FILES}/port.sh"), folder.path("port.sh"))?;
    fs::copy(format!("{FILES}/{name}.sh"), folder.path("script.sh"))?;
    fs::copy(format!("{FILES}/disciplines.sh"), folder.path("other.sh"))?;
    let mut shown = Vec::new();
    let simulated = figures(&folder, "scenario.toml", &mut Vec::new());
    let real = figures(&folder, "tc.toml", &mut shown);
    writeln!(io::stderr(), "{name}: goodput, round trip, lost, marked: simulated {simulated:.5?}, tc {real:.5?}")?;
    for (index, (a, b)) in simulated.into_iter().zip(real).enumerate() {
        let agree = if index < 2 { (b / a - 1.0).abs() < 0.1 } else { a.max(b) <= 1.5 * a.min(b) };
        assert!(agree, "{index}: simulated {simulated:?}, tc {real:?}");
    }
    for shown in &shown {
        check(shown, &[("tbf", "rate", 25e6)]);
        check(shown, wanted);
    }
    Ok(())
}

pub fn a_full_buffer_drops_in_tc_as_in_the_simulator() -> Outcome {
    compare("drop-tail", &[("bfifo", "limit", 39_364.0)])
}

pub fn dctcp_is_marked_by_tc_as_by_the_simulator() -> Outcome {
    let red = [("min", 38_607.0), ("max", 38_607.0), ("limit", 196_820.0), ("ewma", 1.0)];
    compare("marked", &red.map(|(option, wanted)| ("red", option, wanted)))
}

pub fn random_drops_of_tc_are_those_of_the_simulator() -> Outcome {
    let red = [("min", 28_009.0), ("max", 87_055.0), ("limit", 196_820.0), ("ewma", 3.0)];
    compare("red", &red.map(|(option, wanted)| ("red", option, wanted)))
}
