//! Rehearsals with the kernel of this machine. Each runs alone, since its hosts and its emulator keep up with a clock.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

#[cfg(target_os = "linux")]
mod rehearse;

#[cfg(target_os = "linux")]
shallop_testing::tests! {
    alone: [
        rehearse::hosts_that_are_starved_make_the_run_void,
        rehearse::datagrams_keep_their_rate_and_are_lost_where_a_link_is_slower,
        rehearse::flows_fill_a_link_and_every_byte_and_checksum_is_right,
        rehearse::flows_with_an_end_are_complete_and_end_the_run,
        rehearse::flows_on_credits_arrive_whole_and_their_emulation_packets_have_the_whole_queue,
        rehearse::a_tape_of_credits_is_decided_again_as_it_was,
        rehearse::a_buffer_of_two_packets_loses_many_and_costs_no_byte,
        rehearse::a_controller_that_the_kernel_lacks_is_refused_by_name_or_loaded,
        rehearse::a_run_that_is_made_late_on_purpose_is_void,
        rehearse::programs_talk_by_the_names_of_hosts_and_get_the_same_bytes,
        rehearse::nothing_is_left_of_a_process_that_was_killed,
    ]
    children: [rehearse::rehearses_until_it_is_killed]
}

#[cfg(not(target_os = "linux"))]
fn main() {}
