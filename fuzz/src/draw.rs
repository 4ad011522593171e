//! Values drawn from the bytes of libFuzzer. Most are near the values in use, so that inputs get past the first check;
//! some are anything at all.

use arbitrary::{Result, Unstructured};
use shallop_core::{Ecn, Seed, Span, Stream, Time};

/// A number: a few, a few times `step`, below a million, or any.
///
/// # Errors
/// If the input has ended; likewise below.
pub fn number(u: &mut Unstructured<'_>, step: u64) -> Result<u64> {
    Ok(match u.int_in_range(0..=7u8)? {
        0 => u64::from(u.arbitrary::<u8>()? % 10),
        1..=3 => u64::from(u.arbitrary::<u8>()?).wrapping_mul(step),
        4 => u64::from(u.arbitrary::<u32>()? % 1_000_000),
        5 => u64::MAX - u64::from(u.arbitrary::<u16>()?),
        _ => u.arbitrary()?,
    })
}

/// The same in 32 bits.
///
/// # Errors
/// As [`number`].
pub fn count(u: &mut Unstructured<'_>) -> Result<u32> {
    Ok(if u.arbitrary()? { u32::from(u.arbitrary::<u8>()?) } else { u.arbitrary()? })
}

/// A pause: none, or up to a microsecond, a millisecond or some seconds.
///
/// # Errors
/// As [`number`].
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
///
/// # Errors
/// As [`number`].
pub fn time(u: &mut Unstructured<'_>, now: Time) -> Result<Time> {
    Ok(match u.int_in_range(0..=3u8)? {
        0 => Time::after_start(now.since_start().saturating_sub(pause(u)?)),
        1 => now.saturating_add(pause(u)?),
        2 => now,
        _ => Time::after_start(Span::from_ps(number(u, 1 << 13)?)),
    })
}

/// An ECN field.
///
/// # Errors
/// As [`number`].
pub fn ecn(u: &mut Unstructured<'_>) -> Result<Ecn> {
    u.choose(&[Ecn::NotEct, Ecn::Ect, Ecn::Ect1, Ecn::Ce]).copied()
}

/// A fraction below `most`.
///
/// # Errors
/// As [`number`].
pub fn fraction(u: &mut Unstructured<'_>, most: f64) -> Result<f64> {
    Ok(f64::from(u.arbitrary::<u16>()?) / 65_536.0 * most)
}

/// A random stream.
///
/// # Errors
/// As [`number`].
pub fn stream(u: &mut Unstructured<'_>) -> Result<Stream> {
    Ok(Seed::new(u64::from(u.arbitrary::<u8>()?)).stream("fuzz", 0))
}

/// A value or none.
///
/// # Errors
/// As [`number`].
pub fn maybe<T>(
    u: &mut Unstructured<'_>,
    draw: impl FnOnce(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Option<T>> {
    if u.arbitrary()? { draw(u).map(Some) } else { Ok(None) }
}

/// A position in a stream.
///
/// # Errors
/// As [`number`].
pub fn place(u: &mut Unstructured<'_>) -> Result<u64> {
    number(u, 1_460)
}

/// The payload of a packet.
///
/// # Errors
/// As [`number`].
pub fn length(u: &mut Unstructured<'_>) -> Result<u16> {
    if u.arbitrary()? { Ok(1_460) } else { u.arbitrary() }
}
