//! Every shipped experiment conserves packets and bytes: the quick form of its first point, under each scheme of
//! simulated hosts.

use crate::conservation::{audit, sim};
use shallop_core::Time;
use shallop_measure::ends::{self, EndpointFactory};
use shallop_plan::ResolvedRun;
use shallop_scenario::{Options, experiments, read};

/// Runs to the end of the plan, and audits ten times.
struct Audited<'a>(&'a ResolvedRun<'a>);

impl ends::EndpointVisitor for Audited<'_> {
    type Result = Result<(), String>;

    fn visit<E: EndpointFactory>(self, ends: E) -> Self::Result {
        let Self(setup) = self;
        let mut sim = sim(setup, &ends);
        (1..=10).try_for_each(|tenth| {
            sim.run_until(Time::after_start(setup.plan.duration / 10 * tenth));
            audit(setup, &sim)
        })
    }
}

#[test]
#[ignore = "long: all experiments in their quick form"]
fn every_experiment_conserves_packets_and_bytes() {
    let mut failed = Vec::new();
    let mut audited = 0;
    for shipped in experiments::all() {
        let options = Options { quick: true, ..Options::default() };
        let study = read(shipped.text, &options).unwrap_or_else(|problem| panic!("{}: {problem:?}", shipped.id));
        let plan = &study.points[0].plan;
        for (number, scheme) in plan.schemes.iter().enumerate() {
            let is_real = (0..plan.groups.len()).any(|group| plan.kernel(number, group).is_some());
            // Proxies of CLEAN are parts of nodes, which the audit does not know.
            if is_real || scheme.clean.is_some() {
                continue;
            }
            let setup = ResolvedRun::new(plan, number, study.seeds[0]);
            let came = setup.and_then(|setup| ends::with(&setup, Audited(&setup)));
            audited += 1;
            if let Err(why) = came.map_err(|why| why.to_string()).and_then(|came| came) {
                failed.push(format!("{}, {}: {why}", shipped.id, scheme.name));
            }
        }
    }
    assert!(failed.is_empty(), "{} of {audited} runs:\n{}", failed.len(), failed.join("\n"));
    assert!(audited > 200, "{audited} runs");
}
