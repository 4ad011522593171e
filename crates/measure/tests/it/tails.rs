//! Flows that do not finish, stragglers, and the limits of what a run can measure.

use crate::support::outcome_of;
use shallop_measure::Outcome;
use shallop_results::summary::{Completion, Statistic};

fn outcome(duration: &str, keys: &str, groups: &str) -> Outcome {
    let text = format!(
        "title = \"tails\"\nduration = \"{duration}\"\nsample = \"10ms\"\n{keys}\n\
         topology = {{ kind = \"dumbbell\", senders = 4, rate = \"100Mbps\", delay = \"1ms\" }}\n\
         scheme = [{{ transport = \"cubic\" }}]\n{groups}"
    );
    outcome_of(&text)
}

const SIZED: &str = "[[group]]\nname = \"all\"\nflows = 60\nsize = \"500KB\"\nstart = \"0s..2s\"\n";

fn all(outcome: &Outcome) -> &Completion {
    outcome.run.fct.all.as_ref().unwrap()
}

#[test]
fn a_run_that_is_cut_short_never_overstates_what_it_knows() {
    let (whole, cut) = (outcome("20s", "", SIZED), outcome("2100ms", "", SIZED));
    assert_eq!((all(&whole).unfinished, all(&whole).lower_bounds.len()), (0, 0));
    let short = all(&cut);
    assert!(short.unfinished > 0 && short.unfinished < short.count, "{short:?}");
    assert!(short.lower_bounds.contains(&Statistic::P99S), "{short:?}");
    // The flows that the cut run has started, with the completion times that they have in the whole one.
    let started = cut.flows.len();
    let mut times: Vec<f64> = whole.flows[..started].iter().map(|flow| flow.fct_s.unwrap()).collect();
    times.sort_by(f64::total_cmp);
    for (statistic, rank) in [(Statistic::P50S, started.div_ceil(2)), (Statistic::P99S, started)] {
        let (known, truth) = (short.figure(statistic).unwrap(), times[rank - 1]);
        if short.lower_bounds.contains(&statistic) {
            assert!(known <= truth, "{statistic:?}: {known} s is no lower bound of {truth} s");
        } else {
            assert!((known - truth).abs() < 1e-12, "{statistic:?}: {known} s, {truth} s");
        }
    }
    // Of the complete flows alone the tail would be shorter than the truth without a word.
    let complete = cut.flows.iter().filter_map(|flow| flow.fct_s).fold(0.0, f64::max);
    assert!(complete < times[started - 1], "{complete} s");
    // An age is the time from the start of a flow to the end of the run.
    let oldest = cut.flows.iter().find(|flow| flow.fct_s.is_none()).unwrap();
    let last = complete.max(2.1 - oldest.start_s);
    assert!((short.p99_s.unwrap() - last).abs() < 1e-9, "{short:?}");
}

#[test]
fn the_load_phase_does_not_wait_for_stragglers() {
    let straggler = "[[group]]\nname = \"late\"\nflows = 1\nsize = \"10MB\"\n\
                     transport = { transport = \"udp\", rate = \"10Mbps\" }\n";
    let all = outcome("60s", "", &format!("{SIZED}{straggler}"));
    let last = all.flows.iter().map(|flow| flow.start_s).fold(0.0, f64::max);
    let load = all.run.load_throughput_bps.unwrap();
    // 60 flows of 500 KB start in two seconds; the straggler sends for eight.
    assert!(all.run.duration_s > 8.0 && last < 2.0, "{} s", all.run.duration_s);
    assert!(load > 1.8 * all.run.throughput_bps && load < 100e6, "{load}");
    let warned = |outcome: &Outcome| outcome.run.warnings.iter().any(|it| it.contains("take"));
    assert!(warned(&all), "{:?}", all.run.warnings);
    assert!(!warned(&outcome("60s", "", SIZED)), "they end when the arrivals do");
    // The first of these starts after a million seconds on average: none is waited for, and none counts.
    let never = "[[group]]\nname = \"never\"\nflows = 1000\nsize = \"1KB\"\n\
                 arrivals = { per_second = 0.000001 }\n";
    let left_out = outcome("60s", "", &format!("{SIZED}{straggler}{never}")).run;
    assert!((left_out.duration_s - all.run.duration_s).abs() < 1e-9, "{}", left_out.duration_s);
    let said = left_out.warnings.join("\n");
    assert!(said.contains("the last 3 of 61 flows take"), "{said}");
    assert!(said.contains("only 0 of the 1000 flows of group \"never\" start"), "{said}");
    let at_once = SIZED.replace("\"0s..2s\"", "\"0s\"");
    assert_eq!(outcome("60s", "", &at_once).run.load_throughput_bps, None);
    let endless = "[[group]]\nname = \"all\"\nflows = 4\nstart = \"0s..10ms\"\n";
    assert_eq!(outcome("100ms", "", endless).run.load_throughput_bps, None);
}
