//! Plans built by hand on the defaults of scenarios, and each transport with its defaults.

use shallop_control::flashpass::{AimdConfig, MimdConfig};
use shallop_control::options::ControllerName;
use shallop_control::{any, expresspass::CodeConfig};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_measure::Outcome;
use shallop_plan::Study;
use shallop_plan::plan::{
    Aeolus, BurstUntil, ExpressPass, ExpressPassRule, FlashPass, FlashPassLaw, Group, Plan, Scheme, Starts, Switch,
    Topology, Transport,
};
use shallop_plan::transport::{ExpressPassOptions, FlashPassOptions, UnscheduledAcks};
use shallop_proto::tcp::{self, EcnConfig, Stack};
use shallop_results::Run;
use shallop_scenario::{Options, read};
use shallop_topology::{Dumbbell, Largest, SenderDelay};
use shallop_workload::Sizes;

pub fn study(text: &str) -> Study {
    read(text, &Options::default()).unwrap_or_else(|problem| panic!("{problem:?}\n{text}"))
}

/// A text with these values in place of their names in braces.
pub fn filled(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

pub fn outcome(plan: &Plan, scheme: usize, seed: u64) -> Outcome {
    shallop_measure::run(plan, scheme, seed, &mut |_| true).unwrap()
}

/// The outcome of a scenario's first point and first scheme.
pub fn outcome_of(text: &str) -> Outcome {
    outcome(&study(text).points[0].plan, 0, 1)
}

pub fn run_of(plan: &Plan, scheme: &str) -> Run {
    let scheme = plan.schemes.iter().position(|other| other.name == scheme).unwrap();
    outcome(plan, scheme, 1).run
}

/// Hosts at the left of one link of a dumbbell, whose links have one rate, and a receiver at its right.
pub fn dumbbell(rate: BitsPerSec, delay: Span, senders: usize) -> Dumbbell {
    Dumbbell {
        rate,
        access_rate: rate,
        delay,
        senders,
        sender_delay: SenderDelay::One(Span::ZERO),
        receivers: 1,
        largest: Largest { mtu: Bytes::new(1500) },
    }
}

/// A plan with the defaults of scenarios.
fn defaults() -> Plan {
    const TEXT: &str = include_str!("../scenarios/defaults.toml");
    study(TEXT).points[0].plan.clone()
}

/// A plan of this network and traffic, under each of the schemes of [`schemes`].
pub fn plan(topology: Topology, buffer: BufferSize, groups: Vec<Group>) -> Plan {
    let (switches, fairness_window) = (vec![switch(buffer)], Span::from_ms(100));
    Plan { topology, switches, groups, schemes: schemes(), windows: vec![], fairness_window, ..defaults() }
}

pub fn switch(buffer: BufferSize) -> Switch {
    Switch { buffer, ..defaults().switches[0].clone() }
}

pub fn group(name: &str, (from, to): (u32, u32), flows: usize, size: Option<u64>) -> Group {
    Group {
        name: name.to_owned(),
        from: vec![from],
        to: vec![to],
        flows,
        sizes: size.map(Sizes::fixed),
        start: Starts::Drawn(Span::ZERO, Span::from_ms(50)),
        ..defaults().groups[0].clone()
    }
}

pub fn flashpass(law: FlashPassLaw) -> FlashPass {
    let options = FlashPassOptions {
        epochs: Some(1),
        jitter: Some(0.1),
        over_provision: Some(true),
        ..FlashPassOptions::defaults(())
    };
    FlashPass { options, law, as_in_paper: false, aeolus: None, send_buffer: None }
}

pub fn aimd() -> Transport {
    Transport::FlashPass(flashpass(FlashPassLaw::Aimd(AimdConfig::default())))
}

pub fn mimd() -> Transport {
    Transport::FlashPass(flashpass(FlashPassLaw::Mimd(MimdConfig::default())))
}

pub fn expresspass() -> Transport {
    Transport::ExpressPass(ExpressPass {
        options: ExpressPassOptions { largest_credit: Bytes::new(92), ..ExpressPassOptions::defaults(()) },
        rule: ExpressPassRule::Code(CodeConfig::default()),
        aeolus: None,
        is_aeolus_paper: false,
        ahead: false,
        send_buffer: None,
    })
}

pub fn aeolus(transport: &Transport) -> Transport {
    let (until, acks) = (BurstUntil::FirstResponse, UnscheduledAcks::Together);
    let start = Some(Aeolus { burst: None, until, renew_after: Span::ZERO, acks });
    match *transport {
        Transport::ExpressPass(config) => Transport::ExpressPass(ExpressPass { aeolus: start, ..config }),
        Transport::FlashPass(config) => Transport::FlashPass(FlashPass { aeolus: start, ..config }),
        _ => transport.clone(),
    }
}

/// With credits that are asked for before the data is there.
fn ahead(mut transport: Transport) -> Transport {
    if let Transport::ExpressPass(config) = &mut transport {
        config.ahead = true;
    }
    transport
}

pub fn schemes() -> Vec<Scheme> {
    let linux = Stack::LINUX_IDEAL;
    let tcp = |kind: &'static ControllerName| {
        let config = tcp::Config { ecn: EcnConfig::for_marking(kind.marking, linux.tcp.ecn), ..linux.tcp };
        let controller = any::Config::for_stack(kind.name, linux.host).expect("a name of its own");
        (kind.name, Transport::Tcp(shallop_plan::plan::Tcp { stack: linux.host, config, controller, kernel: None }))
    };
    let credits = [
        ("expresspass", expresspass()),
        ("flashpass", aimd()),
        ("flashpass-mimd", mimd()),
        ("expresspass-aeolus", aeolus(&expresspass())),
        ("expresspass-ideal", ahead(expresspass())),
        ("flashpass-aeolus", aeolus(&aimd())),
    ];
    let scheme =
        |(name, transport): (&str, _)| Scheme { name: name.to_owned(), transport, switches: None, clean: None };
    any::Config::kinds().map(tcp).chain(credits).map(scheme).collect()
}
