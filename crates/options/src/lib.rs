//! Keys of scenarios. A section of a scenario is read into a struct of options: each field is a key with its doc
//! comment, its bounds and its default. The derive macro makes of the struct the list of its keys, the code that reads
//! it from a [`Section`], and the description that the schema, the docs and `check --explain` are written from.
//!
//! ```
//! use shallop_options::{HostStack, Options};
//!
//! /// Parameters of a controller.
//! #[derive(Clone, Copy, Debug, PartialEq, Options)]
//! #[options(stack: HostStack, defaults)]
//! pub struct Config {
//!     /// The fraction of the window given up on congestion.
//!     #[key(Above(0.0, 0.99), default = match stack { HostStack::Ns2 => 0.5, _ => 0.3 })]
//!     pub decrease: f64,
//!     /// The capacity of the network, in bit/s.
//!     #[key(Integer(1, 1_000_000), shown = "the rate of the sender's link")]
//!     pub capacity: Option<u64>,
//! }
//! assert_eq!(Config::defaults(HostStack::LinuxIdeal).decrease, 0.3);
//! assert_eq!(Config::KEY.decrease.name, "decrease");
//! ```
//!
//! Arguments of `#[options(...)]` at the struct, all optional:
//!
//! - `NAME: TYPE`: the value that defaults depend on, [`Options::Context`];
//! - `preset`: this value is another one of the struct, and its fields are the defaults;
//! - `defaults`: a `const fn defaults` makes the struct without any key written, as does `Default` where defaults
//!   depend on no value;
//! - `check`: the method `check(&self, &Section) -> Result<(), Problem>` is called when all fields are read.
//!
//! Attributes of a field, at most one each:
//!
//! - `#[key(TYPE, default = VALUE)]`, or nothing for a key without arguments. TYPE is a [`ValueType`]; types with a
//!   [`Value::VALUE_TYPE`] need none. The default may use the fields above. Without one an `Option` is `None`, and a
//!   key of another type is required. `shown = TEXT` stands in the docs in place of the default, `or = TEXT` where
//!   the default is `None`. `was = "old"` names the key as an earlier version or another tool does; the error for a
//!   scenario with the old name gives the present one. `required` is for a key of type `Option<Unread>`, which code
//!   reads by itself and which must not be missing.
//! - `#[part(CONTEXT)]`: another struct of options whose keys are in the same section.
//! - `#[fixed(VALUE)]`: no key.
//! - `#[section]`, `#[sections]`: a key with a section, or a list of sections, that another struct describes. The field
//!   has the type [`Subsection`]; who needs the section opens it ([`Section::nested`]). `required` may be an argument.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

extern crate self as shallop_options;

mod host_stack;
mod key;
mod problem;
mod section;
pub mod suggest;
mod tree;
mod value;

pub use host_stack::HostStack;
pub use key::{
    Key, KeyDoc, RustType, SectionKeys, SectionKind, TaggedSections, ValueType, find, section_keys, section_kind,
};
pub use problem::{At, Problem};
pub use section::{Section, Subsection};
pub use shallop_options_derive::Options;
pub use tree::{Entry, Item, RawValue, Table};
pub use value::{EachWay, StringEnum, Unread, Value, WrongValue, value_type};

/// A struct whose fields are keys of a section. The derive macro `Options` implements this trait.
pub trait Options: Sized {
    /// Type of the value on which defaults depend: `()`, the stack of the hosts, or a preset.
    type Context: Copy;

    /// Keys of the section, in the order of the fields.
    fn keys() -> Vec<&'static Key>;

    /// Reads the value of each field from the section, or takes the field's default.
    ///
    /// # Errors
    /// The first value of a wrong type or out of bounds; a required key that is missing; values that do not go
    /// together.
    fn read(section: &Section<'_>, context: Self::Context) -> Result<Self, Problem>;

    /// Keys of the section with their defaults.
    fn describe(context: Self::Context) -> Vec<KeyDoc>;

    /// Keys with their values in this struct, as a scenario would write them, or the words of the docs for a default;
    /// `None` for a key without a value.
    fn values(&self) -> Vec<(&'static Key, Option<String>)>;
}

/// Implements [`Options`] for a tuple of structs whose keys are in one section.
macro_rules! tuple {
    ($($name:ident)+) => {
        impl<$($name: Options<Context: From<HostStack>>),+> Options for ($($name,)+) {
            type Context = HostStack;

            fn keys() -> Vec<&'static Key> {
                [$($name::keys()),+].concat()
            }
            fn read(section: &Section<'_>, stack: HostStack) -> Result<Self, Problem> {
                Ok(($($name::read(section, stack.into())?,)+))
            }
            fn describe(stack: HostStack) -> Vec<KeyDoc> {
                [$($name::describe(stack.into())),+].concat()
            }
            #[expect(non_snake_case, reason = "a type parameter names the value of its type")]
            fn values(&self) -> Vec<(&'static Key, Option<String>)> {
                let ($($name,)+) = self;
                [$($name.values()),+].concat()
            }
        }
    };
}
tuple! { A B C }
tuple! { A B C D }
tuple! { A B C D E }
tuple! { A B C D E F }
