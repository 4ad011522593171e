//! Memory of time series: it does not grow with the duration of a run.

use crate::support::{self, dumbbell, group, plan};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_measure::probe::Measurements;
use shallop_measure::series::{MAX_STORED, Series};
use shallop_plan::bounds::DAY;
use shallop_plan::{Plan, ResolvedRun};

/// Two hosts, and a flow of one packet at the start.
fn near_idle(duration: Span, sample: Span) -> Plan {
    let dumbbell = dumbbell(BitsPerSec::gbps(1), Span::from_ms(5), 1);
    let mut flows = group("all", (2, 1), 2, Some(1_000));
    // The second flow ends the run.
    flows.start = shallop_plan::plan::Starts::Every(Span::ZERO, duration - Span::from_secs(1));
    let mut plan = plan(dumbbell.into(), BufferSize::Bytes(Bytes::new(100_000)), vec![flows]);
    plan.schemes.truncate(1);
    (plan.duration, plan.sample) = (duration, sample);
    plan
}

#[test]
fn stored_samples_stay_below_a_bound_and_at_equal_intervals() {
    let plan = near_idle(Span::from_secs(100), Span::from_ms(1));
    let setup = ResolvedRun::new(&plan, 0, 1).unwrap();
    let mut probe = Measurements::new(&setup, |_| true);
    let mut series = Series::new(&setup).with_bound(100);
    for number in 1..=100_000 {
        let now = Span::from_ms(number);
        if series.is_due(now) {
            series.sample(now, &mut probe);
        }
        assert!(series.samples.samples.len() <= 102, "{}", series.samples.samples.len());
    }
    let times: Vec<Span> = series.samples.samples.iter().map(|sample| sample.time).collect();
    let interval = times[0];
    assert_eq!(interval, Span::from_ms(1024));
    assert!(times.iter().zip(1..).all(|(&time, number)| time == interval * number), "{times:?}");
    assert!(times.len() > 50 && *times.last().unwrap() + interval > Span::from_secs(100));
    let note = series.note().unwrap();
    assert!(note.contains("every 1.024s in place of 1ms"), "{note}");
}

#[test]
fn a_day_of_near_idle_network_is_stored_with_its_interval_told() {
    // More samples than are stored, as the interval is short.
    let plan = near_idle(DAY, Span::from_ms(20));
    let outcome = support::outcome(&plan, 0, 1);
    assert!(outcome.series.samples.len() <= MAX_STORED + 2, "{}", outcome.series.samples.len());
    assert!(outcome.run.duration_s > 86_398.0, "{}", outcome.run.duration_s);
    let told = |warning: &String| warning.contains("a sample every 160ms in place of 20ms");
    assert!(outcome.run.warnings.iter().any(told), "{:?}", outcome.run.warnings);
}
