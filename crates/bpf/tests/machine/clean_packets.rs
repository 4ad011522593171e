//! CLEAN's programs in the kernel of this machine, run on single frames (`BPF_PROG_TEST_RUN`). `SHALLOP_STEPS` is the
//! number of random frames.

use crate::kernel_programs;
use crate::packets::{ACK, CE, ECT0, Frame, RST, SYN, ecn, ip_sum, masked, tcp_sum, window};
use shallop_bpf::clean::{Program, Proxy, Settings};
use shallop_core::{Seed, Stream};
use shallop_proto::clean::Config;
use shallop_testing::{Outcome, Stop};
use std::io::Write;

fn proxy(config: Config) -> Result<Proxy, Stop> {
    kernel_programs()?;
    Ok(Proxy::load(&Settings { config, shaper: None }, 14)?)
}

const PLAIN: Frame = Frame {
    is_v6: false,
    ports: (80, 40_000),
    is_of_sender: true,
    ecn: 0,
    flags: ACK,
    seq: 1_001,
    ack: 5_001,
    window: 60_000,
    scale: None,
    payload: 0,
};

/// Runs the program of a frame's direction on the frame.
fn pass(proxy: &mut Proxy, frame: &Frame) -> Vec<u8> {
    let program = if frame.is_of_sender { Program::Data } else { Program::Acks };
    proxy.run(program, &frame.bytes(), 0, 0, 1).unwrap().0
}

/// Passes the SYNs of a connection that the receiver opens. `scales` are the window scale options of sender and
/// receiver.
fn open(proxy: &mut Proxy, of: Frame, scales: (Option<u8>, Option<u8>)) {
    let syn = Frame { flags: SYN, seq: 5_000, ack: 0, is_of_sender: false, scale: scales.1, ..of };
    pass(proxy, &syn);
    let syn_ack = Frame { flags: SYN | ACK, seq: 1_000, ack: 5_001, scale: scales.0, ..of };
    pass(proxy, &syn_ack);
}

pub fn marks_are_cleared_and_windows_reduced_with_valid_checksums() -> Outcome {
    let mut proxy = proxy(Config::default())?;
    for (port, is_v6) in [(1_u16, false), (2, true)] {
        let of = Frame { is_v6, ports: (port, 40_000), ..PLAIN };
        open(&mut proxy, of, (Some(7), Some(7)));
        let data = Frame { ecn: CE, payload: 1_448, ..of };
        let passed = pass(&mut proxy, &data);
        assert_eq!((ecn(&passed), tcp_sum(&passed)), (0, Some(0xffff)));
        assert!(ip_sum(&passed).is_none_or(|sum| sum == 0xffff));
        let ack = Frame { is_of_sender: false, seq: 5_001, ack: 1_001 + 1_448, ..of };
        let passed = pass(&mut proxy, &ack);
        // Alpha is 1, so the first mark halves a window of ten segments of 1,448 bytes, in units of 128 bytes.
        assert_eq!(window(&passed), Some((5 * 1_448_u16).div_ceil(128)));
        assert_eq!(tcp_sum(&passed), Some(0xffff));
    }
    let counted = proxy.maps().counters().unwrap();
    assert_eq!((counted.data, counted.marked, counted.cleared, counted.reduced), (2, 2, 2, 2));
    let flows = proxy.maps().flows().unwrap();
    assert_eq!(flows.len(), 2);
    assert!(flows.iter().all(|of| of.is_controlled && (4.99..5.01).contains(&of.window_segments) && of.rtt.is_some()));
    Ok(())
}

pub fn windows_are_unchanged_unless_both_syns_with_scales_were_seen() -> Outcome {
    let mut proxy = proxy(Config::default())?;
    let data = Frame { ecn: CE, payload: 1_448, ..PLAIN };
    let ack = Frame { is_of_sender: false, ack: 2_449, ..PLAIN };
    for frame in [data, ack] {
        assert_eq!(pass(&mut proxy, &frame), frame.bytes(), "no SYN was seen");
    }
    let of = Frame { ports: (81, 40_000), ..PLAIN };
    let syn = Frame { flags: SYN, ack: 0, is_of_sender: false, scale: Some(7), ..of };
    pass(&mut proxy, &syn);
    for frame in [data, ack].map(|frame| Frame { ports: of.ports, ..frame }) {
        assert_eq!(pass(&mut proxy, &frame), frame.bytes(), "one SYN was seen");
    }
    assert_eq!(proxy.maps().counters().unwrap().unknown, 4);
    for (number, scales) in [(None, Some(7)), (Some(7), None), (None, None)].into_iter().enumerate() {
        let of = Frame { ports: (100 + number as u16, 40_000), ..PLAIN };
        open(&mut proxy, of, scales);
        pass(&mut proxy, &Frame { ecn: CE, payload: 1_448, ..of });
        let passed = pass(&mut proxy, &Frame { is_of_sender: false, ack: 2_449, ..of });
        assert_eq!(window(&passed), Some(5 * 1_448), "{scales:?}");
    }
    Ok(())
}

