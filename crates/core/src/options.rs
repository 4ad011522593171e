//! Options: what a scenario says of a controller, a switch or a group of flows, as one struct each. The macro
//! [`options!`](crate::options!) declares such a struct with the doc comment, the bounds and the default of each field,
//! and makes of it the keys ([`Key`]), the reading and the description with defaults. Who reads scenarios is a
//! [`Source`]; nothing here knows how a scenario is written.

use std::marker::PhantomData;

use crate::form::{Described, Form, Key, Keys, Kind, Reads};
use crate::quantity::BufferSize;
use crate::units::{BitsPerSec, Bytes, Span};

/// The TCP stack of a host, which many defaults depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStack {
    /// ns-2.35, with the kernel modules of its time.
    Ns2,
    /// ns-3.44.
    Ns3,
    /// Linux 6 as distributions ship it: with segmentation offload, and with the queue discipline `fq`, which paces
    /// every flow.
    Linux,
    /// The same with `pfifo_fast`, where only controllers with a rate of their own pace.
    LinuxPfifo,
    /// The TCP of Linux 6 in an ideal host, which sends packet by packet as the window allows.
    LinuxIdeal,
    /// A real Linux kernel in virtual time.
    Kernel,
}

impl HostStack {
    /// Those with defaults of their own: the hosts are simulated.
    pub const SIMULATED: [Self; 5] =
        [Self::Ns2, Self::Ns3, Self::Linux, Self::LinuxPfifo, Self::LinuxIdeal];

    /// Whether the host is simulated as Linux is shipped, with segmentation offload and the habits of its kernel.
    #[must_use]
    pub const fn is_as_shipped(self) -> bool {
        matches!(self, Self::Linux | Self::LinuxPfifo)
    }

    /// Whether the host paces every flow, at a rate that follows from the congestion window.
    #[must_use]
    pub const fn paces(self) -> bool {
        matches!(self, Self::Linux | Self::Kernel)
    }
}

crate::words! {
    HostStack {
        Ns2 = "ns2",
        Ns3 = "ns3",
        Linux = "linux",
        LinuxPfifo = "linux-pfifo",
        LinuxIdeal = "linux-ideal",
        Kernel = "kernel",
    }
}

impl From<HostStack> for () {
    fn from(_: HostStack) -> Self {}
}

/// A struct whose fields are keys of a section. Implemented by [`options!`](crate::options!).
pub trait Options: Sized {
    /// What the defaults depend on: nothing, or the stack of the hosts.
    type Context: Copy;

    /// The keys, in the order of the fields.
    fn keys() -> Vec<&'static Key>;

    /// Reads every field, or takes its default.
    ///
    /// # Errors
    /// The first value that is not what its key takes; a key that is required and missing; values that do not go
    /// together.
    fn read<S: Source>(source: &S, context: Self::Context) -> Result<Self, S::Error>;

    /// The keys with their defaults.
    fn describe(context: Self::Context) -> Vec<Described>;

    /// The keys with the values they have here, as a scenario would write them or in the words of the default; `None`
    /// for a key without a value.
    fn values(&self) -> Vec<(&'static Key, Option<String>)>;
}

/// The keys of a section that such a struct describes, with the defaults of a stack.
#[must_use]
pub const fn keys<T: Options<Context: From<HostStack>>>() -> Keys {
    fn describe<T: Options<Context: From<HostStack>>>(stack: HostStack) -> Vec<Described> {
        T::describe(stack.into())
    }
    Keys { all: T::keys, describe: describe::<T> }
}

/// A kind of section that such a struct describes, with its name and a few words on it.
#[must_use]
pub const fn kind<T: Options<Context: From<HostStack>>>(
    name: &'static str,
    about: &'static str,
) -> Kind {
    fn keys<T: Options>(_: &str) -> Vec<&'static Key> {
        T::keys()
    }
    fn describe<T: Options<Context: From<HostStack>>>(_: &str, stack: HostStack) -> Vec<Described> {
        T::describe(stack.into())
    }
    Kind { name, about, keys: keys::<T>, describe: describe::<T> }
}

