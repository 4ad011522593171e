//! Keys of sections: their names, types of values and meanings. Parsing, the JSON Schema, `--set` and the tables of
//! keys in the docs use these descriptions.

use crate::{HostStack, Options};
use shallop_core::{BitsPerSec, Bytes, Span};

#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub value_type: ValueType,
    /// Meaning of the key, with units and source, without the default.
    pub about: &'static str,
    /// Whether a section without the key is refused.
    pub required: bool,
    /// Names of the key in earlier versions or other tools. If a scenario uses one, the error names the key.
    pub formerly: &'static [&'static str],
}

impl Eq for Key {}

/// Compares name and meaning, since constants have no address to compare.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.about) == (other.name, other.about)
    }
}

/// A key with its default, as a scenario would write it or in words. `None`: the key is required, or has no value
/// unless one is written.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDoc {
    pub key: &'static Key,
    pub default: Option<String>,
}

pub fn find(keys: &[&'static Key], name: &str) -> Option<&'static Key> {
    keys.iter().copied().find(|key| key.name == name)
}

/// Type and range of the values that a key takes. Bounds are inclusive unless a variant says otherwise.
#[derive(Clone, Copy, Debug)]
pub enum ValueType {
    /// A text in quotes.
    Text,
    /// `true` or `false`.
    Boolean,
    /// A whole number between two bounds.
    Integer(u64, u64),
    /// A number between two bounds.
    Number(f64, f64),
    /// A number in the half-open interval [first, second).
    Below(f64, f64),
    /// A number in the half-open interval (first, second].
    Above(f64, f64),
    /// A time between two bounds.
    Time(Span, Span),
    /// A range of times, `"0ms..20ms"`, both between the two bounds.
    TimeRange(Span, Span),
    /// A rate between two bounds.
    Rate(BitsPerSec, BitsPerSec),
    /// A number of bytes between two bounds.
    Size(Bytes, Bytes),
    /// The size of a buffer or threshold: bytes, packets, or bytes per Gb/s.
    Buffer,
    /// One of the listed words, in quotes.
    OneOf(&'static [&'static str]),
    /// A list of at least one value of the given type.
    List(&'static Self),
    /// A value of any of the listed types.
    AnyOf(&'static [Self]),
    /// A table with the given keys.
    Section(SectionKeys),
    /// An array of tables, each identified by its key `name`.
    Sections(SectionKeys),
    /// A table whose keys are names that the scenario chooses, and whose values are sections.
    NamedSections(SectionKeys),
    /// A section with a key (the tag) whose value decides which other keys it takes.
    Tagged(&'static TaggedSections),
    /// An array of sections, in each of which the value of one key (the tag) decides which other keys it takes.
    TaggedList(&'static TaggedSections),
    /// A table of keys of the scenario, as dotted paths such as `"group.all.size"`, and their new values.
    Overrides,
}

/// Kind of value that a Rust type can hold. A field does not compile if the kind of its type does not fit the
/// [`ValueType`] of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RustType {
    Boolean,
    Integer,
    Number,
    Time,
    TimeRange,
    Rate,
    Size,
    Buffer,
    Word,
    Text,
    List,
    /// A Rust type that inspects the written value before it decides how to read it.
    Any,
}

/// Access to the keys of a section, through functions of the struct that describes it.
#[derive(Clone, Copy, Debug)]
pub struct SectionKeys {
    pub all: fn() -> Vec<&'static Key>,
    /// Returns the keys with their defaults for hosts with the given stack.
    pub describe: fn(HostStack) -> Vec<KeyDoc>,
}

/// The keys of a section that the struct `T` describes.
pub const fn section_keys<T: Options<Context: From<HostStack>>>() -> SectionKeys {
    fn describe<T: Options<Context: From<HostStack>>>(stack: HostStack) -> Vec<KeyDoc> {
        T::describe(stack.into())
    }
    SectionKeys { all: T::keys, describe: describe::<T> }
}

/// A section of several kinds. The value of one key, the tag, chooses the kind, such as `kind` in `[topology]`.
#[derive(Debug)]
pub struct TaggedSections {
    /// Name of the key whose value chooses the kind.
    pub tag: &'static str,
    pub kinds: fn() -> Vec<SectionKind>,
}

/// One kind of a section, such as `dumbbell` of `[topology]`. The functions take the name of the kind.
#[derive(Clone, Copy, Debug)]
pub struct SectionKind {
    /// Value of the tag that chooses the kind.
    pub name: &'static str,
    /// Description of the kind in a few words, for menus.
    pub about: &'static str,
    pub keys: fn(&str) -> Vec<&'static Key>,
    /// Returns the keys with their defaults for hosts with the given stack.
    pub describe: fn(&str, HostStack) -> Vec<KeyDoc>,
}

/// The kind of section that the struct `T` describes.
pub const fn section_kind<T: Options<Context: From<HostStack>>>(
    name: &'static str, about: &'static str,
) -> SectionKind {
    fn keys<T: Options>(_: &str) -> Vec<&'static Key> {
        T::keys()
    }
    fn describe<T: Options<Context: From<HostStack>>>(_: &str, stack: HostStack) -> Vec<KeyDoc> {
        T::describe(stack.into())
    }
    SectionKind { name, about, keys: keys::<T>, describe: describe::<T> }
}

impl SectionKind {
    pub fn keys(&self) -> Vec<&'static Key> {
        (self.keys)(self.name)
    }
}

impl TaggedSections {
    pub fn named(&self, kind: &str) -> Option<SectionKind> {
        (self.kinds)().into_iter().find(|known| known.name == kind)
    }

    pub fn names(&self) -> Vec<&'static str> {
        (self.kinds)().into_iter().map(|kind| kind.name).collect()
    }
}

impl ValueType {
    /// Text that says which values are allowed, for errors and docs.
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
            Self::Buffer => "a size with its unit such as \"200KB\", \"8pkt\" or \"20KB/Gbps\"".into(),
            Self::OneOf(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", words.join(", "))
            }
            Self::List(Self::Text) => "a list of texts in quotes".into(),
            Self::List(inner) => format!("a list, each value {}", inner.expected()),
            Self::AnyOf(types) => types.iter().map(Self::expected).collect::<Vec<_>>().join("; or "),
            Self::Section(keys) => {
                let names: Vec<_> = (keys.all)().iter().map(|key| key.name).collect();
                format!("a table of {}", names.join(", "))
            }
            Self::Sections(_) | Self::TaggedList(_) => "sections in double brackets".into(),
            Self::NamedSections(_) | Self::Tagged(_) => "a section".into(),
            Self::Overrides => "keys of the scenario with their values".into(),
        }
    }

    /// First result of `pick` among the alternatives of an `AnyOf`, or the result for the type itself.
    pub fn alternative<T>(&self, pick: impl Fn(&Self) -> Option<T> + Copy) -> Option<T> {
        match self {
            Self::AnyOf(types) => types.iter().find_map(|inner| inner.alternative(pick)),
            single => pick(single),
        }
    }

    /// Whether a Rust type of this class can read values of this type.
    #[must_use]
    pub(crate) const fn is_read_as(&self, rust: RustType) -> bool {
        matches!(
            (self, rust),
            (_, RustType::Any)
                | (Self::Text, RustType::Text)
                | (Self::Boolean, RustType::Boolean)
                | (Self::Integer(..), RustType::Integer)
                | (Self::Number(..) | Self::Below(..) | Self::Above(..), RustType::Number)
                | (Self::Time(..), RustType::Time)
                | (Self::TimeRange(..), RustType::TimeRange)
                | (Self::Rate(..), RustType::Rate)
                | (Self::Size(..), RustType::Size)
                | (Self::Buffer, RustType::Buffer)
                | (Self::OneOf(_), RustType::Word)
                | (Self::List(_), RustType::List)
        )
    }
}
