//! Tests of the command that need something of the machine: kernels for virtual time, network namespaces, BPF,
//! terminals.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

#[cfg(target_os = "linux")]
#[path = "../support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
mod edge;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod own_link;
#[cfg(target_os = "linux")]
mod path_mtu;
#[cfg(target_os = "linux")]
mod ping;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod quic_faults;
#[cfg(target_os = "linux")]
mod quic_kernels;
#[cfg(target_os = "linux")]
mod real;
#[cfg(target_os = "linux")]
mod real_hosts;
#[cfg(target_os = "linux")]
mod slow_way_back;
#[cfg(target_os = "linux")]
mod strangers;
#[cfg(target_os = "linux")]
mod tc;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod transfer;

// Rehearsals must keep up with a clock; tests of BPF count the programs in the kernel.
#[cfg(target_os = "linux")]
shallop_testing::tests! {
    alone: [
        edge::transfers_through_a_proxy_are_the_same_bytes_under_every_setting_of_tcp,
        edge::transfers_are_the_same_bytes_under_loss_and_reordering,
        edge::at_the_edge_packets_become_ecn_capable_and_not_at_the_last_hop,
        edge::other_programs_and_qdiscs_stay_and_wrong_settings_are_refused,
        edge::a_device_with_another_name_is_found_and_detached,
        edge::pins_without_programs_make_room_for_another_proxy,
        edge::under_ip_netns_exec_the_way_to_the_bpf_file_system_is_printed,
        edge::an_edge_has_no_options_and_no_flows,
        edge::nothing_is_left_whenever_the_command_is_killed,
        #[long] edge::a_proxy_costs_a_tenth_of_the_throughput_at_most,
        host::dctcp_and_gemini_see_each_mark_and_ecn_star_some,
        host::a_server_without_the_controller_refuses_ecn_and_one_with_a_route_has_it,
        host::a_route_has_a_controller_whenever_it_is_loaded,
        host::under_ip_netns_exec_the_way_to_the_bpf_file_system_is_printed,
        host::changed_settings_apply_at_once_and_prefixes_to_new_connections,
        host::nothing_is_left_whenever_the_command_is_killed,
        host::a_rehearsal_loads_controllers_for_as_long_as_it_takes,
        ping::a_ping_passes_a_path_with_a_meter_and_no_wrong_one,
        #[long] ping::in_300_runs_no_wrong_path_passes_and_a_right_one_passes_in_50_of_50,
        ping::a_transfer_over_a_path_without_a_meter_leaves_credits_and_says_why,
        path_mtu::no_packet_is_fragmented_and_few_are_lost_whatever_the_path_carries,
        programs::a_program_in_a_host_of_this_kernel_has_its_network_and_gives_its_status,
        #[long] quic_faults::a_file_arrives_whole_over_a_path_with_every_fault,
        #[long] quic_faults::an_attacker_without_keys_who_sees_all_packets_changes_nothing,
        #[long] strangers::strangers_slow_no_transfer_and_take_no_memory_thread_or_line,
        real_hosts::nothing_is_left_after_any_signal_at_any_moment,
        real_hosts::a_machine_behind_an_attached_interface_is_a_host_and_the_interface_is_restored,
        real_hosts::terminals_join_a_session_and_their_programs_talk_in_both_versions_of_ip,
        real_hosts::another_user_is_told_no_host_of_a_session_and_joins_none,
        real_hosts::a_joined_program_ends_with_its_session_and_with_its_terminal,
        real_hosts::rates_beyond_the_capacity_are_refused_with_the_scale_that_fits,
        real_hosts::ordinary_users_rehearse_or_learn_what_forbids_it,
        real_hosts::a_live_run_shows_queues_and_flows_and_needs_a_terminal,
        real_hosts::schemes_that_cannot_be_rehearsed_are_refused_by_name_before_the_first_run,
        real_hosts::programs_run_though_the_scenario_says_nothing_of_kernels_and_see_the_cards_of_their_host,
        real_hosts::programs_have_cubic_for_their_tcp_beside_flashpass,
        real_hosts::a_program_of_a_shell_sees_the_cards_of_its_host_and_a_missing_one_is_named,
    ]
    tests: [
        edge::a_unit_for_systemd_is_printed_and_nothing_attached,
        host::a_unit_for_systemd_is_printed_and_nothing_loaded,
        host::without_programs_or_privileges_the_exit_code_is_three_and_says_why,
        own_link::a_kernel_keeps_its_queue_short,
        own_link::a_simulated_host_keeps_its_queue_short,
        programs::a_program_cannot_write_to_this_machine_and_sees_its_own_host,
        programs::a_program_has_no_way_to_mount_the_machine_writable,
        programs::a_failed_program_is_reported_with_its_last_words_and_its_files_are_kept,
        slow_way_back::acknowledgements_over_a_slow_way_back_limit_kernels_and_the_simulator,
        slow_way_back::as_many_acknowledgements_wait_in_simulated_hosts_as_in_kernels,
        programs::a_spinning_program_ends_the_run_with_a_message,
        programs::a_shell_keeps_its_state_from_line_to_line_and_ends_with_the_status_of_the_last,
        programs::iperf3_curl_and_ssh_share_a_bottleneck_with_flashpass_the_same_way_twice,
        programs::shells_and_programs_without_kernels_are_refused_with_advice,
        quic_kernels::the_programs_share_a_shallow_bottleneck_without_loss_or_lateness_the_same_way_twice,
        tc::a_script_is_applied_by_this_kernel_and_undone,
        tc::a_script_with_bands_and_marks_is_applied_by_this_kernel_and_undone,
        tc::a_full_buffer_drops_in_tc_as_in_the_simulator,
        tc::dctcp_is_marked_by_tc_as_by_the_simulator,
        tc::random_drops_of_tc_are_those_of_the_simulator,
        terminal::colours_are_for_terminals_that_want_them,
        terminal::tables_fit_the_terminal_and_say_what_is_left_out,
        transfer::a_full_disk_fails_the_file_and_says_so,
        transfer::a_receiver_of_both_families_is_reached_over_either,
    ]
}

#[cfg(not(target_os = "linux"))]
fn main() {}
