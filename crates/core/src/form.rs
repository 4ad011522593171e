//! What a key of a scenario may say: its name, the values it takes, what it means. Reading, the JSON Schema, overrides
//! of single keys and the tables of the docs all go by these descriptions, which [`options!`](crate::options!) makes
//! from the fields of a struct.

use crate::options::HostStack;
use crate::units::{BitsPerSec, Bytes, Span};

/// A key of a section.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The values it takes.
    pub form: Form,
    /// What it means, with units and source, without its default.
    pub about: &'static str,
    /// A section without it is incomplete.
    pub required: bool,
    /// Names it had in earlier versions. A scenario that says one of them is told the new one.
    pub formerly: &'static [&'static str],
}

/// A key with its default as a scenario would write it, or in words; `None` for a key that is required or that has no
/// value unless one is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The key.
    pub key: &'static Key,
    /// Its default.
    pub default: Option<String>,
}

impl Eq for Key {}

/// Keys are the same if they have one name and one meaning. Constants have no address of their own to compare.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.about) == (other.name, other.about)
    }
}

/// The keys of a section.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// All of them, in the order of the struct they belong to.
    pub all: fn() -> Vec<&'static Key>,
    /// The same with the defaults that hold for hosts with this stack.
    pub describe: fn(HostStack) -> Vec<Described>,
}

/// The key of this name.
#[must_use]
pub fn find(keys: &[&'static Key], name: &str) -> Option<&'static Key> {
    keys.iter().copied().find(|key| key.name == name)
}

/// The values a key takes.
#[derive(Debug)]
pub enum Form {
    /// Any text.
    Text,
    /// True or false.
    Boolean,
    /// A whole number, from and to.
    Integer(u64, u64),
    /// A number, from and to.
    Number(f64, f64),
    /// A number from the first to below the second.
    Below(f64, f64),
    /// A number above the first and up to the second.
    Above(f64, f64),
    /// A time, from and to.
    Time(Span, Span),
    /// Two times, "0ms..20ms", each from and to.
    TimeRange(Span, Span),
    /// A rate, from and to.
    Rate(BitsPerSec, BitsPerSec),
    /// A number of bytes, from and to.
    Size(Bytes, Bytes),
    /// The size of a buffer or threshold.
    Buffer,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A list of these, not empty.
    List(&'static Form),
    /// Any of these.
    AnyOf(&'static [Form]),
    /// A section.
    Section(Keys),
    /// A list of sections, known by their names.
    Sections(Keys),
    /// Sections under names that the scenario chooses.
    NamedSections(Keys),
    /// A section whose keys depend on what one of them says.
    Tagged(&'static Tagged),
    /// A list of such sections.
    TaggedList(&'static Tagged),
    /// Any keys of the scenario, with dots between sections and keys.
    Overrides,
}

/// What a [`Form`] is read as. A field of another type does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// True or false.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A time.
    Time,
    /// Two times.
    TimeRange,
    /// A rate.
    Rate,
    /// A number of bytes.
    Size,
    /// The size of a buffer or threshold.
    Buffer,
    /// One of some words.
    Word,
    /// Any text.
    Text,
    /// A list.
    List,
    /// A type that looks at what is written before it decides.
    Any,
}

/// Sections of several kinds.
#[derive(Debug)]
pub struct Tagged {
    /// The key that says the kind.
    pub tag: &'static str,
    /// The kinds.
    pub kinds: fn() -> Vec<Kind>,
}

/// One kind of section.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// What the tag says.
    pub name: &'static str,
    /// What it is, in a few words, for whoever chooses among the kinds.
    pub about: &'static str,
    /// The keys of the kind of this name.
    pub keys: fn(&str) -> Vec<&'static Key>,
    /// The same with their defaults.
    pub describe: fn(&str, HostStack) -> Vec<Described>,
}

impl Kind {
    /// The keys.
    #[must_use]
    pub fn keys(&self) -> Vec<&'static Key> {
        (self.keys)(self.name)
    }
}

impl Tagged {
    /// The kind of this name.
    #[must_use]
    pub fn named(&self, kind: &str) -> Option<Kind> {
        (self.kinds)().into_iter().find(|known| known.name == kind)
    }

    /// The names of the kinds.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        (self.kinds)().into_iter().map(|kind| kind.name).collect()
    }
}

impl Form {
    /// What is expected, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Text => "a text in quotes".into(),
            Self::Boolean => "true or false".into(),
            Self::Integer(least, most) => format!("a whole number from {least} to {most}"),
            Self::Number(f64::MIN, f64::MAX) => "a number".into(),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Below(least, most) => format!("a number from {least} to below {most}"),
            Self::Above(least, most) => format!("a number above {least}, up to {most}"),
            Self::Time(least, most) => {
                format!("a time with its unit such as \"40ms\", from {least} to {most}")
            }
            Self::TimeRange(..) => "two times such as \"0ms..20ms\"".into(),
            Self::Rate(least, most) => {
                format!("a rate with its unit such as \"10Gbps\", from {least} to {most}")
            }
            Self::Size(least, most) => {
                format!("a size with its unit such as \"200KB\", from {least} to {most}")
            }
            Self::Buffer => {
                "a size with its unit such as \"200KB\", \"8pkt\" or \"20KB/Gbps\"".into()
            }
            Self::OneOf(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", words.join(", "))
            }
            Self::List(Self::Text) => "a list of texts in quotes".into(),
            Self::List(form) => format!("a list, each value {}", form.expected()),
            Self::AnyOf(forms) => {
                forms.iter().map(Self::expected).collect::<Vec<_>>().join("; or ")
            }
            Self::Section(keys) => {
                let names: Vec<_> = (keys.all)().iter().map(|key| key.name).collect();
                format!("a table of {}", names.join(", "))
            }
            Self::Sections(_) | Self::TaggedList(_) => "sections in double brackets".into(),
            Self::NamedSections(_) | Self::Tagged(_) => "a section".into(),
            Self::Overrides => "keys of the scenario with their values".into(),
        }
    }

    /// The part of this form that is of one kind.
    pub fn part<T>(&self, pick: &impl Fn(&Self) -> Option<T>) -> Option<T> {
        match self {
            Self::AnyOf(forms) => forms.iter().find_map(|form| form.part(pick)),
            form => pick(form),
        }
    }

    /// Whether a field that reads such values can have this form.
    #[must_use]
    pub const fn fits(&self, reads: Reads) -> bool {
        matches!(
            (self, reads),
            (_, Reads::Any)
                | (Self::Text, Reads::Text)
                | (Self::Boolean, Reads::Boolean)
                | (Self::Integer(..), Reads::Integer)
                | (Self::Number(..) | Self::Below(..) | Self::Above(..), Reads::Number)
                | (Self::Time(..), Reads::Time)
                | (Self::TimeRange(..), Reads::TimeRange)
                | (Self::Rate(..), Reads::Rate)
                | (Self::Size(..), Reads::Size)
                | (Self::Buffer, Reads::Buffer)
                | (Self::OneOf(_), Reads::Word)
                | (Self::List(_), Reads::List)
        )
    }
}
