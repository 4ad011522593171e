//! Series over time in equal bins, so that a page holds no more points than can be seen. State: for each bin the sum,
//! the number and the largest of its values, and the time of its last row.

/// Bins of a series. Rows that are fewer stay as they are.
pub const BINS: usize = 240;

/// What is known of a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    sum: f64,
    count: u32,
    /// The largest value.
    pub most: f64,
    /// Of the last row, in seconds.
    pub time: f64,
}

impl Bin {
    /// Mean of the rows.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }
}

/// A series in bins.
#[derive(Clone, Debug, PartialEq)]
pub struct Binned {
    /// Length of the run, in seconds.
    length: f64,
    bins: Vec<Bin>,
}

impl Binned {
    /// Nothing yet of a run of this length, in seconds.
    #[must_use]
    pub fn new(length: f64) -> Self {
        Self { length, bins: Vec::new() }
    }

    /// Adds the value of a row, which stands for the time up to it.
    pub fn add(&mut self, time: f64, value: f64) {
        let place = (time / self.length * BINS as f64 - 1e-6).max(0.0) as usize;
        let place = place.min(BINS - 1);
        if self.bins.is_empty() {
            self.bins = vec![Bin::default(); BINS];
        }
        let bin = &mut self.bins[place];
        bin.sum += value;
        bin.count += 1;
        bin.most = bin.most.max(value);
        bin.time = bin.time.max(time);
    }

    /// The bins that hold something, with their places.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Bin)> {
        self.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_stay_as_they_are_and_many_are_put_together() {
        let mut few = Binned::new(1.0);
        (1..=100).for_each(|row| few.add(f64::from(row) * 0.01, f64::from(row)));
        let kept: Vec<f64> = few.iter().map(|(_, bin)| bin.mean()).collect();
        assert_eq!(kept, (1..=100).map(f64::from).collect::<Vec<_>>());
        let mut many = Binned::new(2.0);
        (1..=4800).for_each(|row| many.add(f64::from(row) * 2.0 / 4800.0, f64::from(row % 20)));
        assert_eq!(many.iter().count(), BINS);
        assert!(
            many.iter()
                .all(|(_, bin)| (bin.mean() - 9.5).abs() < 1e-9 && (bin.most - 19.0).abs() < 1e-9)
        );
        assert!((many.iter().last().unwrap().1.time - 2.0).abs() < 1e-12);
    }
}
