//! The list of window controllers, from which the choice at run time is generated. A new controller needs one line at
//! the end of this file (docs/add-a-controller.md).

use crate::added;

/// Calls a method of the variant that a value has.
macro_rules! dispatch {
    ($value:expr, [$($name:ident)+], $inner:ident => $call:expr) => {
        match $value {
            $(Self::$name($inner) => $call,)+
        }
    };
}

/// Implements methods of [`Window`](crate::Window) by calling them on the controller that a value holds:
/// first those that change the controller (`mut`), then those that read it (`ref`).
macro_rules! forward_window {
    ($names:tt, $(mut $event:ident($($arg:ident: $of:ty),+);)+ $(ref $get:ident() -> $value:ty;)+) => {
        $(fn $event(&mut self, $($arg: $of),+) {
            dispatch!(self, $names, window => window.$event($($arg),+))
        })+
        $(fn $get(&self) -> $value {
            dispatch!(self, $names, window => window.$get())
        })+
    };
}

/// Generates two types from the list of controllers: `Config`, a controller with its parameters, and `AnyWindow`, the
/// controller of one connection.
///
/// Each line of the list has the module of a controller, and its type in `AnyWindow`. The module has a type `Config`,
/// whose [`Parameters`](crate::Parameters) state the names in scenarios. `new` makes the controller from a `Config` and
/// a [`Start`](crate::Start).
macro_rules! controllers {
    ($($(#[$about:meta])+ $name:ident($($module:ident)::+, $window:ty),)+) => {
        /// The choice of a controller and its parameters, as a scenario makes it.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Config {
            $($(#[$about])+ $name($($module)::+::Config),)+
            /// A controller of another crate.
            Added(added::Config),
        }

        impl Config {
            /// Names of all controllers in scenarios, with the properties of each.
            pub fn kinds() -> impl Iterator<Item = &'static crate::ControllerName> + Clone {
                use crate::Parameters;
                let all = [$($($module)::+::Config::KINDS),+];
                let added = added::all().iter().flat_map(|added| added.kinds);
                all.into_iter().flatten().chain(added)
            }

            /// Reads the options of a controller; `None` if no controller has this name.
            ///
            /// # Errors
            /// As [`Options::read`](shallop_options::Options::read).
            pub fn read(
                name: &str,
                section: &shallop_options::Section<'_>,
                stack: crate::HostStack,
            ) -> Option<Result<Self, shallop_options::Problem>> {
                use crate::Parameters;
                use shallop_options::Options;
                $(if $($module)::+::Config::KINDS.iter().any(|kind| kind.name == name) {
                    let config = $($module)::+::Config::read(section, stack.into());
                    return Some(config.map(Self::$name));
                })+
                let added = added::find(name)?;
                Some((added.read)(section, stack).map(Self::Added))
            }

            /// Parameters of the controller `name` with the defaults of a host stack; `None` if no controller of this
            /// crate has this name.
            pub fn for_stack(name: &str, stack: crate::HostStack) -> Option<Self> {
                use crate::Parameters;
                $(if $($module)::+::Config::KINDS.iter().any(|kind| kind.name == name) {
                    return Some(Self::$name($($module)::+::Config::defaults(stack.into())));
                })+
                None
            }

            /// Whether the controller `name` is one of L4S ([`Parameters::IS_L4S`](crate::Parameters::IS_L4S)).
            pub fn is_l4s(name: &str) -> bool {
                use crate::Parameters;
                $(if $($module)::+::Config::KINDS.iter().any(|kind| kind.name == name) {
                    return $($module)::+::Config::IS_L4S;
                })+
                added::find(name).is_some_and(|added| added.is_l4s)
            }

            /// Keys that the controller `name` has in scenarios.
            pub fn keys(name: &str) -> Vec<&'static shallop_options::Key> {
                use crate::Parameters;
                use shallop_options::Options;
                $(if $($module)::+::Config::KINDS.iter().any(|kind| kind.name == name) {
                    return $($module)::+::Config::keys();
                })+
                added::find(name).map_or_else(Vec::new, |added| (added.keys)())
            }

            /// Keys of the controller `name`, with their defaults on a host stack.
            pub fn describe(
                name: &str,
                stack: crate::HostStack,
            ) -> Vec<shallop_options::KeyDoc> {
                use crate::Parameters;
                use shallop_options::Options;
                $(if $($module)::+::Config::KINDS.iter().any(|kind| kind.name == name) {
                    return $($module)::+::Config::describe(stack.into());
                })+
                added::find(name).map_or_else(Vec::new, |added| (added.describe)(stack))
            }

            /// Keys of the controller, with their values in this configuration.
            pub fn values(&self) -> Vec<(&'static shallop_options::Key, Option<String>)> {
                use shallop_options::Options;
                dispatch!(self, [$($name)+ Added], config => config.values())
            }

            /// Whether queues stay short only if the network marks in proportion to congestion and every mark is
            /// echoed, as DCTCP requires.
            pub fn needs_each_mark(&self) -> bool {
                use crate::Parameters;
                dispatch!(self, [$($name)+ Added], config => config.needs_each_mark())
            }

            /// Initial slow-start threshold in bytes; `None` if the first slow start ends at congestion.
            pub fn initial_threshold(&self) -> Option<shallop_core::Bytes> {
                use crate::Parameters;
                dispatch!(self, [$($name)+ Added], config => config.initial_threshold())
            }

            /// Name of the controller's Rust type, such as `Cubic`; for one of another crate its name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)+
                    Self::Added(config) => config.name(),
                }
            }

            /// Makes the controller of a new connection.
            pub fn build(&self, start: &crate::Start) -> AnyWindow {
                match self {
                    $(Self::$name(config) => {
                        AnyWindow::$name(<$window>::from($($module)::+::$name::new(config, start)))
                    })+
                    Self::Added(config) => AnyWindow::Added(config.build(start)),
                }
            }
        }

        /// The controller of one connection, chosen at run time.
        #[derive(Clone, Debug)]
        pub enum AnyWindow {
            $($(#[$about])+ $name($window),)+
            /// A controller of another crate.
            Added(Box<dyn added::AddedWindow>),
        }

        impl crate::Window for AnyWindow {
            forward_window! { [$($name)+ Added],
                mut on_handshake(now: shallop_core::Time, rtt: shallop_core::Span);
                mut on_restart(now: shallop_core::Time, app_limited: bool);
                mut on_ack(ack: &crate::Ack);
                mut on_loss(loss: &crate::Loss);
                mut on_rto(loss: &crate::Loss, first: bool);
                mut on_mark(mark: &crate::Loss);
                mut on_idle(idle: shallop_core::Span);
                mut on_recovery_exit(now: shallop_core::Time);
                mut on_undo(undo: &crate::Undo);
                ref window() -> shallop_core::Bytes;
                ref slow_start_threshold() -> shallop_core::Bytes;
                ref pacing() -> Option<shallop_core::BitsPerSec>;
                ref min_tso_segs() -> u32;
                ref max_tso_segs() -> u32;
                ref owns_recovery() -> bool;
            }
        }
    };
}

controllers! {
    /// `NewReno` (RFC 5681, RFC 6582).
    Reno(crate::reno, crate::Reno),
    /// CUBIC (RFC 9438; Linux `tcp_cubic.c`).
    Cubic(crate::cubic, crate::Cubic),
    /// Vegas, which responds to delay (Linux `tcp_vegas.c`).
    Vegas(crate::vegas, crate::Vegas),
    /// DCTCP, which responds to the fraction of marked bytes (RFC 8257).
    Dctcp(crate::dctcp, crate::Dctcp),
    /// Prague, the DCTCP of L4S (draft-briscoe-iccrg-prague-congestion-control).
    Prague(crate::prague, crate::Prague),
    /// BBR, version 1, which models the path (Linux `tcp_bbr.c`).
    Bbr(crate::bbr, Box<crate::Bbr>),
    /// Copa, which keeps a small standing queue (NSDI 2018).
    Copa(crate::copa, crate::Copa),
    /// Gemini, which responds to marks in data centres and to delay between them (ICNP 2019).
    Gemini(crate::gemini, crate::Gemini),
}
