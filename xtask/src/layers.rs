//! The allowed dependencies of crates, compared with those that cargo reports.
//!
//! A crate depends on exactly the crates of its line. Its tests may also use indirect dependencies. Optional
//! dependencies count like all others.

use crate::tree::{Finding, cargo};
use serde_json::Value;

/// The crates of the workspace without `shallop-`, each with its dependencies.
pub const RULE: [(&str, &str); 26] = [
    ("core", ""),
    ("options-derive", ""),
    ("options", "core options-derive"),
    ("control", "core options"),
    ("switch", "core options"),
    ("proto", "core options control"),
    ("topology", "core options switch"),
    ("workload", "core options"),
    ("results", ""),
    ("plan", "core options control switch proto topology workload results"),
    ("scenario", "core options control switch proto topology workload results plan"),
    ("sim", "core switch proto topology"),
    ("measure", "core switch proto topology workload results plan sim"),
    ("hosts", "core proto results plan sim measure"),
    ("bpf", "core control proto"),
    ("kernel", "core options control proto results plan sim measure hosts bpf"),
    ("linux", "core control results plan measure hosts bpf quic"),
    ("quic", "core control proto"),
    ("transfer", "core quic"),
    ("store", "core"),
    ("view", "core results"),
    ("workbench", "core options results plan scenario measure control kernel bpf linux store view"),
    ("shallop", "control core results plan scenario workbench quic transfer"),
    ("aimd", "shallop control core options"),
    ("testing", ""),
    ("xtask", "results testing workbench"),
];

/// Further dependencies of tests: tests of drivers write plans as scenarios, and tests of QUIC have switch ports
/// between hosts.
const IN_TESTS: [(&str, &str); 3] = [("measure", "scenario"), ("linux", "scenario"), ("quic", "switch")];

/// Libraries that only some crates may use, or none. A name also covers names that begin with it and a dash.
const BELONGS: [(&[&str], &[&str]); 5] = [
    (&["arrow", "getrandom", "libc"], &[]),
    (&["tempfile"], &["shallop-store", "shallop-kernel"]),
    (&["parquet"], &["shallop-store"]),
    (&["console", "indicatif", "rayon"], &["shallop-workbench", "shallop"]),
    (&["clap", "comfy-table", "miette"], &["shallop-workbench", "shallop"]),
];

/// Libraries that the tests of any crate may use.
const FOR_TESTS: [&str; 2] = ["tempfile", "shallop-testing"];

struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    /// Whether only tests, examples and benches use the dependency.
    dev: bool,
    /// Whether the dependency is in this tree, not from a registry.
    local: bool,
}

pub fn check_tree() -> Result<Vec<Finding>, String> {
    let listed = cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"])?;
    let metadata = serde_json::from_slice(&listed).map_err(|why| format!("cargo metadata gave no JSON: {why}"))?;
    Ok(check(&packages(&metadata).ok_or("cargo metadata gave something unexpected")?))
}

fn packages(metadata: &Value) -> Option<Vec<Package>> {
    let dependency = |value: &Value| {
        Some(Dependency {
            name: value["name"].as_str()?.to_owned(),
            dev: value["kind"] == "dev",
            local: value["path"].is_string(),
        })
    };
    let package = |value: &Value| {
        let dependencies = value["dependencies"].as_array()?.iter().map(dependency);
        let dependencies = dependencies.collect::<Option<_>>()?;
        Some(Package { name: value["name"].as_str()?.to_owned(), dependencies })
    };
    metadata["packages"].as_array()?.iter().map(package).collect()
}

fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, _) in RULE {
        if !packages.iter().any(|package| short(&package.name) == name) {
            let what = "is in the dependency rule and not in the workspace";
            findings.push(Finding::new(name, 0, what));
        }
    }
    for package in packages {
        if below(&package.name).is_none() {
            let what = "is not in the dependency rule: say in xtask/src/layers.rs what it may use";
            findings.push(Finding::new(&package.name, 0, what));
        }
        for dependency in &package.dependencies {
            if let Some(what) = objection(&package.name, dependency) {
                findings.push(Finding::new(&package.name, 0, &what));
            }
        }
    }
    findings
}

fn objection(package: &str, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    if dependency.dev && FOR_TESTS.contains(&name) {
        return None;
    }
    if dependency.local || name.starts_with("shallop") {
        let (kind, allowed) =
            if dependency.dev { ("tests may use", all_below(package)) } else { ("may build on", below(package)?) };
        let list = if allowed.is_empty() { "no crate".to_owned() } else { allowed.join(", ") };
        return (!allowed.contains(&short(name))).then(|| format!("uses {name}; it {kind} {list}"));
    }
    let covers =
        |library: &&str| name.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let (_, owners) = BELONGS.iter().find(|(libraries, _)| libraries.iter().any(covers))?;
    let of = if owners.is_empty() { "no crate".to_owned() } else { owners.join(", ") };
    (!owners.contains(&package)).then(|| format!("uses {name}, which belongs to {of}"))
}

