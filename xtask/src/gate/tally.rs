//! The table at the end of the gate: what ran, failed and was skipped, by group, and skips by cause.

use super::harness::Counts;
use std::{collections::BTreeMap, fmt::Write as _};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Unit,
    Integration,
    Docs,
    Python,
    Experiments,
}

impl Group {
    pub fn word(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Integration => "integration",
            Self::Docs => "docs",
            Self::Python => "python",
            Self::Experiments => "experiments",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub group: Group,
    pub name: String,
    pub counts: Counts,
    pub seconds: f64,
    /// What failed besides tests, such as an executable that printed no closing line; it counts as a failed test.
    pub trouble: Option<String>,
}

impl Outcome {
    pub fn failed(&self) -> usize {
        self.counts.failed + usize::from(self.trouble.is_some())
    }
}

#[derive(Default)]
pub struct Tally(Vec<Outcome>);

impl Tally {
    pub fn add(&mut self, outcome: Outcome) {
        self.0.push(outcome);
    }

    pub fn has_failed(&self) -> bool {
        self.0.iter().any(|outcome| outcome.failed() > 0)
    }

    /// The table, the jobs that failed, and the closing line.
    pub fn table(&self) -> String {
        let mut groups: BTreeMap<Group, [usize; 3]> = BTreeMap::new();
        let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
        for outcome in &self.0 {
            let row = groups.entry(outcome.group).or_default();
            row[0] += outcome.counts.passed;
            row[1] += outcome.failed();
            row[2] += outcome.counts.skipped.len();
            for skip in &outcome.counts.skipped {
                *causes.entry(skip.cause.as_str()).or_default() += 1;
            }
        }
        let mut text = "group            run  failed  skipped\n".to_owned();
        let mut all = [0; 3];
        for (group, [passed, failed, skipped]) in groups {
            all = [all[0] + passed, all[1] + failed, all[2] + skipped];
            let _ = writeln!(text, "{:<12}{:>8}{failed:>8}{skipped:>9}", group.word(), passed + failed);
        }
        if !causes.is_empty() {
            text += "\nskipped, by cause\n";
        }
        for (cause, count) in causes {
            let _ = writeln!(text, "  {cause}: {count} ({})", remedy(cause));
        }
        let failed: Vec<&Outcome> = self.0.iter().filter(|outcome| outcome.failed() > 0).collect();
        if !failed.is_empty() {
            text += "\nfailed\n";
        }
        for outcome in failed {
            let why = outcome.trouble.clone().unwrap_or_else(|| format!("{} tests", outcome.counts.failed));
            let _ = writeln!(text, "  {}: {why}", outcome.name);
        }
        let [passed, failed, skipped] = all;
        let _ = write!(text, "\n{passed} passed, {failed} failed, {skipped} skipped");
        text
    }
}

/// How to run tests that were skipped for a cause.
fn remedy(cause: &str) -> &'static str {
    match cause {
        "kernel" => "make kernel",
        "root" => "run it as root",
        "namespaces" => "run it as root on Linux with network namespaces and /dev/net/tun",
        "controllers" => "sysctl -w net.ipv4.tcp_allowed_congestion_control=\"reno cubic bbr\"",
        "ipv6" => "give the loopback device the address ::1",
        "bpf" => "make setup, then run it as root on Linux 6.4 or later",
        "chromium" => "make check-report",
        "ns3" => "make check-ns3",
        "programs" => "make setup",
        "long" => "make check-full",
        "release" => "make measures",
        "python" => "make python says why",
        _ => "see the test",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::harness::Skip;

    fn outcome(group: Group, passed: usize, failed: usize, causes: &[&str]) -> Outcome {
        let skip = |cause: &&str| Skip { name: "t".into(), cause: (*cause).into(), is_built_in: true };
        let counts = Counts { passed, failed, skipped: causes.iter().map(skip).collect() };
        Outcome { group, name: "shallop-x it".into(), counts, seconds: 1.0, trouble: None }
    }

    #[test]
    fn the_table_adds_groups_and_ends_with_the_closing_line() {
        let mut tally = Tally::default();
        tally.add(outcome(Group::Integration, 5, 0, &["kernel", "long"]));
        tally.add(outcome(Group::Integration, 2, 1, &["kernel"]));
        tally.add(outcome(Group::Unit, 10, 0, &[]));
        let table = tally.table();
        assert!(
            table.contains("unit              10       0        0\nintegration        8       1        3\n"),
            "{table}"
        );
        assert!(table.contains("  kernel: 2 (make kernel)\n  long: 1 (make check-full)\n"), "{table}");
        assert!(table.ends_with("\n17 passed, 1 failed, 3 skipped"), "{table}");
    }

    #[test]
    fn an_executable_without_closing_line_is_a_failure() {
        let mut tally = Tally::default();
        let trouble = Some("it printed no closing line".to_owned());
        tally.add(Outcome { trouble, ..outcome(Group::Unit, 0, 0, &[]) });
        assert!(tally.has_failed());
        assert!(tally.table().ends_with("0 passed, 1 failed, 0 skipped"));
    }
}
