//! The window controllers there are, one line each: the choice at run time follows from them. A new controller adds a
//! line at the end of this file (docs/add-a-controller.md).

/// Makes the choice among these controllers: `Config`, which one and how it is set up, and `AnyWindow`, one at work.
///
/// A line names the module of a controller, and the controller as it is kept. The module has `KINDS`, its names in
/// scenarios, and `Config`, which is made from options by `read`. The controller is made by `new` from that and a
/// [`Start`](crate::Start).
#[macro_export]
macro_rules! controllers {
    ($($(#[$about:meta])+ $name:ident($($module:ident)::+, $window:ty),)+) => {
        /// Which controller, and how it is set up.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Config {
            $($(#[$about])+ $name($($module)::+::Config),)+
        }

        impl Config {
            /// All names that scenarios have for controllers, each with what makes one from its options.
            #[must_use]
            pub fn kinds() -> Vec<(&'static $crate::Kind, $crate::options::Read<Self>)> {
                let mut all: Vec<(_, $crate::options::Read<Self>)> = Vec::new();
                $(all.extend($($module)::+::KINDS.iter().map(|kind| {
                    let read = |options: &_| $($module)::+::Config::read(options).map(Self::$name);
                    (kind, read as _)
                }));)+
                all
            }

            /// What the controller is called in code.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($name),)+ }
            }

            /// The controller of a new flow.
            #[must_use]
            pub fn build(&self, start: &$crate::Start) -> AnyWindow {
                match self {
                    $(Self::$name(config) => {
                        AnyWindow::$name(<$window>::from($($module)::+::$name::new(config, start)))
                    })+
                }
            }
        }

        /// One of the controllers.
        #[derive(Clone, Debug)]
        pub enum AnyWindow {
            $($(#[$about])+ $name($window),)+
        }

        impl $crate::Window for AnyWindow {
            fn on_handshake(&mut self, now: ::shallop_core::Time, rtt: ::shallop_core::Span) {
                match self { $(Self::$name(window) => window.on_handshake(now, rtt),)+ }
            }
            fn on_restart(&mut self, now: ::shallop_core::Time, app_limited: bool) {
                match self { $(Self::$name(window) => window.on_restart(now, app_limited),)+ }
            }
            fn on_ack(&mut self, ack: &$crate::Ack) {
                match self { $(Self::$name(window) => window.on_ack(ack),)+ }
            }
            fn on_loss(&mut self, loss: &$crate::Loss) {
                match self { $(Self::$name(window) => window.on_loss(loss),)+ }
            }
            fn on_rto(&mut self, loss: &$crate::Loss, first: bool) {
                match self { $(Self::$name(window) => window.on_rto(loss, first),)+ }
            }
            fn on_mark(&mut self, mark: &$crate::Loss) {
                match self { $(Self::$name(window) => window.on_mark(mark),)+ }
            }
            fn on_idle(&mut self, idle: ::shallop_core::Span) {
                match self { $(Self::$name(window) => window.on_idle(idle),)+ }
            }
            fn on_recovery_exit(&mut self, now: ::shallop_core::Time) {
                match self { $(Self::$name(window) => window.on_recovery_exit(now),)+ }
            }
            fn window(&self) -> ::shallop_core::Bytes {
                match self { $(Self::$name(window) => window.window(),)+ }
            }
            fn slow_start_threshold(&self) -> ::shallop_core::Bytes {
                match self { $(Self::$name(window) => window.slow_start_threshold(),)+ }
            }
            fn pacing(&self) -> Option<::shallop_core::BitsPerSec> {
                match self { $(Self::$name(window) => window.pacing(),)+ }
            }
            fn owns_recovery(&self) -> bool {
                match self { $(Self::$name(window) => window.owns_recovery(),)+ }
            }
        }
    };
}

controllers! {
    /// `NewReno`.
    Reno(crate::reno, crate::Reno),
    /// CUBIC.
    Cubic(crate::cubic, crate::Cubic),
    /// Vegas.
    Vegas(crate::vegas, crate::Vegas),
    /// DCTCP.
    Dctcp(crate::dctcp, crate::Dctcp),
    /// BBR, version 1.
    Bbr(crate::bbr, Box<crate::Bbr>),
    /// Copa.
    Copa(crate::copa, crate::Copa),
    /// Gemini.
    Gemini(crate::gemini, crate::Gemini),
}
