//! Time series in bins of equal length, so that a page has no more points than are visible. State: for each bin the
//! sum, the number and the maximum of its samples, and the time of the last sample.

/// The number of bins in a series. A series with fewer samples is stored as it is.
pub const BINS: usize = 240;

/// The samples in one bin of a time series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    sum: f64,
    count: u32,
    pub max: f64,
    /// Time of the last sample in the bin, in seconds from the start of the run.
    pub time: f64,
}

impl Bin {
    pub fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }
}

/// A time series whose samples are merged into bins of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct BinnedSeries {
    /// Length of the run that the bins divide, in seconds.
    length: f64,
    bins: Vec<Bin>,
}

impl BinnedSeries {
    /// Makes a series without samples for a run of this length, in seconds.
    #[must_use]
    pub fn new(length: f64) -> Self {
        Self { length, bins: Vec::new() }
    }

    /// Adds a sample: `value` holds for the interval since the previous sample, which ends at `time`, in seconds.
    pub fn add(&mut self, time: f64, value: f64) {
        let index = (time / self.length * BINS as f64 - 1e-6).max(0.0) as usize;
        let index = index.min(BINS - 1);
        if self.bins.is_empty() {
            self.bins = vec![Bin::default(); BINS];
        }
        let bin = &mut self.bins[index];
        bin.sum += value;
        bin.count += 1;
        bin.max = bin.max.max(value);
        bin.time = bin.time.max(time);
    }

    /// Iterates over the bins that have samples, each with its index.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Bin)> {
        self.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_stay_as_they_are_and_many_are_put_together() {
        let mut few = BinnedSeries::new(1.0);
        (1..=100).for_each(|row| few.add(f64::from(row) * 0.01, f64::from(row)));
        let kept: Vec<f64> = few.iter().map(|(_, bin)| bin.mean()).collect();
        assert_eq!(kept, (1..=100).map(f64::from).collect::<Vec<_>>());
        let mut many = BinnedSeries::new(2.0);
        (1..=4800).for_each(|row| many.add(f64::from(row) * 2.0 / 4800.0, f64::from(row % 20)));
        assert_eq!(many.iter().count(), BINS);
        assert!(many.iter().all(|(_, bin)| (bin.mean() - 9.5).abs() < 1e-9 && (bin.max - 19.0).abs() < 1e-9));
        assert!((many.iter().last().unwrap().1.time - 2.0).abs() < 1e-12);
    }
}
