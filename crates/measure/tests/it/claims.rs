//! Known answers of whole runs: each scenario in the folder `claims` holds a network, and claims about the figures that
//! its runs have to give.

use crate::support::{outcome, study};
use shallop_plan::Study;
use shallop_results::{Job, Run, Verdict, verdict::judge};

/// The runs of the scenario that its claims are about, by the scheme and the point of the claim or of its base.
fn runs(study: &Study) -> Vec<(Job, Run)> {
    let design = study.design();
    let is_needed = |job: &Job| {
        let (scheme, point) = (design.label(*job), &study.points[job.point].name);
        design.claims.iter().any(|claim| {
            let schemes = claim.relative_rank.is_some()
                || [Some(&claim.scheme), claim.relative_to.as_ref()].contains(&Some(&scheme.to_owned()));
            let points = [claim.point.as_ref(), claim.relative_point.as_ref()];
            schemes && (claim.point.is_none() || points.contains(&Some(point)))
        })
    };
    let run = |job: Job| (job, outcome(&study.points[job.point].plan, job.scheme, job.seed).run);
    study.jobs().into_iter().filter(is_needed).map(run).collect()
}

/// Points come in pairs: checks that the runs of the second point equal the runs of the first.
fn equal(text: &str) {
    let study = study(text);
    for pair in study.points.chunks(2) {
        for (number, scheme) in pair[0].plan.schemes.iter().enumerate() {
            let [one, other] = [0, 1].map(|at| outcome(&pair[at].plan, number, study.seeds[0]));
            assert!(one.run == other.run && one.flows == other.flows, "{}, {}", scheme.name, pair[1].name);
        }
    }
}

/// Checks that every claim of a scenario has a range and holds.
fn hold(text: &str) {
    let study = study(text);
    let runs = runs(&study);
    let jobs: Vec<_> = runs.iter().map(|(job, run)| (*job, run)).collect();
    let judged = judge(&study.design(), &jobs);
    assert!(!judged.is_empty(), "no claim");
    let failed = judged.iter().filter(|claim| claim.verdict != Verdict::Holds);
    let failed: Vec<String> = failed.map(|claim| format!("{claim:?}")).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn equal_and_hold(text: &str) {
    equal(text);
    hold(text);
}

/// A test for each file of the folder.
macro_rules! scenarios {
    ($check:ident: $($(#[$attribute:meta])? $name:ident),+ $(,)?) => {
        $(
            #[test]
            $(#[$attribute])?
            fn $name() {
                $check(include_str!(concat!("claims/", stringify!($name), ".toml")));
            }
        )+
    };
}

scenarios! {
    equal:
    a_group_that_names_the_transport_of_the_scheme_changes_nothing,
    a_transport_without_connections_keeps_none,
    links_with_data_and_credits_count_the_same_always_or_when_they_need_to,
}

scenarios! {
    equal_and_hold:
    bcc_marks_as_a_pool_with_its_thresholds_does,
}

scenarios! {
    hold:
    a_flow_that_lasts_offers_data_for_that_long_and_tcp_delivers_all_of_it,
    a_frame_of_jitter_ends_lockstep,
    a_policer_passes_its_burst_and_then_its_rate_and_drops_the_rest,
    a_proxy_of_clean_spares_packets_and_time,
    a_proxy_of_clean_stands_where_it_is_told_in_other_networks,
    a_shaper_passes_its_burst_and_then_its_rate_and_drops_nothing_that_fits_the_buffer,
    an_application_sends_its_rate_whatever_it_writes_at_once,
    bbr_fills_a_path_keeps_its_queue_short_and_finds_policers,
    copa_competes_with_flows_that_fill_a_buffer,
    copa_keeps_a_short_queue_on_paths_of_every_length,
    credits_asked_for_ahead_save_a_round_trip_and_change_nothing_else,
    cubic_and_newreno_pass_a_short_queue_better_if_they_are_paced,
    datagrams_have_the_size_on_the_wire_that_ethernet_gives_them,
    dctcp_and_ecn_star_fill_a_link_with_the_thresholds_of_theory,
    dctcp_marks_and_queues_as_the_fluid_model_says,
    directions_of_a_link_have_rates_delays_losses_and_changes_of_their_own,
    #[ignore = "long: ten runs of twenty flows at 10 Gb/s"]
    equal_flows_that_start_together_share_by_default,
    expresspass_shares_a_link_fairly_and_queues_under_four_frames,
    figures_of_a_group_can_be_claimed_by_their_path,
    flows_that_find_the_link_idle_end_a_round_trip_sooner_with_aeolus,
    forty_flows_of_gemini_keep_a_queue_that_marks_above_50_packets_filled_as_one_half_does_not,
    later_flows_of_vegas_mistake_the_queue_for_propagation_delay_and_take_more_of_the_link,
    losses_in_bursts_are_as_many_as_asked_for_in_the_direction_that_has_them,
    marks_keep_queues_near_the_threshold_and_spare_drops,
    newcomers_with_aeolus_cost_flows_with_credits_neither_packets_nor_room,
    no_queue_is_longer_than_its_limit,
    one_flow_of_gemini_fills_a_link_and_keeps_its_queue_short,
    over_provision_and_selective_drop_are_chosen_apart,
    paced_credits_cause_a_data_queue_if_round_trip_times_differ,
    payload_leaves_at_the_highest_pacing_rate_on_every_stack_and_fills_no_queue,
    pie_keeps_the_delay_of_many_flows_at_its_target,
    pools_hold_mark_and_drop_what_their_rules_say,
    ports_that_share_memory_fill_their_part_and_leave_others_theirs,
    queues_mark_and_drop_what_their_rules_say,
    returned_credits_take_room_that_data_of_the_other_direction_needs,
    the_capacity_of_a_link_follows_its_changes,
    unscheduled_data_never_lifts_a_queue_above_the_threshold_and_costs_no_scheduled_packet,
    vegas_keeps_two_to_four_packets_of_each_flow_in_the_queue,
}
