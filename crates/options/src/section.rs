//! Sections of a scenario, opened for reading. Unknown keys are errors when a section is opened; each value is checked
//! against its key's type when it is read.

use crate::problem::At;
use crate::suggest::{advice, list};
use crate::tree::{Item, Table};
use crate::value::{Value, WrongValue};
use crate::{HostStack, Key, Options, Problem, SectionKeys, TaggedSections, find, section_keys};
use std::{fmt, marker::PhantomData};

/// A key whose value is a section, or a list of sections, that `T` describes. The section is opened with
/// [`Section::nested`].
pub struct Subsection<T> {
    pub key: &'static Key,
    described_by: PhantomData<fn() -> T>,
}

impl<T> Subsection<T> {
    /// Declares that the sections under `key` are described by `T`.
    #[must_use]
    pub const fn new(key: &'static Key) -> Self {
        Self { key, described_by: PhantomData }
    }
}

impl<T: Options<Context: From<HostStack>>> Subsection<T> {
    /// Keys of the sections that `T` describes.
    pub const KEYS: SectionKeys = section_keys::<T>();
}

impl<T> Clone for Subsection<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Subsection<T> {}

impl<T> fmt::Debug for Subsection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key.name)
    }
}

impl<T> From<Subsection<T>> for &'static Key {
    fn from(subsection: Subsection<T>) -> Self {
        subsection.key
    }
}

/// An open section of a scenario, without unknown keys.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// Name of the section in messages: `[topology]`, `[[group]] "all"`.
    pub name: String,
    keys: Vec<&'static Key>,
    table: &'a Table,
    /// Kind of the section if it is one of several kinds; otherwise empty.
    pub kind: &'static str,
    /// Location of the start of the section.
    pub at: &'a At,
}

impl<'a> Section<'a> {
    /// Opens a section that `T` describes.
    ///
    /// # Errors
    /// If the value is not a table, or has an unknown key.
    pub fn open<T: Options>(name: impl Into<String>, item: &'a Item) -> Result<Self, Problem> {
        Self::with_keys(name.into(), T::keys(), item)
    }

    /// An open section in which no key is written, so that all values are defaults.
    #[must_use]
    pub fn empty<T: Options>(name: &str) -> Self {
        static NOTHING: (Table, At) = (Table::new(), At { span: None, via: None });
        let (table, at) = &NOTHING;
        Self { name: name.to_owned(), keys: T::keys(), table, kind: "", at }
    }

    /// Opens a section that may have the given keys.
    ///
    /// # Errors
    /// If the value is not a table, or has an unknown key.
    pub fn with_keys(name: String, keys: Vec<&'static Key>, item: &'a Item) -> Result<Self, Problem> {
        let names = || keys.iter().map(|key| key.name);
        let Some(table) = item.table() else {
            let message = format!("{name} should be a table, found {}", item.found());
            let help = if keys.is_empty() {
                format!("write {name}, and its keys in the lines below it")
            } else {
                format!("keys: {}", list(names()))
            };
            return Err(item.problem(message).with_help(help));
        };
        let stranger = table.iter().find(|(key, _)| find(&keys, key).is_none());
        if let Some((key, entry)) = stranger {
            if let Some(now) = keys.iter().find(|known| known.formerly.contains(&key.as_str())) {
                let problem = entry.key.problem(format!("`{key}` in {name} is called `{}`", now.name));
                return Err(problem.with_label("another name").with_help(now.about.trim()));
            }
            let help = advice(key, names().collect::<Vec<_>>());
            let problem = entry.key.problem(format!("unknown key `{key}` in {name}"));
            return Err(problem.with_label("not a key of this section").with_help(help));
        }
        Ok(Self { name, keys, table, kind: "", at: &item.at })
    }

