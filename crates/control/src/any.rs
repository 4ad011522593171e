//! The window controllers there are, as one enum: the choice at run time. A new controller adds a variant here.

use shallop_core::{BitsPerSec, Bytes, Span, Time};

use crate::bbr::{self, Bbr};
use crate::copa::{self, Copa};
use crate::cubic::{self, Cubic};
use crate::dctcp::{self, Dctcp};
use crate::gemini::{self, Gemini};
use crate::reno::{self, Reno};
use crate::vegas::{self, Vegas};
use crate::window::{Ack, Loss, Start, Window};

/// Which controller, and how it is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Config {
    /// `NewReno`.
    Reno(reno::Config),
    /// CUBIC.
    Cubic(cubic::Config),
    /// Vegas.
    Vegas(vegas::Config),
    /// DCTCP.
    Dctcp(dctcp::Config),
    /// BBR, version 1.
    Bbr(bbr::Config),
    /// Copa.
    Copa(copa::Config),
    /// Gemini.
    Gemini(gemini::Config),
}

impl Config {
    /// The controller of a new flow.
    #[must_use]
    pub fn build(&self, start: &Start) -> AnyWindow {
        match self {
            Self::Reno(config) => AnyWindow::Reno(Reno::new(config, start)),
            Self::Cubic(config) => AnyWindow::Cubic(Cubic::new(config, start)),
            Self::Vegas(config) => AnyWindow::Vegas(Vegas::new(config, start)),
            Self::Dctcp(config) => AnyWindow::Dctcp(Dctcp::new(config, start)),
            Self::Bbr(config) => AnyWindow::Bbr(Box::new(Bbr::new(config, start))),
            Self::Copa(config) => AnyWindow::Copa(Copa::new(config, start)),
            Self::Gemini(config) => AnyWindow::Gemini(Gemini::new(config, start)),
        }
    }
}

/// One of the controllers.
#[derive(Clone, Debug)]
pub enum AnyWindow {
    /// `NewReno`.
    Reno(Reno),
    /// CUBIC.
    Cubic(Cubic),
    /// Vegas.
    Vegas(Vegas),
    /// DCTCP.
    Dctcp(Dctcp),
    /// BBR, version 1.
    Bbr(Box<Bbr>),
    /// Copa.
    Copa(Copa),
    /// Gemini.
    Gemini(Gemini),
}

/// Asks whichever it is.
macro_rules! ask {
    ($any:expr, $window:ident => $what:expr) => {
        match $any {
            AnyWindow::Reno($window) => $what,
            AnyWindow::Cubic($window) => $what,
            AnyWindow::Vegas($window) => $what,
            AnyWindow::Dctcp($window) => $what,
            AnyWindow::Bbr($window) => $what,
            AnyWindow::Copa($window) => $what,
            AnyWindow::Gemini($window) => $what,
        }
    };
}

impl Window for AnyWindow {
    fn on_handshake(&mut self, now: Time, rtt: Span) {
        ask!(self, window => window.on_handshake(now, rtt));
    }
    fn on_restart(&mut self, now: Time, app_limited: bool) {
        ask!(self, window => window.on_restart(now, app_limited));
    }
    fn on_ack(&mut self, ack: &Ack) {
        ask!(self, window => window.on_ack(ack));
    }
    fn on_loss(&mut self, loss: &Loss) {
        ask!(self, window => window.on_loss(loss));
    }
    fn on_rto(&mut self, loss: &Loss, first: bool) {
        ask!(self, window => window.on_rto(loss, first));
    }
    fn on_mark(&mut self, mark: &Loss) {
        ask!(self, window => window.on_mark(mark));
    }
    fn on_idle(&mut self, idle: Span) {
        ask!(self, window => window.on_idle(idle));
    }
    fn on_recovery_exit(&mut self, now: Time) {
        ask!(self, window => window.on_recovery_exit(now));
    }
    fn window(&self) -> Bytes {
        ask!(self, window => window.window())
    }
    fn slow_start_threshold(&self) -> Bytes {
        ask!(self, window => window.slow_start_threshold())
    }
    fn pacing(&self) -> Option<BitsPerSec> {
        ask!(self, window => window.pacing())
    }
    fn owns_recovery(&self) -> bool {
        ask!(self, window => window.owns_recovery())
    }
}
