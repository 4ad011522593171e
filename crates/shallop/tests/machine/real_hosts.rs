//! Rehearsals by the command: joined terminals, signals at any moment, the capacity of this machine, and ordinary
//! users.

use crate::real::hosts;
use crate::support::script::hold;
use crate::support::transfer::{Process, one_line};
use crate::support::{Folder, text};
use serde_json::Value;
use shallop_testing::{Cause, Outcome, Stop, processes, programs, root, skip, soon};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, os::unix::fs::PermissionsExt, os::unix::process::ExitStatusExt};

const SCENARIO: &str = r#"
title = "two flows and little else"
duration = "400ms"
topology = { kind = "dumbbell", senders = 2, receivers = 2, rate = "50Mbps", delay = "1ms" }
switch.default.buffer = "50KB"
scheme = [{ transport = "cubic" }]
group = [{ name = "all" }]
"#;

/// A folder with the scenario; skips the test if this machine cannot rehearse.
fn folder() -> Result<Folder, Stop> {
    let folder = Folder::with(SCENARIO);
    hosts(&folder)?;
    Ok(folder)
}

/// Whether a rehearsal ran: a void one is not an error of the command.
fn is_made(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 4))
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(sent.unwrap().success(), "{name}");
}

const SLEEPS: [&str; 4] = ["--", "sh", "-c", "sleep 98766 & sleep 98766"];

