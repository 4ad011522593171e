//! Traces of flows: the state of each flow in progress ([`FlowState`]), sampled at equal intervals. Simulated flows,
//! kernels in virtual time and rehearsals have the same quantities.
//!
//! Memory does not grow with the duration of a run: with more than a bounded number of values, every second time is
//! dropped and the interval doubles, as if the longer interval had been asked for.

use crate::series::{FlowSample, MAX_STORED, Quantity};
use shallop_core::Span;
use shallop_proto::FlowState;

/// The traces of all flows of a run.
#[derive(Clone, Debug)]
pub struct FlowTrace {
    values: Vec<FlowSample>,
    /// The interval of the plan, and the present one, a multiple of it.
    intervals: (Span, Span),
    next: Span,
    most: usize,
}

impl FlowTrace {
    /// No samples yet; the first is due after one interval.
    pub const fn new(interval: Span) -> Self {
        Self { values: Vec::new(), intervals: (interval, interval), next: interval, most: MAX_STORED }
    }

    /// As `new`, with another bound than [`MAX_STORED`].
    #[must_use]
    pub fn with_bound(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// When the next sample is due.
    pub const fn due(&self) -> Span {
        self.next
    }

    /// The values, in order of time.
    pub fn values(&self) -> &[FlowSample] {
        &self.values
    }

    /// Adds the state of a flow.
    pub fn add(&mut self, at: Span, flow: u32, state: &FlowState) {
        let values = [
            (Quantity::Cwnd, state.cwnd),
            (Quantity::Ssthresh, state.ssthresh),
            (Quantity::Pacing, state.pacing.map(|rate| rate.get() as f64)),
            (Quantity::SmoothedRtt, state.srtt.map(Span::as_secs_f64)),
            (Quantity::Delivered, state.delivered.map(|segments| segments as f64)),
            (Quantity::CaState, state.ca_state.map(|state| state.number().into())),
        ];
        let known = values.into_iter().filter_map(|(quantity, value)| Some((quantity, value?)));
        self.values.extend(known.map(|(quantity, value)| FlowSample { at, flow, quantity, value }));
    }

    /// Ends the sample at `now`, after all flows.
    pub fn finish(&mut self, now: Span) {
        if self.values.len() > self.most {
            let interval = self.intervals.1.as_ps();
            self.values.retain(|value| (value.at.as_ps() / interval).is_multiple_of(2));
            self.intervals.1 = self.intervals.1 * 2;
        }
        let interval = self.intervals.1.as_ps();
        self.next = Span::from_ps((now.as_ps() / interval + 1).saturating_mul(interval));
    }

    /// A warning if samples were taken less often than the plan says.
    pub fn note(&self) -> Option<String> {
        let (asked, interval) = self.intervals;
        (interval > asked).then(|| {
            format!(
                "the traces of flows have a sample every {interval} in place of {asked}: a run stores {} values",
                self.most
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_values_leave_those_of_twice_the_interval() {
        let mut trace = FlowTrace::new(Span::from_ms(10)).with_bound(5);
        let state = FlowState { cwnd: Some(7.0), ..FlowState::default() };
        for _ in 0..8 {
            let now = trace.due();
            trace.add(now, 0, &state);
            trace.finish(now);
        }
        let times: Vec<_> = trace.values().iter().map(|value| value.at).collect();
        assert_eq!(times, [20, 40, 60, 80, 100].map(Span::from_ms));
        assert_eq!(trace.due(), Span::from_ms(120));
        let note = trace.note().unwrap_or_default();
        assert!(note.contains("every 20ms in place of 10ms"), "{note}");
    }

    #[test]
    fn a_late_sample_delays_no_other_and_what_a_flow_lacks_is_left_out() {
        let mut trace = FlowTrace::new(Span::from_ms(10));
        trace.add(Span::from_ms(35), 3, &FlowState::default());
        trace.finish(Span::from_ms(35));
        assert_eq!((trace.values().len(), trace.due()), (0, Span::from_ms(40)));
        let state = FlowState { delivered: Some(4), ..FlowState::default() };
        trace.add(Span::from_ms(40), 3, &state);
        let at = Span::from_ms(40);
        let expected = FlowSample { at, flow: 3, quantity: Quantity::Delivered, value: 4.0 };
        assert_eq!(trace.values(), [expected]);
    }
}