/// The name of a crate without the common prefix.
pub fn short(package: &str) -> &str {
    package.strip_prefix("shallop-").unwrap_or(package)
}

/// The direct dependencies of a crate, by the rule; `None` if the rule does not have the crate.
pub fn below(package: &str) -> Option<Vec<&'static str>> {
    let rule = RULE.iter().find(|(name, _)| *name == short(package));
    rule.map(|(_, below)| below.split_whitespace().collect())
}

/// The crates that tests of a crate may use: all direct and indirect dependencies.
fn all_below(package: &str) -> Vec<&'static str> {
    let mut all = below(package).unwrap_or_default();
    let more = IN_TESTS.iter().filter(|(name, _)| *name == short(package));
    all.extend(more.map(|(_, below)| *below));
    let mut seen = 0;
    while seen < all.len() {
        for next in below(all[seen]).unwrap_or_default() {
            if !all.contains(&next) {
                all.push(next);
            }
        }
        seen += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings in the workspace of the rule, with one more dependency of `package`.
    fn planted(package: &str, name: &str, dev: bool) -> Vec<String> {
        let full = |name: &str| match name {
            "shallop" | "xtask" => name.to_owned(),
            name => format!("shallop-{name}"),
        };
        let normal = |name: &str| Dependency { name: full(name), dev: false, local: true };
        let package_of = |(name, below): &(&str, &str)| {
            let dependencies = below.split_whitespace().map(normal).collect();
            Package { name: full(name), dependencies }
        };
        let mut packages: Vec<Package> = RULE.iter().map(package_of).collect();
        if !packages.iter().any(|known| known.name == package) {
            packages.push(Package { name: package.to_owned(), dependencies: Vec::new() });
        }
        let local = name.starts_with("shallop");
        for known in packages.iter_mut().filter(|known| known.name == package) {
            known.dependencies.push(Dependency { name: name.to_owned(), dev, local });
        }
        check(&packages).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_dependency_against_the_rule_is_found() {
        for (package, name) in [
            ("shallop-core", "shallop-control"),
            ("shallop-switch", "shallop-proto"),
            ("shallop-control", "shallop-switch"),
            ("shallop", "shallop-sim"),
            ("xtask", "shallop-core"),
            ("shallop-core", "shallop-elsewhere"),
        ] {
            let findings = planted(package, name, false);
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert!(findings[0].starts_with(&format!("{package}: uses {name}; ")), "{findings:?}");
        }
        assert!(planted("shallop-sim", "shallop-switch", false).is_empty());
    }

    #[test]
    fn tests_may_use_what_is_below_and_nothing_else() {
        assert!(planted("shallop-sim", "shallop-control", true).is_empty());
        assert!(planted("shallop-kernel", "shallop-testing", true).is_empty());
        assert_eq!(planted("shallop-kernel", "shallop-testing", false).len(), 1);
        assert_eq!(planted("shallop-sim", "shallop-control", false).len(), 1);
        assert_eq!(planted("shallop-proto", "shallop-switch", true).len(), 1);
        assert_eq!(planted("xtask", "shallop-transfer", true).len(), 1);
    }

    #[test]
    fn a_library_that_belongs_to_others_is_found() {
        for (package, name) in [
            ("shallop-measure", "parquet"),
            ("shallop-sim", "arrow-array"),
            ("shallop-proto", "rayon"),
            ("shallop-store", "clap"),
            ("shallop-measure", "tempfile"),
            ("shallop-core", "getrandom"),
        ] {
            let findings = planted(package, name, false);
            assert!(findings[0].contains("which belongs to"), "{findings:?}");
        }
        assert!(planted("shallop-workbench", "rayon", false).is_empty());
        assert!(planted("shallop-measure", "tempfile", true).is_empty());
        assert!(planted("shallop-core", "arrowhead", false).is_empty());
    }

    #[test]
    fn a_crate_the_rule_does_not_know_is_found() {
        let findings = planted("shallop-new", "serde", false);
        assert!(findings[0].contains("not in the dependency rule"), "{findings:?}");
        let nothing = check(&[]);
        assert_eq!(nothing.len(), RULE.len(), "{nothing:?}");
    }
}
