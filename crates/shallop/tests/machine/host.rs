//! Controllers in the kernel of this machine, by the command. Each test has its own network and BPF file system.
//! Controller names are global to the machine, so that each test uses its own.

use crate::namespaces::{self, in_namespaces, kernel_programs};
use crate::support::{Folder, text};
use serde_json::Value;
use shallop_testing::{Outcome, programs as installed, root, soon};
use std::process::{Command, Output, Stdio};
use std::{fs, os::unix::fs::PermissionsExt};

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machine/host");
const CONTROLLERS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// A controller name that only this test uses.
fn name(of: &str) -> String {
    format!("t{}_{of}", std::process::id())
}

/// Runs a script between two hosts, which `set_up.sh` creates, and returns its output.
fn between_hosts(script: &str, variables: &[(&str, &str)]) -> String {
    in_namespaces(FILES, script, variables)
}

/// The BPF programs of controllers in the kernel.
fn programs() -> Vec<String> {
    namespaces::loaded_programs(&["gemini_", "dctcp_", "ecn_star_", "vegas_", "connections"])
}

fn controllers() -> String {
    fs::read_to_string(CONTROLLERS).unwrap()
}

/// Prints a connection as `watch` shows it, after two seconds over a wire that marks every 16th packet.
const TRANSFER: &str = include_str!("host/transfer.sh");

fn transfer(program: &str, options: &str) -> Value {
    let (name, programs_before) = (name(&program.replace('-', "_")[..5]), programs());
    let variables = [("PROGRAM", program), ("NAME", &*name), ("OPTIONS", options)];
    let said = between_hosts(TRANSFER, &variables);
    let mut lines = said.lines();
    let told: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let sent: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(sent[..2], [&*name, "ecn"], "{said}");
    assert_eq!(sent[3], lines.next().unwrap(), "what arrived is what was sent");
    let list: Value = serde_json::from_str(&lines.collect::<String>()).unwrap();
    let row = serde_json::json!([{ "name": name, "program": program, "state": "loaded" }]);
    assert_eq!(list, row);
    assert!(!controllers().contains(&name), "{}", controllers());
    assert!(soon(|| programs().iter().all(|of| programs_before.contains(of))), "{:?}", programs());
    told
}

/// The fraction of a connection's segments that were marked, its average alpha, and the reductions for marks.
fn marks(told: &Value) -> [f64; 3] {
    let of = |name: &str| told[name].as_f64().unwrap();
    let part = of("marked_segments") / of("delivered_segments");
    [part, of("alpha"), of("cuts_for_marks")]
}

pub fn dctcp_and_gemini_see_each_mark_and_ecn_star_some() -> Outcome {
    kernel_programs(&["clang"])?;
    for (program, options) in [("dctcp", ""), ("gemini", "--capacity 1Gbps --mark 30pkt")] {
        let told = transfer(program, options);
        let [part, alpha, cuts] = marks(&told);
        assert!((0.03..0.12).contains(&part), "one of 16: {told}");
        assert!((0.01..0.4).contains(&alpha) && cuts > 20.0, "{told}");
    }
    let told = transfer("ecn-star", "");
    let [part, _, cuts] = marks(&told);
    assert!(part > 0.03 && cuts > 20.0, "{told}");
    Ok(())
}

pub fn a_server_without_the_controller_refuses_ecn_and_one_with_a_route_has_it() -> Outcome {
    kernel_programs(&["clang"])?;
    let script = include_str!("host/server_without_controller.sh");
    let name = name("route");
    let said = between_hosts(script, &[("NAME", &name)]);
    let ends: Vec<String> = said.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    let [plain, ecn] = ["plain", "ecn"].map(|of| format!("{name} {of}"));
    // The last two are from a controller that was loaded with --ecn-by-sysctl, to a server with CUBIC.
    assert_eq!(ends, [&plain, &ecn, &ecn, &ecn, &ecn, &plain].map(String::as_str));
    Ok(())
}

pub fn a_route_has_a_controller_whenever_it_is_loaded() -> Outcome {
    kernel_programs(&["clang"])?;
    let script = include_str!("host/route.sh");
    let name = name("again");
    let said = between_hosts(script, &[("NAME", &name)]);
    let used = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let used: Vec<String> = said.lines().map(used).collect();
    let own = format!("{name} ecn");
    assert_eq!(used, [&*own, "reno ecn", &*own], "{said}");
    Ok(())
}

pub fn under_ip_netns_exec_the_way_to_the_bpf_file_system_is_printed() -> Outcome {
    kernel_programs(&["clang"])?;
    let script = include_str!("host/ip_netns_exec.sh");
    let said = between_hosts(script, &[]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..6], ["3 1"; 6], "{said}");
    assert_eq!(lines[6..], ["0 connections of ecn_star", "ecn_star is ecn-star, of which nothing can be set"]);
    Ok(())
}

pub fn changed_settings_apply_at_once_and_prefixes_to_new_connections() -> Outcome {
    kernel_programs(&["clang"])?;
    let script = include_str!("host/changed_settings.sh");
    let name = name("set");
    let said = between_hosts(script, &[("NAME", &name)]);
    let mut lines = said.lines();
    // F = 4K / (C RTT + K).
    let mut factor = || {
        let told: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        told["scale_factor"].as_f64().unwrap()
    };
    let [before, after, of_prefix] = [factor(), factor(), factor()];
    assert!(before > 2.0 && after < 1.0 && of_prefix > 2.0, "{said}");
    let shown: Value = serde_json::from_str(&lines.collect::<String>()).unwrap();
    let settings = shown["settings"].as_array().unwrap();
    let of = |at: usize| [&settings[at]["to"], &settings[at]["keys"]["k"]].map(|of| of.as_str().unwrap());
    assert_eq!((of(0), of(1)), (["all others", "100B"], ["10.9.0.2/32", "76900B"]), "{shown}");
    Ok(())
}

