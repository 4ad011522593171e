//! Parsers of command-line values that are not keys of scenarios. An error says which values are allowed.

use super::capacity::Scale;
use shallop_core::Share;
use shallop_plan::plan::Attachment;
use std::{fmt::Display, num::NonZeroUsize, path::PathBuf, str::FromStr};

/// The largest seed: scenarios hold seeds as TOML integers, which are signed.
const MOST_SEED: u64 = i64::MAX as u64;
const MOST_JOBS: u64 = 1024;
const MOST_SEEDS: u64 = 10_000;

pub fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0, MOST_SEED)
}

pub fn seeds(text: &str) -> Result<u32, String> {
    whole(text, 1, MOST_SEEDS)
}

pub fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    whole(text, 1, MOST_JOBS)
}

/// Parses a number of minutes.
pub fn minutes(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|minutes: &f64| (0.001..=1e6).contains(minutes));
    number.ok_or_else(|| "a number of minutes, from 0.001 to 1,000,000".to_owned())
}

/// Parses the name of a results folder, which must not be empty.
pub fn folder(text: &str) -> Result<PathBuf, String> {
    if text.trim().is_empty() {
        return Err("the name of the folder is empty; \".\" is the folder you are in".to_owned());
    }
    Ok(PathBuf::from(text))
}

/// The interval of `--record flows`.
const RECORD_INTERVAL: &str = "1ms";

/// Parses what is recorded, `flows` or `flows=TIME`, to the interval of its samples.
pub fn record(text: &str) -> Result<String, String> {
    let (what, interval) = text.split_once('=').unwrap_or((text, RECORD_INTERVAL));
    if what.trim() != "flows" {
        return Err("only flows are recorded: flows, or flows=100us".to_owned());
    }
    if interval.trim().is_empty() {
        return Err("the time between two samples is missing: flows=100us".to_owned());
    }
    Ok(interval.trim().to_owned())
}

/// Parses the factor for a scenario's rates and buffers: `auto`, or a fraction such as `1/20`.
pub fn scale(text: &str) -> Result<Scale, String> {
    if text.trim() == "auto" {
        return Ok(Scale::Auto);
    }
    part(text).map(Scale::By).map_err(|why| format!("{why}, or \"auto\""))
}

/// Parses a fraction from 0 to 1, as in `1/20`.
pub fn part(text: &str) -> Result<Share, String> {
    let parts = text.trim().split_once('/').unwrap_or((text.trim(), "1"));
    let part = parts.0.trim().parse().ok().zip(parts.1.trim().parse().ok());
    let share = part.and_then(|(part, whole)| Share::new(part, whole));
    share.ok_or_else(|| "expected a part from 0 to 1, as in 1/20".to_owned())
}

/// Parses `INTERFACE=HOST`: an interface of this machine that takes the place of a host, as in `eth1=r0`.
pub fn attachment(text: &str) -> Result<Attachment, String> {
    let parts = text.split_once('=').map(|(interface, host)| (interface.trim(), host.trim()));
    let parts = parts.filter(|(interface, host)| !interface.is_empty() && !host.is_empty());
    let attachment =
        |(interface, host): (&str, &str)| Attachment { interface: interface.to_owned(), host: host.to_owned() };
    parts.map(attachment).ok_or_else(|| "expected INTERFACE=HOST, as in eth1=r0".to_owned())
}

fn whole<T: FromStr>(text: &str, least: u64, most: u64) -> Result<T, String> {
    let number: Option<u64> = text.trim().parse().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    // Every number in the range fits `T`.
    number.and_then(|number| number.to_string().parse().ok()).ok_or_else(|| refused(text, least, most))
}

fn refused(text: &str, least: impl Display, most: impl Display) -> String {
    let negative = text.trim().strip_prefix('-').is_some_and(|rest| rest.parse::<f64>().is_ok());
    let found = if negative { "negative; " } else { "" };
    format!("{found}expected a whole number from {least} to {most}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_numbers_are_refused_with_the_allowed_range() {
        assert_eq!(seed("9223372036854775807"), Ok(MOST_SEED));
        let wanted = "negative; expected a whole number from 0 to 9223372036854775807";
        assert_eq!(seed("-1"), Err(wanted.to_owned()));
        for bad in ["9223372036854775808", "18446744073709551616", "1.5", "True", "", "1e3", "--quick"] {
            let why = seed(bad).unwrap_err();
            assert_eq!(why, "expected a whole number from 0 to 9223372036854775807", "{bad}");
        }
        assert_eq!((scale("auto"), part("auto").is_err()), (Ok(Scale::Auto), true));
        assert_eq!(Share::new(1, 20).map(Scale::By), scale(" 1/20 ").ok());
        for bad in ["0", "2", "1/0", "3/2", "-1/2", "0.5", "", "1/20/3"] {
            assert!(scale(bad).is_err() && part(bad).is_err(), "{bad}");
        }
        let attached = attachment("eth1=r0").unwrap();
        assert_eq!((attached.interface.as_str(), attached.host.as_str()), ("eth1", "r0"));
        for bad in ["", "eth1", "=r0", "eth1= "] {
            assert!(attachment(bad).is_err(), "{bad}");
        }
        assert_eq!(jobs("3").map(NonZeroUsize::get), Ok(3));
        for bad in ["0", "1025"] {
            assert_eq!(jobs(bad).unwrap_err(), "expected a whole number from 1 to 1024", "{bad}");
        }
        assert_eq!(seeds("10000"), Ok(10_000));
        assert_eq!(seeds("0").unwrap_err(), "expected a whole number from 1 to 10000");
        assert_eq!(record("flows"), Ok("1ms".to_owned()));
        assert_eq!(record("flows= 100us"), Ok("100us".to_owned()));
        for (bad, why) in [("queues=1ms", "only flows"), ("flows=", "is missing"), ("", "only flows")] {
            assert!(record(bad).unwrap_err().contains(why), "{bad}");
        }
        assert!(folder(" ").unwrap_err().contains("empty"));
        assert_eq!(folder("a b"), Ok(PathBuf::from("a b")));
    }
}
