//! `shallop ping --flashpass` through a router whose port to the receiver is right, or wrong in one of four ways, on a
//! quiet and on a busy machine; and `shallop send` over a path without a meter.

#![expect(clippy::print_stderr, reason = "counts and the load of the machine are printed beside the bound")]

use crate::namespaces::in_namespaces;
use serde_json::Value;
use shallop_testing::{Outcome, programs, root};

/// A sender, this router and a receiver.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machine/edge");

/// Sets up both ports of the router, at 20 Mb/s, as docs/quic-operators.md does, with the changes of `$PATH_KIND`.
const ROUTER: &str = include_str!("ping/router.sh");

/// Pings `$RUNS` times beside `$LOOPS` busy loops, and prints the load of the machine and what each ping says.
const PINGS: &str = include_str!("ping/pings.sh");

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
nsenter -n -t $receiver chrt -f 10 $shallop receive inbox --anybody --wait 20ms > listens 2> /dev/null & sleep 0.5
nsenter -n -t $sender chrt -f 10 $shallop send --for 8s 10.8.2.2 --rate-limit 20Mbps --wait 20ms --anybody
";

/// What CUBIC is said to be, and the rates of CUBIC and of credits, Mb/s.
fn compared(said: &str) -> Option<(&str, [f64; 2])> {
    let line = said.lines().find(|line| line.starts_with("CUBIC is "))?;
    let (verdict, rates) = line.split_once(": ")?;
    let mut rates = rates.split(" Mb/s").map(|part| part.rsplit(' ').next()?.parse().ok());
    Some((verdict, [rates.next()??, rates.next()??]))
}

pub fn a_transfer_over_a_path_without_a_meter_leaves_credits_and_says_why() -> Outcome {
    needs()?;
    let script = format!("{ROUTER}{SEND}").replace("--anybody\n", "--anybody 2>&1\n");
    let said = in_namespaces(FILES, &script, &[("PATH_KIND", "one-queue")]);
    assert!(said.contains("the path has no FlashPass classes"), "{said}");
    // Which way is faster depends on the machine: what is said must be what was measured, and what is done.
    let (verdict, [cubic, credits]) = compared(&said).expect(&said);
    // On a busy host, what waits in queues counts as sent, up to 1.25 times the rate of the path.
    assert!(
        match verdict {
            "CUBIC is faster here" => cubic >= credits,
            "CUBIC is not faster here" => cubic <= credits,
            _ => verdict.starts_with("CUBIC is beyond --rate-limit here") && cubic >= 22.0,
        },
        "{said}"
    );
    assert_eq!(said.contains("Data returns to credits."), verdict != "CUBIC is faster here", "{said}");
    let said = in_namespaces(FILES, &script, &[("PATH_KIND", "right")]);
    assert!(said.contains("On credits: ") && !said.contains("CUBIC"), "{said}");
    Ok(())
}
