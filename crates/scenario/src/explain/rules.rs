//! Closed-form rules for keys that candidates of `shallop advise` differ in.

use super::{Section, size, time};
use shallop_control::any::Config;
use shallop_plan::plan::Transport;
use shallop_plan::{ResolvedNetwork, SetupError, Study};
use shallop_results::DerivedValue;
use std::collections::BTreeSet;

/// For parts of keys, the beginnings of the names of derived values that are rules for them.
const DERIVED: [(&[&str], &[&str]); 5] = [
    (&["bcc", "shared"], &["B_R ", "Kmin ", "Kmax ", "Pmax ", "ECN threshold"]),
    (&["buffer"], &["bandwidth-delay product", "buffer over"]),
    (&["mark", "k", "delay_threshold", "decrease", "increase"], &["Gemini's"]),
    (&["wait"], &["waiting time", "margin of the waiting time"]),
    (&["credit_queue", "wait"], &["metered share", "metered rate"]),
];

/// The rules for these keys, at a point under a scheme.
///
/// # Errors
/// If the run cannot be made.
pub fn rules(study: &Study, (point, scheme): (usize, usize), keys: &[String]) -> Result<Vec<DerivedValue>, SetupError> {
    let mut only = study.clone();
    let mut at = study.points[point].clone();
    at.name.clear();
    at.plan.schemes = vec![at.plan.schemes[scheme].clone()];
    only.points = vec![at];
    let has = |part: &str| keys.iter().any(|key| key.split('.').any(|step| step.trim_matches('"') == part));
    let mut section = own(&only, has)?;
    let derived = super::explain(&only)?;
    let named = |line: &&DerivedValue| {
        DERIVED.iter().any(|(parts, names)| {
            parts.iter().any(|part| has(part)) && names.iter().any(|name| line.what.starts_with(name))
        })
    };
    // The last section has the parameters.
    let lines = derived.iter().take(2).flat_map(|section| &section.lines).filter(named);
    for line in lines {
        // Pools with equal thresholds once, whatever the number of their ports.
        if !section.lines.iter().any(|known| (&known.value, &known.how) == (&line.value, &line.how)) {
            section.lines.push(line.clone());
        }
    }
    Ok(section.lines)
}

/// DCTCP's threshold, and the buffer of a single loss-based flow.
fn own(study: &Study, has: impl Fn(&str) -> bool) -> Result<Section, SetupError> {
    let mut section = Section::default();
    let plan = &study.points[0].plan;
    let common = ResolvedNetwork::new(plan, study.seeds.first().copied().unwrap_or_default())?;
    let setup = common.scheme(0)?;
    let (Some(longest), Transport::Tcp(tcp)) = (setup.traffic_paths.longest, &plan.schemes[0].transport) else {
        return Ok(section);
    };
    let rtt = longest.base_rtt;
    // The rules depend on the rate alone.
    let rates: BTreeSet<_> = super::switch_ports(&setup).into_iter().map(|(_, rate, _)| rate).collect();
    for rate in rates {
        let product = rate.bytes_in(rtt).get();
        let at = format!("{rate} and {}", time(rtt));
        if has("mark") && matches!(tcp.controller, Config::Dctcp(_)) {
            let frames = product as f64 / 7.0 / 1538.0;
            let how = format!("C RTT / 7 at {at}: {frames:.1} frames of 1538 B");
            section.say(format!("K of DCTCP at {rate}, at least"), size(product / 7), how);
        }
        let decrease = match &tcp.controller {
            Config::Cubic(cubic) => Some(cubic.decrease),
            Config::Reno(reno) => Some(reno.loss.decrease),
            _ => None,
        };
        if let Some(decrease) = decrease.filter(|_| has("buffer")) {
            let buffer = product as f64 * decrease / (1.0 - decrease);
            let how = format!("C RTT d / (1 - d) at {at}, d = {decrease}: one flow keeps the link busy");
            section.say(format!("buffer of one flow at {rate}, at least"), size(buffer as u64), how);
        }
    }
    Ok(section)
}
