//! The allowed dependencies of crates, compared with those that cargo reports.
//!
//! A crate depends on exactly the crates of its line. Its tests may also use indirect dependencies. Optional
//! dependencies count like all others.

use serde_json::Value;

use crate::tree::{Finding, cargo};

/// A crate of the workspace and its dependencies.
pub const RULE: [(&str, &[&str]); 26] = [
    ("shallop-core", &[]),
    ("shallop-options-derive", &[]),
    ("shallop-options", &["shallop-core", "shallop-options-derive"]),
    ("shallop-control", &["shallop-core", "shallop-options"]),
    ("shallop-switch", &["shallop-core", "shallop-options"]),
    ("shallop-proto", &["shallop-core", "shallop-options", "shallop-control"]),
    ("shallop-topology", &["shallop-core", "shallop-options", "shallop-switch"]),
    ("shallop-workload", &["shallop-core", "shallop-options"]),
    ("shallop-results", &[]),
    (
        "shallop-plan",
        &[
            "shallop-core",
            "shallop-options",
            "shallop-control",
            "shallop-switch",
            "shallop-proto",
            "shallop-topology",
            "shallop-workload",
            "shallop-results",
        ],
    ),
    (
        "shallop-scenario",
        &[
            "shallop-core",
            "shallop-options",
            "shallop-control",
            "shallop-switch",
            "shallop-proto",
            "shallop-topology",
            "shallop-workload",
            "shallop-results",
            "shallop-plan",
        ],
    ),
    ("shallop-sim", &["shallop-core", "shallop-switch", "shallop-proto", "shallop-topology"]),
    (
        "shallop-measure",
        &[
            "shallop-core",
            "shallop-switch",
            "shallop-proto",
            "shallop-topology",
            "shallop-workload",
            "shallop-results",
            "shallop-plan",
        ],
    ),
    (
        "shallop-lab",
        &[
            "shallop-core",
            "shallop-control",
            "shallop-switch",
            "shallop-proto",
            "shallop-topology",
            "shallop-results",
            "shallop-plan",
            "shallop-sim",
            "shallop-measure",
        ],
    ),
    (
        "shallop-hosts",
        &[
            "shallop-core",
            "shallop-proto",
            "shallop-results",
            "shallop-plan",
            "shallop-sim",
            "shallop-lab",
        ],
    ),
    ("shallop-bpf", &["shallop-core", "shallop-control", "shallop-proto"]),
    (
        "shallop-kernel",
        &[
            "shallop-core",
            "shallop-options",
            "shallop-control",
            "shallop-proto",
            "shallop-results",
            "shallop-plan",
            "shallop-sim",
            "shallop-measure",
            "shallop-lab",
            "shallop-hosts",
            "shallop-bpf",
        ],
    ),
    (
        "shallop-linux",
        &[
            "shallop-core",
            "shallop-control",
            "shallop-results",
            "shallop-plan",
            "shallop-measure",
            "shallop-lab",
            "shallop-hosts",
            "shallop-bpf",
            "shallop-quic",
        ],
    ),
    ("shallop-quic", &["shallop-core", "shallop-control", "shallop-proto"]),
    ("shallop-transfer", &["shallop-core", "shallop-quic"]),
    ("shallop-store", &["shallop-core"]),
    ("shallop-view", &["shallop-core", "shallop-results"]),
    (
        "shallop-workbench",
        &[
            "shallop-core",
            "shallop-options",
            "shallop-results",
            "shallop-plan",
            "shallop-scenario",
            "shallop-measure",
            "shallop-lab",
            "shallop-control",
            "shallop-kernel",
            "shallop-bpf",
            "shallop-linux",
            "shallop-store",
            "shallop-view",
        ],
    ),
    (
        "shallop",
        &[
            "shallop-core",
            "shallop-results",
            "shallop-plan",
            "shallop-scenario",
            "shallop-workbench",
            "shallop-quic",
            "shallop-transfer",
        ],
    ),
    ("shallop-testing", &[]),
    ("xtask", &["shallop-results"]),
];

