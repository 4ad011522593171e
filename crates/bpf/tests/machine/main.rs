//! BPF programs: their arithmetic, compiled by a C compiler of the machine, and the programs in the machine's kernel.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod clean;
mod clean_dialogue;
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

/// Skips a test where the kernel does not let this user load programs.
fn kernel_programs() -> Outcome {
    machine::check().map_err(|why| match why {
        BpfError::NotAllowed => skip(Cause::Root, why),
        _ => skip(Cause::Bpf, why),
    })
}

shallop_testing::tests! {
    alone: [
        load::the_verifier_gives_no_warnings_and_sizes_are_near_those_of_the_page,
        load::a_name_can_be_loaded_once_and_ends_with_its_controller,
        load::a_name_of_the_kernel_is_refused,
    ]
    tests: [
        clean::clean_flows_are_equal_in_c,
        clean::flows_at_a_proxy_are_equal_in_c,
        clean_dialogue::frames_pass_a_proxy_as_the_dialogues_say,
        clean_packets::random_frames_never_get_a_larger_window_or_a_wrong_checksum,
        #[long] clean_packets::a_packet_costs_less_than_5_us,
        twins::all_rows_of_the_tables_are_equal_in_c,
        twins::formulas_are_equal_in_c_for_random_inputs,
        twins::gemini_connections_are_equal_in_c,
        vegas::windows_after_a_round_trip_are_equal_in_c,
    ]
}
