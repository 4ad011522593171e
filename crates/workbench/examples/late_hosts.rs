//! Calibrates the bounds of rehearsals: runs small networks of kernels in virtual time with and without lateness on
//! purpose, and writes a row of a CSV file for each run. Usage: `late_hosts FIRST LAST FILE`; networks are numbered,
//! and those that the file has already are left out. `crates/results/tests/it/rehearsal_bound.rs` fits the bounds to
//! the rows.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use shallop_core::{Seed, Span, Stream};
    use shallop_kernel::lateness::Lateness;
    use shallop_kernel::run::{Outside, run_observed};
    use shallop_measure::observer::Unobserved;
    use shallop_plan::plan::Plan;
    use shallop_results::summary::Run;
    use shallop_scenario::Options;
    use shallop_workbench::kernels;
    use std::{error::Error, fs::OpenOptions, io::Write};

    const HEADER: &str = "network,transport,flows,rate_bps,rtt_s,buffer_bytes,duration_s,seed,pause_s,paused,\
        standstill_s,stood_still,lateness_mean_s,lateness_rms_s,lateness_p99_s,response_mean_s,response_rms_s,\
        response_p99_s,standstills,stood_still_s,longest_gap_s,goodput_bps,utilization,loss_rate,mean_queue_bytes,\
        drops,retransmits,timeouts";
    /// Runs of a network without lateness, and with.
    const EXACT: u64 = 2;
    const LATE: u64 = 4;

    struct Network {
        number: u64,
        transport: &'static str,
        flows: u64,
        rate: f64,
        rtt: f64,
        buffer: f64,
        seconds: f64,
    }

    /// A number between two others, uniform in its logarithm.
    fn log_uniform(stream: &mut Stream, low: f64, high: f64) -> f64 {
        libm::exp(stream.between(libm::log(low), libm::log(high)))
    }

    impl Network {
        fn draw(number: u64) -> Self {
            let stream = &mut Seed::new(number).stream("network", 0);
            let transport = ["cubic", "cubic", "newreno", "bbr"][stream.below(4) as usize];
            let flows = [1, 2, 4, 8, 12][stream.below(5) as usize];
            let rate = log_uniform(stream, 10e6, 120e6).round();
            let rtt = (log_uniform(stream, 4e-3, 80e-3) * 1e6).round() / 1e6;
            let bdp = rate / 8.0 * rtt;
            let buffer = (bdp * log_uniform(stream, 0.1, 2.0)).max(10.0 * 1_538.0).round();
            Self { number, transport, flows, rate, rtt, buffer, seconds: 3.0 }
        }

        fn plan(&self) -> Result<Plan, Box<dyn Error>> {
            let Self { transport, flows, rate, rtt, buffer, seconds, .. } = self;
            let delay = rtt / 2.0 * 1e9;
            let text = format!(
                "title = \"late hosts\"\nduration = \"{seconds}s\"\nstack = \"kernel\"\n\
                 switch.default.buffer = \"{buffer:.0}B\"\nscheme = [{{ transport = \"{transport}\" }}]\n\
                 group = [{{ name = \"all\", start = \"0s..100ms\" }}]\n\
                 [topology]\nkind = \"dumbbell\"\nsenders = {flows}\n\
                 receivers = {flows}\nrate = \"{rate:.0}bps\"\naccess_rate = \"10Gbps\"\ndelay = \"{delay:.0}ns\"\n"
            );
            let mut study = shallop_scenario::read(&text, &Options::default())?;
            Ok(study.points.remove(0).plan)
        }
    }

    /// A lateness: pauses of 20 us to 5 ms, together up to all of the time; in half of the runs standstills of 0.3 to
    /// 30 ms, together up to a fifth of the time.
    fn lateness(network: u64, number: u64) -> Lateness {
        let stream = &mut Seed::new(network).stream("lateness", number);
        let pause = Span::from_ns((log_uniform(stream, 20e-6, 5e-3) * 1e9) as u64);
        let paused = log_uniform(stream, 0.002, 0.9);
        let stands_still = stream.chance(0.5);
        let standstill = Span::from_ns((log_uniform(stream, 0.3e-3, 30e-3) * 1e9) as u64);
        let stood_still = if stands_still { log_uniform(stream, 0.001, 0.2) } else { 0.0 };
        Lateness { seed: network * 100 + number, pause, paused, standstill, stood_still }
    }

    fn row(network: &Network, lateness: Option<Lateness>, run: &Run) -> String {
        let Network { number, transport, flows, rate, rtt, buffer, seconds } = network;
        let of = run.rehearsal.clone().unwrap_or_default();
        let (pause, paused, standstill, stood_still) = lateness.map_or((0.0, 0.0, 0.0, 0.0), |of| {
            (of.pause.as_secs_f64(), of.paused, of.standstill.as_secs_f64(), of.stood_still)
        });
        format!(
            "{number},{transport},{flows},{rate},{rtt},{buffer},{seconds},{},{pause:.9},{paused:.6},{standstill:.9},\
             {stood_still:.6},{:.9},{:.9},{:.9},{:.9},{:.9},{:.9},{},{:.9},{:.9},{:.0},{:.6},{:.9},{:.0},{},{},{}",
            run.seed,
            of.lateness_mean_s,
            of.lateness_rms_s,
            of.lateness_p99_s,
            of.response_mean_s,
            of.response_rms_s,
            of.response_p99_s,
            of.standstills,
            of.stood_still_s,
            of.longest_gap_s,
            run.goodput_bps,
            run.utilization,
            run.loss_rate,
            run.mean_queue_bytes,
            run.drops.data,
            run.retransmits,
            run.timeouts,
        )
    }

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let [first, last, file] = &words[..] else { return Err("FIRST LAST FILE".into()) };
        let known = std::fs::read_to_string(file).unwrap_or_default();
        let mut out = OpenOptions::new().append(true).create(true).open(file)?;
        if known.is_empty() {
            writeln!(out, "{HEADER}")?;
        }
        for number in first.parse::<u64>()?..=last.parse()? {
            if known.lines().any(|line| line.starts_with(&format!("{number},"))) {
                continue;
            }
            let network = Network::draw(number);
            let plan = network.plan()?;
            let kernel = kernels::find(&plan)?;
            let mut rows = String::new();
            for run in 0..EXACT + LATE {
                let lateness = (run >= EXACT).then(|| lateness(number, run));
                let observer = &mut Unobserved;
                let outside = Outside { observer, files: None, terminal: None, lateness };
                let outcome = run_observed(&plan, 0, run + 1, &kernel, outside)?;
                rows += &(row(&network, lateness, &outcome.run) + "\n");
            }
            out.write_all(rows.as_bytes())?;
        }
        Ok(())
    }
}
