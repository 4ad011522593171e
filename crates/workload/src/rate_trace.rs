//! Traces of the rate of a link, as mahimahi records and replays them: a line for each opportunity to send a packet of
//! 1,500 bytes, with its time in milliseconds. The time of the last line is the length of the trace, which repeats.
//! See docs/topologies.md, "Rates from a trace".

use shallop_core::{BitsPerSec, Span};

/// The bytes on the wire of an IP packet of 1,500 bytes.
const FRAME: u64 = 1_538;
/// The most changes of a link in a run.
const MOST: usize = 2_000_000;

/// The opportunities of each millisecond of a trace that has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTrace(Vec<(u64, u64)>);

/// What becomes of a link: times with a new rate, and times from which it sends nothing for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateSteps {
    pub rates: Vec<(Span, BitsPerSec)>,
    pub pauses: Vec<(Span, Span)>,
}

impl RateTrace {
    /// # Errors
    /// The line that is wrong and why, as a text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut slots: Vec<(u64, u64)> = Vec::new();
        for (line, text) in (1..).zip(text.lines().map(str::trim)).filter(|(_, text)| !text.is_empty()) {
            let whole = text.parse().ok().filter(|ms: &u64| *ms < 1 << 40);
            let ms = whole.ok_or_else(|| format!("line {line}: \"{text}\" is no time in whole milliseconds"))?;
            match slots.last_mut() {
                Some((last, count)) if *last == ms => *count += 1,
                Some((last, _)) if *last > ms => return Err(format!("line {line}: {ms} comes after {last}")),
                _ => slots.push((ms, 1)),
            }
        }
        if slots.last().is_none_or(|(last, _)| *last == 0) {
            return Err("the trace has no time after 0, so it has no length".into());
        }
        Ok(Self(slots))
    }

    /// The steps until `end`: in each millisecond the link carries as many full packets as it has opportunities.
    ///
    /// # Errors
    /// If there are too many, as a text.
    pub fn steps(&self, end: Span) -> Result<RateSteps, String> {
        let (mut steps, period) = (RateSteps::default(), self.0.last().map_or(1, |last| last.0));
        let last = end.as_ps() / Span::from_ms(1).as_ps();
        let repeated = (0..).flat_map(|turn| self.0.iter().map(move |&(ms, count)| (turn * period + ms, count)));
        let mut repeated = repeated.take_while(|(ms, _)| *ms <= last).peekable();
        let mut from = 0;
        while let Some((ms, mut count)) = repeated.next() {
            // The end of a turn is the beginning of the next.
            while let Some((_, more)) = repeated.next_if(|next| next.0 == ms) {
                count += more;
            }
            if ms > from {
                steps.pauses.push((Span::from_ms(from), Span::from_ms(ms - from)));
            }
            let rate = BitsPerSec::at_least_one(count.saturating_mul(FRAME * 8 * 1_000));
            if steps.rates.last().is_none_or(|known| known.1 != rate) {
                steps.rates.push((Span::from_ms(ms), rate));
            }
            if steps.rates.len() + steps.pauses.len() > MOST {
                return Err(format!("more than {MOST} changes until {end}: a shorter `duration` has fewer"));
            }
            from = ms + 1;
        }
        if from <= last {
            steps.pauses.push((Span::from_ms(from), Span::from_ms(last + 1 - from)));
        }
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_as_many_packets_in_each_millisecond_and_repeats() {
        let ms = Span::from_ms;
        let steps = |text: &str, end| RateTrace::parse(text).unwrap().steps(end).unwrap();
        let rate = |packets: u64| BitsPerSec::new(packets * 12_304_000).unwrap();
        // One packet each millisecond: 12 Mb/s of IP.
        let one = RateSteps { rates: vec![(ms(1), rate(1))], pauses: vec![(ms(0), ms(1))] };
        assert_eq!(steps("1\n", ms(5)), one);
        let two = steps("0\n0\n3\n4\n", ms(8));
        assert_eq!(
            two.rates,
            [(ms(0), rate(2)), (ms(3), rate(1)), (ms(4), rate(3)), (ms(7), rate(1)), (ms(8), rate(3))]
        );
        assert_eq!(two.pauses, [(ms(1), ms(2)), (ms(5), ms(2))]);
    }

    #[test]
    fn traces_that_are_wrong_are_refused_with_the_line() {
        for (text, why) in [
            ("1\nx\n", "line 2: \"x\""),
            ("5\n3\n", "line 2: 3 comes after 5"),
            ("0\n", "no length"),
            ("", "no length"),
            ("-1\n", "line 1"),
            ("1.5\n", "line 1"),
        ] {
            let error = RateTrace::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let error = RateTrace::parse("1\n3\n").unwrap().steps(Span::from_secs(86_400)).unwrap_err();
        assert!(error.contains("more than 2000000"), "{error}");
    }
}
