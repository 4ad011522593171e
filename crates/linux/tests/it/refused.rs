//! Scenarios that cannot be rehearsed.

use crate::support::four_flows;
use shallop_linux::rehearse;

#[test]
fn options_that_flashpass_over_quic_lacks_are_refused_by_name() {
    let set = [
        ("scheme.cubic.transport", "flashpass"),
        ("scheme.flashpass.demand", "buffer"),
        ("scheme.flashpass.send_buffer", "100KB"),
    ];
    let why = rehearse::check(&four_flows(&set), 0, 1).unwrap_err().to_string();
    assert!(why.contains("FlashPass over QUIC has no `send_buffer`"), "{why}");
    let aeolus = four_flows(&[("scheme.cubic.transport", "flashpass-aeolus")]);
    rehearse::check(&aeolus, 0, 1).unwrap();
}
