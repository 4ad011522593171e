//! What `check --explain` prints about the traffic: how many flows there are, how often they start, and how they load
//! links.

use super::{Section, gigabits};
use shallop_plan::ResolvedRun;
use shallop_plan::load::{self, LoadTerms};
use shallop_plan::pairs::intensity;
use shallop_plan::plan::{Intensity, Transport, Udp};
use shallop_plan::sources;
use shallop_proto::wire;

/// Adds the number of flows, their arrivals, and the largest load of a link.
pub(super) fn explain(setup: &ResolvedRun<'_>, section: &mut Section) {
    let plan = setup.plan;
    let endless = plan.groups.iter().filter(|group| !group.is_finite());
    let endless: usize = endless.map(|group| group.flows).sum();
    section.say("flows", plan.flows().to_string(), format!("{endless} of them without end"));
    let starting: usize = sources::starting_by_group(setup).iter().sum();
    let how = format!("before the end, at {}, with seed {}", plan.duration, setup.seed);
    section.say("flows that start", starting.to_string(), how);
    arrivals(setup, section);
    for group in &plan.groups {
        if let Some(lasts) = group.lasts {
            let how = "how long each flow offers data, from its start on".to_owned();
            section.say(format!("flows of \"{}\"", group.name), lasts.to_string(), how);
        }
        let Some((rate, write)) = group.application else { continue };
        let write = write.map_or("a full segment".to_owned(), |write| write.to_string());
        let how = format!("payload that the application of each flow offers, {write} at a time");
        section.say(format!("application of \"{}\"", group.name), rate.to_string(), how);
    }
    if load::is_offered(plan) {
        largest_load(setup, section);
    }
}

/// Adds the size on the wire and the number of UDP datagrams of a given size.
pub(super) fn datagrams(transport: &Transport, section: &mut Section) {
    let Transport::Udp(Udp { datagram: Some(datagram), rate, .. }) = transport else { return };
    let frame = u64::from(wire::frame(datagram.get() + wire::UDP_HEADERS));
    let how = format!("{datagram} + 28 B of IP and UDP + 38 B of Ethernet, at least 84 B");
    section.say("datagram on the wire", format!("{frame} B"), how);
    if let Some(rate) = rate {
        let each = rate.get() as f64 / (8.0 * frame as f64);
        section.say("datagrams per second of a flow", format!("{each:.1}"), format!("{rate} / (8 × {frame} B)"));
    }
}

/// Adds the rate of arrivals, and the mean time of the last one, of each group with random arrivals.
fn arrivals(setup: &ResolvedRun<'_>, section: &mut Section) {
    let (network, paths) = (&setup.network, &setup.paths);
    for (index, (group, rate)) in setup.plan.groups.iter().zip(&setup.rates).enumerate() {
        let Some(rate) = rate else { continue };
        let offered = match intensity(group) {
            Some(Intensity::Load(load, links)) => {
                let offered = LoadTerms::for_group(group, index, network, paths, links, setup.root());
                offered.map(|offered| (load, links, offered))
            }
            _ => None,
        };
        let how = offered.map_or_else(
            || "`per_second` of the scenario".to_owned(),
            |(load, links, offered)| {
                let LoadTerms { capacity, ports: (used, all), mean_size, crossings } = offered;
                let capacity = gigabits(capacity);
                format!(
                    "{load} × {capacity} / (8 × {mean_size:.1} B × {crossings:.4} crossings a flow); flows may take \
                     {used} of the {all} directions of \"{links}\""
                )
            },
        );
        section.say(format!("flows per second of \"{}\"", group.name), format!("{rate:.3}"), how);
        if let Some(end) = sources::mean_last_start(group, *rate) {
            let how = format!("on average: {} flows at this rate", group.flows);
            section.say(format!("last start of \"{}\"", group.name), format!("{end:.3} s"), how);
        }
    }
}

/// Adds the link with the largest load from random arrivals and traces.
fn largest_load(setup: &ResolvedRun<'_>, section: &mut Section) {
    let network = &setup.network;
    let Some(offered) = setup.offered_load() else {
        let how = "more than four million pairs of hosts communicate";
        return section.say("largest load of a link", "not computed", how);
    };
    let rate = |port: usize| network.graph.link_of(port as u32).rate;
    let relative = offered.iter().enumerate().map(|(port, bits)| (port, bits / rate(port).get() as f64));
    let most = relative.reduce(|most, one| if one.1 > most.1 { one } else { most });
    if let Some((port, load)) = most.filter(|(_, load)| *load > 0.0) {
        let how = format!(
            "{} of payload offered to {}, {}",
            gigabits(offered[port]),
            network.port_name(port as u32),
            rate(port)
        );
        section.say("largest load of a link", format!("{load:.4}"), how);
    }
}
