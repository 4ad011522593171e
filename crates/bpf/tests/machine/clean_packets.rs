//! CLEAN's programs in the kernel of this machine, run on random frames (`BPF_PROG_TEST_RUN`), of which `SHALLOP_STEPS`
//! is the number, and their cost.

use crate::kernel_programs;
use crate::packets::{ACK, CE, Frame, RST, SYN, ip_sum, masked, tcp_sum, window};
use shallop_bpf::clean::{Program, Proxy, Settings};
use shallop_core::{Seed, Stream};
use shallop_proto::clean::Config;
use shallop_testing::{Outcome, Stop};
use std::io::Write;

pub fn load(config: Config) -> Result<Proxy, Stop> {
    kernel_programs()?;
    Ok(Proxy::load(&Settings { config, shaper: None }, 14)?)
}

pub const PLAIN: Frame = Frame {
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
    let mut proxy = load(Config::default())?;
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
    let mut proxy = load(Config::default())?;
    let syn = Frame { flags: SYN, seq: 5_000, ack: 0, is_of_sender: false, scale: Some(7), ..PLAIN };
    proxy.run(Program::Acks, &syn.bytes(), 0, 0, 1)?;
    proxy.run(Program::Data, &Frame { flags: SYN | ACK, seq: 1_000, scale: Some(7), ..PLAIN }.bytes(), 0, 0, 1)?;
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
