//! The thesis's guidance for Gemini's parameters (section 3.3.3), applied to the network of a run.

use super::{Section, time};
use shallop_control::{any::Config, gemini::PACKET};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_plan::{ResolvedRun, plan::Transport};
use shallop_topology::NodeKind;

/// The queueing delay of data centres that T has to exceed: round trips are 1 ms at most (thesis, 3.3.3).
const DCN_DELAY: Span = Span::from_ms(1);
const BOUNDS_OF_H: (f64, f64) = (0.1, 5.0);

/// Adds K, T, beta and H of a Gemini scheme, each with the thesis's advice for the largest base round trip.
pub(super) fn guidance(setup: &ResolvedRun<'_>, section: &mut Section) {
    let Transport::Tcp(tcp) = &setup.plan.schemes[setup.scheme].transport else { return };
    let Config::Gemini(config) = &tcp.controller else { return };
    let (Some(longest), graph) = (setup.traffic_paths.longest, &setup.network.graph) else { return };
    let nics = (0..graph.ports() as u32).filter(|&port| graph.kind(graph.near(port)) == NodeKind::Host);
    let capacity =
        config.capacity.or_else(|| nics.map(|port| graph.link_of(port).rate).min()).unwrap_or(BitsPerSec::gbps(1));
    let rtt = longest.base_rtt;
    let k = config.mark_above(capacity).unwrap_or(Bytes::ZERO);
    let (gbps, bits) = (capacity.get() as f64 / 1e9, capacity.get() as f64 * rtt.as_secs_f64());
    let frames = k.get() as f64 / PACKET.get() as f64 / gbps;
    let advice = if frames < 50.0 { "less: smaller queues, slower convergence" } else { "more: longer queues" };
    let advice = if (frames - 50.0).abs() < 1.0 { "as advised" } else { advice };
    section.say("Gemini's K", format!("{frames:.0} frames per Gb/s"), format!("advice: 50; {advice}"));
    let factor = 4.0 * k.get() as f64 * 8.0 / (bits + k.get() as f64 * 8.0);
    section.say("Gemini's F", format!("{factor:.3}"), format!("4 K / (C RTT + K) at {capacity} and {}", time(rtt)));
    let t = config.delay_threshold;
    let advice = if t > DCN_DELAY { "as advised" } else { "too short: queues of data centres exceed it" };
    section.say(
        "Gemini's T",
        time(t),
        format!("advice: above {} of queues in data centres; {advice}", time(DCN_DELAY)),
    );
    let limit = t.as_secs_f64() / (t.as_secs_f64() + rtt.as_secs_f64());
    let advice = if config.decrease < limit { "as advised" } else { "too large: a reduction empties the queue" };
    let how = format!("advice: below T / (T + RTT) = {limit:.3} at {}; {advice}", time(rtt));
    section.say("Gemini's beta", config.decrease.to_string(), how);
    let h = (config.increase * bits).clamp(BOUNDS_OF_H.0, BOUNDS_OF_H.1);
    let how = format!("H C RTT, from {} to {}; advice: H = 1.2e-7", BOUNDS_OF_H.0, BOUNDS_OF_H.1);
    section.say("Gemini's increase", format!("{h:.2} segments a round trip"), how);
}
