//! What a key of a scenario may say. Sections are read, schemas written and overrides checked by the same list of keys,
//! so that the three cannot disagree; what has options declares them beside itself.

use crate::units::{BitsPerSec, Bytes, Span};

/// A key of a section.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it may say.
    pub form: Form,
    /// What it means, with its default.
    pub about: &'static str,
    /// A scenario is incomplete without it.
    pub needed: bool,
}

/// A key that may be left out.
#[must_use]
pub const fn key(name: &'static str, form: Form, about: &'static str) -> Key {
    Key { name, form, about, needed: false }
}

/// A key that may not.
#[must_use]
pub const fn need(name: &'static str, form: Form, about: &'static str) -> Key {
    Key { name, form, about, needed: true }
}

/// Keys that sections have in common.
pub type Part = &'static [Key];

/// The keys of a section.
pub type Keys = &'static [Part];

/// All keys of a section.
pub fn all(keys: &[Part]) -> impl Iterator<Item = &'static Key> + Clone {
    keys.iter().flat_map(|part| part.iter())
}

/// The key of this name.
#[must_use]
pub fn find(keys: &[Part], name: &str) -> Option<&'static Key> {
    all(keys).find(|key| key.name == name)
}

/// What a key may say.
#[derive(Debug)]
pub enum Form {
    /// Any text.
    Text,
    /// True or false.
    Truth,
    /// A whole number, from and to.
    Count(u64, u64),
    /// A number, from and to.
    Number(f64, f64),
    /// A number from the first to below the second.
    Below(f64, f64),
    /// A number above the first and up to the second.
    Above(f64, f64),
    /// A time, from and to.
    Time(Span, Span),
    /// Two times, "0ms..20ms", each from and to.
    Between(Span, Span),
    /// A rate, from and to.
    Rate(BitsPerSec, BitsPerSec),
    /// A number of bytes, from and to.
    Size(Bytes, Bytes),
    /// The size of a buffer or threshold.
    Buffer,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of these, not empty.
    List(&'static Form),
    /// Any of these.
    Either(&'static [Form]),
    /// A section.
    Table(Keys),
    /// Sections in a row, known by their names.
    Tables(Keys),
    /// Sections under names of their own.
    Named(Keys),
    /// A section whose keys depend on what one of them says.
    Kinds(&'static Kinds),
    /// Such sections in a row.
    KindsTables(&'static Kinds),
    /// Any keys of the scenario with dots between sections and keys.
    Overrides,
}

/// Sections of several kinds.
#[derive(Debug)]
pub struct Kinds {
    /// The key that says the kind.
    pub tag: &'static str,
    /// The kinds, each with its name and keys.
    pub all: fn() -> Vec<(&'static str, Vec<Part>)>,
}

impl Kinds {
    /// The name and the keys of this kind.
    #[must_use]
    pub fn named(&self, kind: &str) -> Option<(&'static str, Vec<Part>)> {
        (self.all)().into_iter().find(|(name, _)| *name == kind)
    }

    /// The names of the kinds.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        (self.all)().into_iter().map(|(name, _)| name).collect()
    }
}

impl Form {
    /// What is expected, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Text => "a text in quotes".into(),
            Self::Truth => "true or false".into(),
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Number(f64::MIN, f64::MAX) => "a number".into(),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Below(least, most) => format!("a number from {least} to below {most}"),
            Self::Above(least, most) => format!("a number above {least}, up to {most}"),
            Self::Time(least, most) => {
                format!("a time with its unit such as \"40ms\", from {least} to {most}")
            }
            Self::Between(..) => "two times such as \"0ms..20ms\"".into(),
            Self::Rate(least, most) => {
                format!("a rate with its unit such as \"10Gbps\", from {least} to {most}")
            }
            Self::Size(least, most) => {
                format!("a size with its unit such as \"200KB\", from {least} to {most}")
            }
            Self::Buffer => {
                "a size with its unit such as \"200KB\", \"8pkt\" or \"20KB/Gbps\"".into()
            }
            Self::Choice(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", words.join(", "))
            }
            Self::List(form) => format!("a list of {}", form.expected()),
            Self::Either(forms) => {
                forms.iter().map(Self::expected).collect::<Vec<_>>().join("; or ")
            }
            Self::Table(keys) => {
                let names: Vec<_> = all(keys).map(|key| key.name).collect();
                format!("a table of {}", names.join(", "))
            }
            Self::Tables(_) | Self::KindsTables(_) => "sections in double brackets".into(),
            Self::Named(_) | Self::Kinds(_) => "a section".into(),
            Self::Overrides => "keys of the scenario with their values".into(),
        }
    }

    /// The part of this form that is of one kind.
    pub fn part<T>(&self, pick: &impl Fn(&Self) -> Option<T>) -> Option<T> {
        match self {
            Self::Either(forms) => forms.iter().find_map(|form| form.part(pick)),
            form => pick(form),
        }
    }
}