/// A connection with a mark: an acknowledgement gets a window of 5 segments.
fn open_and_mark(proxy: &mut Proxy) -> [Frame; 2] {
    open(proxy, PLAIN, (Some(7), Some(7)));
    pass(proxy, &Frame { ecn: CE, payload: 1_448, ..PLAIN });
    let ack = Frame { is_of_sender: false, seq: 5_001, ack: 2_449, ..PLAIN };
    assert_eq!(window(&pass(proxy, &ack)), Some((5 * 1_448_u16).div_ceil(128)));
    [PLAIN, ack]
}

/// The packets of a handshake with other numbers than [`PLAIN`]: the sender's SYN, the receiver's answer with the
/// window scale 14, and the sender's acknowledgement.
fn other_handshake() -> [Frame; 3] {
    let syn = Frame { flags: SYN, seq: 3_000_000_000, ack: 0, scale: Some(7), ..PLAIN };
    let of = Frame { is_of_sender: false, scale: Some(14), ..PLAIN };
    let answer = Frame { flags: SYN | ACK, seq: 2_000_000_000, ack: syn.seq + 1, ..of };
    [syn, answer, Frame { seq: syn.seq + 1, ack: answer.seq + 1, ..PLAIN }]
}

pub fn forged_packets_of_an_open_connection_change_nothing() -> Outcome {
    let mut proxy = proxy(Config::default())?;
    let [data, ack] = open_and_mark(&mut proxy);
    let before = proxy.maps().flows()?;
    let far = |seq: u32| Frame { seq, ecn: CE, payload: 1_448, ..data };
    let wrong_answer = Frame { ack: 77, ..other_handshake()[1] };
    let forged = [
        &other_handshake()[..],
        &[other_handshake()[0], wrong_answer, other_handshake()[2]],
        &[far(0x8000_0000), far(0xc000_0000), far(0x4000_0000)],
        &[Frame { flags: RST, seq: 0x8000_0000, ..data }, Frame { ack: 0x8000_0000, window: 65_535, ..ack }],
    ];
    for frame in forged.concat() {
        assert_eq!(pass(&mut proxy, &frame), frame.bytes(), "{frame:?}");
        assert_eq!(proxy.maps().flows()?, before, "{frame:?}");
    }
    assert_eq!(window(&pass(&mut proxy, &ack)), Some((5 * 1_448_u16).div_ceil(128)));
    assert_eq!(proxy.maps().counters()?.unknown, 11);
    Ok(())
}

pub fn a_new_connection_replaces_a_silent_one_after_its_handshake() -> Outcome {
    let mut proxy = proxy(Config::default())?;
    open_and_mark(&mut proxy);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let [syn, answer, last] = other_handshake();
    let before = proxy.maps().flows()?;
    for frame in [syn, answer] {
        pass(&mut proxy, &frame);
        assert_eq!(proxy.maps().flows()?, before, "{frame:?}");
    }
    pass(&mut proxy, &last);
    pass(&mut proxy, &Frame { payload: 1_448, ..last });
    let [flow] = proxy.maps().flows()?[..] else { unreachable!("one flow") };
    assert_eq!((flow.data, flow.window_segments, flow.is_slow_start), (1, 11.0, true));
    let ack = Frame { is_of_sender: false, seq: last.ack, ack: last.seq + 1_448, ..PLAIN };
    // Eleven segments are less than one unit of 16 KiB.
    assert_eq!(window(&pass(&mut proxy, &ack)), Some(1));
    Ok(())
}

pub fn a_burst_counts_as_its_segments_and_old_flows_are_evicted() -> Outcome {
    let mut proxy = proxy(Config { flows: 64, ..Config::default() })?;
    open(&mut proxy, PLAIN, (Some(7), Some(7)));
    // The kernel limits frames of test runs to a page.
    let burst = Frame { payload: 3_000, ..PLAIN };
    proxy.run(Program::Data, &burst.bytes(), 10, 300, 1).unwrap();
    let flow = proxy.maps().flows().unwrap()[0];
    // Ten unmarked segments increase the window by ten.
    assert_eq!((flow.data, flow.segment_bytes, flow.window_segments), (10, 300, 20.0));
    for port in 0..1_000 {
        open(&mut proxy, Frame { ports: (port, 41_000), ..PLAIN }, (Some(7), Some(7)));
    }
    let kept = proxy.maps().flows().unwrap().len();
    assert!((1..=64).contains(&kept), "{kept}");
    let frame = Frame { ecn: CE, payload: 100, ..PLAIN };
    assert_eq!(pass(&mut proxy, &frame), frame.bytes(), "its flow made room for others");
    Ok(())
}

pub fn the_edge_makes_only_tcp_packets_ecn_capable() -> Outcome {
    let mut proxy = proxy(Config::default())?;
    for is_v6 in [false, true] {
        for (before, after) in [(0, ECT0), (1, 1), (ECT0, ECT0), (CE, CE)] {
            let frame = Frame { is_v6, ecn: before, payload: 10, ..PLAIN };
            let (passed, _) = proxy.run(Program::Edge, &frame.bytes(), 0, 0, 1).unwrap();
            assert_eq!((ecn(&passed), tcp_sum(&passed)), (after, Some(0xffff)));
            assert!(ip_sum(&passed).is_none_or(|sum| sum == 0xffff));
        }
        let mut udp = Frame { is_v6, ..PLAIN }.bytes();
        udp[if is_v6 { 20 } else { 23 }] = 17;
        assert_eq!(proxy.run(Program::Edge, &udp, 0, 0, 1).unwrap().0, udp);
    }
    Ok(())
}