/// Structs of options that a section has all together.
macro_rules! together {
    ($($name:ident)+) => {
        impl<$($name: Options<Context: From<HostStack>>),+> Options for ($($name,)+) {
            type Context = HostStack;

            fn keys() -> Vec<&'static Key> {
                [$($name::keys()),+].concat()
            }
            fn read<S: Source>(source: &S, stack: HostStack) -> Result<Self, S::Error> {
                Ok(($($name::read(source, stack.into())?,)+))
            }
            fn describe(stack: HostStack) -> Vec<Described> {
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
together! { A B }
together! { A B C }
together! { A B C D }
together! { A B C D E }
together! { A B C D E F }
together! { A B C D E F G }
together! { A B C D E F G H }
together! { A B C D E F G H I }

/// A section of a scenario that options are read from.
pub trait Source {
    /// What is wrong with it, and where.
    type Error;

    /// The value of a key, if it is written.
    ///
    /// # Errors
    /// If it is not what the key takes.
    fn value<T: Value>(&self, key: &'static Key) -> Result<Option<T>, Self::Error>;

    /// The value of a key that has no default.
    ///
    /// # Errors
    /// As [`Source::value`], and if it is not written.
    fn required<T: Value>(&self, key: &'static Key) -> Result<T, Self::Error>;

    /// Whether a key is written.
    fn is_written(&self, key: &'static Key) -> bool;

    /// The options in the section under a key; their defaults, if it is not written.
    ///
    /// # Errors
    /// As [`Options::read`].
    fn section<T: Options<Context = ()>>(&self, nested: Nested<T>) -> Result<T, Self::Error>;

    /// That values, each within its bounds, do not go together.
    fn refuse(&self, refused: Refused) -> Self::Error;
}

/// Why values, each within its bounds, do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The key that is wrong.
    pub key: &'static Key,
    /// What is wrong with it.
    pub message: String,
    /// What is allowed.
    pub help: String,
}

impl Refused {
    /// That what a key says is wrong here, and what would be right.
    #[must_use]
    pub fn new(key: &'static Key, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { key, message: message.into(), help: help.into() }
    }
}

/// A value as it is written in a scenario.
pub trait Written {
    /// Why it is not what its key takes.
    type Wrong;

    /// True or false.
    ///
    /// # Errors
    /// If it is neither.
    fn boolean(&self, form: &Form) -> Result<bool, Self::Wrong>;
    /// A whole number.
    ///
    /// # Errors
    /// If it is none, or outside the bounds of the form.
    fn integer(&self, form: &Form) -> Result<u64, Self::Wrong>;
    /// A number.
    ///
    /// # Errors
    /// If it is none, or outside the bounds of the form.
    fn number(&self, form: &Form) -> Result<f64, Self::Wrong>;
    /// A time.
    ///
    /// # Errors
    /// If it is none, or outside the bounds of the form.
    fn time(&self, form: &Form) -> Result<Span, Self::Wrong>;
    /// Two times, the first not after the second.
    ///
    /// # Errors
    /// If it is not two such times.
    fn times(&self, form: &Form) -> Result<(Span, Span), Self::Wrong>;
    /// A rate.
    ///
    /// # Errors
    /// If it is none, or outside the bounds of the form.
    fn rate(&self, form: &Form) -> Result<BitsPerSec, Self::Wrong>;
    /// A number of bytes.
    ///
    /// # Errors
    /// If it is none, or outside the bounds of the form.
    fn size(&self, form: &Form) -> Result<Bytes, Self::Wrong>;
    /// The size of a buffer or threshold.
    ///
    /// # Errors
    /// If it is none.
    fn buffer(&self, form: &Form) -> Result<BufferSize, Self::Wrong>;
    /// One of the words of the form.
    ///
    /// # Errors
    /// If it is none of them.
    fn word(&self, form: &Form) -> Result<&'static str, Self::Wrong>;
    /// A text, not empty.
    ///
    /// # Errors
    /// If it is none.
    fn text(&self, form: &Form) -> Result<String, Self::Wrong>;
    /// A list, not empty.
    ///
    /// # Errors
    /// If it is none, or one of its items is not what the form says.
    fn list<T: Value>(&self, form: &Form) -> Result<Vec<T>, Self::Wrong>;

    /// The text, if it is one: for types that look before they decide.
    fn as_text(&self) -> Option<&str>;
    /// Whether it is a list.
    fn is_list(&self) -> bool;
    /// That it is of the right kind and outside the bounds of the form.
    fn outside(&self, form: &Form) -> Self::Wrong;
    /// That it is wrong for another reason: what is wrong, and what is allowed.
    fn refuse(&self, message: String, help: String) -> Self::Wrong;
}

/// A type that a key's value is read as.
pub trait Value: Sized {
    /// The forms that it can be read by.
    const READS: Reads;

    /// Reads it.
    ///
    /// # Errors
    /// If what is written is not what the form says.
    fn read<W: Written>(written: &W, form: &Form) -> Result<Self, W::Wrong>;

    /// The value as a scenario would write it; `None` for one that stands for the absence of a value.
    fn show(&self) -> Option<String>;
}

/// A type that says by itself what it may be.
pub trait Natural: Value {
    /// What a key of this type takes, unless it says something narrower.
    const FORM: Form;
}

/// A type with a word for each value.
pub trait Words: Copy + PartialEq + 'static {
    /// The values with their words.
    const ALL: &'static [(Self, &'static str)];

    /// The value of this word.
    #[must_use]
    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
    }

    /// The word of this value.
    #[must_use]
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(value, _)| *value == self).map_or("", |(_, word)| word)
    }
}