    /// Opens a section of one of several kinds. The error for a key of another kind names that kind.
    ///
    /// # Errors
    /// As [`Section::open`], and if the kind is missing or unknown.
    pub fn of_kind(name: &str, tagged: &TaggedSections, item: &'a Item) -> Result<Self, Problem> {
        let Some(tag) = item.get(tagged.tag) else {
            if item.table().is_none() {
                return Self::with_keys(name.to_owned(), Vec::new(), item);
            }
            let problem = item.problem(format!("{name} lacks the key `{}`", tagged.tag));
            return Err(problem.with_help(format!("one of {}", list(tagged.names()))));
        };
        let Some(kind) = tag.text().and_then(|kind| tagged.named(kind)) else {
            let help = advice(tag.text().unwrap_or_default(), tagged.names());
            let message = format!("{name} has an unknown `{}`: {}", tagged.tag, tag.found());
            return Err(tag.problem(message).with_help(help));
        };
        let keys = kind.keys();
        let section = Self::with_keys(name.to_owned(), keys.clone(), item).map_err(|problem| {
            let mut written = item.table().into_iter().flatten();
            let Some((key, _)) = written.find(|(key, _)| find(&keys, key).is_none()) else {
                return problem;
            };
            if keys.iter().any(|known| known.formerly.contains(&key.as_str())) {
                return problem;
            }
            let others = (tagged.kinds)().into_iter();
            let others = others.filter(|kind| find(&kind.keys(), key).is_some());
            let others: Vec<&str> = others.map(|kind| kind.name).collect();
            if others.is_empty() {
                return problem;
            }
            let help = format!("`{key}` belongs to {}; {}", list(others), problem.help);
            problem.with_help(help)
        })?;
        Ok(Self { kind: kind.name, ..section })
    }

    /// Reads the section into the struct that describes it.
    ///
    /// # Errors
    /// As [`Options::read`].
    pub fn read<T: Options>(&self, context: T::Context) -> Result<T, Problem> {
        T::read(self, context)
    }

    /// Value of a key; `None` if the key is not written.
    ///
    /// # Errors
    /// If the value has another type or is out of bounds.
    pub fn value<T: Value>(&self, key: &'static Key) -> Result<Option<T>, Problem> {
        let Some(item) = self.item(key) else { return Ok(None) };
        T::read(item, &key.value_type).map(Some).map_err(|wrong| {
            let WrongValue { reason, help, at } = wrong;
            let at = at.as_ref().unwrap_or(&item.at);
            self.about(key, at, reason).with_help(help)
        })
    }

    /// Value of a key without a default.
    ///
    /// # Errors
    /// As [`Section::value`], and if the key is missing.
    pub fn required<T: Value>(&self, key: &'static Key) -> Result<T, Problem> {
        self.value(key)?.ok_or_else(|| self.lacks(key))
    }

    /// Opens the section under a key; `None` if the key is not written.
    ///
    /// # Errors
    /// As [`Section::open`].
    pub fn nested<T: Options>(&self, key: Subsection<T>) -> Result<Option<Self>, Problem> {
        let Some(item) = self.item(key) else { return Ok(None) };
        Section::open::<T>(format!("`{}` in {}", key.key.name, self.name), item).map(Some)
    }

    /// Reads the section under a key; takes all defaults if the key is missing.
    ///
    /// # Errors
    /// As [`Options::read`].
    pub fn nested_or_default<T: Options<Context = ()>>(&self, key: Subsection<T>) -> Result<T, Problem> {
        match self.nested(key)? {
            Some(section) => section.read(()),
            None => Section::empty::<T>(key.key.name).read(()),
        }
    }

    pub fn is_written(&self, key: impl Into<&'static Key>) -> bool {
        self.item(key).is_some()
    }

    /// Unparsed value of a key; `None` if the key is not written.
    pub fn item(&self, key: impl Into<&'static Key>) -> Option<&'a Item> {
        let key = key.into();
        debug_assert!(find(&self.keys, key.name).is_some(), "{} of {}", key.name, self.name);
        Some(&self.table.get(key.name)?.item)
    }

    /// Location of the value of a key, or of the section if the key is missing.
    pub fn place(&self, key: impl Into<&'static Key>) -> &'a At {
        self.item(key).map_or(self.at, |item| &item.at)
    }

    /// Error for a required key that is missing.
    pub fn lacks(&self, key: impl Into<&'static Key>) -> Problem {
        let Key { name, value_type, .. } = key.into();
        let problem = self.at.problem(format!("{} lacks the key `{name}`", self.name));
        let help = format!("`{name}` is {}", value_type.expected());
        problem.with_label("in this section").with_help(help)
    }

    /// Error for a value that is within its bounds but does not go together with other values.
    pub fn reject(&self, key: impl Into<&'static Key>, reason: impl fmt::Display) -> Problem {
        let key = key.into();
        self.about(key, self.place(key), reason.to_string())
    }

    fn about(&self, key: &'static Key, at: &At, reason: String) -> Problem {
        Problem { key: Some((key.name, self.name.clone())), ..at.problem(reason) }
    }
}
