//! AIMD over a path: 1,000 segments through 10 ms that lose one of them. And as a scenario names it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests write scenarios and start the command")]

#[path = "../src/aimd.rs"]
mod aimd;

use shallop_control::{Controller, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config as Tcp, Receiver, Sender, Stack};
use std::process::{Command, Output};
use std::{fs, path::Path};

/// Runs the command with AIMD on a scenario of one second.
fn shallop(verb: &str, scheme: &str) -> Output {
    let text = include_str!("scenario.toml").to_owned() + scheme;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{verb}-{}.toml", scheme.len()));
    fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_shallop-aimd"));
    command.arg(verb).arg(&file).env("NO_COLOR", "1");
    if verb == "run" {
        command.arg("--json").arg("--out").arg(folder.join("results"));
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_scenario_runs_with_the_added_controller() {
    let run = shallop("run", "transport = \"aimd\"\nkeep = 0.75\n");
    assert!(run.status.success(), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("\"aimd\""), "{}", text(&run.stdout));
}

#[test]
fn a_parameter_out_of_bounds_is_an_error_at_its_line() {
    let check = shallop("check", "transport = \"aimd\"\nkeep = 1.5\n");
    let said = text(&check.stderr);
    assert!(!check.status.success() && said.contains("keep") && said.contains("0.9"), "{said}");
}

#[test]
fn a_name_of_another_controller_cannot_be_added() {
    use shallop_control::{Added, ControllerName, Marking, Parameters, added};
    use shallop_options::Options;
    #[derive(Clone, Copy, Debug, PartialEq, Options)]
    struct Taken {}
    impl Parameters for Taken {
        const KINDS: &[ControllerName] = &[ControllerName { name: "cubic", about: "", marking: Marking::Off }];
    }
    impl Controller for Taken {
        type Window = aimd::Aimd;
        fn build(&self, start: &shallop_control::Start) -> aimd::Aimd {
            aimd::Config { keep: 0.5 }.build(start)
        }
    }
    let why = added::add(const { &[Added::of::<Taken>()] }).unwrap_err();
    assert_eq!(why, "controller \"cubic\": this name is taken");
}

#[test]
fn a_loss_leaves_three_quarters_of_a_window_that_grew_by_one_segment_per_round_trip() {
    // Given a flow as from `keep = 0.75`,
    let config = aimd::Config { keep: 0.75 };
    let tcp = Tcp { handshake: false, ..Stack::NS2.tcp };
    let size = Some(1_000 * u64::from(tcp.segment));
    let mut sender = Sender::new(&tcp, config.build(&tcp.start(BitsPerSec::gbps(1), 0)), size);
    let mut receiver = Receiver::new(&tcp, size);
    // when its hundredth segment is lost,
    let segments = |bytes: Bytes| bytes.get() / u64::from(tcp.segment);
    let (mut now, mut sent, mut windows) = (Time::ZERO, 0, Vec::new());
    sender.on_timer(now);
    while !sender.is_complete() {
        windows.push(segments(sender.controller().window()));
        let mut answers = Vec::new();
        while sender.ready(now) {
            let Some(out) = sender.poll(now) else { break };
            sent += 1;
            if sent == 100 {
                continue;
            }
            receiver.on_packet(now + Span::from_ms(5), &out.head, out.ecn);
            answers.extend(receiver.poll(now + Span::from_ms(5)));
        }
        now += Span::from_ms(10);
        for answer in answers {
            sender.on_packet(now, &answer.head, answer.ecn);
        }
    }
    // then one segment is sent again. The window grew by nearly a segment in each round trip, since each
    // acknowledgement divides by a window that has grown since; the loss left three quarters of it.
    assert_eq!((receiver.is_complete(), sent), (true, 1_001));
    assert_eq!(windows[..16], [2, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 10]);
}

#[test]
fn the_page_shows_the_files_of_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let page = fs::read_to_string(root.join("docs/add-a-controller.md")).unwrap();
    for path in ["src/aimd.rs", "src/main.rs"] {
        let path = format!("examples/controllers/aimd/{path}");
        let file = fs::read_to_string(root.join(&path)).unwrap();
        let block = format!("<!-- file: {path} -->\n```rust\n{file}```\n");
        assert!(page.contains(&block), "the page shows another {path}: copy the file there");
    }
}
