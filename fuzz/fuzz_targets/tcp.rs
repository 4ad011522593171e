//! Feeds valid and arbitrary packets to both ends of a TCP connection, with any controller and configuration.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use shallop_control::{HostStack, any};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_fuzz::{draw, flow::Flow};
use shallop_proto::tcp::{
    Config, DelayedAcks, Detection, EcnConfig, Flags, Head, IdleRestart, Receiver, SackBlock, Sender, Spurious, Stack,
    Tcp, Timestamp,
};

fn config(u: &mut Unstructured<'_>) -> Result<Config> {
    let stack = u.choose(&[Stack::NS2, Stack::NS3, Stack::LINUX])?;
    let gradual = EcnConfig { ecn_gradual: true, ..EcnConfig::CLASSIC };
    let ecn = [EcnConfig::OFF, EcnConfig::CLASSIC, gradual, EcnConfig::EXACT];
    let idle = [IdleRestart::Never, IdleRestart::Timeout, IdleRestart::Estimate];
    let detection = [Detection::DuplicateAcks, Detection::Sack, Detection::Rack];
    let [dsack, timestamps, frto] = u.arbitrary()?;
    Ok(Config {
        segment: u.int_in_range(100..=9_000)?,
        initial_window: u.int_in_range(1..=64)?,
        handshake: u.arbitrary()?,
        slow_start_after_idle: *u.choose(&idle)?,
        detection: *u.choose(&detection)?,
        spurious: Spurious { dsack, timestamps, frto },
        ecn: *u.choose(&ecn)?,
        acks: DelayedAcks {
            ack_every: u.int_in_range(1..=8)?,
            ack_delay: Span::from_ms(u.int_in_range(0..=500)?),
            ack_quick: u.int_in_range(0..=20)?,
            ack_size: draw::maybe(u, |u| Ok(Bytes::new(u.int_in_range(40..=1_538)?)))?,
        },
        receive_buffer: Bytes::new(draw::place(u)?),
        ..stack.tcp
    })
}

fn forge(u: &mut Unstructured<'_>, _: Time) -> Result<Head> {
    let mut offset = || -> Result<i32> {
        let near: bool = u.arbitrary()?;
        if near { Ok(i32::from(u.arbitrary::<i8>()?) * 1_460) } else { u.arbitrary() }
    };
    let mut block = || Ok(SackBlock { from: offset()?, to: offset()? });
    let blocks = [block()?, block()?, block()?];
    let [syn, ack, ece, cwr] = u.arbitrary()?;
    Ok(Head {
        seq: draw::place(u)?,
        ack: draw::place(u)?,
        blocks,
        window: if u.arbitrary()? { u16::MAX } else { u.arbitrary()? },
        len: draw::length(u)?,
        timestamp: Timestamp(u.arbitrary()?),
        flags: Flags::SYN.when(syn) | Flags::ACK.when(ack) | Flags::ECE.when(ece) | Flags::CWR.when(cwr),
        scale: u.arbitrary()?,
    })
}

fn run(bytes: &[u8]) -> Result<()> {
    let u = &mut Unstructured::new(bytes);
    let config = config(u)?;
    let names: Vec<&str> = any::Config::kinds().map(|kind| kind.name).collect();
    let (name, stack) = (u.choose(&names)?, u.choose(&HostStack::SIMULATED)?);
    let Some(controller) = any::Config::for_stack(name, *stack) else { return Ok(()) };
    let link = BitsPerSec::at_least_one(draw::number(u, 100_000_000)?);
    let window = controller.build(&config.start(link, u64::from(u.arbitrary::<u8>()?)));
    let size = draw::maybe(u, draw::place)?;
    let (sender, receiver) = (Sender::new(&config, window, size), Receiver::new(&config, size));
    Flow::new(Tcp::sender(sender), Tcp::receiver(receiver)).run(u, forge)
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(bytes);
});
