//! `shallop send` and `receive` over paths with smaller MTUs, between network namespaces.

use crate::namespaces::in_namespaces;
use crate::support::transfer::CODE;
use serde_json::Value;
use shallop_testing::{Outcome, programs, root};

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machine/path_mtu");
const PATHS: &str = include_str!("path_mtu/paths.sh");

pub fn no_packet_is_fragmented_and_few_are_lost_whatever_the_path_carries() -> Outcome {
    root()?;
    programs(&["bash", "unshare", "nsenter", "ip", "awk", "cmp"])?;
    let said = in_namespaces(FILES, PATHS, &[("SHALLOP_CODE", CODE)]);
    let mut count = 0;
    for line in said.lines() {
        let [name, fits, fragments, report] = line.splitn(4, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (fits, report): (u64, Value) = (fits.parse().unwrap(), serde_json::from_str(report).unwrap());
        assert_eq!((fragments, &report["leaves"]), ("0", &"credits".into()), "{name}: {report}");
        let of = |key: &str| report["path"][key].as_u64().unwrap();
        let lost = of("packets_lost") + of("mtu_probes_lost");
        assert!(lost <= 10 && of("datagram") <= fits && of("datagram") + 36 > fits, "{name}: {report}");
        count += 1;
    }
    assert!(count >= 16, "{said}");
    Ok(())
}
