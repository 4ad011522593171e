//! Programs and shells in hosts that are real kernels.

use crate::real::{hosts, kernel};
use crate::support::{Folder, text, timeless};
use shallop_testing::{Cause, Outcome, Stop, need, programs};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{collections::BTreeMap, fs, io::Write};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/programs");

/// A folder with this scenario; skips the test without a kernel and these programs.
fn folder(scenario: &str, needed: &[&str]) -> Result<Folder, Stop> {
    let folder = Folder::with(scenario);
    kernel(&folder)?;
    programs(needed)?;
    Ok(folder)
}

fn two_hosts(programs: &str) -> String {
    format!(
        r#"
title = "programs"
duration = "1s"
stack = "kernel"
topology = {{ kind = "dumbbell", senders = 2, receivers = 2, rate = "100Mbps", delay = "1ms" }}
scheme = [{{ transport = "cubic" }}]
{programs}
"#
    )
}

fn group(name: &str, (from, to): (&str, &str), command: &str) -> String {
    format!("[[group]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncommand = {command}\n")
}

/// The files below a folder with their contents, without what differs between equal runs.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|of| of == "json") {
            let digests = ["\"run\": \"", "\"sha256\""];
            let text = timeless(&path);
            let same = text.lines().filter(|line| !digests.iter().any(|of| line.contains(of)));
            all.insert(path.clone(), same.collect::<String>().into_bytes());
        } else if path.extension().is_none_or(|of| of != "html") {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

fn relative(all: BTreeMap<PathBuf, Vec<u8>>, to: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    all.into_iter().map(|(path, bytes)| (path.strip_prefix(to).unwrap().into(), bytes)).collect()
}

pub fn iperf3_curl_and_ssh_share_a_bottleneck_with_flashpass_the_same_way_twice() -> Outcome {
    let folder = folder("", &["iperf3", "curl", "python3", "sshd", "ssh"])?;
    for name in ["programs.toml", "serve.sh", "ssh.sh", "sshd.sh"] {
        fs::copy(Path::new(EXAMPLE).join(name), folder.path(name)).unwrap();
    }
    for out in ["once", "again"] {
        folder.done(&["run", "programs.toml", "--out", out]);
    }
    let [once, again] = ["once", "again"].map(|out| relative(files(&folder.path(out)), &folder.path(out)));
    assert!(once.keys().any(|path| path.extension().is_some_and(|of| of == "pcapng")));
    for (path, bytes) in &once {
        assert!(again.get(path) == Some(bytes), "{} differs", path.display());
    }
    assert_eq!(once.len(), again.len());
    let of = |end: &str| {
        let (_, bytes) = once.iter().find(|(path, _)| path.ends_with(end)).unwrap();
        text(bytes)
    };
    let hash = |end: &str| of(end).split_whitespace().next().unwrap().to_owned();
    assert_eq!(hash("curl.r1/stdout"), hash("web-server.s1/stdout"));
    let ssh = of("ssh.s2/stdout");
    let sums: Vec<&str> = ssh.lines().collect();
    assert_eq!((sums.len(), sums[0]), (2, sums[1]), "what was sent arrived: {ssh}");
    let summary = folder.summary("once");
    let run = &summary["runs"][0];
    let group = |name: &str| {
        let groups = run["groups"].as_array().unwrap();
        groups.iter().find(|group| group["name"] == name).unwrap().clone()
    };
    assert_eq!(group("flashpass")["loss_rate"], 0.0);
    // iperf3 reports the bytes at its receiver; the simulator also counts a cookie of 37 bytes.
    let said: serde_json::Value = serde_json::from_str(&of("iperf3.s0/stdout")).unwrap();
    let received = said["end"]["sum_received"]["bytes"].as_f64().unwrap();
    let counted = group("iperf3")["goodput_bps"].as_f64().unwrap() / 8.0 * 3.0;
    assert!((counted / received - 1.0).abs() < 0.01, "{counted} {received}");
    Ok(())
}

pub fn a_failed_program_is_reported_with_its_last_words_and_its_files_are_kept() -> Outcome {
    let command = r#"["sh", "-c", "echo kept > file; mkdir inner; cp file inner; echo no >&2; exit 7"]"#;
    let missing = r#"["there-is-no-such-program"]"#;
    let text = two_hosts(&(group("one", ("s0", "r0"), command) + &group("two", ("s1", "r1"), missing)));
    let folder = folder(&text, &[])?;
    folder.done(&["run", "scenario.toml", "--out", "out"]);
    let run = &folder.summary("out")["runs"][0];
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("sh in s0 ended with status 7: no"), "{warnings}");
    assert!(warnings.contains("there-is-no-such-program in s1 ended with status 127"), "{warnings}");
    let programs = &run["programs"];
    assert_eq!((&programs[0]["status"], &programs[1]["status"]), (&7.into(), &127.into()));
    let kept = folder.path("out").join(programs[0]["files"].as_str().unwrap());
    assert_eq!(fs::read_to_string(kept.join("inner/file")).unwrap(), "kept\n");
    Ok(())
}

