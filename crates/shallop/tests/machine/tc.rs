//! Scripts for `tc`, which `shallop-device` writes: applied and undone by the kernel of this machine, and beside the
//! simulated port by kernels in virtual time. There the receiver has the script between its card and its TCP.

use crate::{real::kernel, support::Folder, support::text};
use serde_json::Value;
use shallop_testing::{Cause, Outcome, programs, skip};
use std::path::{Path, PathBuf};
use std::{fs, process::Command};

const SCENARIO: &str = include_str!("tc/bottleneck.toml");
const PORT: &str = include_str!("tc/port.sh");

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../device/tests/data/tc/{name}.sh"))
}

/// Applies a script in a namespace, keeps what `tc` then shows, undoes it, and compares with the time before. Skips the
/// rest if this kernel refuses the script, which leaves nothing either.
fn in_a_namespace(name: &str) -> Result<Value, shallop_testing::Stop> {
    programs(&["unshare", "ip", "tc", "ethtool"])?;
    let folder = tempfile::tempdir().unwrap();
    let state = "{ ip link show eth0; ethtool -k eth0; tc qdisc show dev eth0; }";
    let lines = format!(
        "ip link add eth0 type veth peer name far && ip link set eth0 up && ip link set far up || exit 3
         {state} > before
         sh $0 apply 2> why && sh $0 apply && sh $0 show; status=$?
         sh $0 undo
         {state} | diff before - >&2 && test ! -e shallop-tc.eth0 || exit 4
         exit $status"
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-c", &lines]).arg(script(name));
    let output = command.current_dir(folder.path()).env("KEPT", folder.path()).output()?;
    let why = text(&output.stderr) + &fs::read_to_string(folder.path().join("why")).unwrap_or_default();
    match output.status.code() {
        Some(0) => Ok(serde_json::from_slice(&output.stdout)?),
        Some(4) => panic!("something is left: {why}"),
        Some(3) => Err(skip(Cause::Namespaces, why)),
        _ if why.contains("qdisc kind is unknown") => {
            Err(skip(Cause::Namespaces, format!("{name}: this kernel: {why}")))
        }
        _ => panic!("{why}"),
    }
}

pub fn a_script_is_applied_twice_by_this_kernel_and_undone() -> Outcome {
    let shown = in_a_namespace("drop-tail")?;
    check(&shown, "tbf", "rate", 25_000_000.0);
    check(&shown, "bfifo", "limit", 39_364.0);
    Ok(())
}

pub fn a_script_with_bands_and_marks_is_applied_by_this_kernel_and_undone() -> Outcome {
    check(&in_a_namespace("marked")?, "ets", "bands", 4.0);
    Ok(())
}

/// An option of the last queue discipline of this kind, as `tc` reads it back.
fn check(shown: &Value, kind: &str, option: &str, wanted: f64) {
    let read = find(shown, kind)["options"][option].as_f64();
    assert_eq!(read, Some(wanted), "{kind} {option}: {shown}");
}

fn find<'a>(shown: &'a Value, kind: &str) -> &'a Value {
    let all = shown.as_array().unwrap();
    all.iter().filter(|it| it["kind"] == kind).max_by_key(|it| it["bytes"].as_u64()).unwrap()
}

/// The goodput in bits per second, lost and marked packets as fractions of the packets that arrived, and what `tc` shows
/// of the port in each run.
#[derive(Default)]
struct Figures {
    values: [f64; 3],
    shown: Vec<Value>,
}

