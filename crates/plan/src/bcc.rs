//! The thresholds of BCC (Bai, Hu, Chen, Tan, Xiong; section IV.C): a pool marks at random before its free memory is
//! less than what a queue needs. Units: bytes. Each row is a value.
//!
//! | value | rule |
//! |---|---|
//! | memory of the pool that a queue needs, `B_R` | C RTT (1 + lambda) - private bytes, at least zero |
//! | `Kmax`, above which all packets are marked | B - `B_R` / alpha |
//! | `Kmin`, up to which none is marked | Kmax - C N h |
//!
//! C is the rate of a port, N the number of ports that share a pool of B bytes. Senders need a queue of C RTT lambda to
//! keep a link busy; slow start adds C RTT in the round trip before senders respond to a mark.

use crate::plan::{Bcc, Shared};
use shallop_core::BitsPerSec;
use shallop_switch::{MarkAt, Spacing};

/// BCC's thresholds of one pool, in bytes, with the values from which they are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    bcc: Bcc,
    shared: Shared,
    pub rate: BitsPerSec,
    pub ports: u32,
    /// `B_R` in bytes: the memory of the pool that one queue needs.
    pub required: f64,
    /// `Kmax` in bytes: above this occupancy the pool marks every packet.
    pub max: f64,
    /// `Kmin` in bytes: up to this occupancy the pool marks nothing.
    pub min: f64,
}

impl Thresholds {
    /// Computes the thresholds of a pool that `ports` ports share; `rate` is the rate of the fastest of these ports.
    pub fn new(bcc: &Bcc, shared: &Shared, rate: BitsPerSec, ports: u32) -> Self {
        let given = |size: Option<shallop_core::Bytes>| size.map(|size| size.get() as f64);
        let (size, private) = (shared.size.get() as f64, shared.private.get() as f64);
        let product = rate.get() as f64 / 8.0 * bcc.rtt.as_secs_f64();
        let rule = (product * (1.0 + bcc.lambda) - private).max(0.0);
        let required = given(bcc.required).unwrap_or(rule);
        let max = given(bcc.max).unwrap_or(size - required / shared.alpha);
        let apart = rate.get() as f64 / 8.0 * f64::from(ports) * bcc.h.as_secs_f64();
        let min = given(bcc.min).unwrap_or(max - apart);
        Self { bcc: *bcc, shared: *shared, rate, ports, required, max, min }
    }

    /// Checks that 0 < `Kmin` <= `Kmax` <= size of the pool.
    ///
    /// # Errors
    /// Two texts: the problem, and how to solve it.
    pub fn check(&self) -> Result<(), (String, String)> {
        let Self { bcc, shared, rate, ports, max, min, .. } = *self;
        if min <= 0.0 {
            let message = format!(
                "Kmin = Kmax - C N h = {} - {rate} × {ports} × {} = {} is not above zero: the pool would always mark",
                size(max),
                bcc.h,
                size(min)
            );
            return Err((message, self.advice()));
        }
        if min > max {
            let message = format!("Kmin = {} is above Kmax = {}", size(min), size(max));
            return Err((message, "`min` must not be above `max`".into()));
        }
        if max > shared.size.get() as f64 {
            let message = format!("Kmax = {} is more than the pool of {}", size(max), shared.size);
            return Err((message, "a smaller `max`, or none for the rule's".into()));
        }
        Ok(())
    }

    /// Tells the user how to raise `Kmin` above zero.
    fn advice(&self) -> String {
        let Self { bcc, shared, rate, ports, max, .. } = *self;
        if max <= 0.0 {
            let alpha = self.required / shared.size.get() as f64;
            return format!(
                "Kmax = B - B_R / alpha is not above zero either: a larger `size`, an `alpha` well above {alpha:.3}, a \
                 smaller `rtt` or `lambda`, or `max` and `min` by hand"
            );
        }
        let largest = max / (rate.get() as f64 / 8.0 * f64::from(ports)) * 1e6;
        let larger = if bcc.max.is_none() { ", a larger `size` or `alpha`" } else { "" };
        format!("an `h` below {largest:.3} us, fewer `ports` a pool{larger}, or `min` by hand")
    }

    /// Rows of a table, one for each threshold: name, value, and formula or origin.
    pub fn lines(&self) -> Vec<(&'static str, String, String)> {
        let Self { bcc, shared, rate, ports, required, max, min } = *self;
        let of = |given: bool, how: String| if given { "as given".to_owned() } else { how };
        let needed = format!("{rate} × {} × (1 + {}) - {} private", bcc.rtt, bcc.lambda, shared.private);
        let upper = format!("{} - {} / {}: B - B_R / alpha", shared.size, size(required), shared.alpha);
        let lower = format!("{} - {rate} × {ports} ports × {}: Kmax - C N h", size(max), bcc.h);
        let leave = if bcc.at == MarkAt::Dequeue { "; as packets leave" } else { "" };
        let count = if bcc.spacing == Spacing::Count { "; spaced by a count" } else { "" };
        vec![
            ("B_R", size(required), of(bcc.required.is_some(), needed)),
            ("Kmax", size(max), of(bcc.max.is_some(), upper)),
            ("Kmin", size(min), of(bcc.min.is_some(), lower)),
            (
                "Pmax",
                format!("{} %", bcc.max_probability * 100.0),
                format!("of marking at Kmax; all above{leave}{count}"),
            ),
        ]
    }
}

fn size(bytes: f64) -> String {
    if bytes.abs() < 1e6 { format!("{:.3} KB", bytes / 1e3) } else { format!("{:.3} MB", bytes / 1e6) }
}
