//! Values drawn from the bytes of libFuzzer. Most are close to usual values, so that inputs pass the first checks; some
//! are arbitrary. The only error is the end of the input.

use arbitrary::{Result, Unstructured};
use shallop_core::{Ecn, Seed, Span, Stream, Time};

/// A number: below 10, a small multiple of `step`, below a million, or arbitrary.
pub fn number(u: &mut Unstructured<'_>, step: u64) -> Result<u64> {
    Ok(match u.int_in_range(0..=7u8)? {
        0 => u64::from(u.arbitrary::<u8>()? % 10),
        1..=3 => u64::from(u.arbitrary::<u8>()?).wrapping_mul(step),
        4 => u64::from(u.arbitrary::<u32>()? % 1_000_000),
        5 => u64::MAX - u64::from(u.arbitrary::<u16>()?),
        _ => u.arbitrary()?,
    })
}

/// A small or an arbitrary number of 32 bits.
pub fn count(u: &mut Unstructured<'_>) -> Result<u32> {
    Ok(if u.arbitrary()? { u32::from(u.arbitrary::<u8>()?) } else { u.arbitrary()? })
}

/// A pause: none, or up to a microsecond, a millisecond or some seconds.
pub fn pause(u: &mut Unstructured<'_>) -> Result<Span> {
    Ok(match u.int_in_range(0..=5u8)? {
        0 => Span::ZERO,
        1 => Span::from_ps(u64::from(u.arbitrary::<u32>()? % 1_000_000)),
        2 | 3 => Span::from_ns(u64::from(u.arbitrary::<u32>()? % 1_000_000)),
        4 => Span::from_us(u64::from(u.arbitrary::<u16>()?)),
        _ => Span::from_us(u64::from(u.arbitrary::<u32>()? % 5_000_000)),
    })
}

/// A time: near `now`, on either side of it, or any.
pub fn time(u: &mut Unstructured<'_>, now: Time) -> Result<Time> {
    Ok(match u.int_in_range(0..=3u8)? {
        0 => Time::after_start(now.since_start().saturating_sub(pause(u)?)),
        1 => now.saturating_add(pause(u)?),
        2 => now,
        _ => Time::after_start(Span::from_ps(number(u, 1 << 13)?)),
    })
}

pub fn ecn(u: &mut Unstructured<'_>) -> Result<Ecn> {
    u.choose(&[Ecn::NotEct, Ecn::Ect, Ecn::Ect1, Ecn::Ce]).copied()
}

/// A fraction below `most`.
pub fn fraction(u: &mut Unstructured<'_>, most: f64) -> Result<f64> {
    Ok(f64::from(u.arbitrary::<u16>()?) / 65_536.0 * most)
}

pub fn stream(u: &mut Unstructured<'_>) -> Result<Stream> {
    Ok(Seed::new(u64::from(u.arbitrary::<u8>()?)).stream("fuzz", 0))
}

/// `Some` value or `None`.
pub fn maybe<T>(u: &mut Unstructured<'_>, draw: impl FnOnce(&mut Unstructured<'_>) -> Result<T>) -> Result<Option<T>> {
    if u.arbitrary()? { draw(u).map(Some) } else { Ok(None) }
}

/// A byte position in a stream, often a multiple of a packet's payload.
pub fn place(u: &mut Unstructured<'_>) -> Result<u64> {
    number(u, 1_460)
}

/// The payload of a packet in bytes, often 1,460.
pub fn length(u: &mut Unstructured<'_>) -> Result<u16> {
    if u.arbitrary()? { Ok(1_460) } else { u.arbitrary() }
}
