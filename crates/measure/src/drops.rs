//! Counts of dropped packets by port, class and cause. A port without drops takes eight bytes.

use shallop_core::{Class, DropCause};

/// Numbers of packets, by class and by cause.
type Counts = [[u64; DropCause::COUNT]; Class::COUNT];

/// Packets that each port dropped or lost on its wire.
#[derive(Clone, Debug, Default)]
pub struct DropCounts {
    ports: Vec<Option<Box<Counts>>>,
}

impl DropCounts {
    /// Zero counts for a network with `ports` ports.
    #[must_use]
    pub fn new(ports: usize) -> Self {
        Self { ports: vec![None; ports] }
    }

    /// Counts packets of this class that were dropped at this port for this cause.
    pub fn add(&mut self, port: u32, class: Class, cause: DropCause, count: u64) {
        if let Some(counts) = self.ports.get_mut(port as usize) {
            let counts = counts.get_or_insert_with(|| Box::new([[0; DropCause::COUNT]; Class::COUNT]));
            counts[class.index()][cause.index()] += count;
        }
    }

    /// Adds the counts of a part of the network.
    pub fn add_all(&mut self, other: &Self) {
        for (port, class, cause, packets) in other.all() {
            self.add(port, class, cause, packets);
        }
    }

    /// Port, class, cause and number of packets, for all numbers above zero, in order of port, class and cause.
    pub fn all(&self) -> impl Iterator<Item = (u32, Class, DropCause, u64)> + '_ {
        let ports = (0u32..).zip(&self.ports);
        ports.filter_map(|(port, counts)| Some((port, counts.as_deref()?))).flat_map(|(port, counts)| {
            let of_class = move |class: Class| {
                let causes = DropCause::ALL.into_iter();
                causes.map(move |cause| (port, class, cause, counts[class.index()][cause.index()]))
            };
            Class::ALL.into_iter().flat_map(of_class).filter(|row| row.3 > 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_counted_by_port_class_and_cause() {
        let mut counts = DropCounts::new(3);
        counts.add(2, Class::Data, DropCause::WireLoss, 1);
        for _ in 0..2 {
            counts.add(0, Class::Data, DropCause::BufferFull, 1);
        }
        counts.add(0, Class::Emulation, DropCause::Selective, 1);
        // A port that the network does not have is not counted.
        counts.add(7, Class::Data, DropCause::BufferFull, 1);
        let all: Vec<_> = counts.all().collect();
        assert_eq!(
            all,
            [
                (0, Class::Data, DropCause::BufferFull, 2),
                (0, Class::Emulation, DropCause::Selective, 1),
                (2, Class::Data, DropCause::WireLoss, 1),
            ]
        );
    }
}
