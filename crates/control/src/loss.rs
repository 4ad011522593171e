//! What controllers have in common whose windows grow until something is lost or marked: their options, and how these
//! are taken over. Units: bytes, segments, time.

use shallop_core::form::{Form, Part, key};
use shallop_core::{Bytes, Span};

use crate::hystart;
use crate::options::{LONGEST, Options, Refused};
use crate::window::Basis;

/// The options. `initial_threshold` is [`crate::Start::threshold`].
pub const KEYS: Part = &[
    key(
        "decrease",
        Form::Above(0.0, 0.99),
        "The part of the window given up on congestion: 0.5 for NewReno, 0.3 for CUBIC in RFC 9438, 0.2 in ns-2; for \
         Gemini on delay, 0.2.",
    ),
    key(
        "basis",
        Form::Choice(&["flight", "window"]),
        "What a reduction starts from: what is in flight (RFC 5681), or the window (Linux).",
    ),
    key("hystart", Form::Choice(&["off", "classic", "plus-plus"]), "What ends slow start early."),
    key(
        "hystart_low_window",
        Form::Count(0, 1_000_000),
        "Classic: segments below which it sleeps.",
    ),
    key("hystart_delay_max", Form::Time(Span::ZERO, LONGEST), "Classic: largest rise let pass."),
    key("slow_start_limit", Form::Count(1, 1_000_000), "Segments an acknowledgement adds at most."),
    key(
        "initial_threshold",
        Form::Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)),
        "The window at which the first slow start ends. Default: found out.",
    ),
];

/// The part of the window that is kept, where the scenario says what is given up.
#[must_use]
pub fn kept(options: &Options, default: f64) -> f64 {
    options.get::<f64>("decrease").map_or(default, |given_up| 1.0 - given_up)
}

/// What a reduction starts from.
#[must_use]
pub fn basis(options: &Options, default: Basis) -> Basis {
    match options.get("basis") {
        Some("flight") => Basis::Flight,
        Some(_) => Basis::Window,
        None => default,
    }
}

/// Slow start.
///
/// # Errors
/// If something is said of classic `HyStart` that is not in use.
pub fn slow_start(options: &Options, default: hystart::Config) -> Result<hystart::Config, Refused> {
    let classic = match default.exit {
        hystart::Exit::Classic(classic) => classic,
        _ => hystart::Classic::LINUX,
    };
    let mut exit = match options.get("hystart") {
        Some("off") => hystart::Exit::Loss,
        Some("classic") => hystart::Exit::Classic(classic),
        Some(_) => hystart::Exit::PlusPlus,
        None => default.exit,
    };
    if let hystart::Exit::Classic(classic) = &mut exit {
        classic.low_window = options.or("hystart_low_window", classic.low_window);
        classic.delay_max = options.or("hystart_delay_max", classic.delay_max);
    } else {
        let vain = ["hystart_low_window", "hystart_delay_max"];
        if let Some(key) = vain.into_iter().find(|key| options.has(key)) {
            let help = "write hystart = \"classic\" beside it";
            return Err(Refused::new(key, "only classic HyStart has it", help));
        }
    }
    Ok(hystart::Config { limit: options.or("slow_start_limit", default.limit), exit })
}