/// A random frame of a few connections, valid or with changed or missing bytes. Returns also whether the sender sends
/// it, and the number and size of its segments.
fn random_frame(random: &mut Stream) -> (bool, Vec<u8>, (u32, u32)) {
    let mut below = |most: u64| random.below(most);
    let flags = [ACK, ACK, ACK, ACK, SYN, SYN | ACK, RST | ACK, 1 | ACK, 0][below(9) as usize];
    let is_syn = flags & SYN != 0;
    // Numbers of one connection at each pair of ports, or random ones.
    let most = if is_syn { 1 } else { 60_000 };
    let mut number = |first: u64| match below(4) {
        0 => below(1 << 32) as u32 >> [0, 8, 16][below(3) as usize],
        _ => (first + below(most)) as u32,
    };
    let (seq, ack) = (number(1_000), number(1_001));
    let frame = Frame {
        is_v6: below(3) == 0,
        ports: (below(40) as u16, 40_000),
        is_of_sender: below(2) == 0,
        ecn: below(4) as u8,
        flags,
        seq,
        ack,
        window: below(65_536) as u16,
        scale: (is_syn && below(4) > 0).then(|| below(256) as u8),
        payload: if is_syn { 0 } else { [0, 1, 536, 1_448, 3_000][below(5) as usize] },
    };
    let mut bytes = frame.bytes();
    if below(2) == 0 {
        for _ in 0..=below(6) {
            let at = 12 + below((bytes.len() as u64 - 12).min(90)) as usize;
            bytes[at] = below(256) as u8;
        }
        if below(4) == 0 {
            bytes.truncate((14 + below(80) as usize).min(bytes.len()));
        }
    }
    let burst = if below(4) == 0 { (below(100) as u32, below(9_000) as u32) } else { (0, 0) };
    (frame.is_of_sender, bytes, burst)
}

pub fn random_frames_never_get_a_larger_window_or_a_wrong_checksum() -> Outcome {
    let mut proxy = proxy(Config::default())?;
    let steps = std::env::var("SHALLOP_STEPS").ok().and_then(|text| text.parse().ok());
    let mut random = Seed::new(15).stream("frames", 0);
    let (mut changed, mut refused) = (0_u64, 0_u64);
    for number in 0..steps.unwrap_or(50_000) {
        let (is_of_sender, frame, (segments, segment_bytes)) = random_frame(&mut random);
        let program = match number % 8 {
            0 => Program::Edge,
            _ if is_of_sender => Program::Data,
            _ => Program::Acks,
        };
        // The kernel itself refuses frames that are shorter than their headers.
        let Ok((passed, _)) = proxy.run(program, &frame, segments, segment_bytes, 1) else {
            refused += 1;
            continue;
        };
        if passed == frame {
            continue;
        }
        changed += 1;
        assert_eq!(masked(&passed), masked(&frame), "{frame:?}");
        let (before, after) = (window(&frame), window(&passed));
        assert!(after == before || (Some(0) < after && after < before), "{frame:?}");
        // A wrong checksum keeps its difference from the right one.
        assert_eq!(ip_sum(&passed), ip_sum(&frame), "{frame:?}");
        assert_eq!(tcp_sum(&passed), tcp_sum(&frame), "{frame:?}");
    }
    let all = steps.unwrap_or(50_000);
    assert!(changed > all / 10 && refused < all / 10, "{changed} changed, {refused} refused of {all}");
    assert_eq!(proxy.maps().counters().unwrap().failed, 0);
    Ok(())
}

pub fn a_packet_costs_less_than_5_us() -> Outcome {
    let mut proxy = proxy(Config::default())?;
    open(&mut proxy, PLAIN, (Some(7), Some(7)));
    let data = Frame { payload: 1_448, ..PLAIN };
    let ack = Frame { is_of_sender: false, seq: 5_001, ack: 2_449, ..PLAIN };
    let marked = Frame { ecn: CE, ..data };
    let frames = [("edge", data), ("data", data), ("data, marked", marked), ("data, of 10", data), ("acks", ack)];
    for (name, frame) in frames {
        let program = match name {
            "edge" => Program::Edge,
            "acks" => Program::Acks,
            _ => Program::Data,
        };
        let (segments, bytes) = if name == "data, of 10" { (10, 145) } else { (0, 0) };
        let (_, took) = proxy.run(program, &frame.bytes(), segments, bytes, 1_000_000).unwrap();
        let told = writeln!(std::io::stderr(), "{name}: {} ns", took.as_nanos());
        assert!(told.is_ok() && took.as_nanos() < 5_000, "{name}: {took:?}");
    }
    Ok(())
}
