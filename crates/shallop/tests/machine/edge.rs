//! CLEAN at a device of a machine in the path, by the command. Each test has its own network and BPF file system.

use crate::namespaces::{in_namespaces, kernel_programs, loaded_programs};
use crate::support::transfer::one_line;
use crate::support::{Folder, text};
use serde_json::Value;
use shallop_testing::{Outcome, soon};

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machine/edge");
/// The prefix of the names of a proxy's BPF programs.
const NAMES: [&str; 1] = ["clean_"];

/// Runs a script on the machine between a sender and a receiver. Afterwards, none of the BPF programs is left.
fn in_path(script: &str, variables: &[(&str, &str)]) -> String {
    let before = loaded_programs(&NAMES);
    let said = in_namespaces(FILES, script, variables);
    let left = || loaded_programs(&NAMES).iter().all(|of| before.contains(of));
    assert!(soon(left), "{:?}", loaded_programs(&NAMES));
    said
}

/// A text in one line, without the marks of broken lines.
fn flat(said: &str) -> String {
    one_line(said.as_bytes())
}

/// Transfers of four flows through a shaper whose queue the proxy marks, with each TCP setting of the receiver, over
/// IPv4 and IPv6.
const TRANSFERS: &str = include_str!("edge/transfers.sh");

/// Runs the transfers after a preparation. Returns the counters that the script printed, and those of the proxy.
fn transfers(preparation: &str, size: &str) -> (impl Fn(&str) -> u64, Value) {
    let said = in_path(&format!("{preparation}{TRANSFERS}"), &[("SIZE", size)]);
    let (settings, shown) = said.split_at(said.find('{').unwrap());
    let settings: Vec<(String, u64)> = settings
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, count)| (name.to_owned(), count.parse().unwrap()))
        .collect();
    assert_eq!(settings.len(), 6, "{said}");
    assert!(settings[..4].iter().all(|(_, wrong)| *wrong == 0), "no checksum is wrong: {said}");
    let of = move |wanted: &str| settings.iter().find(|(name, _)| name == wanted).unwrap().1;
    (of, serde_json::from_str(shown).unwrap())
}

pub fn transfers_through_a_proxy_are_the_same_bytes_under_every_setting_of_tcp() -> Outcome {
    kernel_programs(&[])?;
    let (_, shown) = transfers("", "3000000");
    let of = |name: &str| shown["counters"][name].as_u64().unwrap();
    assert!(of("data_segments") > 8 * 4 * 3_000_000 / 1_500, "{shown}");
    assert!(of("marked_segments") > 100 && of("reduced_windows") > 1_000, "{shown}");
    assert_eq!([of("failed_packets"), of("unknown_packets"), of("flows_without_room")], [0; 3]);
    Ok(())
}

/// Both ends drop 1 % of the packets and delay 5 %, so that others overtake them.
const HOSTILE: &str = include_str!("edge/hostile.sh");

pub fn transfers_are_the_same_bytes_under_loss_and_reordering() -> Outcome {
    kernel_programs(&["clang"])?;
    let (told, shown) = transfers(HOSTILE, "700000");
    let of = |name: &str| shown["counters"][name].as_u64().unwrap();
    let [resent, early] = ["resent", "early"].map(told);
    assert!(resent > 30 && early > 200, "{resent} {early}");
    assert!(of("reduced_windows") > 1_000 && of("failed_packets") == 0, "{shown}");
    Ok(())
}

pub fn at_the_edge_packets_become_ecn_capable_and_not_at_the_last_hop() -> Outcome {
    kernel_programs(&[])?;
    let said = in_path(include_str!("edge/ecn_capable.sh"), &[]);
    let all: Value = serde_json::from_str(&format!("[{said}]")).unwrap();
    let of = |at: usize, name: &str| all[at]["counters"][name].as_u64().unwrap();
    // A burst of segmentation offload counts as one packet.
    assert!(of(0, "made_ect_packets") > 10, "{said}");
    assert!(of(1, "cleared_packets") > 10 && of(1, "data_segments") > 600, "{said}");
    assert_eq!((all[1]["keys"]["flows"].as_str(), all[2].as_u64()), (Some("16"), Some(0)));
    Ok(())
}