pub fn nothing_is_left_after_any_signal_at_any_moment() -> Outcome {
    let folder = folder()?;
    let times: u64 = std::env::var("SHALLOP_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let (before, files) = (processes::network_namespaces(), tempfile::tempdir().unwrap());
    for time in 0..times {
        let is_shell = time % 2 == 0;
        let name = ["INT", "TERM", "KILL"][(time / 2 % 3) as usize];
        let mut arguments = vec![if is_shell { "shell" } else { "rehearse" }, "scenario.toml"];
        if is_shell {
            arguments.extend(SLEEPS);
        } else {
            arguments.extend(["--set", "duration=5s", "--out", "out"]);
        }
        let mut command = folder.command(&arguments);
        command.env("TMPDIR", files.path()).stdin(Stdio::null());
        let mut child = Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        std::thread::sleep(Duration::from_millis(137 * time % 600));
        signal(&child.0, name);
        let mut sent = Instant::now();
        let has_ended = || {
            // The test's parent may ignore signals until the command handles them.
            if sent.elapsed() > Duration::from_secs(2) {
                signal(&child.0, name);
                sent = Instant::now();
            }
            child.0.try_wait().unwrap().is_some()
        };
        assert!(soon(has_ended), "{arguments:?} goes on after {name}");
        let status = child.0.wait().unwrap();
        // Before the command handles signals, they end the process.
        assert!(status.code() == Some(130) || status.signal().is_some(), "{arguments:?} {name}: {status}");
    }
    assert!(soon(|| processes::sleepers("98766").is_empty() && processes::network_namespaces().is_subset(&before)));
    assert_eq!(fs::read_dir(files.path()).unwrap().count(), 0, "files");
    let names = fs::read_dir("/sys/class/net").unwrap().flatten();
    assert!(names.into_iter().all(|name| !name.file_name().to_string_lossy().starts_with("tap")));
    let drafts: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(drafts.is_empty(), "{drafts:?}");
    Ok(())
}

/// Builds a network namespace with a file server behind an interface of this namespace. `$1` is its address, `$2` the
/// command.
const BEHIND: &str = include_str!("real_hosts/behind.sh");

pub fn a_machine_behind_an_attached_interface_is_a_host_and_the_interface_is_restored() -> Outcome {
    let folder = folder()?;
    root()?;
    programs(&["ip", "nsenter", "python3", "unshare"])?;
    let mut script = Command::new("unshare");
    script.args(["--net", "sh", "-c", BEHIND, "sh", "10.0.0.4", env!("CARGO_BIN_EXE_shallop")]);
    let made = script.current_dir(folder.path(".")).stdin(Stdio::null()).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    let told = text(&made.stderr);
    assert!(told.contains("behind va is host r1") && told.contains("10.0.0.4/8"), "{told}");
    assert!(told.contains("idle is down") && !told.contains("va is down"), "{told}");
    for (attach, why) in [
        ("nothing0=r1", "no interface \"nothing0\"; it has"),
        ("lo=r9", "no host \"r9\""),
        ("lo=s0", "has the shell"),
        ("lo", "expected INTERFACE=HOST"),
    ] {
        let refused = folder.command(&["shell", "scenario.toml", "--attach", attach, "--", "true"]);
        let refused = { refused }.stdin(Stdio::null()).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{attach}");
        let told = text(&refused.stderr);
        assert!(told.contains(why) && !told.contains("The machine behind"), "{told}");
    }
    Ok(())
}

/// With one argument, the IP version, serves one connection at port 8000; with a host as second argument, reads from
/// it.
const TALK: &str = include_str!("real_hosts/talk.py");

pub fn terminals_join_a_session_and_their_programs_talk_in_both_versions_of_ip() -> Outcome {
    programs(&["python3"])?;
    let folder = folder()?;
    folder.refused(&["shell", "--join", "--", "true"], &["no session is open"]);
    let mut session = folder.command(&["shell", "scenario.toml"]);
    session.args(SLEEPS).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut session = Process(session.spawn().unwrap());
    let process = session.0.id().to_string();
    let join = |host: &str, words: &[&str]| {
        let mut command = folder.command(&["shell", "--join", &process, "--host", host, "--"]);
        command.args(words).stdin(Stdio::null());
        command
    };
    assert!(soon(|| join("r1", &["true"]).output().unwrap().status.code() == Some(0)));
    let named = text(&join("r1", &["hostname"]).output().unwrap().stdout);
    assert_eq!((named.trim(), join("s0", &["sh", "-c", "exit 7"]).status().unwrap().code()), ("r1", Some(7)));
    for version in ["4", "6"] {
        let mut server = join("r1", &["python3", "-c", TALK, version]);
        let mut server = server.stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = [0; 6];
        std::io::Read::read_exact(server.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let client = join("s1", &["python3", "-c", TALK, version, "r1"]).output().unwrap();
        assert_eq!(text(&client.stdout).trim().len(), 1_000_000, "{}", text(&client.stderr));
        assert!(server.wait().unwrap().success());
    }
    let other = join("r9", &["true"]).output().unwrap();
    assert!(text(&other.stderr).contains("hosts: "), "{}", text(&other.stderr));
    signal(&session.0, "TERM");
    assert_eq!(session.0.wait().unwrap().code(), Some(130));
    Ok(())
}

pub fn another_user_is_told_no_host_of_a_session_and_joins_none() -> Outcome {
    root()?;
    programs(&["python3"])?;
    let folder = folder()?;
    let as_user = |user: u32, script: &str| {
        let begin = "import os, socket, time; s = socket.socket(socket.AF_UNIX); name = '\\0shallop-%d'";
        let script = format!("{begin}; os.setresuid({user}, {user}, {user}); {script}");
        let mut python = Command::new("python3");
        python.args(["-c", &script]).stdout(Stdio::piped());
        python
    };
    let mut session = folder.command(&["shell", "scenario.toml"]);
    let session = Process(session.args(SLEEPS).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    let read = format!("s.connect(name % {}); print(len(s.recv(9)))", session.0.id());
    let read = |user| one_line(&as_user(user, &read).output().unwrap().stdout).trim().to_owned();
    assert!(soon(|| read(0) == "9"));
    assert_eq!(read(65_534), "0");
    // A session of another user, in whose hosts root would run programs.
    let mut theirs = as_user(65_534, "s.bind(name % os.getpid()); s.listen(); time.sleep(60)");
    let theirs = Process(theirs.spawn().unwrap());
    let join = ["shell", "--join", &theirs.0.id().to_string(), "--host", "r1", "--", "true"];
    assert!(soon(|| one_line(&folder.shallop(&join).stderr).contains("user 65534 runs it")));
    Ok(())
}

pub fn a_joined_program_ends_with_its_session_and_with_its_terminal() -> Outcome {
    let folder = folder()?;
    let start = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        command.args(SLEEPS).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Process(command.spawn().unwrap())
    };
    let sleeping = || processes::sleepers("98766").iter().filter(|line| line.starts_with("sleep")).count();
    for (ends, name) in [("session", "TERM"), ("session", "KILL"), ("terminal", "KILL")] {
        let mut session = start(&["shell", "scenario.toml"]);
        let process = session.0.id().to_string();
        assert!(soon(|| sleeping() == 2));
        let mut joined = start(&["shell", "--join", &process, "--host", "r0"]);
        assert!(soon(|| sleeping() == 4));
        if ends == "session" {
            signal(&session.0, name);
            assert!(soon(|| joined.0.try_wait().unwrap().is_some()), "it outlives its session: {name}");
        } else {
            signal(&joined.0, name);
            assert!(soon(|| sleeping() == 2), "it outlives its terminal");
            signal(&session.0, name);
        }
        assert!(soon(|| session.0.try_wait().unwrap().is_some()));
        assert!(soon(|| processes::sleepers("98766").is_empty()), "{ends} {name}");
    }
    Ok(())
}

/// Runs the command as the user nobody, with or without a /dev/net/tun that everybody may open.
fn as_nobody(folder: &Folder, may_open_tun: bool) -> Output {
    fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o777)).unwrap();
    let open = if may_open_tun {
        "mount -t tmpfs none /mnt && mknod -m 666 /mnt/tun c 10 200 && mount --bind /mnt/tun /dev/net/tun"
    } else {
        "true"
    };
    let command = env!("CARGO_BIN_EXE_shallop");
    let script = format!("{open} && exec setpriv --reuid 65534 --regid 65534 --clear-groups {command} \"$@\"");
    let mut nobody = Command::new("unshare");
    nobody.args(["--mount", "sh", "-c", &script, "sh", "rehearse", "scenario.toml", "--json"]);
    nobody.current_dir(folder.path("")).env("HOME", folder.path("")).output().unwrap()
}

