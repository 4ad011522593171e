//! A scenario with kernels, tried by hand.
use shallop_kernel::installed;
use shallop_kernel::run::{KernelHosts, run_observed};
use shallop_lab::Observer;
struct Nothing;
impl Observer for Nothing {
    fn on_progress(&mut self, _: shallop_core::Time) -> bool {
        true
    }
    fn on_flows(&mut self, _: Vec<shallop_measure::flow_log::FlowRow>) {}
}
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let study = shallop_scenario::read(&text, &shallop_scenario::Options::default())
        .map_err(|p| format!("{p:?}"))
        .unwrap();
    let installed = installed::find(&installed::folder(), None).unwrap();
    let mut hosts = KernelHosts::default();
    for arg in std::env::args().skip(2) {
        let (k, v) = arg.split_once('=').unwrap();
        match k {
            "qdisc" => hosts.qdisc = v.into(),
            "segs" => hosts.gso_max_segs = v.parse().ok(),
            "mod" => hosts.moderation = shallop_core::Span::from_us(v.parse().unwrap()),
            _ => panic!(),
        }
    }
    for plan in study.points.iter().map(|p| &p.plan) {
        for scheme in 0..plan.schemes.len() {
            for seed in 1..=std::env::var("SEEDS").map_or(1, |s| s.parse().unwrap()) {
                let t = std::time::Instant::now();
                let tcp = shallop_kernel::run::has_kernels(plan, scheme);
                if tcp {
                    match run_observed(plan, (scheme, seed), (&installed, &hosts), &mut Nothing) {
                        Ok(out) => println!(
                            "{} kernel: goodput {:.1} Mb/s loss {:?} {:?} wall {:?}",
                            plan.schemes[scheme].name,
                            out.outcome.run.goodput_bps / 1e6,
                            out.outcome.run.loss_rate,
                            out.counters,
                            t.elapsed()
                        ),
                        Err(why) => println!("error: {why}"),
                    }
                } else {
                    let out = shallop_lab::run(plan, scheme, seed, &mut |_| true).unwrap();
                    println!(
                        "{} ours: goodput {:.1} Mb/s loss {:?} wall {:?}",
                        plan.schemes[scheme].name,
                        out.run.goodput_bps / 1e6,
                        out.run.loss_rate,
                        t.elapsed()
                    );
                }
            }
        }
    }
}
