//! The identity of a run: a digest of everything that determines its results. These are the effective plan of its
//! scheme ([`mod@shallop_plan::effective`]), the seed, the kernel of its hosts and the source code.

use sha2::{Digest, Sha256};
use shallop_plan::{effective, plan::Plan};
use std::fmt::{self, Write};

/// The format version of archived runs and of identities.
const FORMAT: u32 = 1;
const DIGITS: usize = 32;

/// The identity of a run: 128 bits as 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity(String);

impl Identity {
    #[must_use]
    pub fn for_run(plan: &Plan, scheme: usize, seed: u64) -> Self {
        let effective = Plan { seed, ..effective(plan, scheme) };
        let mut sink = Sink(Sha256::new());
        let (version, source) = (env!("CARGO_PKG_VERSION"), env!("SHALLOP_SOURCE"));
        // The derived `Debug` text has every field with its exact value.
        let kernel = crate::kernels::digest(plan, scheme);
        let written = write!(sink, "{FORMAT} {version} {source} {kernel} {effective:?}");
        debug_assert!(written.is_ok(), "a digest accepts any text");
        let mut digits = hexadecimal(sink.0);
        digits.truncate(DIGITS);
        Self(digits)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The SHA-256 of these bytes in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(bytes))
}

pub(super) fn hexadecimal(digest: Sha256) -> String {
    format!("{:x}", digest.finalize())
}

struct Sink(Sha256);

impl Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_scenario::{Options, read};

    const SCENARIO: &str = r#"
title = "two"
duration = "1s"
topology = { kind = "dumbbell", senders = 3, rate = "10Gbps", delay = "5ms" }
scheme = [{ transport = "cubic" }, { transport = "flashpass" }]
group = [{ name = "all" }]
"#;

    fn identity(text: &str, set: &[(&str, &str)], scheme: usize, seed: u64) -> Identity {
        let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let study = read(text, &Options { set: set.collect(), ..Options::default() }).unwrap();
        Identity::for_run(&study.points[0].plan, scheme, seed)
    }

    #[test]
    fn labels_and_equal_values_do_not_change_the_identity() {
        let first = identity(SCENARIO, &[], 0, 7);
        assert_eq!(first.to_string().len(), DIGITS);
        let renamed = SCENARIO.replace("\"two\"", "\"another title\"") + "# a remark\n";
        assert_eq!(identity(&renamed, &[], 0, 7), first);
        let default = [("switch.default.buffer", "20000B/Gbps"), ("topology.rate", "10000Mbps")];
        for set in [&default[..], &[("seed", "3")], &[("scheme.flashpass.batch", "2")]] {
            assert_eq!(identity(SCENARIO, set, 0, 7), first, "{set:?}");
        }
        let alone = SCENARIO.replace("{ transport = \"cubic\" }, ", "");
        assert_eq!(identity(&alone, &[], 0, 7), identity(SCENARIO, &[], 1, 7));
        let labelled = SCENARIO.replace("\"cubic\" }", "\"cubic\", name = \"c\" }");
        assert_eq!(identity(&labelled, &[], 0, 7), first);
    }

    #[test]
    fn every_change_of_a_run_changes_its_identity() {
        let first = identity(SCENARIO, &[], 0, 7);
        assert_ne!(identity(SCENARIO, &[], 0, 8), first);
        assert_ne!(identity(SCENARIO, &[], 1, 7), first);
        for set in [
            ("duration", "1001ms"),
            ("topology.senders", "4"),
            ("switch.default.buffer", "20001B/Gbps"),
            ("scheme.cubic.scale", "0.41"),
            ("group.all.start", "1ps"),
            ("sample", "11ms"),
            ("record.flows", "11ms"),
        ] {
            assert_ne!(identity(SCENARIO, &[set], 0, 7), first, "{set:?}");
        }
    }
}
