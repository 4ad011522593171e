//! The state of connections in units of people.

use std::net::SocketAddr;

use shallop_bpf::Connection;
use shallop_bpf::controller::Watch;
use shallop_control::gemini::law;

use super::of_bpf;
use crate::diagnostic::Result;

/// What tells of the connections of a controller.
#[derive(Debug)]
pub struct Watched(Watch);

impl Watched {
    pub(super) fn new(watch: Watch) -> Self {
        Self(watch)
    }

    /// Its connections now.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn connections(&self) -> Result<Vec<Told>> {
        let mut all = self.0.connections().map_err(|why| of_bpf(&why))?;
        all.sort_unstable_by_key(|of| (of.local, of.remote));
        Ok(all.iter().map(Told::of).collect())
    }
}

/// A connection in units of people.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Told {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The congestion window, in segments.
    pub cwnd_segments: u32,
    /// The smoothed round trip, in seconds.
    pub srtt_s: f64,
    /// The round trip without queues, in seconds; zero if it is not known.
    pub rtt_base_s: f64,
    /// The average part of marked segments.
    pub alpha: f64,
    /// F of Gemini; zero for others.
    pub scale_factor: f64,
    /// h of Gemini, in segments a round trip; zero for others.
    pub increase_segments: f64,
    /// Segments that were delivered.
    pub delivered_segments: u32,
    /// Of these, with an echo of a mark.
    pub marked_segments: u32,
    /// Segments that were sent again.
    pub resent_segments: u32,
    /// Reductions for marks.
    pub cuts_for_marks: u16,
    /// Reductions for delay.
    pub cuts_for_delay: u16,
    /// Reductions for losses.
    pub cuts_for_losses: u16,
}

impl Told {
    fn of(of: &Connection) -> Self {
        let part = |value: u32, bits: u32| f64::from(value) / f64::from(1_u32 << bits);
        let [cuts_for_marks, cuts_for_delay, cuts_for_losses] = of.cuts;
        Self {
            local: of.local,
            remote: of.remote,
            cwnd_segments: of.cwnd,
            srtt_s: f64::from(of.srtt_us) * 1e-6,
            rtt_base_s: f64::from(of.rtt_base_us) * 1e-6,
            alpha: part(of.alpha, 10),
            scale_factor: part(of.factor, law::REDUCTION_BITS),
            increase_segments: part(of.step, law::STEP_BITS),
            delivered_segments: of.delivered,
            marked_segments: of.marked,
            resent_segments: of.retransmitted,
            cuts_for_marks,
            cuts_for_delay,
            cuts_for_losses,
        }
    }
}
