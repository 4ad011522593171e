//! Feeds valid and arbitrary packets to both ends of a `FlashPass` flow, with either feedback law, with and without
//! Aeolus.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use shallop_control::flashpass::{Aimd, AimdConfig, Law, Mimd, MimdConfig};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_fuzz::{draw, flow::Flow};
use shallop_proto::aeolus;
use shallop_proto::flashpass::head::{Ack, AckBitmap, BITMAP_FRAMES, MAX_TIMESTAMPS, TIMESTAMP_STEP, Timestamps};
use shallop_proto::flashpass::{CreditEngineConfig, Head, Peer, Receiver, ReceiverConfig, Sender, SenderConfig};

fn law(u: &mut Unstructured<'_>) -> Result<Law> {
    Ok(if u.arbitrary()? {
        Law::Aimd(Aimd::new(AimdConfig::default(), 1.0))
    } else {
        Law::Mimd(Mimd::new(MimdConfig::default(), 1.0))
    })
}

fn sender(u: &mut Unstructured<'_>) -> Result<SenderConfig> {
    let rate = BitsPerSec::at_least_one(u.int_in_range(50_000..=5_000_000_000u64)?);
    let link = BitsPerSec::at_least_one(rate.get() * 19);
    let max_burst = Bytes::new(draw::number(u, 1_538)?);
    let renew_after = Span::from_us(u.int_in_range(0..=100_000)?);
    Ok(SenderConfig {
        engine: CreditEngineConfig {
            rate,
            wait: Span::from_us(u.int_in_range(1..=100_000)?),
            epochs: u.int_in_range(1..=8)?,
            jitter: draw::fraction(u, 0.49)?,
            expected_loss: draw::fraction(u, 0.5)?,
            attribute: u.arbitrary()?,
            min_sample: u.int_in_range(1..=100)?,
            count_tagged: u.arbitrary()?,
            expect_measured: u.arbitrary()?,
            over_provision: u.arbitrary()?,
        },
        payload: u.int_in_range(100..=9_000)?,
        // A flow has at least one byte.
        size: draw::maybe(u, draw::place)?.map(|size| size.max(1)),
        timeout: Span::from_us(u.int_in_range(10..=400_000)?),
        unscheduled: u.arbitrary::<bool>()?.then_some(aeolus::Config { link, max_burst, renew_after }),
        burst_until_first_data: u.arbitrary()?,
        send_buffer: draw::maybe(u, draw::place)?.map(Bytes::new),
    })
}

fn timestamps(u: &mut Unstructured<'_>, now: Time) -> Result<Timestamps> {
    let first = draw::time(u, now)?;
    let mut times = Timestamps::one(first);
    for _ in 0..u.int_in_range(0..=MAX_TIMESTAMPS)? {
        times.add(first.saturating_add(TIMESTAMP_STEP * u64::from(u.arbitrary::<u16>()?)));
    }
    Ok(times)
}

fn ack(u: &mut Unstructured<'_>) -> Result<Ack> {
    Ok(Ack::new(draw::place(u)?, draw::count(u)?, draw::place(u)?..draw::place(u)?))
}

fn bitmap(u: &mut Unstructured<'_>) -> Result<AckBitmap> {
    let start = draw::place(u)?;
    let mut map = if u.arbitrary()? { AckBitmap::of_frame(start) } else { AckBitmap::of_probe(start) };
    for _ in 0..u.int_in_range(0..=4u8)? {
        map.set(u.int_in_range(0..=BITMAP_FRAMES - 1)?);
    }
    Ok(map)
}

fn forge(u: &mut Unstructured<'_>, now: Time) -> Result<Head> {
    Ok(match u.int_in_range(0..=6u8)? {
        0 => Head::Emulation { time: draw::time(u, now)?, max_credit_delay: draw::pause(u)? },
        1 => Head::Credit { timestamps: timestamps(u, now)?, ack: ack(u)? },
        2 => Head::Data {
            offset: draw::place(u)?,
            length: draw::length(u)?,
            last: u.arbitrary()?,
            number: draw::count(u)?,
        },
        3 => Head::Ack(ack(u)?),
        4 => Head::Unscheduled { offset: draw::place(u)?, length: draw::length(u)?, last: u.arbitrary()? },
        5 => Head::Probe { upto: draw::place(u)?, last: u.arbitrary()? },
        _ => Head::UnscheduledAck(bitmap(u)?),
    })
}

fn run(bytes: &[u8]) -> Result<()> {
    let u = &mut Unstructured::new(bytes);
    let sender = Sender::new(sender(u)?, law(u)?, draw::stream(u)?);
    let receiver = Receiver::new(ReceiverConfig {
        batch: u.int_in_range(1..=MAX_TIMESTAMPS as u8)?,
        ack_every: u.int_in_range(1..=64)?,
        ack_delay: Span::from_us(u.int_in_range(0..=2_000)?),
        unscheduled_ack_delay: Span::from_us(u.int_in_range(0..=2_000)?),
    });
    Flow::new(Peer::sender(sender), Peer::receiver(receiver)).run(u, forge)
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(bytes);
});
