//! Strangers who know the address of `shallop receive` and no code, while a transfer runs.

#![expect(clippy::print_stderr, reason = "what was measured is printed beside the bounds")]

use crate::support::transfer::{Place, Process};
use pollster::block_on;
use shallop_core::{BitsPerSec, Seed};
use shallop_quic::{Config, Endpoint, QuicError, Tls, code::Code, identity::SERVER_NAME};
use shallop_testing::{Outcome, programs};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{fs, fs::File, thread::scope, thread::sleep};

/// The time in which the strangers send.
const ATTACK: Duration = Duration::from_secs(60);
/// The strangers' addresses are 127.0.1.1 and the following ones.
const ADDRESSES: u8 = 8;
/// Datagrams, and handshakes with another code, of all strangers together.
const DATAGRAMS: u32 = 1_000_000;
const HANDSHAKES: u32 = 10_000;
/// The most memory that the receiver may need in addition, KiB.
const MEMORY: u64 = 16 << 10;
/// The size of the file, which takes 90 s.
const FILE: u64 = 2_150_000_000;

/// A number in `/proc/PID/status`.
fn status(process: &Process, key: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", process.0.id())).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    value.split_whitespace().next().unwrap().parse().unwrap()
}

/// The processor time of a process, s.
fn processor(id: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let after_name = text.rsplit_once(')').unwrap().1;
    let ticks = after_name.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>().unwrap());
    ticks.sum::<f64>() / 100.0
}

/// What a stranger sends: Initial packets of QUIC, packets with a short header, emulation packets and credits with
/// random contents, in turn.
fn forge(bytes: &mut [u8; 1_200], number: u32, mut random: impl FnMut() -> u64) -> &[u8] {
    for word in bytes.chunks_mut(8) {
        word.copy_from_slice(&random().to_le_bytes());
    }
    match number % 4 {
        0 => {
            bytes[..6].copy_from_slice(&[0xC0, 0, 0, 0, 1, 8]);
            bytes[14..18].copy_from_slice(&[0, 0, 0x44, 0x90]);
            bytes
        }
        1 => {
            bytes[0] = 0x40;
            &bytes[..100]
        }
        kind => {
            bytes[0] = kind as u8 & 1 << 1;
            &bytes[..18]
        }
    }
}

/// Gives this thread and those that it starts the lowest priority: strangers have processors of their own.
fn yield_to_others() {
    let thread = fs::read_link("/proc/thread-self").unwrap();
    let number = thread.file_name().unwrap();
    let done = Command::new("renice").args(["-n", "19", "-p"]).arg(number).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

fn send_datagrams(from: Ipv4Addr, to: SocketAddr, begun: Instant) {
    yield_to_others();
    let socket = UdpSocket::bind((from, 0)).unwrap();
    let mut random = Seed::new(u64::from(from.to_bits())).stream("stranger", 0);
    let (mut bytes, count) = ([0; 1_200], DATAGRAMS / u32::from(ADDRESSES));
    for number in 0..count {
        let due = ATTACK * number / count;
        if let Some(early) = due.checked_sub(begun.elapsed()) {
            sleep(early);
        }
        socket.send_to(forge(&mut bytes, number, || random.draw()), to).unwrap();
    }
}

/// Completes handshakes and gives a wrong code. Returns how many were answered by a refusal of the code.
fn shake_hands(from: Ipv4Addr, to: SocketAddr, begun: Instant) -> u32 {
    yield_to_others();
    let config = Config { credits: false, ..Config::new(BitsPerSec::gbps(1)) };
    let tls = Tls::client_with(Code::make().unwrap());
    let endpoint = Endpoint::bind((from, 0).into(), config, tls).unwrap();
    let (mut refused, count) = (0, HANDSHAKES / u32::from(ADDRESSES));
    // Each address begins its handshakes at times of its own.
    let offset = ATTACK / HANDSHAKES * u32::from(from.octets()[3]);
    for number in 0..count {
        sleep((ATTACK * number / count + offset).saturating_sub(begun.elapsed()));
        let connected = block_on(endpoint.connect(to, SERVER_NAME));
        refused += u32::from(matches!(connected, Err(QuicError::WrongCode)));
    }
    refused
}

pub fn strangers_slow_no_transfer_and_take_no_memory_thread_or_line() -> Outcome {
    programs(&["renice"])?;
    let place = Place::new();
    File::create(place.path("large")).unwrap().set_len(FILE).unwrap();
    let receiver = place.receiver(&[]);
    let to: SocketAddr = receiver.address.parse().unwrap();
    let args = ["send", "large", &receiver.address, "--wait", "20ms", "--rate-limit", "200Mbps", "--json"];
    let mut sender = place.start(&args);
    // The mean rate at which the receiver writes, bit/s.
    let rate = |during: &dyn Fn()| {
        let (before, begun) = (place.part("large"), Instant::now());
        during();
        place.part("large").saturating_sub(before) as f64 * 8.0 / begun.elapsed().as_secs_f64()
    };
    sleep(Duration::from_secs(5));
    let undisturbed = rate(&|| sleep(Duration::from_secs(10)));
    let of_receiver = |key| status(&receiver.process, key);
    let (memory, threads) = (of_receiver("VmHWM:"), of_receiver("Threads:"));
    let processors = || [std::process::id(), receiver.process.0.id(), sender.0.id()].map(processor);
    let (begun, before, refused) = (Instant::now(), processors(), AtomicU32::new(0));
    let attacked = rate(&|| {
        scope(|scope| {
            for last in 1..=ADDRESSES {
                let (from, refused) = (Ipv4Addr::new(127, 0, 1, last), &refused);
                scope.spawn(move || send_datagrams(from, to, begun));
                scope.spawn(move || refused.fetch_add(shake_hands(from, to, begun), Relaxed));
            }
            while begun.elapsed() < ATTACK {
                assert!(of_receiver("Threads:") <= threads, "a stranger has a thread");
                sleep(Duration::from_millis(50));
            }
        });
    });
    let (took, after, refused) = (begun.elapsed(), processors(), refused.into_inner());
    let grown = of_receiver("VmHWM:") - memory;
    let [strangers, receiving, sending] = [0, 1, 2].map(|of| after[of] - before[of]);
    let [before, during] = [undisturbed, attacked].map(|rate| rate / 1e6);
    eprintln!("strangers: {DATAGRAMS} datagrams and {refused} refused handshakes in {took:.1?}");
    eprintln!("processor time: strangers {strangers:.1} s, receiver {receiving:.1} s, sender {sending:.1} s");
    eprintln!("rate {before:.1} Mb/s before, {during:.1} Mb/s during; memory of the receiver {grown} KiB more");
    assert!(took < ATTACK + Duration::from_secs(5) && refused >= HANDSHAKES * 99 / 100, "the strangers were slow");
    assert_eq!(sender.end(Duration::from_secs(60)).0, Some(0));
    let sent = std::io::read_to_string(sender.0.stdout.take().unwrap()).unwrap();
    let (report, said) = receiver.report(0);
    assert!(before > 150.0 && during >= 0.9 * before, "{sent}\n{report}");
    assert!(grown <= MEMORY);
    assert_eq!((report["on_credits"].as_bool(), said.as_str()), (Some(true), ""));
    Ok(())
}
