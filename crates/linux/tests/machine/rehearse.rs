//! Rehearsals of small scenarios, and the cleanup after killed ones.

use shallop_linux::{RehearsalError, abilities, keep_off, rehearse, replay};
use shallop_measure::series::{Quantity, Samples};
use shallop_measure::{Outcome, observer::Unobserved};
use shallop_plan::plan::{Driver, Plan};
use shallop_testing::{Cause, Outcome as TestOutcome, child, need, processes, programs, skip, soon};
use std::time::{Duration, Instant};
use std::{collections::BTreeSet, process::Stdio, sync::atomic::AtomicBool, sync::atomic::Ordering::Relaxed};
use thread_priority::ThreadPriority;
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

use crate::support::{four_flows, plan, scenario};

/// Skips a test where network namespaces or devices in them cannot be made.
fn hosts() -> TestOutcome {
    let all = abilities::all();
    let hosts = all.iter().find(|ability| ability.what == "hosts").unwrap();
    need(Cause::Namespaces, if hosts.can { Ok(()) } else { Err(&hosts.found) })
}

fn run(plan: &Plan) -> Result<Outcome, RehearsalError> {
    rehearse::run_observed(plan, 0, 1, &mut Unobserved, None)
}

/// Checks the windows and round trips of flows, which the kernel reports.
fn check_tcp_info(series: &Samples) {
    let of = |wanted| {
        let samples = series.samples.iter().filter(move |sample| sample.quantity == wanted);
        samples.map(|sample| (sample.place, sample.value)).collect::<Vec<_>>()
    };
    let (windows, rtts) = (of(Quantity::Cwnd), of(Quantity::SmoothedRtt));
    let places: BTreeSet<u32> = windows.iter().map(|&(place, _)| place).collect();
    assert!(places.len() == 4 && windows.len() > 4 * 40, "{}", windows.len());
    assert!(windows.iter().all(|&(_, segments)| (1.0..200.0).contains(&segments)));
    let late: Vec<f64> = rtts.iter().skip(rtts.len() / 2).map(|&(_, rtt)| rtt).collect();
    assert!(late.iter().all(|rtt| (4e-3..12e-3).contains(rtt)), "{late:?}");
}

/// Checks that a run is void beside `threads` threads for each processor that do `work` until the flag is set. A buffer
/// of three packets leaves capacity unused, so that lateness can have changed the goodput. Skips without real-time
/// priority for the emulator.
fn assert_void_beside(threads: usize, work: impl Fn(&AtomicBool) + Sync) -> TestOutcome {
    let stop = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        for _ in 0..threads * std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| work(&stop));
        }
        let outcome = run(&four_flows(&[("switch.default.buffer", "4650B")]));
        stop.store(true, Relaxed);
        outcome
    });
    let rehearsal = outcome.unwrap().run.rehearsal.unwrap();
    if !rehearsal.is_realtime {
        return Err(skip(Cause::Root, "the emulator has no real-time priority"));
    }
    assert!(!rehearsal.void.is_empty(), "{rehearsal:?}");
    Ok(())
}

pub fn starved_hosts_make_the_run_void() -> TestOutcome {
    hosts()?;
    // Threads with a higher priority than hosts, and a lower one than the emulator, take all processors of hosts for 10
    // ms at a time, for at most two seconds.
    assert_void_beside(1, |stop| {
        keep_off();
        take_turns(30, stop);
    })
}

