//! Linux kernels in virtual time as hosts. Runs do not depend on the load of the machine, so most tests run in
//! parallel.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod cost;
mod identical;
mod killed;
mod modules;
mod run;
mod spins;
mod support;

shallop_testing::tests! {
    alone: [
        #[long] cost::a_packet_costs_less_with_moderated_interrupts,
        killed::nothing_is_left_after_a_kill,
        #[long] killed::nothing_is_left_after_fifty_kills,
        killed::nothing_is_left_of_a_build_after_a_kill,
        spins::a_program_that_spins_is_an_error_and_leaves_no_process,
        spins::a_first_process_that_ends_is_an_error_with_its_log,
    ]
    tests: [
        identical::the_same_seed_gives_the_same_run,
        identical::another_seed_gives_another_run,
        identical::all_modes_of_time_give_the_same_run,
        identical::a_run_in_another_folder_beside_other_work_is_the_same,
        identical::a_run_whose_kernels_are_stopped_at_random_is_the_same,
        identical::a_run_as_an_ordinary_user_is_the_same,
        identical::recorded_runs_are_equal_and_have_a_sample_of_each_connection_at_each_interval,
        modules::a_controller_of_a_user_holds_its_window,
        modules::a_module_that_is_not_there_is_an_error_that_says_how_to_build_it,
        modules::geminis_module_is_marked_and_loses_nothing,
        run::flows_of_known_size_arrive_whole,
        run::one_flow_fills_a_line_of_1_gbps_after_slow_start,
        #[long] run::one_flow_fills_a_line_of_10_gbps_after_slow_start,
        run::reno_and_vegas_fill_the_line,
        run::bbr_keeps_the_queue_short,
        run::dctcp_is_marked_and_nothing_is_dropped,
        run::without_the_threshold_nothing_is_marked,
        run::segments_of_one_packet_are_sent_without_bursts,
        run::several_kernels_share_the_line,
        run::a_full_buffer_drops_and_the_flow_recovers,
        #[long] run::two_hundred_hosts_share_10_gbps,
    ]
    children: [
        identical::prints_the_transcript_of_a_run,
        killed::runs_until_it_is_killed,
        killed::builds_until_it_is_killed,
    ]
}
