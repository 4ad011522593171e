//! Rehearsals with the kernel of this machine. Each test runs alone, since a rehearsal has to keep to the clock.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

#[cfg(target_os = "linux")]
mod rehearse;
#[cfg(target_os = "linux")]
#[path = "../support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
shallop_testing::tests! {
    alone: [
        rehearse::starved_hosts_make_the_run_void,
        rehearse::udp_flows_keep_their_rate_and_lose_packets_on_a_slower_link,
        rehearse::flows_fill_a_link_with_the_right_bytes_and_checksums,
        rehearse::finished_flows_end_the_run,
        rehearse::flows_on_credits_arrive_and_emulation_packets_may_use_the_whole_queue,
        rehearse::a_tape_of_credits_is_replayed_with_equal_decisions,
        rehearse::all_bytes_arrive_through_a_buffer_of_two_packets,
        rehearse::a_missing_controller_is_loaded_or_refused_by_name,
        rehearse::a_late_emulator_makes_the_run_void,
        rehearse::programs_reach_hosts_by_name_and_get_the_right_bytes,
        rehearse::a_killed_process_leaves_no_files_processes_or_namespaces,
    ]
    children: [rehearse::rehearses_until_it_is_killed]
}

#[cfg(not(target_os = "linux"))]
fn main() {}
