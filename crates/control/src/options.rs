//! Options of controllers. Each controller declares beside itself what scenarios call it and what they may say of it.
//! Who reads scenarios holds what they say against these keys and hands it over, checked; the controller takes its own
//! setup from that. No text is read here. Units are those of the values.

use shallop_core::form::{Keys, find};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};

/// The longest time an option may say.
pub const LONGEST: Span = Span::from_secs(3_600);

/// Whose ways a controller has where the scenario says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// ns-2.35, with the kernel modules of its time.
    Ns2,
    /// ns-3.44.
    Ns3,
    /// Linux 6.
    Linux,
}

impl Host {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Ns2, Self::Ns3, Self::Linux];
}

/// What a controller asks of congestion marks where the scenario says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// None are used.
    Off,
    /// As in RFC 3168: one answer to a window of data.
    Classic,
    /// Echoed one by one, as in RFC 8257.
    Exact,
}

/// A name of a controller in scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name.
    pub name: &'static str,
    /// What may be said of it besides what holds for every TCP.
    pub keys: Keys,
    /// The marks it asks for.
    pub marking: Marking,
}

/// Makes a setup from options that were said of it.
pub type Read<C> = fn(&Options) -> Result<C, Refused>;

/// What an option says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// True or false.
    Truth(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A time.
    Time(Span),
    /// A rate.
    Rate(BitsPerSec),
    /// A number of bytes.
    Size(Bytes),
    /// The size of a buffer or threshold.
    Buffer(BufferSize),
    /// One of the words its form has.
    Word(&'static str),
}

macro_rules! taken_from {
    ($($name:ident($value:ty);)*) => {$(
        impl TryFrom<Value> for $value {
            type Error = Value;
            fn try_from(value: Value) -> Result<Self, Value> {
                if let Value::$name(inner) = value { Ok(inner) } else { Err(value) }
            }
        }
    )*};
}
taken_from! {
    Truth(bool);
    Count(u64);
    Number(f64);
    Time(Span);
    Rate(BitsPerSec);
    Size(Bytes);
    Buffer(BufferSize);
    Word(&'static str);
}

impl TryFrom<Value> for u32 {
    type Error = Value;
    fn try_from(value: Value) -> Result<Self, Value> {
        u64::try_from(value)?.try_into().map_err(|_| value)
    }
}

/// What a scenario says of a controller. Every value is of the form that its key has.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose ways hold where nothing is said.
    pub host: Host,
    keys: Keys,
    said: Vec<(&'static str, Value)>,
}

impl Options {
    /// A scenario that says nothing of a controller with these keys.
    #[must_use]
    pub const fn new(host: Host, keys: Keys) -> Self {
        Self { host, keys, said: Vec::new() }
    }

    /// Says this of a key, by a value of its form.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: Value) -> Self {
        debug_assert!(find(self.keys, key).is_some(), "{key} is none of its keys");
        self.said.push((key, value));
        self
    }

    /// What is said of a key, if anything.
    #[must_use]
    pub fn get<T: TryFrom<Value>>(&self, key: &str) -> Option<T> {
        debug_assert!(find(self.keys, key).is_some(), "{key} is none of its keys");
        let (_, value) = *self.said.iter().find(|(name, _)| *name == key)?;
        let read = T::try_from(value).ok();
        debug_assert!(read.is_some(), "{key} is read as something else than its form says");
        read
    }

    /// What is said of a key, or this.
    pub fn or<T: TryFrom<Value>>(&self, key: &str, default: T) -> T {
        self.get(key).unwrap_or(default)
    }

    /// Whether anything is said of a key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.said.iter().any(|(name, _)| *name == key)
    }
}

/// Why options, each in range by itself, are no setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The key that is wrong.
    pub key: &'static str,
    /// What is wrong with it.
    pub message: String,
    /// What is allowed.
    pub help: String,
}

impl Refused {
    /// That what a key says is wrong here, and what would be right.
    #[must_use]
    pub fn new(key: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { key, message: message.into(), help: help.into() }
    }
}
