//! Makes a checked plan of a scenario's tree, after all changes to it.

use super::root_options::{RecordOptions, Scenario};
use super::{Options, check, ineffective, kernel, proxy, schemes, switches, topology, traffic, vary};
use super::{import::OwnChip, ineffective::Ineffective};
use super::{schemes::SchemeEntry, set, switches::Switches};
use shallop_core::Span;
use shallop_options::suggest::advice;
use shallop_options::{Item, Key, Problem, Section};
use shallop_plan::plan::{Driver, Plan, Scheme, Switch};
use shallop_plan::{bounds::MAX_SAMPLES, network::Network};

/// The most seeds, and the most windows, of a scenario.
const MOST: usize = 10_000;
/// The longest run, in seconds, for which the default is a window for each second. The default of longer runs is one
/// window.
const MAX_SECONDS: u64 = 1_000;

/// Reads a plan, its seeds, and its keys without effect.
pub(super) fn read(root: &Item, given: &Options) -> Result<(Plan, Vec<u64>, Vec<Ineffective>), Problem> {
    let (keys, files, in_real_time) = (Scenario::KEY, &given.files, given.in_real_time);
    let top = Section::open::<Scenario>("the scenario", root)?;
    let options: Scenario = top.read(())?;
    let seeds = seeds(&top)?;
    let (duration, sample) = (options.duration, options.sample);
    bound_samples(&top, keys.sample, (sample, duration))?;
    let mut switches = switches::read(top.item(keys.switch))?;
    let names: Vec<&str> = switches.all.iter().map(|switch| switch.name.as_str()).collect();
    let Some(item) = top.item(keys.topology) else { return Err(top.lacks(keys.topology)) };
    let topology = topology::read(item, &names, (&**files, duration))?;
    switches.add_chips(top.item(keys.switch), &topology.chips)?;
    let schemes = schemes::read(&top, keys.scheme, options.stack)?;
    let under = under_schemes(root, &schemes, &topology.chips, &mut switches.missing)?;
    let mut plan = Plan {
        title: options.title,
        seed: seeds[0],
        duration,
        sample,
        record: record(&top, duration)?,
        windows: windows(&top, options.windows, duration)?,
        fairness_window: options.fairness_window,
        topology: topology.topology,
        ecmp: topology.ecmp,
        switches: switches.all,
        nic: options.nic,
        nic_buffer: options.nic_buffer,
        nic_credit_queue: options.nic_credit_queue,
        nic_jitter: options.nic_jitter,
        kernel: kernel::read(&top)?,
        driver: Driver::default(),
        levels: options.levels,
        capture: (options.capture, options.capture_limit),
        groups: Vec::new(),
        classes: traffic::classes(&top)?,
        schemes: (schemes.iter().zip(under))
            .map(|(read, switches)| Scheme { switches, ..read.scheme.clone() })
            .collect(),
    };
    let network = check::network(&plan);
    check::sizes(&network, switches.missing)?;
    check::routes(&top, &network)?;
    if let Some(name) = plan.capture.0.iter().find(|name| !network.links.contains_key(*name)) {
        let problem = top.reject(keys.capture, format!("there is no set of links \"{name}\""));
        return Err(problem.with_help(advice(name, network.links.keys().map(String::as_str))));
    }
    proxy::place(&mut plan, &schemes, &network)?;
    plan.groups = traffic::read(&top, &network, (duration, options.stack), (files, &given.programs))?;
    kernel::check(&top, (&plan, &network), in_real_time)?;
    check::loads(&top, &plan, &network)?;
    check::mixes(&top, &plan)?;
    check::senders(&top, &plan, &network)?;
    check::frames_fit(&top, &plan, &network)?;
    let models: Vec<usize> = topology.chips.iter().map(|own| own.like).collect();
    let unused = unused_sections(&top, (root, given), (&plan, &network), &models)?;
    check::pools(&top, &plan, &network)?;
    schemes_fit(&top, &plan, &network)?;
    check::waits(&plan, &schemes, &seeds)?;
    let ineffective = [ineffective::find(root, &plan, &network, &models), unused].concat();
    Ok((plan, seeds, ineffective))
}

/// Finds `[switch.NAME]` sections that no node uses. They are errors, unless points have different networks.
fn unused_sections(
    top: &Section<'_>, (root, given): (&Item, &Options), (plan, network): (&Plan, &Network), models: &[usize],
) -> Result<Vec<Ineffective>, Problem> {
    let unused = check::unused(plan, network, models);
    if !vary::changes_network(root, given) {
        check::switches(top, &unused)?;
    }
    Ok(unused.iter().map(|switch| Ineffective::section(&switch.name)).collect())
}

