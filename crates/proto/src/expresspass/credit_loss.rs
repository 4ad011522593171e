//! Measures the loss of credits from the credit numbers that data packets echo: a skipped number is a lost credit. Data
//! may arrive out of order; a credit that counted as lost then counts as returned. State: counts since the last
//! evaluation, and a bitmap of the latest credits that have returned.

#[derive(Clone, Copy, Debug)]
pub(super) struct CreditLoss {
    /// The number that follows the highest credit that has returned.
    expected: u64,
    /// Bitmap of returned credits with numbers below `expected`. Bit 0 is the highest number.
    recent: u128,
    returned: u64,
    /// Credit numbers skipped since the last evaluation.
    skipped: u64,
    late: u64,
}

impl CreditLoss {
    pub(super) fn starting_at(next: u64) -> Self {
        Self { expected: next, recent: u128::MAX, returned: 0, skipped: 0, late: 0 }
    }

    /// Whether no credit has returned since the last evaluation.
    pub(super) fn is_empty(&self) -> bool {
        self.returned == 0
    }

    /// Records that data arrived which echoes credit `number`.
    pub(super) fn on_return(&mut self, number: u64) {
        if number >= self.expected {
            let skipped = number - self.expected;
            let shift = u32::try_from(skipped).unwrap_or(u32::MAX).saturating_add(1);
            self.recent = self.recent.checked_shl(shift).unwrap_or(0) | 1;
            self.expected = number + 1;
            self.returned += 1;
            self.skipped += skipped;
            return;
        }
        let age = self.expected - 1 - number;
        if age < u64::from(u128::BITS) && self.recent & (1 << age) == 0 {
            self.recent |= 1 << age;
            self.returned += 1;
            self.late += 1;
        }
    }

    /// Returns two counts since the last call: credits whose outcome is known, and among these the credits that
    /// returned.
    pub(super) fn take_counts(&mut self) -> (u64, u64) {
        let returned = std::mem::take(&mut self.returned);
        let skipped = std::mem::take(&mut self.skipped);
        let late = std::mem::take(&mut self.late);
        (returned + skipped.saturating_sub(late), returned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(loss: &mut CreditLoss, numbers: &[u64]) -> (u64, u64) {
        for &number in numbers {
            loss.on_return(number);
        }
        loss.take_counts()
    }

    fn counts(numbers: &[u64]) -> (u64, u64) {
        add(&mut CreditLoss::starting_at(0), numbers)
    }

    #[test]
    fn skipped_numbers_are_lost_credits() {
        assert_eq!(counts(&[0, 1, 2, 5, 6, 9]), (10, 6));
        assert_eq!(counts(&[1_000_000]), (1_000_001, 1));
    }

    #[test]
    fn late_credits_are_not_lost_and_count_once() {
        assert_eq!(counts(&[0, 3, 1, 2, 4]), (5, 5));
        assert_eq!(counts(&[0, 2, 2, 0, 1, 1]), (3, 3));
        assert_eq!(counts(&[0, 500, 1]), (501, 2), "too old to be distinguished from a duplicate");
    }

    #[test]
    fn a_late_credit_corrects_an_earlier_count() {
        let mut loss = CreditLoss::starting_at(0);
        assert_eq!(add(&mut loss, &[0, 2]), (3, 2));
        let sums = "3 to 5 were sent since, 1 before; 4 is missing";
        assert_eq!(add(&mut loss, &[1, 3, 5]), (3, 3), "{sums}");
        assert_eq!(add(&mut loss, &[4]), (1, 1));
    }

    #[test]
    fn credits_from_before_the_start_do_not_count() {
        assert_eq!(add(&mut CreditLoss::starting_at(10), &[9, 8, 11]), (2, 1));
    }

    proptest! {
        #[test]
        fn order_within_the_window_does_not_matter(
            lost in prop::collection::vec(any::<bool>(), 100),
            swaps in prop::collection::vec((0usize..100, 0usize..100), 0..40),
        ) {
            let mut numbers: Vec<u64> =
                (0..100).filter(|&number| number == 99 || !lost[number as usize]).collect();
            let (sent, returned) = counts(&numbers);
            prop_assert_eq!((sent, returned), (100, numbers.len() as u64));
            for (a, b) in swaps {
                let count = numbers.len();
                numbers.swap(a % count, b % count);
            }
            prop_assert_eq!(counts(&numbers), (sent, returned));
        }
    }
}
