//! `shallop ping --flashpass` through a router whose port to the receiver is right, or wrong in one of four ways, on a
//! quiet and on a busy machine; and `shallop send` over a path without a meter.

#![expect(clippy::print_stderr, reason = "counts and the load of the machine are printed beside the bound")]

use serde_json::Value;
use shallop_testing::{Outcome, programs, root};

use crate::namespaces::in_namespaces;

/// A sender, this router and a receiver.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machine/edge");

/// Sets up both ports of the router, at 20 Mb/s, as docs/quic-operators.md does, with the changes of `$PATH_KIND`.
const ROUTER: &str = r#"
class() { echo "htb rate $1kbit ceil $2kbit prio $3 burst $4 cburst $4 quantum 1538 overhead 24 mpu 84"; }
match() {
    tc filter add dev $1 parent 1: protocol ip prio 1 u32 match ip dsfield $2 0xfc flowid 1:$3
}
classes() { # DEVICE EMULATION DATA: the rate, ceiling and priority of both
    tc qdisc add dev $1 root handle 1: htb default 30
    tc class add dev $1 parent 1: classid 1:1 $(class 20000 20000 0 3076)
    tc class add dev $1 parent 1:1 classid 1:10 $(class $2 200)
    tc class add dev $1 parent 1:1 classid 1:20 $(class 2000 20000 0 3076)
    tc class add dev $1 parent 1:1 classid 1:30 $(class $3 3076)
    tc qdisc add dev $1 parent 1:10 handle 10: pfifo limit 8
    tc qdisc add dev $1 parent 1:20 handle 20: pfifo limit 64
    tc qdisc add dev $1 parent 1:30 handle 30: pfifo limit 13
    match $1 0x60 10
    match $1 0x80 20
    match $1 0x20 20
}
for device in r0 s0; do
    case $PATH_KIND in
        right) classes $device "1036 1036 0" "16000 20000 1" ;;
        no-meter) classes $device "2000 20000 0" "16000 20000 1" ;;
        data-first) classes $device "64 1036 7" "16000 20000 0" ;;
        data-first-no-meter) classes $device "64 20000 7" "16000 20000 0" ;;
        one-queue) tc qdisc add dev $device root tbf rate 20mbit burst 3076 limit 20000 overhead 24 mpu 84 ;;
    esac
done
export XDG_DATA_HOME=$PWD
"#;

/// Pings `$RUNS` times beside `$LOOPS` busy loops, and prints the load of the machine and what each ping says.
const PINGS: &str = r"
nsenter -n -t $receiver $PRIORITY $shallop ping --listen --wait 20ms --json > listens & sleep 0.5
for loop in $(seq $LOOPS); do (while :; do :; done) & done
cat /proc/loadavg
for run in $(seq $RUNS); do
    timeout 60 nsenter -n -t $sender $PRIORITY $shallop ping --flashpass 10.8.2.2 --rate-limit 20Mbps --wait 20ms \
        --count 1 --json || [ $? = 1 ]
done
";

/// Paths that do not honour the classes.
const WRONG: [&str; 4] = ["one-queue", "data-first", "no-meter", "data-first-no-meter"];

fn needs() -> Outcome {
    root()?;
    programs(&["bash", "unshare", "nsenter", "ip", "tc", "python3", "chrt"])
}

/// Runs pings over a path beside busy loops, without which both ends have real-time priority. Prints how often each
/// verdict came, and returns how many passed.
fn passes(path: &str, runs: usize, loops: u32) -> usize {
    let priority = if loops == 0 { "chrt -f 10" } else { "" };
    let [count, beside] = [runs.to_string(), loops.to_string()];
    let variables = [("PATH_KIND", path), ("RUNS", &count), ("LOOPS", &beside), ("PRIORITY", priority)];
    let said = in_namespaces(FILES, &format!("{ROUTER}{PINGS}"), &variables);
    let (load, results) = said.split_once('\n').unwrap();
    let told: Vec<Value> = serde_json::Deserializer::from_str(results).into_iter().map(Result::unwrap).collect();
    assert_eq!(told.len(), runs, "{said}");
    let count = |verdict: &Value| told.iter().filter(|of| of["honours_classes"] == *verdict).count();
    let [passed, failed, open] = [Value::Bool(true), Value::Bool(false), Value::Null].map(|of| count(&of));
    eprintln!("{path}, {loops} busy loops, load {load}: {passed} pass, {failed} fail, {open} are not known");
    passed
}

pub fn a_ping_passes_a_path_with_a_meter_and_no_wrong_one() -> Outcome {
    needs()?;
    for path in WRONG {
        assert_eq!(passes(path, 1, 0) + passes(path, 1, 2), 0, "{path}");
    }
    assert!((0..5).any(|_| passes("right", 1, 0) == 1));
    Ok(())
}

pub fn in_300_runs_no_wrong_path_passes_and_a_right_one_passes_in_50_of_50() -> Outcome {
    needs()?;
    // The namespaces exist for as long as ten runs take.
    for _ in 0..5 {
        for path in &WRONG[..3] {
            assert_eq!(passes(path, 10, 0) + passes(path, 10, 2), 0, "{path}");
        }
        assert_eq!(passes("right", 10, 0), 10);
    }
    Ok(())
}

/// Receives at the other end, and sends zeros for a time.
const SEND: &str = r"
mkdir inbox
nsenter -n -t $receiver chrt -f 10 $shallop receive inbox --wait 20ms --json > listens 2> /dev/null & sleep 0.5
nsenter -n -t $sender chrt -f 10 $shallop send --for 8s 10.8.2.2 --rate-limit 20Mbps --wait 20ms --trust-new
";

/// Whether CUBIC is said to be faster, and the rates of CUBIC and of credits, Mb/s.
fn compared(said: &str) -> Option<(bool, [f64; 2])> {
    let line = said.lines().find(|line| line.starts_with("CUBIC is "))?;
    let (verdict, rates) = line.split_once(" faster here: ")?;
    let mut rates = rates.split(" Mb/s").map(|part| part.rsplit(' ').next()?.parse().ok());
    Some((!verdict.ends_with("not"), [rates.next()??, rates.next()??]))
}

pub fn a_transfer_over_a_path_without_a_meter_leaves_credits_and_says_why() -> Outcome {
    needs()?;
    let script = format!("{ROUTER}{SEND}").replace("--trust-new", "--trust-new 2>&1");
    let said = in_namespaces(FILES, &script, &[("PATH_KIND", "one-queue")]);
    assert!(said.contains("the path has no FlashPass classes"), "{said}");
    // Which way is faster depends on the machine: what is said must be what was measured, and what is done.
    let (is_faster, [cubic, credits]) = compared(&said).expect(&said);
    assert!(if is_faster { cubic >= credits } else { cubic <= credits }, "{said}");
    assert_eq!(said.contains("Data returns to credits."), !is_faster, "{said}");
    let said = in_namespaces(FILES, &script, &[("PATH_KIND", "right")]);
    assert!(said.contains("On credits: ") && !said.contains("CUBIC"), "{said}");
    Ok(())
}