pub fn a_program_cannot_write_to_this_machine_and_sees_its_own_host() -> Outcome {
    let lines = "touch /scenario/made 2>&1; echo made > /etc/shallop-made; cat /etc/shallop-made; hostname; \
                 ls /proc | grep -c '^[0-9]*$'";
    let command = &format!("[\"sh\", \"-c\", \"{lines}\"]");
    let text = two_hosts(&group("one", ("s0", "r0"), command));
    let folder = folder(&text, &[])?;
    folder.done(&["run", "scenario.toml", "--out", "out"]);
    assert!(!folder.path("made").exists() && !Path::new("/etc/shallop-made").exists());
    let programs = &folder.summary("out")["runs"][0]["programs"];
    let kept = folder.path("out").join(programs[0]["files"].as_str().unwrap());
    let said = fs::read_to_string(kept.join("stdout")).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains("Read-only file system"), "{said}");
    assert_eq!(lines[1..3], ["made", "s0"], "{said}");
    // The first process of the host, the shell, and both processes of the pipe.
    assert!(lines[3].parse::<u32>().unwrap() <= 4, "{said}");
    Ok(())
}

pub fn a_program_has_no_way_to_mount_the_machine_writable() -> Outcome {
    let folder = folder("", &["mount", "unshare"])?;
    let newest = folder.json(&["kernel", "list", "--json"]).as_array().and_then(|all| all.last().cloned()).unwrap();
    let agent = fs::read(Path::new(newest["folder"].as_str().unwrap()).join("agent")).unwrap();
    let marker = b"/proc/sys/kernel: ";
    let is_new = agent.windows(marker.len()).any(|bytes| bytes == marker);
    let old = "the kernel is of an older shallop: 'make kernel' builds it again";
    need(Cause::Kernel, is_new.then_some(()).ok_or(old))?;
    let mount = format!("mount -t hostfs none /tmp -o {} && touch /tmp/made", folder.path("").display());
    let lines = format!(
        "{mount}; unshare --user --map-root-user --mount sh -c '{mount}'; mount -o remount,rw /scenario; \
         echo /bin/sh > /proc/sys/kernel/modprobe; head -c 1 /proc/1/mem; exit 0"
    );
    let command = format!("[\"sh\", \"-c\", \"{lines}\"]");
    fs::write(folder.path("scenario.toml"), two_hosts(&group("one", ("s0", "r0"), &command))).unwrap();
    folder.done(&["run", "scenario.toml", "--out", "out"]);
    let files = folder.path("out").join(folder.summary("out")["runs"][0]["programs"][0]["files"].as_str().unwrap());
    let why = fs::read_to_string(files.join("stderr")).unwrap();
    let refused = ["mount: ", "modprobe: Read-only file system", "'/proc/1/mem' for reading: Permission denied"];
    let refused = refused.map(|words| why.lines().filter(|line| line.contains(words)).count());
    assert!(refused == [3, 1, 1] && !folder.path("made").exists(), "{why}");
    Ok(())
}

pub fn a_spinning_program_ends_the_run_with_a_message() -> Outcome {
    let spins = two_hosts(&group("one", ("s0", "r0"), r#"["sh", "-c", "while :; do :; done"]"#))
        .replace("stack =", "kernel.compute_limit = \"2s\"\nstack =");
    let folder = folder(&spins, &[])?;
    let output = folder.shallop(&["run", "scenario.toml"]);
    let said = text(&output.stderr).replace('│', "").split_whitespace().collect::<String>();
    assert_ne!(output.status.code(), Some(0));
    assert!(said.contains("aprograminitspins"), "{said}");
    Ok(())
}

pub fn a_shell_keeps_its_state_from_line_to_line_and_ends_with_the_status_of_the_last() -> Outcome {
    let serve = group("web", ("r0", "s0"), r#"["python3", "-m", "http.server", "80"]"#);
    let folder = folder(&two_hosts(&serve), &["curl", "python3"])?;
    let mut command = folder.command(&["shell", "scenario.toml", "--virtual", "--host", "s1"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = "hostname\ncd /tmp; x=five\nsleep 1000\ncurl -s http://r0/ | head -n 1\npwd; echo $x\n(exit 9)\n";
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert!(said.starts_with("s1\n<!DOCTYPE"), "{said} {}", text(&output.stderr));
    assert!(said.ends_with("/tmp\nfive\n"), "{said}");
    assert_eq!(output.status.code(), Some(9), "{}", text(&output.stderr));
    Ok(())
}

pub fn shells_and_programs_without_kernels_are_refused_with_advice() {
    let without = two_hosts(&group("one", ("s0", "r0"), r#"["true"]"#));
    let folder = Folder::with(without.replace("\"kernel\"", "\"linux\""));
    for arguments in [&["run", "scenario.toml"][..], &["shell", "scenario.toml", "--virtual"]] {
        folder.refused(arguments, &["stack = \"kernel\""]);
    }
}

pub fn a_program_in_a_host_of_this_kernel_has_its_network_and_gives_its_status() -> Outcome {
    let without = two_hosts("\n[[group]]\nname = \"all\"\nfrom = \"s0\"\nto = \"r0\"\n");
    let folder = Folder::with(without);
    hosts(&folder)?;
    let script = "hostname; cat /etc/hosts; ip -br addr; exit 9";
    let output = folder.shallop(&["shell", "scenario.toml", "--host", "s0", "--", "sh", "-c", script]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(9), "{said} {}", text(&output.stderr));
    assert!(said.starts_with("s0\n") && said.contains(" r0\n"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("eth0") && line.contains("10.0.0.")), "{said}");
    Ok(())
}