pub fn other_programs_and_qdiscs_stay_and_wrong_settings_are_refused() -> Outcome {
    kernel_programs(&[])?;
    let said = in_path(include_str!("edge/other_programs.sh"), &[]);
    for words in [
        "2 × device \"nowhere\"",
        "10000",
        "what can be set: decrease",
        "--buffer: 76900 bytes is not above --mark, 153800 bytes",
        "there is no proxy at \"r0\"",
        "has the queue discipline pfifo at its root",
        "there is a proxy at \"r0\" already",
        "the size of the flow cache stays",
        "decrease half idle 2s",
        r#"[{"iface":"r0","role":"last-hop","state":"attached"}]"#,
        "the device is gone",
    ] {
        let flat = flat(&said);
        assert!(flat.contains(words), "{words}: {flat}");
    }
    Ok(())
}

pub fn a_device_with_another_name_is_found_and_detached() -> Outcome {
    kernel_programs(&[])?;
    let said = flat(&in_path(include_str!("edge/device_with_another_name.sh"), &[]));
    let listed = r#"[{"iface":"rc","role":"last-hop","state":"attached"}]"#;
    assert_eq!(said.matches(listed).count(), 2, "{said}");
    for words in [
        "decrease half",
        "there is a proxy at \"rc\" already",
        "An edge is at r0",
        "rc was called r0 when its proxy was attached",
        "there is no proxy at \"rc\"",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(said.matches("was called").count(), 1, "{said}");
    Ok(())
}

pub fn pins_without_programs_make_room_for_another_proxy() -> Outcome {
    kernel_programs(&[])?;
    let said = in_path(include_str!("edge/pins_without_programs.sh"), &[]);
    let rows: Vec<String> = said.lines().map(flat).collect();
    let part = "r0 last-hop part: detach it";
    let wanted = [part, part, "r0 last-hop attached", "d0 last-hop attached"];
    assert_eq!(rows, wanted, "{said}");
    Ok(())
}

pub fn under_ip_netns_exec_the_way_to_the_bpf_file_system_is_printed() -> Outcome {
    kernel_programs(&[])?;
    let said = in_path(include_str!("edge/ip_netns_exec.sh"), &[]);
    let rows: Vec<String> = said.lines().map(flat).collect();
    assert_eq!(rows, ["3 1", "3 1", "3 1", "3 1", "d0 last-hop attached"], "{said}");
    Ok(())
}

pub fn an_edge_has_no_options_and_no_flows() -> Outcome {
    kernel_programs(&[])?;
    let said = flat(&in_path(include_str!("edge/no_options_and_no_flows.sh"), &[]));
    assert!(said.contains("An edge is at s0.") && said.contains("answered at the last hop"), "{said}");
    assert!(said.contains("nothing can be set of the edge at \"s0\""), "{said}");
    assert!(said.contains("s0 (edge)") && said.contains("made_ect_packets 0"), "{said}");
    assert!(!said.contains("flows whose") && !said.contains("min_window"), "{said}");
    assert!(!said.contains("of others"), "clsact is that of both roles: {said}");
    Ok(())
}

pub fn nothing_is_left_whenever_the_command_is_killed() -> Outcome {
    kernel_programs(&[])?;
    let times = std::env::var("SHALLOP_KILLS").unwrap_or_else(|_| "12".to_owned());
    let said = in_path(include_str!("edge/killed.sh"), &[("TIMES", &times)]);
    let caught: u32 = said.trim().parse().unwrap();
    assert!(caught * 4 >= times.parse().unwrap(), "only {caught} of {times} were still at it");
    Ok(())
}

pub fn a_unit_for_systemd_is_printed_and_nothing_attached() {
    let folder = Folder::with("");
    let attach = ["edge", "clean", "attach", "wlan-0", "--set", "decrease=half", "--print-unit"];
    let said = text(&folder.shallop(&attach).stdout);
    let words = "edge clean attach wlan-0 --role last-hop --set decrease=half\n";
    assert!(said.contains(words) && said.contains(r"devices-wlan\x2d0.device"), "{said}");
    let edge = ["edge", "clean", "attach", "wlan0", "--role", "edge", "--print-unit"];
    assert!(text(&folder.shallop(&edge).stdout).contains("attach wlan0 --role edge\n"));
}

#[expect(clippy::print_stderr, reason = "it is a measurement")]
pub fn a_proxy_costs_a_tenth_of_the_throughput_at_most() -> Outcome {
    kernel_programs(&["iperf3"])?;
    let said = in_path(include_str!("edge/cost.sh"), &[]);
    let ratio = |line: &str| {
        let (without, with) = line.split_once(' ').unwrap();
        with.parse::<f64>().unwrap() / without.parse::<f64>().unwrap()
    };
    let mut ratios: Vec<f64> = said.lines().map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    eprintln!("{said}throughput with a proxy, of that without: {ratios:.3?}");
    assert!(ratios[ratios.len() / 2] > 0.9, "{ratios:?}");
    Ok(())
}