pub fn ordinary_users_rehearse_or_learn_what_forbids_it() -> Outcome {
    let folder = folder()?;
    root()?;
    programs(&["mknod", "mount", "setpriv", "unshare"])?;
    let output = as_nobody(&folder, true);
    let said = text(&output.stderr);
    if is_made(&output) {
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = &summary["runs"][0];
        assert!(run["goodput_bps"].as_f64().unwrap() > 25e6, "{run}");
        assert_eq!(run["rehearsal"]["is_realtime"], Value::Bool(false));
    } else {
        // Nobody may be unable to read the path, or the machine forbids namespaces.
        assert!(said.contains("sysctl") || said.contains("ermission denied"), "{said}");
    }
    let refused = as_nobody(&folder, false);
    let mode = fs::metadata("/dev/net/tun").unwrap().permissions().mode();
    if output.status.code() != Some(127) && mode & 0o006 == 0 {
        assert_eq!(refused.status.code(), Some(3));
        assert!(text(&refused.stderr).contains("/dev/net/tun"), "{}", text(&refused.stderr));
    }
    Ok(())
}

pub fn a_live_run_shows_queues_and_flows_and_needs_a_terminal() -> Outcome {
    programs(&["script", "stty"])?;
    let folder = folder()?;
    folder.refused(&["rehearse", "scenario.toml", "--live"], &["terminal"]);
    let command = env!("CARGO_BIN_EXE_shallop");
    let typed = format!("stty cols 90 rows 24; {command} rehearse scenario.toml --live --set duration=1s");
    let mut script = Command::new("script");
    script.args(["-qec", &typed, "/dev/null"]).current_dir(folder.path(""));
    let shown = script.env("TERM", "xterm-256color").stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    // The screen is written in cells, so that neighbouring words need not be neighbours in the output.
    for part in ["left>right", "marked", "flow", "late us"] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    Ok(())
}

fn said(output: &Output) -> String {
    one_line(&output.stderr)
}

/// A scenario with two flows, and a program in a host that prints the names of its network interfaces.
fn write_lists(folder: &Folder, transport: &str) {
    let lists = "name = \"lists\", from = \"s0\", to = \"r0\", command = [\"ls\", \"/sys/class/net\"]";
    let groups = format!("group = [{{ name = \"all\" }}, {{ {lists}{transport} }}]");
    let text = SCENARIO.replace("group = [{ name = \"all\" }]", &groups);
    fs::write(folder.path("lists.toml"), text.replace("cubic", "bbr")).unwrap();
}

/// Checks that a rehearsal ran. Skips the test if the machine allows its controllers in the first network namespace
/// only.
fn made(output: &Output) -> Outcome {
    let told = said(output);
    if told.contains("sysctl -w net.ipv4.tcp_allowed_congestion_control=") {
        return Err(skip(Cause::Controllers, told));
    }
    assert!(is_made(output), "{told}");
    Ok(())
}

pub fn programs_run_though_the_scenario_says_nothing_of_kernels_and_see_the_cards_of_their_host() -> Outcome {
    let folder = folder()?;
    write_lists(&folder, "");
    let refused = folder.shallop(&["run", "lists.toml"]);
    assert!(said(&refused).contains("its hosts are no kernels"));
    made(&folder.shallop(&["rehearse", "lists.toml", "--out", "out"]))?;
    let files = folder.summary("out")["runs"][0]["programs"][0]["files"].clone();
    let printed = folder.path("out").join(files.as_str().unwrap()).join("stdout");
    let printed = fs::read_to_string(printed).unwrap();
    assert_eq!(printed.split_whitespace().collect::<Vec<_>>(), ["eth0", "lo"]);
    Ok(())
}

pub fn programs_have_cubic_for_their_tcp_beside_flashpass() -> Outcome {
    let folder = folder()?;
    write_lists(&folder, ", transport = { transport = \"flashpass\" }");
    made(&folder.shallop(&["rehearse", "lists.toml"]))
}

/// Runs a case of `scripts/real_hosts.txt`.
fn script(case: &str) -> Outcome {
    hosts(&Folder::with(SCENARIO))?;
    hold("machine/scripts/real_hosts.txt", case, &[]);
    Ok(())
}

pub fn rates_beyond_the_capacity_are_refused_with_the_scale_that_fits() -> Outcome {
    script("rates_beyond_the_capacity_are_refused_with_the_scale_that_fits")
}

pub fn schemes_that_cannot_be_rehearsed_are_refused_by_name_before_the_first_run() -> Outcome {
    script("schemes_that_cannot_be_rehearsed_are_refused_by_name_before_the_first_run")
}

pub fn a_program_of_a_shell_sees_the_cards_of_its_host_and_a_missing_one_is_named() -> Outcome {
    script("a_program_of_a_shell_sees_the_cards_of_its_host_and_a_missing_one_is_named")
}
