//! From the tree of a scenario, with its changes made, to a checked plan.

use std::sync::Arc;

use shallop_core::{BufferSize, Span};
use shallop_sim::NicMode;

use super::format::{MOST_SAMPLES, SCENARIO};
use super::problem::{Problem, advice};
use super::section::Section;
use super::tree::Item;
use super::{check, proxy, schemes, switches, topology, traffic};
use crate::capture::LIMIT;
use crate::files::Files;
use crate::plan::{Plan, Scheme};

/// The queue of a host's link where it is a queue and nothing is said of it, as in Linux (`txqueuelen`).
const NIC_BUFFER: BufferSize = BufferSize::Packets(1_000);
/// Seeds, and windows, at most.
const MOST: usize = 10_000;
/// A run of more seconds than this is not cut into seconds unless asked to.
const MOST_SECONDS: u64 = 1_000;

/// How hosts' links take packets from their flows.
fn nic(top: &Section<'_>) -> Result<NicMode, Problem> {
    Ok(match top.or("nic", "fair")? {
        "fifo" => NicMode::Fifo,
        _ => NicMode::Fair,
    })
}

/// Reads a plan and the seeds it is to be run with.
pub(super) fn read(root: &Item, files: &Arc<dyn Files>) -> Result<(Plan, Vec<u64>), Problem> {
    let top = Section::open("the scenario", SCENARIO, root)?;
    let title = top.must("title")?;
    let seeds = seeds(&top)?;
    let duration: Span = top.must("duration")?;
    let sample: Span = top.or("sample", Span::from_ms(10))?;
    if duration.as_ps() / sample.as_ps() > MOST_SAMPLES {
        let problem = top.reject("sample", format!("{sample} is too short for {duration}"));
        return Err(problem.with_help(format!("at most {MOST_SAMPLES} rows")));
    }
    let switches = switches::read(top.item("switch"))?;
    let names: Vec<&str> = switches.iter().map(|switch| switch.name.as_str()).collect();
    let Some(item) = top.item("topology") else { return Err(top.lacks("topology")) };
    let topology = topology::read(item, &names, &**files)?;
    let schemes = schemes::read(&top, top.or("stack", "linux")?)?;
    let under = schemes.iter().map(|read| switches::under(root, read.set.as_ref()));
    let under = under.collect::<Result<Vec<_>, _>>()?;
    let mut plan = Plan {
        title,
        seed: seeds[0],
        duration,
        sample,
        windows: windows(&top, duration)?,
        fairness: top.or("fairness_window", Span::from_ms(100))?,
        topology: topology.topology,
        symmetric: topology.symmetric,
        switches,
        nic: nic(&top)?,
        nic_buffer: top.or("nic_buffer", NIC_BUFFER)?,
        nic_credit_queue: top.get("nic_credit_queue")?,
        nic_jitter: top.or("nic_jitter", Span::ZERO)?,
        levels: top.or("levels", Vec::new())?,
        capture: (top.or("capture", Vec::new())?, top.or("capture_limit", LIMIT)?),
        groups: Vec::new(),
        classes: traffic::classes(&top)?,
        schemes: (schemes.iter().zip(under))
            .map(|(read, switches)| Scheme { switches, ..read.scheme.clone() })
            .collect(),
    };
    let network = check::network(&plan);
    if let Some(name) = plan.capture.0.iter().find(|name| !network.links.contains_key(*name)) {
        let problem = top.reject("capture", format!("there is no set of links \"{name}\""));
        return Err(problem.with_help(advice(name, network.links.keys().map(String::as_str))));
    }
    proxy::place(&mut plan, &schemes, &network)?;
    plan.groups = traffic::read(&top, &network, duration, files)?;
    check::mixes(&top, &plan)?;
    check::room(&top, &plan, &network)?;
    check::pools(&top, &plan, &network)?;
    for scheme in 0..plan.schemes.len() {
        if let Some(switches) = plan.schemes[scheme].switches.clone() {
            let under = Plan { switches, ..plan.clone() };
            let name = &plan.schemes[scheme].name;
            let within = |problem: Problem| problem.within(&format!("with `set` of \"{name}\""));
            check::room(&top, &under, &network).map_err(within)?;
            check::pools(&top, &under, &network).map_err(within)?;
        }
    }
    check::waits(&plan, &schemes, &seeds)?;
    Ok((plan, seeds))
}

/// The seeds to run with; the first is that of the plan.
pub(super) fn seeds(top: &Section<'_>) -> Result<Vec<u64>, Problem> {
    let (one, many): (Option<u64>, Option<Vec<u64>>) = (top.get("seed")?, top.get("seeds")?);
    match (one, many) {
        (Some(_), Some(_)) => {
            let problem = top.reject("seeds", "there is a `seed` as well");
            Err(problem.with_help("write one of the two"))
        }
        (one, None) => Ok(vec![one.unwrap_or(1)]),
        (None, Some(seeds)) => {
            let mut sorted = seeds.clone();
            sorted.sort_unstable();
            if let Some([twice, _]) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                let message = format!("{twice} is there twice");
                let help = "the same seed gives the same run";
                return Err(top.reject("seeds", message).with_help(help));
            }
            if seeds.len() > MOST {
                return Err(top.reject("seeds", format!("more than {MOST}")));
            }
            Ok(seeds)
        }
    }
}

/// The parts of the run to report by themselves.
fn windows(top: &Section<'_>, duration: Span) -> Result<Vec<(Span, Span)>, Problem> {
    let Some(windows) = top.get::<Vec<(Span, Span)>>("windows")? else {
        let seconds = duration.as_ps() / Span::from_secs(1).as_ps();
        if seconds == 0 || seconds > MOST_SECONDS {
            return Ok(vec![(Span::ZERO, duration)]);
        }
        let second = |at| (Span::from_secs(at), Span::from_secs(at + 1));
        return Ok((0..seconds).map(second).collect());
    };
    let items = top.item("windows").map(Item::items).unwrap_or_default();
    for ((from, to), item) in windows.iter().zip(items) {
        if from == to {
            return Err(item.problem(format!("the window {} is empty", item.found())));
        }
        if *to > duration {
            let problem = item.problem(format!("the window {} ends after the run", item.found()));
            return Err(problem.with_help(format!("`duration` is {duration}")));
        }
    }
    if windows.len() > MOST {
        return Err(top.reject("windows", format!("more than {MOST}")));
    }
    Ok(windows)
}
