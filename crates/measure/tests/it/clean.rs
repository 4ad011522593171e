//! What a scenario may say of CLEAN.

use crate::support::study;

const CAMPUS: &str = include_str!("claims/a_proxy_of_clean_spares_packets_and_time.toml");

#[test]
fn sets_of_links_stand_for_their_ports() {
    let text = include_str!("scenarios/proxy_by_sets.toml");
    let study = study(text);
    let [sets, ports] = [0, 1].map(|scheme| {
        let clean = study.points[0].plan.schemes[scheme].clean.clone().unwrap();
        let sorted = |ports: Vec<u32>| ports.into_iter().collect::<std::collections::BTreeSet<_>>();
        (sorted(clean.edges), sorted(clean.last_hop))
    });
    assert_eq!(sets, ports);
}

#[test]
fn the_preset_of_the_paper_gives_way_to_keys() {
    for (with, validate) in
        [("", true), ("preset = \"clean-paper\"", false), ("preset = \"clean-paper\", validate = true", true)]
    {
        let schemes = &study(&CAMPUS.replace("decrease = \"alpha\"", with)).points[0].plan.schemes;
        assert_eq!(schemes[2].clean.as_ref().unwrap().config.validate, validate, "{with}");
    }
}
