//! Feeds valid and arbitrary packets to both ends of an `ExpressPass` flow, with either feedback rule, with and without
//! Aeolus.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use shallop_control::expresspass::{CodeConfig, PaperConfig, Rule};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_fuzz::{draw, flow::Flow};
use shallop_proto::aeolus;
use shallop_proto::expresspass::{Config, Head, Peer, Receiver, Sender, StopPolicy};

fn config(u: &mut Unstructured<'_>) -> Result<Config> {
    let link = BitsPerSec::at_least_one(u.int_in_range(1_000_000..=100_000_000_000u64)?);
    let max_burst = Bytes::new(draw::number(u, 1_538)?);
    let renew_after = Span::from_us(u.int_in_range(0..=100_000)?);
    Ok(Config {
        stop: *u.choose(&[StopPolicy::LastData, StopPolicy::Early, StopPolicy::Demand])?,
        max_credit: u.int_in_range(84..=92)?,
        reordering: u.int_in_range(0..=4)?,
        retransmit_timeout: Span::from_us(u.int_in_range(100..=200_000)?),
        stop_timeout: Span::from_us(u.int_in_range(10..=20_000)?),
        unscheduled: u.arbitrary::<bool>()?.then_some(aeolus::Config { link, max_burst, renew_after }),
        send_buffer: draw::maybe(u, draw::place)?.map(Bytes::new),
        ..Config::new(link)
    })
}

fn rule(u: &mut Unstructured<'_>) -> Result<Rule> {
    let full_start = draw::maybe(u, |u| u.int_in_range(1..=100))?;
    Ok(if u.arbitrary()? {
        Rule::code(CodeConfig { full_start, ..CodeConfig::default() })
    } else {
        Rule::paper(PaperConfig::default())
    })
}

fn forge(u: &mut Unstructured<'_>, now: Time) -> Result<Head> {
    Ok(match u.int_in_range(0..=8u8)? {
        0 => Head::Request { demand: draw::count(u)?, end: draw::maybe(u, draw::place)?, sent: draw::time(u, now)? },
        1 => Head::Credit {
            sequence: draw::number(u, 1)?,
            sent: draw::time(u, now)?,
            request_sent: draw::time(u, now)?,
            remaining: draw::count(u)?,
        },
        2 => Head::Data {
            offset: draw::place(u)?,
            length: draw::length(u)?,
            generation: draw::count(u)?,
            credit: draw::number(u, 1)?,
            credit_sent: draw::time(u, now)?,
        },
        3 => Head::Stop { end: draw::place(u)?, generation: draw::count(u)?, reply_requested: u.arbitrary()? },
        4 => Head::Nack { expected: draw::place(u)?, generation: draw::count(u)? },
        5 => Head::Complete { end: draw::place(u)? },
        6 => Head::Unscheduled { offset: draw::place(u)?, length: draw::length(u)?, last: u.arbitrary()? },
        7 => Head::Probe { upto: draw::place(u)?, end: draw::maybe(u, draw::place)? },
        _ => Head::UnscheduledAck { offset: draw::place(u)?, length: draw::length(u)? },
    })
}

fn run(bytes: &[u8]) -> Result<()> {
    let u = &mut Unstructured::new(bytes);
    let (config, rule) = (config(u)?, rule(u)?);
    let size = draw::maybe(u, draw::place)?;
    let receiver = Receiver::new(&config, rule, draw::stream(u)?);
    Flow::new(Peer::sender(Sender::new(&config, size)), Peer::receiver(receiver)).run(u, forge)
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(bytes);
});
