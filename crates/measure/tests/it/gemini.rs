//! Gemini in scenarios: what its keys say, many flows at a link that marks, and figures by group.

use crate::support::{outcome, study};
use shallop_control::{Marking, any::Config as Window, binary::Gain, gemini::Config};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_plan::Study;
use shallop_plan::plan::{Tcp, Transport};
use shallop_proto::tcp::EcnConfig;
use shallop_results::{Verdict, summary::Run, verdict::judge};
use shallop_scenario::{Options, read};

/// Forty flows to one host, 10 ms away at 1 Gb/s, where a switch marks above so many packets; the scheme is to follow.
const MANY: &str = include_str!("scenarios/many_to_one.toml");

fn runs(study: &Study) -> Vec<Run> {
    let plan = &study.points[0].plan;
    (0..plan.schemes.len()).map(|scheme| outcome(plan, scheme, 1).run).collect()
}

fn controllers(schemes: &str) -> Vec<(Config, EcnConfig)> {
    let study = study(&format!("{MANY}{schemes}"));
    let schemes = study.points[0].plan.schemes.iter();
    let gemini = |transport: &Transport| match transport {
        Transport::Tcp(Tcp { config, controller: Window::Gemini(gemini), .. }) => (*gemini, config.ecn),
        other => panic!("{other:?}"),
    };
    schemes.map(|scheme| gemini(&scheme.transport)).collect()
}

#[test]
fn what_is_left_out_is_as_in_the_thesis_and_what_is_written_arrives() {
    let read = controllers(include_str!("scenarios/gemini_schemes.toml"));
    let (thesis, marks) = read[0];
    assert_eq!(thesis, Config::THESIS);
    assert_eq!(marks, EcnConfig::EXACT);
    let (written, marks) = read[1];
    let expected = Config {
        capacity: Some(BitsPerSec::gbps(10)),
        k: BufferSize::Packets(20),
        delay_threshold: Span::from_ms(8),
        decrease: 0.3,
        increase: 1e-7,
        alpha_gain: Gain::new(2),
        rtt_noise: Span::from_us(200),
        dcn: false,
        wan: false,
        recount: false,
        ..thesis
    };
    assert_eq!((written, marks.ecn), (expected, Marking::Off));
}

#[test]
fn pacing_is_an_option_of_cubic_and_newreno() {
    let text = format!(
        "{MANY}
        scheme = [{{ transport = \"cubic\", pacing = true }}, {{ transport = \"newreno\", pacing = true }}]"
    );
    let study = study(&text);
    let schemes = &study.points[0].plan.schemes;
    let Transport::Tcp(Tcp { controller: Window::Cubic(cubic), .. }) = schemes[0].transport else { panic!() };
    let Transport::Tcp(Tcp { controller: Window::Reno(reno), .. }) = schemes[1].transport else { panic!() };
    assert!(cubic.pacing && reno.pacing);
    // Unpaced, a window leaves in bursts that a short queue cannot hold, and stays small.
    let through = |pacing: bool| {
        let text = text.replace("1MB", "20KB").replace("true", &pacing.to_string());
        let alone = text.replace("senders = 40", "access_rate = \"10Gbps\", senders = 1");
        let runs = runs(&crate::support::study(&alone));
        runs.iter().map(|run| run.throughput_bps).collect::<Vec<_>>()
    };
    let (paced, bursts) = (through(true), through(false));
    assert!(paced.iter().zip(&bursts).all(|(a, b)| *a > b * 1.2), "{paced:?} and {bursts:?}");
}

#[test]
fn figures_of_a_group_can_be_claimed_by_their_path() {
    let claim = |metric: &str| {
        format!(
            "[[claim]]\nwhat = \"x\"\nscheme = \"gemini\"\nmetric = \"{metric}\"\nsource = \"own\"\n\
             unit = \"ms\"\nlow = 10\nhigh = 20\n"
        )
    };
    let claims = ["mean_s", "p50_s", "p99_s"].map(|field| claim(&format!("groups.near.by.rtt.{field}")));
    let small = MANY.replace("4s", "1s").replace("2s..1s", "0.5s..1s").replace("= 40", "= 4");
    let study = study(&format!("{small}\n[[scheme]]\ntransport = \"gemini\"\n{}", claims.concat()));
    let runs = runs(&study);
    let jobs = study.jobs().into_iter().zip(&runs).collect::<Vec<_>>();
    for judged in judge(&study.design(), &jobs) {
        assert_eq!(judged.verdict, Verdict::Holds, "{}", judged.why);
    }
    // One group is all there is.
    assert_eq!(runs[0].groups[0].rtt, runs[0].rtt);
    assert!(runs[0].groups[0].rtt.p50_s.unwrap() > 0.01);
    let unknown = format!("{small}\n[[scheme]]\ntransport = \"gemini\"\n{}", claim("groups.near.by.rtt.p9_s"));
    let problem = read(&unknown, &Options::default()).unwrap_err();
    assert!(format!("{problem:?}").contains("p99_s"), "{problem:?}");
}

#[test]
fn forty_flows_keep_a_queue_that_marks_above_50_packets_filled_as_one_half_does_not() {
    // Theorem 3.3.1 for the number of flows that is worst for it, F (C RTT + K) / 4h = 42. Linux, where a mark shrinks
    // the window over a round trip in which it does not grow, is not the rule the theorem is about.
    let text = format!(
        "{MANY}
        [[scheme]]
        transport = \"gemini\"
        ecn_gradual = false
        ack_every = 1
        [[scheme]]
        name = \"half\"
        transport = \"gemini\"
        ecn_gradual = false
        ack_every = 1
        k = \"{}\"",
        Bytes::new(1_250_000 / 7)
    );
    let runs = runs(&study(&text));
    let full = 1e9 * 1500.0 / 1538.0;
    let used = |run: &Run| run.windows[0].throughput_bps / full;
    assert!(used(&runs[0]) > 0.999, "{}", used(&runs[0]));
    assert!(used(&runs[1]) < 0.985, "{}", used(&runs[1]));
    assert!(runs[0].jain.unwrap() > 0.99);
}
