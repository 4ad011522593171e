//! Programs for the running kernel: their arithmetic in C, which a C compiler of the machine translates, and the
//! programs in the kernel of the machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod clean;
mod clean_packets;
#[cfg_attr(
    not(feature = "load"),
    allow(
        unreachable_code,
        unused_variables,
        clippy::drop_non_drop,
        reason = "a build without programs has no values of their types"
    )
)]
mod load;
mod packets;
mod steps;
mod twins;
mod vegas;

use shallop_bpf::{BpfError, machine};
use shallop_testing::{Cause, Outcome, skip};

/// Programs of this build that the kernel of the machine lets this user load.
fn kernel_programs() -> Outcome {
    machine::check().map_err(|why| match why {
        BpfError::NotAllowed => skip(Cause::Root, why),
        _ => skip(Cause::Bpf, why),
    })
}

shallop_testing::tests! {
    alone: [
        load::the_verifier_has_nothing_to_say_and_sizes_are_those_of_the_page,
        load::a_name_is_there_once_and_gone_with_its_controller,
        load::a_name_of_the_kernel_is_refused,
    ]
    tests: [
        clean::flows_of_clean_are_the_same_in_c,
        clean::flows_that_pass_are_the_same_in_c,
        clean_packets::marks_are_cleared_and_windows_reduced_with_right_checksums,
        clean_packets::without_both_syns_or_a_scale_of_both_nothing_is_scaled_or_touched,
        clean_packets::a_burst_counts_as_its_segments_and_flows_make_room_for_others,
        clean_packets::at_the_edge_packets_of_tcp_alone_become_ecn_capable,
        clean_packets::of_random_frames_none_grows_a_window_or_spoils_a_checksum,
        #[long] clean_packets::a_packet_costs_less_than_5_us,
        twins::every_row_of_the_tables_is_the_same_in_c,
        twins::formulas_are_the_same_in_c_for_random_inputs,
        twins::connections_of_gemini_are_the_same_in_c,
        vegas::windows_after_a_round_trip_are_the_same_in_c,
    ]
}
