//! AIMD over a path: 1,000 segments through 10 ms that lose one of them.

use shallop_control::any::Config;
use shallop_control::{HostStack, Window, aimd};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config as Tcp, Receiver, Sender, Stack};

#[test]
fn a_scenario_names_it_with_its_option() {
    // As from `transport = "aimd"` and nothing else.
    let default = Config::for_stack("aimd", HostStack::LinuxIdeal);
    assert_eq!(default, Some(Config::Aimd(aimd::Config { keep: 0.5 })));
}

#[test]
fn a_loss_leaves_three_quarters_of_a_window_that_grew_by_a_segment_a_round_trip() {
    // Given a flow as from `keep = 0.75`,
    let config = Config::Aimd(aimd::Config { keep: 0.75 });
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