/// Runs the scenario with two seeds, and gives the means. With a script, the counts are those of `tc`.
fn figures(folder: &Folder, scenario: &str) -> Figures {
    folder.done(&["run", scenario, "--out", "out", "--seeds", "2"]);
    let mut all = Figures::default();
    for run in folder.summary("out")["runs"].as_array().unwrap() {
        let mut values = [&run["goodput_bps"], &run["loss_rate"], &run["marks"]].map(|it| it.as_f64().unwrap());
        values[2] /= run["delivered_data_packets"].as_f64().unwrap();
        if let Some(program) = run["programs"].as_array().and_then(|all| all.first()) {
            let files = folder.path("out").join(program["files"].as_str().unwrap());
            let of = |name: &str| fs::read_to_string(files.join(name)).unwrap();
            assert_eq!((&program["status"], of("stderr").as_str(), of("left").contains("tbf")), (&0.into(), "", false));
            let shown: Value = serde_json::from_str(&of("qdisc.json")).unwrap();
            let root = find(&shown, "tbf");
            let [drops, packets] = ["drops", "packets"].map(|name| root[name].as_f64().unwrap());
            let marked = shown.as_array().unwrap().iter().filter_map(|it| it["marked"].as_f64()).sum::<f64>();
            values = [values[0], drops / (drops + packets), marked / packets];
            all.shown.push(shown);
        }
        (0..3).for_each(|index| all.values[index] += values[index] / 2.0);
    }
    all
}

/// Compares a simulated port with its script: goodput within 10 %, lost and marked packets within a factor of 1.5.
fn compare(transport: &str, port: &str, name: &str) -> Result<Figures, shallop_testing::Stop> {
    let text = SCENARIO.replace("cubic", transport);
    let folder = Folder::with(format!("{text}\n[switch.default]\n{port}\n"));
    kernel(&folder)?;
    programs(&["ip", "tc", "ethtool", "sh"])?;
    let fast = text.replace("200Mbps", "10Gbps");
    let command = "[\"sh\", \"/scenario/port.sh\"]";
    let group = format!("[[group]]\nname = \"port\"\nfrom = \"r0\"\nto = \"s0\"\ncommand = {command}\n");
    fs::write(folder.path("tc.toml"), format!("{fast}{group}\n[switch.default]\nbuffer = \"10MB\"\n"))?;
    fs::write(folder.path("port.sh"), PORT)?;
    fs::copy(script(name), folder.path("script.sh"))?;
    let simulated = figures(&folder, "scenario.toml");
    let real = figures(&folder, "tc.toml");
    let [a, b] = [simulated.values, real.values];
    eprintln!("{name}, {transport}: simulated {a:.5?}, tc {b:.5?} (goodput b/s, lost, marked)");
    assert!((b[0] / a[0] - 1.0).abs() < 0.1, "goodput: simulated {}, tc {}", a[0], b[0]);
    for index in [1, 2] {
        let agree = a[index] == b[index] || (1.0 / 1.5..=1.5).contains(&(b[index] / a[index]));
        assert!(agree, "lost, marked: simulated {a:?}, tc {b:?}");
    }
    for shown in &real.shown {
        check(shown, "tbf", "rate", 25_000_000.0);
    }
    Ok(real)
}

pub fn a_full_buffer_drops_in_tc_as_in_the_simulator() -> Outcome {
    let real = compare("cubic", "buffer = \"40KB\"", "drop-tail")?;
    real.shown.iter().for_each(|shown| check(shown, "bfifo", "limit", 39_364.0));
    Ok(())
}

pub fn dctcp_is_marked_by_tc_as_by_the_simulator() -> Outcome {
    let real = compare("dctcp", "buffer = \"200KB\"\nmark.above = \"40KB\"", "marked")?;
    for shown in &real.shown {
        assert_eq!(find(shown, "red")["drops"], 0, "{shown}");
        let options = [("min", 38_607.0), ("max", 38_607.0), ("limit", 196_820.0), ("ewma", 1.0)];
        options.iter().for_each(|&(option, wanted)| check(shown, "red", option, wanted));
    }
    Ok(())
}

pub fn random_drops_of_tc_are_those_of_the_simulator() -> Outcome {
    let ramp = "mark = { min = \"30KB\", max = \"90KB\", probability = 0.1, weight = 3, not_ect = \"drop\", spacing = \"count\" }";
    let real = compare("cubic", &format!("shared.size = \"400KB\"\n{ramp}"), "shared")?;
    let options = [("min", 28_009.0), ("max", 87_055.0), ("limit", 196_820.0), ("ewma", 3.0)];
    real.shown
        .iter()
        .for_each(|shown| options.iter().for_each(|&(option, wanted)| check(shown, "red", option, wanted)));
    Ok(())
}
