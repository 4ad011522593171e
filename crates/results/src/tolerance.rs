//! When two measurements of one network agree: goodput within a fraction, loss within a factor. The three tolerances
//! differ only in the fraction.

/// The largest difference of two measurements that agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The largest difference of goodput, as a fraction of the reference.
    pub goodput: f64,
    /// The largest ratio of the larger loss to the smaller one.
    pub loss_factor: f64,
    /// Two losses up to this fraction of packets agree, whatever their ratio is.
    pub no_loss: f64,
}

const fn within(goodput: f64) -> Tolerance {
    Tolerance { goodput, loss_factor: 1.5, no_loss: 5e-4 }
}

/// Tolerance between the simulator and ns-3. Both simulate the same settings, so only the models differ. The means of
/// ns-3's seeds may also differ by their own 95 % interval (`checks/ns3/verdict.py`).
pub const NS3: Tolerance = within(0.05);
/// Tolerance between simulated hosts and kernels in virtual time. Nothing else runs on the processors of these kernels,
/// but a kernel has details that no model of a host has.
pub const KERNELS: Tolerance = within(0.10);
/// Tolerance between simulated hosts and a rehearsal. Kernels in real time also wait for processors that they share
/// with the emulator and with each other.
pub const REHEARSALS: Tolerance = within(0.15);

/// What differs between two measurements that do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    Goodput,
    /// The goodput agrees, but the loss does not.
    Loss,
}

impl Tolerance {
    /// Compares goodput, in any unit, and loss, as a fraction of packets. The first value of each pair is the
    /// reference. `None` if both agree.
    pub fn difference(&self, goodput: [f64; 2], loss: [f64; 2]) -> Option<Difference> {
        let [reference, ours] = goodput;
        let (least, most) = (loss[0].min(loss[1]), loss[0].max(loss[1]));
        if (ours - reference).abs() > self.goodput * reference {
            Some(Difference::Goodput)
        } else if most > self.no_loss && most > self.loss_factor * least {
            Some(Difference::Loss)
        } else {
            None
        }
    }

    /// The rule as part of a sentence: "goodput is within 5 % and ...".
    pub fn words(&self) -> String {
        format!(
            "goodput is within {:.0} % and loss within a factor of {}, or below {} %",
            100.0 * self.goodput,
            self.loss_factor,
            100.0 * self.no_loss
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_compared_first_and_then_loss() {
        for (tolerance, goodput, loss, difference) in [
            (REHEARSALS, [100.0, 114.0], [0.01, 0.014], None),
            (REHEARSALS, [100.0, 116.0], [0.01, 0.01], Some(Difference::Goodput)),
            (KERNELS, [100.0, 109.0], [0.01, 0.014], None),
            (KERNELS, [100.0, 111.0], [0.01, 0.01], Some(Difference::Goodput)),
            (KERNELS, [100.0, 89.0], [0.01, 0.01], Some(Difference::Goodput)),
            (KERNELS, [100.0, 100.0], [0.01, 0.016], Some(Difference::Loss)),
            (KERNELS, [100.0, 100.0], [0.016, 0.01], Some(Difference::Loss)),
            (KERNELS, [100.0, 100.0], [0.0, 0.0004], None),
            (KERNELS, [100.0, 100.0], [0.0, 0.0006], Some(Difference::Loss)),
            (NS3, [100.0, 106.0], [0.0, 0.0], Some(Difference::Goodput)),
        ] {
            assert_eq!(tolerance.difference(goodput, loss), difference, "{goodput:?} {loss:?}");
        }
    }

    #[test]
    fn the_check_against_ns_3_has_these_values() {
        let script = include_str!("../../../checks/ns3/verdict.py");
        for (name, value) in [
            ("THROUGHPUT_SHARE", NS3.goodput),
            ("LOSS_FACTOR", NS3.loss_factor),
            ("LOSS_FLOOR_PERCENT", 100.0 * NS3.no_loss),
        ] {
            assert!(script.contains(&format!("\n{name} = {value}\n")), "{name} is not {value}");
        }
    }
}
