//! Programs in the kernel of this machine: warnings of the verifier, sizes, and their end with the process that loaded
//! them.

use crate::kernel_programs;
use shallop_bpf::clean::{self, Proxy};
use shallop_bpf::inventory::{self, LoadedProgram};
use shallop_bpf::{BpfError, Controller, Law};
use shallop_control::gemini::Config;
use shallop_core::BitsPerSec;
use shallop_testing::Outcome;
use std::{collections::BTreeMap, fs};

/// The pages of the documentation with tables of sizes.
const PAGES: [&str; 2] = [include_str!("../../../../docs/host.md"), include_str!("../../../../docs/edge.md")];
/// The kernel truncates the names of programs to this length.
const KEPT: usize = 15;

fn laws() -> [Law; 4] {
    let gemini = Config::THESIS.integers(BitsPerSec::gbps(10));
    [Law::Gemini(gemini), Law::Dctcp, Law::EcnStar, Law::Vegas]
}

fn name(of: &str) -> String {
    format!("{of}_{}", std::process::id())
}

fn has(name: &str) -> bool {
    let all = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    all.split_whitespace().any(|of| of == name)
}

/// The sizes in the documentation, by program: instructions, instructions that the verifier processed, bytes.
fn recorded() -> BTreeMap<String, [usize; 3]> {
    let rows = PAGES.iter().flat_map(|page| page.lines()).filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
        let number = |at: usize| cells.get(at)?.replace(',', "").parse().ok();
        Some((name.to_owned(), [number(2)?, number(3)?, number(4)?]))
    });
    rows.collect()
}

fn sizes(of: &LoadedProgram) -> [usize; 3] {
    [of.instructions, of.verified_instructions as usize, of.machine_bytes]
}

pub fn the_verifier_gives_no_warnings_and_sizes_are_near_those_of_the_page() -> Outcome {
    kernel_programs()?;
    let before: Vec<u32> = inventory::programs().iter().map(|of| of.id).collect();
    let loaded: Vec<Controller> = laws()
        .iter()
        .zip(["ta", "tb", "tc", "td"])
        .map(|(law, of)| Controller::load(law, &name(of)).unwrap())
        .collect();
    for controller in &loaded {
        assert!(controller.warnings().is_empty(), "{:?}", controller.warnings());
    }
    let proxy = Proxy::load(&clean::Settings::default(), 14).unwrap();
    assert!(proxy.warnings().is_empty(), "{:?}", proxy.warnings());
    let recorded = recorded();
    let all = inventory::programs();
    let ours: Vec<_> = all
        .iter()
        .filter(|of| !before.contains(&of.id))
        .filter(|of| {
            let laws = ["gemini_", "dctcp_", "ecn_star_", "vegas_", "clean_"];
            laws.iter().any(|law| of.name.starts_with(law))
        })
        .collect();
    let told = |of: &LoadedProgram| format!("{} {:?}", of.name, sizes(of));
    let told: Vec<String> = ours.iter().map(|of| told(of)).collect();
    for of in &ours {
        let known = recorded.iter().find(|(name, _)| name.chars().take(KEPT).eq(of.name.chars()));
        let Some((_, known)) = known else { panic!("{} is not on the page: {told:#?}", of.name) };
        for (size, known) in sizes(of).into_iter().zip(*known) {
            // Kernels and compilers differ by less.
            assert!(size * 2 > known && size < known * 2 + 20, "{} of {known:?}: {told:#?}", of.name);
        }
    }
    assert_eq!(ours.len(), recorded.len(), "{told:#?}");
    Ok(())
}

pub fn a_name_can_be_loaded_once_and_ends_with_its_controller() -> Outcome {
    kernel_programs()?;
    for (law, name) in laws().iter().zip(["one", "two", "three", "four"].map(name)) {
        let first = Controller::load(law, &name).unwrap();
        assert!(has(&name), "{name}");
        let second = Controller::load(law, &name);
        assert!(matches!(second, Err(BpfError::Name(_))), "{second:?}");
        drop(first);
        assert!(!has(&name), "{name}");
    }
    Ok(())
}

pub fn a_name_of_the_kernel_is_refused() -> Outcome {
    kernel_programs()?;
    for name in ["reno", "a.b", "a-b", ""] {
        let loaded = Controller::load(&Law::Dctcp, name);
        assert!(matches!(loaded, Err(BpfError::Name(_))), "{name}: {loaded:?}");
    }
    Ok(())
}