pub fn nothing_is_left_whenever_the_command_is_killed() -> Outcome {
    kernel_programs(&["clang"])?;
    let times = std::env::var("SHALLOP_KILLS").unwrap_or_else(|_| "12".to_owned());
    // First the state that each step of loading leaves, then kills at random moments of loading and unloading.
    let script = include_str!("host/killed.sh");
    let (name, before) = (name("kill"), programs());
    let said = between_hosts(script, &[("NAME", &name), ("TIMES", &times)]);
    let caught: u32 = said.trim().parse().unwrap();
    assert!(caught * 4 >= times.parse().unwrap(), "only {caught} of {times} were still at it");
    assert!(soon(|| !controllers().contains(&name)), "{}", controllers());
    assert!(soon(|| programs().iter().all(|of| before.contains(of))), "{:?}", programs());
    Ok(())
}

const SCENARIO: &str = include_str!("host/scenario.toml");

pub fn a_rehearsal_loads_controllers_for_as_long_as_it_takes() -> Outcome {
    kernel_programs(&["clang"])?;
    let folder = Folder::with(SCENARIO);
    let before = programs();
    let output = folder.shallop(&["rehearse", "scenario.toml", "--out", "out"]);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", text(&output.stderr));
    let summary = folder.summary("out");
    let runs = summary["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    for run in runs {
        let of = |name: &str| run[name].as_f64().unwrap();
        // Vegas keeps its queue short by itself, and does not use ECN.
        let is_marked = run["scheme"] != "vegas";
        assert!((of("marks") > 0.0) == is_marked && of("goodput_bps") > 30e6, "{run}");
        // The loss of the first slow start. A void run says nothing about losses.
        let is_void = run["rehearsal"]["void"].as_array().is_some_and(|why| !why.is_empty());
        assert!(is_void || of("loss_rate") < 0.05, "{run}");
    }
    assert!(soon(|| programs().iter().all(|of| before.contains(of))), "{:?}", programs());

    let set = ["--set", "duration=20s"];
    let mut command = folder.command(&[&["rehearse", "scenario.toml"][..], &set].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let name = format!("dctcp_{}", child.id());
    let is_there = soon(|| controllers().contains(&name));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_there, "{name}");
    assert!(soon(|| !controllers().contains(&name)), "{}", controllers());
    assert!(soon(|| programs().iter().all(|of| before.contains(of))), "{:?}", programs());
    Ok(())
}

/// Runs the command as an ordinary user, in a folder of that user.
fn as_ordinary_user(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let command = folder.path().join("shallop");
    fs::copy(env!("CARGO_BIN_EXE_shallop"), &command).unwrap();
    fs::write(folder.path().join("scenario.toml"), SCENARIO).unwrap();
    for path in [folder.path(), &command] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut user = Command::new("setpriv");
    user.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(command).args(arguments);
    user.current_dir(folder.path()).output().unwrap()
}

pub fn without_programs_or_privileges_the_exit_code_is_three_and_says_why() -> Outcome {
    root()?;
    installed(&["setpriv"])?;
    let built = shallop_bpf::controller::IS_BUILT;
    let words = if built { "for root only" } else { "make linux" };
    let commands: [&[&str]; 5] = [
        &["host", "load", "dctcp"],
        &["host", "list"],
        &["host", "unload", "dctcp"],
        &["host", "watch", "dctcp"],
        &["rehearse", "scenario.toml", "--schemes", "gemini"],
    ];
    for arguments in commands {
        let output = as_ordinary_user(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
        // Where ordinary users may not create namespaces, a rehearsal reports that first.
        assert!(said.contains(words) || arguments[0] == "rehearse", "{arguments:?}: {said}");
    }
    if !built {
        let output = Folder::with(SCENARIO).shallop(&["host", "load", "dctcp"]);
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    }
    Ok(())
}

pub fn a_unit_for_systemd_is_printed_and_nothing_loaded() {
    let folder = Folder::with(SCENARIO);
    let load = ["host", "load", "gemini", "--config", "scenario.toml", "--to", "10.0.0.0/8", "--ecn-by-sysctl"];
    let said = text(&folder.shallop(&[&load[..], &["--print-unit"]].concat()).stdout);
    let config = folder.path("scenario.toml");
    let words = format!("host load gemini --config {} --ecn-by-sysctl --to 10.0.0.0/8\n", config.display());
    assert!(said.contains(&words) && said.contains("host unload gemini\n"), "{said}");
    let without = SCENARIO.replace("gemini\", capacity = \"100Mbps\"", "gemini\"");
    fs::write(folder.path("without.toml"), without).unwrap();
    let without = ["host", "load", "gemini", "--config", "without.toml", "--capacity", "1Gbps"];
    let said = text(&folder.shallop(&[&without[..], &["--print-unit"]].concat()).stdout);
    let config = folder.path("without.toml");
    let words = format!("host load gemini --capacity 1Gbps --config {}\n", config.display());
    assert!(said.contains(&words), "{said}");
    assert!(!controllers().split_whitespace().any(|name| name == "gemini"));
}
