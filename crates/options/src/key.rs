//! Keys of sections: their names, the values they take and what they mean. Reading, the JSON Schema, `--set` and the
//! tables of the docs use these descriptions.

use shallop_core::{BitsPerSec, Bytes, Span};

use crate::{HostStack, Options};

/// A key of a section.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub value_type: ValueType,
    /// What the key means, with units and source, without the default.
    pub about: &'static str,
    /// Whether a section without the key is an error.
    pub required: bool,
    /// Names of the key in earlier versions. A scenario with one of them is told the present name.
    pub formerly: &'static [&'static str],
}

impl Eq for Key {}

/// Two keys with one name and one meaning are equal: constants have no address to compare.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.about) == (other.name, other.about)
    }
}

/// A key with its default as a scenario would write it, or in words. `None`: the key is required, or has no value
/// unless one is written.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDoc {
    pub key: &'static Key,
    pub default: Option<String>,
}

/// The key with this name.
pub fn find(keys: &[&'static Key], name: &str) -> Option<&'static Key> {
    keys.iter().copied().find(|key| key.name == name)
}

/// The values that a key takes. Bounds are inclusive unless the comment says otherwise.
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
    /// A number from the first bound to below the second.
    Below(f64, f64),
    /// A number above the first bound and up to the second.
    Above(f64, f64),
    /// A time between two bounds.
    Time(Span, Span),
    /// Two times, `"0ms..20ms"`, each between two bounds.
    TimeRange(Span, Span),
    /// A rate between two bounds.
    Rate(BitsPerSec, BitsPerSec),
    /// A number of bytes between two bounds.
    Size(Bytes, Bytes),
    /// The size of a buffer or threshold: bytes, packets, or bytes per Gb/s.
    Buffer,
    /// One of these words, in quotes.
    OneOf(&'static [&'static str]),
    /// A list of at least one value of this type.
    List(&'static Self),
    /// A value of any of these types.
    AnyOf(&'static [Self]),
    /// A section.
    Section(SectionKeys),
    /// A list of sections, each known by its name.
    Sections(SectionKeys),
    /// Sections whose names the scenario chooses.
    NamedSections(SectionKeys),
    /// A section whose keys depend on the value of its tag.
    Tagged(&'static TaggedSections),
    /// A list of sections whose keys depend on their tags.
    TaggedList(&'static TaggedSections),
    /// Keys of the scenario, with dots between sections and keys, and their values.
    Overrides,
}

/// The class of Rust types that read a [`ValueType`]. A field whose type belongs to another class does not compile.
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
    /// The type looks at the written value before it decides how to read it.
    Any,
}

/// The keys of a section, as functions of the struct that describes it.
#[derive(Clone, Copy, Debug)]
pub struct SectionKeys {
    /// All keys, in the order of the fields.
    pub all: fn() -> Vec<&'static Key>,
    /// The keys with their defaults for hosts with this stack.
    pub describe: fn(HostStack) -> Vec<KeyDoc>,
}

/// The keys of a section that `T` describes.
pub const fn section_keys<T: Options<Context: From<HostStack>>>() -> SectionKeys {
    fn describe<T: Options<Context: From<HostStack>>>(stack: HostStack) -> Vec<KeyDoc> {
        T::describe(stack.into())
    }
    SectionKeys { all: T::keys, describe: describe::<T> }
}

/// A section of several kinds, one of which the value of its tag names.
#[derive(Debug)]
pub struct TaggedSections {
    /// The name of the key that says the kind.
    pub tag: &'static str,
    pub kinds: fn() -> Vec<SectionKind>,
}

/// One kind of section. The functions are given the name of the kind.
#[derive(Clone, Copy, Debug)]
pub struct SectionKind {
    /// The value of the tag.
    pub name: &'static str,
    /// The kind in a few words, for whoever chooses one.
    pub about: &'static str,
    pub keys: fn(&str) -> Vec<&'static Key>,
    /// The keys with their defaults for hosts with this stack.
    pub describe: fn(&str, HostStack) -> Vec<KeyDoc>,
}

/// The kind of section that `T` describes.
pub const fn section_kind<T: Options<Context: From<HostStack>>>(
    name: &'static str,
    about: &'static str,
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
    /// The keys of sections of this kind.
    pub fn keys(&self) -> Vec<&'static Key> {
        (self.keys)(self.name)
    }
}

impl TaggedSections {
    /// The kind with this name.
    pub fn named(&self, kind: &str) -> Option<SectionKind> {
        (self.kinds)().into_iter().find(|known| known.name == kind)
    }

    /// The names of the kinds.
    pub fn names(&self) -> Vec<&'static str> {
        (self.kinds)().into_iter().map(|kind| kind.name).collect()
    }
}

impl ValueType {
    /// The allowed values in words.
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
            Self::List(inner) => format!("a list, each value {}", inner.expected()),
            Self::AnyOf(types) => {
                types.iter().map(Self::expected).collect::<Vec<_>>().join("; or ")
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

    /// The first result of `pick` among the alternatives of the type.
    pub fn alternative<T>(&self, pick: impl Fn(&Self) -> Option<T> + Copy) -> Option<T> {
        match self {
            Self::AnyOf(types) => types.iter().find_map(|inner| inner.alternative(pick)),
            single => pick(single),
        }
    }

    /// Whether a field of this class of Rust types can read the values.
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