/// Further dependencies of tests: those of the drivers write their plans as scenarios, and those of QUIC have the ports
/// of switches between hosts.
const IN_TESTS: [(&str, &[&str]); 3] = [
    ("shallop-lab", &["shallop-scenario"]),
    ("shallop-linux", &["shallop-scenario"]),
    ("shallop-quic", &["shallop-switch"]),
];

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

/// A crate of the workspace, as cargo describes it.
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    /// Only for tests, examples and benches.
    dev: bool,
    /// In this tree, not from a registry.
    local: bool,
}

/// Compares the dependencies that cargo reports with the rule.
pub fn check_tree() -> Result<Vec<Finding>, String> {
    let listed = cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"])?;
    let metadata = serde_json::from_slice(&listed)
        .map_err(|why| format!("cargo metadata gave no JSON: {why}"))?;
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
        if !packages.iter().any(|package| package.name == name) {
            findings.push(Finding::new(
                name,
                0,
                "is in the dependency rule and not in the workspace",
            ));
        }
    }
    for package in packages {
        if rule(&package.name).is_none() {
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
    if dependency.local || rule(name).is_some() {
        let below = if dependency.dev { all_below(package) } else { rule(package)?.to_vec() };
        let kind = if dependency.dev { "tests may use" } else { "may build on" };
        let allowed =
            if below.is_empty() { "none of the workspace".into() } else { below.join(", ") };
        return (!below.contains(&name)).then(|| format!("uses {name}; it {kind} {allowed}"));
    }
    let covers = |library: &&str| {
        name.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let (_, owners) = BELONGS.iter().find(|(libraries, _)| libraries.iter().any(covers))?;
    let of = if owners.is_empty() { "no crate".to_owned() } else { owners.join(", ") };
    (!owners.contains(&package)).then(|| format!("uses {name}, which belongs to {of}"))
}

fn rule(package: &str) -> Option<&'static [&'static str]> {
    RULE.iter().find(|(name, _)| *name == package).map(|(_, below)| *below)
}

/// All direct and indirect dependencies of a crate.
fn all_below(package: &str) -> Vec<&'static str> {
    let mut all = rule(package).unwrap_or_default().to_vec();
    let besides = IN_TESTS.iter().filter(|(name, _)| *name == package);
    all.extend(besides.flat_map(|(_, below)| *below));
    let mut seen = 0;
    while seen < all.len() {
        for &next in rule(all[seen]).unwrap_or_default() {
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
    use crate::tree::assert_clean;

    /// The workspace of the rule, in which `package` has one dependency more.
    fn planted(package: &str, name: &str, dev: bool) -> Vec<String> {
        let normal = |name: &&str| Dependency { name: (*name).to_owned(), dev: false, local: true };
        let mut packages: Vec<Package> = RULE
            .iter()
            .map(|(name, below)| {
                let dependencies = below.iter().map(normal).collect();
                Package { name: (*name).to_owned(), dependencies }
            })
            .collect();
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
    fn the_tree_keeps_the_rule() {
        assert_clean(check_tree());
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
        assert_eq!(planted("xtask", "shallop-core", true).len(), 1);
    }

    #[test]
    fn a_library_that_belongs_to_others_is_found() {
        for (package, name) in [
            ("shallop-lab", "parquet"),
            ("shallop-sim", "arrow-array"),
            ("shallop-proto", "rayon"),
            ("shallop-store", "clap"),
            ("shallop-lab", "tempfile"),
            ("shallop-core", "getrandom"),
        ] {
            let findings = planted(package, name, false);
            assert!(findings[0].contains("which belongs to"), "{findings:?}");
        }
        assert!(planted("shallop-workbench", "rayon", false).is_empty());
        assert!(planted("shallop-lab", "tempfile", true).is_empty());
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