/// Checks that buffers and pools also fit the network with the switch settings of each scheme's `set`.
fn schemes_fit(top: &Section<'_>, plan: &Plan, network: &Network) -> Result<(), Problem> {
    for scheme in 0..plan.schemes.len() {
        if let Some(switches) = plan.schemes[scheme].switches.clone() {
            let under = Plan { switches, ..plan.clone() };
            let name = &plan.schemes[scheme].name;
            let within = |problem: Problem| problem.within(&format!("with `set` of \"{name}\""));
            check::frames_fit(top, &under, network).map_err(within)?;
            check::pools(top, &under, network).map_err(within)?;
        }
    }
    Ok(())
}

/// The seeds of the runs, from `seed` or `seeds`. The plan has the first.
pub(super) fn seeds(top: &Section<'_>) -> Result<Vec<u64>, Problem> {
    let keys = Scenario::KEY;
    let Scenario { seed, seeds, .. } = top.read(())?;
    let Some(seeds) = seeds else { return Ok(vec![seed]) };
    if top.is_written(keys.seed) {
        return Err(top.reject(keys.seeds, "there is a `seed` as well").with_help("write one of the two"));
    }
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    if let Some([twice, _]) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        let problem = top.reject(keys.seeds, format!("{twice} is there twice"));
        return Err(problem.with_help("the same seed gives the same run"));
    }
    if seeds.len() > MOST {
        return Err(top.reject(keys.seeds, format!("more than {MOST}")));
    }
    Ok(seeds)
}

/// The interval at which the states of flows are recorded, if they are.
fn record(top: &Section<'_>, duration: Span) -> Result<Option<Span>, Problem> {
    let Some(item) = top.item(Scenario::KEY.record) else { return Ok(None) };
    let section = Section::open::<RecordOptions>("[record]", item)?;
    let RecordOptions { flows } = section.read(())?;
    if let Some(interval) = flows {
        bound_samples(&section, RecordOptions::KEY.flows, (interval, duration))?;
    }
    Ok(flows)
}

/// Checks that a run has no more samples of a quantity than may be stored.
fn bound_samples(section: &Section<'_>, key: &'static Key, (interval, duration): (Span, Span)) -> Result<(), Problem> {
    if duration.as_ps() / interval.as_ps() > MAX_SAMPLES {
        let problem = section.reject(key, format!("{interval} is too short for {duration}"));
        return Err(problem.with_help(format!("at most {MAX_SAMPLES} rows")));
    }
    Ok(())
}

/// The windows of a run for which results are reported separately.
fn windows(
    top: &Section<'_>, windows: Option<Vec<(Span, Span)>>, duration: Span,
) -> Result<Vec<(Span, Span)>, Problem> {
    let Some(windows) = windows else {
        let seconds = duration.as_ps() / Span::from_secs(1).as_ps();
        if seconds == 0 || seconds > MAX_SECONDS {
            return Ok(vec![(Span::ZERO, duration)]);
        }
        let second = |at| (Span::from_secs(at), Span::from_secs(at + 1));
        return Ok((0..seconds).map(second).collect());
    };
    let key = Scenario::KEY.windows;
    let items = top.item(key).map(Item::items).unwrap_or_default();
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
        return Err(top.reject(key, format!("more than {MOST}")));
    }
    Ok(windows)
}

/// The switch settings under each scheme that has a `set`. Those that lack a size are added to `missing`.
fn under_schemes(
    root: &Item, schemes: &[SchemeEntry], chips: &[OwnChip], missing: &mut Vec<(usize, Problem)>,
) -> Result<Vec<Option<Vec<Switch>>>, Problem> {
    let each = |read: &SchemeEntry| {
        let under = under(root, read.set.as_ref(), chips)?;
        Ok(under.map(|under| {
            missing.extend(under.missing);
            under.all
        }))
    };
    schemes.iter().map(each).collect()
}

/// The switch settings with the changes of a scheme's `set`; `None` if the scheme has no `set`.
fn under(root: &Item, changes: Option<&Item>, chips: &[OwnChip]) -> Result<Option<Switches>, Problem> {
    let Some(changes) = changes else { return Ok(None) };
    let mut root = root.clone();
    for change in set::changes("`set` of a scheme", changes)? {
        if change.path.first().is_none_or(|first| first != Scenario::KEY.switch.name) {
            let message = format!("`{}` is the same for all schemes", change.key());
            return Err(change.key.problem(message).with_help("a scheme sets keys of switches: switch.NAME.KEY"));
        }
        set::apply(&mut root, &change)?;
    }
    let sections = root.at_key(Scenario::KEY.switch);
    let mut switches = switches::read(sections)?;
    switches.add_chips(sections, chips)?;
    Ok(Some(switches))
}
