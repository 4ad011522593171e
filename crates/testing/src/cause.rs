//! Causes of skips, and the causes that the environment turns into failures.

use std::{collections::BTreeSet, fmt};

pub const REQUIRE: &str = "SHALLOP_REQUIRE";

/// What a test needs and a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A Linux kernel for virtual time, which `shallop kernel build` makes.
    Kernel,
    Root,
    /// Network namespaces, TUN devices and the other features that rehearsals need.
    Namespaces,
    /// TCP congestion controllers that programs outside the first network namespace may use:
    /// `net.ipv4.tcp_allowed_congestion_control`.
    Controllers,
    /// A running kernel that loads BPF programs, and a build that contains them.
    Bpf,
    /// A browser, for tests of reports.
    Chromium,
    Ns3,
    /// A program of the system, such as a C compiler, curl or tcpdump.
    Programs,
    /// The loopback address of IPv6.
    Ipv6,
    /// Time: the test is part of `make check-full`.
    Long,
}

impl Cause {
    /// All causes, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Kernel,
        Self::Root,
        Self::Namespaces,
        Self::Controllers,
        Self::Bpf,
        Self::Chromium,
        Self::Ns3,
        Self::Programs,
        Self::Ipv6,
        Self::Long,
    ];

    /// The word for the cause in `SHALLOP_REQUIRE` and in the output of tests: its name in lower case.
    pub fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.word())
    }
}

/// The causes for which a skip is a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Required(BTreeSet<Cause>);

impl Required {
    /// Reads `SHALLOP_REQUIRE`. A variable that is unset or empty requires nothing.
    ///
    /// # Errors
    /// An unknown word, or a value that is not Unicode.
    pub fn from_environment() -> Result<Self, String> {
        match std::env::var(REQUIRE) {
            Ok(text) => Self::parse(&text),
            Err(std::env::VarError::NotPresent) => Ok(Self::default()),
            Err(why) => Err(format!("{REQUIRE}: {why}")),
        }
    }

    /// Reads a list of causes with commas between them, or `all`.
    ///
    /// # Errors
    /// An unknown word.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut required = BTreeSet::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if word == "all" {
                required.extend(Cause::ALL);
                continue;
            }
            let cause = Cause::ALL.into_iter().find(|cause| cause.word() == word);
            required.insert(cause.ok_or_else(|| {
                let known = Cause::ALL.map(Cause::word).join(", ");
                format!("{REQUIRE}: {word:?} is no cause of skips; known are {known} and all")
            })?);
        }
        Ok(Self(required))
    }

    /// Whether a skip for this cause is a failure.
    pub fn contains(&self, cause: Cause) -> bool {
        self.0.contains(&cause)
    }

    /// Whether a skip for the cause with this word is a failure.
    pub fn contains_word(&self, word: &str) -> bool {
        self.0.iter().any(|cause| cause.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let required = Required::parse(text).unwrap();
        Cause::ALL.into_iter().filter(|&cause| required.contains(cause)).map(Cause::word).collect()
    }

    #[test]
    fn a_list_requires_its_causes_and_no_other() {
        assert_eq!(words("kernel, bpf"), ["kernel", "bpf"]);
        assert_eq!(words("ns3,"), ["ns3"]);
        assert!(words("").is_empty());
        assert_eq!(words("root,all").len(), Cause::ALL.len());
        let bpf = Required::parse("bpf").unwrap();
        assert!(bpf.contains_word("bpf") && !bpf.contains_word("part"));
    }

    #[test]
    fn a_word_that_is_no_cause_is_an_error_that_names_the_causes() {
        let why = Required::parse("kernel,kernels").unwrap_err();
        assert!(why.contains("\"kernels\" is no cause") && why.contains("namespaces"), "{why}");
        assert!(Required::parse("Kernel").is_err());
    }
}