/// Words of an enum: `words! { Mode { On = "on", Off = "off" } }`. A key of this type takes one of them.
#[macro_export]
macro_rules! words {
    ($type:ty { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $crate::options::Words for $type {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $word)),+];
        }
        impl $crate::options::Natural for $type {
            const FORM: $crate::form::Form = $crate::form::Form::OneOf(&[$($word),+]);
        }
        impl $crate::options::Value for $type {
            const READS: $crate::form::Reads = $crate::form::Reads::Word;
            fn read<W: $crate::options::Written>(
                written: &W,
                form: &$crate::form::Form,
            ) -> Result<Self, W::Wrong> {
                match written.word(form)? {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(written.outside(form)),
                }
            }
            fn show(&self) -> Option<String> {
                let word = match self { $(Self::$variant => $word),+ };
                Some(format!("\"{word}\""))
            }
        }
    };
}

/// A key whose section is described by another struct, and read when that is due.
#[derive(Debug)]
pub struct Nested<T> {
    /// The key.
    pub key: &'static Key,
    /// The struct.
    pub of: PhantomData<fn() -> T>,
}

impl<T> Clone for Nested<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Nested<T> {}

macro_rules! simple {
    ($($type:ty, $reads:ident, $read:ident, $show:expr;)*) => {$(
        impl Value for $type {
            const READS: Reads = Reads::$reads;
            fn read<W: Written>(written: &W, form: &Form) -> Result<Self, W::Wrong> {
                written.$read(form)
            }
            fn show(&self) -> Option<String> {
                let show: fn(&Self) -> String = $show;
                Some(show(self))
            }
        }
    )*};
}
simple! {
    bool, Boolean, boolean, ToString::to_string;
    u64, Integer, integer, ToString::to_string;
    f64, Number, number, |number| {
        let small = *number != 0.0 && number.abs() < 1e-4;
        if small { format!("{number:e}") } else { number.to_string() }
    };
    Span, Time, time, |span| if span.is_zero() { "\"0s\"".into() } else { format!("\"{span}\"") };
    (Span, Span), TimeRange, times, |(from, to)| format!("\"{from}..{to}\"");
    BitsPerSec, Rate, rate, |rate| format!("\"{rate}\"");
    Bytes, Size, size, |size| format!("\"{size}\"");
    BufferSize, Buffer, buffer, |size| format!("\"{size}\"");
    String, Text, text, |text| format!("\"{text}\"");
}

macro_rules! narrowed {
    ($($type:ty)*) => {$(
        impl Value for $type {
            const READS: Reads = Reads::Integer;
            fn read<W: Written>(written: &W, form: &Form) -> Result<Self, W::Wrong> {
                written.integer(form)?.try_into().map_err(|_| written.outside(form))
            }
            fn show(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}
narrowed! { u8 u16 u32 usize }

macro_rules! natural {
    ($($type:ty, $form:expr;)*) => {$(
        impl Natural for $type {
            const FORM: Form = $form;
        }
    )*};
}
natural! {
    bool, Form::Boolean;
    BufferSize, Form::Buffer;
    String, Form::Text;
    Vec<String>, Form::List(&Form::Text);
}

/// A value that may be left out.
impl<T: Value> Value for Option<T> {
    const READS: Reads = T::READS;
    fn read<W: Written>(written: &W, form: &Form) -> Result<Self, W::Wrong> {
        T::read(written, form).map(Some)
    }
    fn show(&self) -> Option<String> {
        self.as_ref().and_then(Value::show)
    }
}

impl<T: Natural> Natural for Option<T> {
    const FORM: Form = T::FORM;
}

impl<T: Value> Value for Vec<T> {
    const READS: Reads = Reads::List;
    fn read<W: Written>(written: &W, form: &Form) -> Result<Self, W::Wrong> {
        written.list(form)
    }
    fn show(&self) -> Option<String> {
        let items: Vec<String> = self.iter().filter_map(Value::show).collect();
        (!items.is_empty()).then(|| format!("[{}]", items.join(", ")))
    }
}
