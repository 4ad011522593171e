//! Values of options that are not keys of scenarios, read from text.

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use shallop_core::Share;
use shallop_plan::plan::Attachment;

use super::capacity::Scale;

/// The largest seed: that of a scenario, whose numbers are those of TOML.
const MOST_SEED: u64 = i64::MAX as u64;
/// The most runs at a time.
const MOST_JOBS: u64 = 1024;
/// The most seeds at a point.
const MOST_SEEDS: u64 = 10_000;

/// A run seed.
///
/// # Errors
/// What a seed is, if it is none.
pub fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0, MOST_SEED)
}

/// A number of seeds.
///
/// # Errors
/// What is allowed.
pub fn seeds(text: &str) -> Result<u32, String> {
    whole(text, 1, MOST_SEEDS)
}

/// A number of runs at a time.
///
/// # Errors
/// What is allowed.
pub fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    whole(text, 1, MOST_JOBS)
}

/// The folder of results.
///
/// # Errors
/// If it has no name.
pub fn folder(text: &str) -> Result<PathBuf, String> {
    if text.trim().is_empty() {
        return Err("the name of the folder is empty; \".\" is the folder you are in".to_owned());
    }
    Ok(PathBuf::from(text))
}

/// A part of a scenario's rates and buffers: `auto`, or as [`part`].
///
/// # Errors
/// What is allowed.
pub fn scale(text: &str) -> Result<Scale, String> {
    if text.trim() == "auto" {
        return Ok(Scale::Auto);
    }
    part(text).map(Scale::By).map_err(|why| format!("{why}, or \"auto\""))
}

/// A part, as in `1/20`.
///
/// # Errors
/// What is allowed.
pub fn part(text: &str) -> Result<Share, String> {
    let parts = text.trim().split_once('/').unwrap_or((text.trim(), "1"));
    let part = parts.0.trim().parse().ok().zip(parts.1.trim().parse().ok());
    let share = part.and_then(|(part, whole)| Share::new(part, whole));
    share.ok_or_else(|| "expected a part from 0 to 1, as in 1/20".to_owned())
}

/// An interface of this machine in the place of a host, as in `eth1=r0`.
///
/// # Errors
/// What is expected.
pub fn attachment(text: &str) -> Result<Attachment, String> {
    let parts = text.split_once('=').map(|(interface, host)| (interface.trim(), host.trim()));
    let parts = parts.filter(|(interface, host)| !interface.is_empty() && !host.is_empty());
    let attachment = |(interface, host): (&str, &str)| Attachment {
        interface: interface.to_owned(),
        host: host.to_owned(),
    };
    parts.map(attachment).ok_or_else(|| "expected INTERFACE=HOST, as in eth1=r0".to_owned())
}

fn whole<T: FromStr>(text: &str, least: u64, most: u64) -> Result<T, String> {
    let number: Option<u64> = text.trim().parse().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    // What is allowed fits the type.
    number
        .and_then(|number| number.to_string().parse().ok())
        .ok_or_else(|| refused(text, least, most))
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
    fn what_is_no_such_number_is_told_what_is() {
        assert_eq!(seed("9223372036854775807"), Ok(MOST_SEED));
        let wanted = "negative; expected a whole number from 0 to 9223372036854775807";
        assert_eq!(seed("-1"), Err(wanted.to_owned()));
        for bad in
            ["9223372036854775808", "18446744073709551616", "1.5", "True", "", "1e3", "--quick"]
        {
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
        assert!(folder(" ").unwrap_err().contains("empty"));
        assert_eq!(folder("a b"), Ok(PathBuf::from("a b")));
    }
}