/// Takes a processor with a real-time priority for 10 ms at a time, until the flag is set, for at most two seconds.
fn take_turns(priority: u8, stop: &AtomicBool) {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let priority = ThreadPriority::Crossplatform(priority.try_into().unwrap());
    let is_urgent = set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok();
    let begin = Instant::now();
    while is_urgent && !stop.load(Relaxed) && begin.elapsed().as_secs() < 2 {
        let turn = Instant::now();
        while turn.elapsed() < Duration::from_millis(10) {}
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Two UDP flows at a rate, and a short one.
const DATAGRAMS: &str = r#"group = [
    { name = "first", from = ["s0"], to = ["r0"] },
    { name = "second", from = ["s1"], to = ["r1"] },
    { name = "short", from = ["s2"], to = ["r2"], size = "20KB" },
]
"#;

pub fn udp_flows_keep_their_rate_and_lose_packets_on_a_slower_link() -> TestOutcome {
    hosts()?;
    let topology = r#"senders = 3, receivers = 3, rate = "50Mbps", delay = "2ms""#;
    let text = scenario("600ms", topology, r#"transport = "udp", rate = "10Mbps""#, DATAGRAMS);
    let run_of = |set: &[(&str, &str)]| run(&plan(&text, set)).unwrap();
    let outcome = run_of(&[]);
    let rehearsal = outcome.run.rehearsal.as_ref().unwrap();
    assert_eq!((rehearsal.lost_frames, rehearsal.checksum_errors), (0, 0), "{rehearsal:?}");
    if rehearsal.void.is_empty() {
        // Two flows with 1,460 of 1,526 bytes on the wire as payload, and 20 KB.
        let expected = 2.0 * 10e6 * 1_460.0 / 1_526.0 + 20_000.0 * 8.0 / 0.6;
        let goodput = rehearsal.bytes_checked as f64 * 8.0 / 0.6;
        assert!((goodput / expected - 1.0).abs() < 0.03, "{goodput} of {expected}");
        assert!(outcome.run.loss_rate == 0.0, "{}", outcome.run.loss_rate);
    }
    let fct = outcome.run.fct.all.unwrap();
    assert_eq!((fct.count, fct.unfinished), (1, 0));
    let slower = run_of(&[("topology.rate", "10Mbps")]).run;
    assert!((0.3..0.6).contains(&slower.loss_rate), "{}", slower.loss_rate);
    Ok(())
}

pub fn flows_fill_a_link_with_the_right_bytes_and_checksums() -> TestOutcome {
    hosts()?;
    let outcome = run(&four_flows(&[])).unwrap();
    check_tcp_info(&outcome.series);
    let outcome = outcome.run;
    let rehearsal = outcome.rehearsal.clone().unwrap();
    assert!((70e6..96e6).contains(&outcome.goodput_bps), "{}", outcome.goodput_bps);
    assert!(rehearsal.bytes_checked as f64 * 8.0 > 0.9 * outcome.goodput_bps * 0.6);
    assert_eq!((rehearsal.malformed_frames, rehearsal.lost_frames), (0, 0));
    assert_eq!(rehearsal.checksum_errors, 0);
    assert!(outcome.loss_rate < 0.05 && outcome.max_queue_bytes <= 51_000, "{outcome:?}");
    let longest = outcome.rtt.mean_s.unwrap();
    assert!((4e-3..9e-3).contains(&longest), "{longest}");
    Ok(())
}

pub fn finished_flows_end_the_run() -> TestOutcome {
    hosts()?;
    let sizes = [("group.all.size", "200KB"), ("group.all.flows", "8"), ("duration", "20s")];
    let outcome = run(&four_flows(&sizes)).unwrap().run;
    let all = outcome.fct.all.as_ref().unwrap();
    assert_eq!((all.count, all.unfinished), (8, 0));
    assert!(outcome.duration_s < 2.0, "{}", outcome.duration_s);
    assert_eq!(outcome.rehearsal.unwrap().bytes_checked, 8 * 200_000);
    Ok(())
}

pub fn flows_on_credits_arrive_and_emulation_packets_may_use_the_whole_queue() -> TestOutcome {
    hosts()?;
    let credits = [
        ("scheme.cubic.transport", "flashpass"),
        ("topology.rate", "50Mbps"),
        ("group.all.size", "400KB"),
        ("duration", "20s"),
    ];
    let outcome = run(&four_flows(&credits)).unwrap().run;
    let all = outcome.fct.all.as_ref().unwrap();
    assert_eq!((all.count, all.unfinished), (4, 0));
    assert!(outcome.duration_s < 4.0, "{}", outcome.duration_s);
    let rehearsal = outcome.rehearsal.unwrap();
    assert_eq!((rehearsal.bytes_checked, rehearsal.checksum_errors), (4 * 400_000, 0));
    // At least 400,000 / 1,408 packets for each flow, nearly all on credits.
    let credit = outcome.credit.unwrap();
    assert!((1_136..1_300).contains(&credit.used), "{credit:?}");
    assert!(credit.loss_rate > 0.01, "four flows at once ask for more than there is: {credit:?}");
    let selective = outcome.drops_by_cause.iter().filter(|of| of.cause == "selective");
    assert_eq!(selective.count(), 0, "untagged packets are not dropped selectively");
    Ok(())
}

pub fn a_tape_of_credits_is_replayed_with_equal_decisions() -> TestOutcome {
    hosts()?;
    let credits = [("scheme.cubic.transport", "flashpass"), ("topology.rate", "50Mbps")];
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("credits.tape");
    let mut plan = four_flows(&credits);
    let file = Some(tape.to_str().unwrap().to_owned());
    plan.driver = Driver::Rehearsal { tape: file, attached: Vec::new(), stretch: 1 };
    let before = run(&plan).unwrap().run;
    let played = replay::replay(&plan, &tape).unwrap();
    assert_eq!((played.differing, &played.first), (0, &None));
    assert!(played.read > 1_000 && played.written > 1_000, "{} {}", played.read, played.written);
    assert_eq!(played.run.drops, before.drops);
    assert!(before.drops.emulation > 0, "four flows at once ask for more than there is");
    Ok(())
}

pub fn all_bytes_arrive_through_a_buffer_of_two_packets() -> TestOutcome {
    hosts()?;
    let lossy = four_flows(&[("switch.default.buffer", "3.1KB"), ("group.all.size", "300KB")]);
    let outcome = run(&lossy).unwrap().run;
    assert!(outcome.loss_rate > 0.003, "{}", outcome.loss_rate);
    let failed: Vec<_> = outcome.warnings.iter().filter(|line| line.starts_with("flow ")).collect();
    assert!(outcome.retransmits > 0 && failed.is_empty(), "{failed:?}");
    Ok(())
}

pub fn a_missing_controller_is_loaded_or_refused_by_name() -> TestOutcome {
    hosts()?;
    let outcome = run(&four_flows(&[("scheme.cubic.transport", "vegas")]));
    let has_vegas = abilities::controllers().iter().any(|name| name == "vegas");
    if has_vegas || shallop_bpf::machine::check().is_ok() {
        // Vegas of the kernel, or the BPF program.
        let goodput = outcome?.run.goodput_bps;
        assert!((50e6..96e6).contains(&goodput), "{goodput}");
    } else {
        let why = outcome.err().map(|why| why.to_string()).unwrap_or_default();
        assert!(why.contains("no congestion controller \"vegas\""), "{why}");
    }
    Ok(())
}

pub fn a_late_emulator_makes_the_run_void() -> TestOutcome {
    hosts()?;
    // Threads with a higher priority than the emulator take all processors for 10 ms at a time.
    assert_void_beside(1, |stop| take_turns(60, stop))
}

const PROGRAMS: &str = include_str!("rehearse/programs.toml");

pub fn programs_reach_hosts_by_name_and_get_the_right_bytes() -> TestOutcome {
    hosts()?;
    programs(&["curl", "python3", "sha256sum"])?;
    let files = tempfile::tempdir().unwrap();
    let topology = r#"senders = 1, rate = "50Mbps", delay = "2ms""#;
    let plan = plan(&scenario("2500ms", topology, r#"transport = "bbr""#, PROGRAMS), &[]);
    let outcome = rehearse::run_observed(&plan, 0, 1, &mut Unobserved, Some(files.path()));
    let run = match outcome {
        Ok(outcome) => outcome.run,
        // The machine may allow BBR only in its first network namespace.
        Err(RehearsalError::Missing(why)) if why.contains("allow it to them") => {
            return Err(skip(Cause::Controllers, why));
        }
        Err(why) => return Err(why.into()),
    };
    let hash = |of: &str| {
        let text = std::fs::read_to_string(files.path().join(of).join("stdout")).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(hash("server.s0"), hash("client.r0"));
    let of = |group: &str| run.programs.iter().find(|of| of.group == group).unwrap().clone();
    assert_eq!((of("server").status, of("client").status), (None, Some(3)));
    let sent = run.groups.iter().find(|group| group.name == "server").unwrap();
    assert!(sent.goodput_bps > 5e6, "{sent:?}");
    let warned = run.warnings.iter().any(|line| line.contains("sh in r0 ended with status 3"));
    assert!(warned, "{:?}", run.warnings);
    Ok(())
}

/// Repeats rehearsals, with files in `TMPDIR`.
pub fn rehearses_until_it_is_killed() -> TestOutcome {
    let topology = r#"senders = 1, rate = "50Mbps", delay = "1ms""#;
    let text = scenario("100ms", topology, r#"transport = "bbr""#, SLEEPS);
    loop {
        run(&plan(&text, &[]))?;
    }
}

/// Flows by TCP and on credits, and programs that run longer than the flows.
const SLEEPS: &str = r#"group = [
    { name = "all" },
    { name = "credits", from = "s0", to = "r0", transport = { transport = "flashpass" } },
    { name = "one", from = "s0", to = "r0", command = ["sh", "-c", "sleep 98765 & sleep 98765"] },
    { name = "other", from = "r0", to = "s0", command = ["sleep", "98765"] },
]
"#;

pub fn a_killed_process_leaves_no_files_processes_or_namespaces() -> TestOutcome {
    hosts()?;
    let times: u64 = std::env::var("SHALLOP_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let (before, files) = (processes::network_namespaces(), tempfile::tempdir().unwrap());
    for kill in 0..times {
        let mut child = child::command("rehearse::rehearses_until_it_is_killed");
        let mut child = child.env("TMPDIR", files.path()).stdout(Stdio::null()).spawn()?;
        std::thread::sleep(Duration::from_millis(20 + 137 * kill % 600));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // Programs end a moment after their parent.
    let left = || (processes::sleepers("98765"), &processes::network_namespaces() - &before);
    assert!(soon(|| left() == Default::default()), "{:?}", left());
    assert_eq!(std::fs::read_dir(files.path()).unwrap().count(), 0, "files");
    let names = std::fs::read_dir("/sys/class/net").unwrap().flatten();
    assert!(names.into_iter().all(|name| !name.file_name().to_string_lossy().starts_with("tap")));
    Ok(())
}
