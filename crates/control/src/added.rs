//! Controllers of other crates. A program with controllers of its own adds them before it reads a scenario
//! (docs/add-a-controller.md). Scenarios then name them in `transport`, as they name `cubic`. A change of such a
//! controller compiles its own crate again, and not this one.

use crate::options::{ControllerName, Parameters};
use crate::window::{Start, Window};
use shallop_core::Bytes;
use shallop_options::{HostStack, Key, KeyDoc, Options, Problem, Section};
use std::fmt::Debug;

/// Parameters of a controller in another crate.
pub trait Controller: Parameters + Clone + Debug + Send + Sync + 'static {
    /// State of the controller, for one connection.
    type Window: Window + Clone + Debug + Send + 'static;

    /// Makes the controller of a new connection.
    fn build(&self, start: &Start) -> Self::Window;
}

/// A controller of another crate, with its parameters as keys of scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Added {
    /// Names of the controller in scenarios.
    pub kinds: &'static [ControllerName],
    pub(crate) is_l4s: bool,
    pub(crate) read: fn(&Section<'_>, HostStack) -> Result<Config, Problem>,
    pub(crate) keys: fn() -> Vec<&'static Key>,
    pub(crate) describe: fn(HostStack) -> Vec<KeyDoc>,
}

impl Added {
    /// The controller with parameters of type `C`.
    pub const fn of<C: Controller>() -> Self {
        Self {
            kinds: C::KINDS,
            is_l4s: C::IS_L4S,
            read: |section, stack| {
                let config = C::read(section, stack.into())?;
                Ok(Config(Box::leak(Box::new(config))))
            },
            keys: C::keys,
            describe: |stack| C::describe(stack.into()),
        }
    }
}

/// Controllers of other crates, in the order in which they were added.
#[expect(clippy::disallowed_types, reason = "the list is set before the first run and then never changes")]
static ADDED: std::sync::OnceLock<&'static [Added]> = std::sync::OnceLock::new();

/// Adds controllers to those that scenarios can name. To be called once, before a scenario is read.
///
/// # Errors
/// A name is taken or not in lower case, or controllers were added before.
pub fn add(controllers: &'static [Added]) -> Result<(), String> {
    let mut names: Vec<&str> = crate::any::Config::kinds().map(|kind| kind.name).collect();
    for kind in controllers.iter().flat_map(|added| added.kinds) {
        let is_word = kind.name.starts_with(|first: char| first.is_ascii_lowercase())
            && kind.name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-'));
        if !is_word {
            let rule = "a name has lower-case letters, digits and hyphens, a letter first";
            return Err(format!("controller {:?}: {rule}", kind.name));
        }
        if names.contains(&kind.name) {
            return Err(format!("controller \"{}\": this name is taken", kind.name));
        }
        names.push(kind.name);
    }
    ADDED.set(controllers).map_err(|_| "controllers were added before".to_owned())
}

/// All controllers that were added.
pub(crate) fn all() -> &'static [Added] {
    ADDED.get().copied().unwrap_or_default()
}

/// The controller that was added under the name; `None` if there is none.
pub(crate) fn find(name: &str) -> Option<&'static Added> {
    all().iter().find(|added| added.kinds.iter().any(|kind| kind.name == name))
}

/// Parameters of a controller that was added. They live as long as the process: one small allocation for each scheme
/// that a scenario has.
#[derive(Clone, Copy, Debug)]
pub struct Config(&'static dyn AnyController);

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.values() == other.values()
    }
}

impl Config {
    /// Keys of the controller, with their values in this configuration.
    pub fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        self.0.values()
    }

    /// See [`Parameters::needs_each_mark`].
    pub fn needs_each_mark(&self) -> bool {
        self.0.needs_each_mark()
    }

    /// See [`Parameters::initial_threshold`].
    pub fn initial_threshold(&self) -> Option<Bytes> {
        self.0.initial_threshold()
    }

    /// First name of the controller in scenarios.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Makes the controller of a new connection.
    pub fn build(&self, start: &Start) -> Box<dyn AddedWindow> {
        self.0.build_any(start)
    }
}

/// [`Controller`] without its type.
trait AnyController: Debug + Send + Sync {
    fn values(&self) -> Vec<(&'static Key, Option<String>)>;
    fn needs_each_mark(&self) -> bool;
    fn initial_threshold(&self) -> Option<Bytes>;
    fn name(&self) -> &'static str;
    fn build_any(&self, start: &Start) -> Box<dyn AddedWindow>;
}

impl<C: Controller> AnyController for C {
    fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        Options::values(self)
    }
    fn needs_each_mark(&self) -> bool {
        Parameters::needs_each_mark(self)
    }
    fn initial_threshold(&self) -> Option<Bytes> {
        Parameters::initial_threshold(self)
    }
    fn name(&self) -> &'static str {
        C::KINDS.first().map_or("", |kind| kind.name)
    }
    fn build_any(&self, start: &Start) -> Box<dyn AddedWindow> {
        Box::new(self.build(start))
    }
}

/// A controller of one connection without its type.
pub trait AddedWindow: Window + Debug + Send {
    /// A copy in its present state.
    fn clone_box(&self) -> Box<dyn AddedWindow>;
}

impl<W: Window + Clone + Debug + Send + 'static> AddedWindow for W {
    fn clone_box(&self) -> Box<dyn AddedWindow> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn AddedWindow> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}
