//! A section of a scenario, read key by key into a struct of options. Keys that are not its own are found when it is
//! opened; every value is held against the form of its key.

use shallop_core::form::{Form, Key, Tagged, find};
use shallop_core::options::{Nested, Options, Refused, Source, Value as OptionValue, Written};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};

use super::problem::{Problem, advice, list};
use super::tree::{At, Item, Table, Value};

/// A key by itself, or one whose section another struct describes.
pub(super) trait Handle: Copy {
    /// The key.
    fn key(self) -> &'static Key;
}

impl Handle for &'static Key {
    fn key(self) -> &'static Key {
        self
    }
}

impl<T> Handle for Nested<T> {
    fn key(self) -> &'static Key {
        self.key
    }
}

/// A section whose keys are all known.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    /// What it is called in messages: `[topology]`, `[[group]] "all"`.
    pub name: String,
    keys: Vec<&'static Key>,
    table: &'a Table,
    /// Which of several kinds it is; empty if there is but one.
    pub kind: &'static str,
    /// Where it begins.
    pub at: &'a At,
}

impl<'a> Section<'a> {
    /// Opens a section that this struct describes.
    ///
    /// # Errors
    /// If it is no table, or has a key that is none of its own.
    pub fn open<T: Options>(name: impl Into<String>, item: &'a Item) -> Result<Self, Problem> {
        Self::with(name.into(), T::keys(), item)
    }

    /// A section with nothing in it.
    pub fn empty<T: Options>(name: &str) -> Self {
        static NOTHING: (Table, At) = (Table::new(), At { span: None, via: None });
        let (table, at) = &NOTHING;
        Self { name: name.to_owned(), keys: T::keys(), table, kind: "", at }
    }

    fn with(name: String, keys: Vec<&'static Key>, item: &'a Item) -> Result<Self, Problem> {
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
                let problem =
                    entry.key.problem(format!("`{key}` in {name} is now called `{}`", now.name));
                return Err(problem.with_label("an earlier name").with_help(now.about.trim()));
            }
            let help = advice(key, names().collect::<Vec<_>>());
            let problem = entry.key.problem(format!("unknown key `{key}` in {name}"));
            return Err(problem.with_label("not a key of this section").with_help(help));
        }
        Ok(Self { name, keys, table, kind: "", at: &item.at })
    }

    /// Opens a section of one of several kinds. A key of another kind is told as such.
    ///
    /// # Errors
    /// As [`Section::open`], and if it does not say its kind, or an unknown one.
    pub fn of_kind(name: &str, tagged: &Tagged, item: &'a Item) -> Result<Self, Problem> {
        let Some(tag) = item.get(tagged.tag) else {
            if item.table().is_none() {
                return Self::with(name.to_owned(), Vec::new(), item);
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
        let section = Self::with(name.to_owned(), keys.clone(), item).map_err(|problem| {
            let mut written = item.table().into_iter().flatten();
            let Some((key, _)) = written.find(|(key, _)| find(&keys, key).is_none()) else {
                return problem;
            };
            if keys.iter().any(|known| known.formerly.contains(&key.as_str())) {
                return problem;
            }
            let has = |kind: shallop_core::form::Kind| {
                find(&kind.keys(), key).is_some().then_some(kind.name)
            };
            let others: Vec<&str> = (tagged.kinds)().into_iter().filter_map(has).collect();
            if others.is_empty() {
                return problem;
            }
            let help = format!("`{key}` belongs to {}; {}", list(others), problem.help);
            problem.with_help(help)
        })?;
        Ok(Self { kind: kind.name, ..section })
    }

    /// Reads it into the struct that describes it.
    ///
    /// # Errors
    /// The first key whose value is wrong, or that is required and missing.
    pub fn read<T: Options>(&self, context: T::Context) -> Result<T, Problem> {
        T::read(self, context)
    }

    /// Opens the section under a key, if it is written.
    ///
    /// # Errors
    /// As [`Section::open`].
    pub fn nested<T: Options>(&self, key: Nested<T>) -> Result<Option<Self>, Problem> {
        let Some(item) = self.item(key) else { return Ok(None) };
        Section::open::<T>(format!("`{}` in {}", key.key.name, self.name), item).map(Some)
    }

    /// What a key says as it was written.
    pub fn item(&self, key: impl Handle) -> Option<&'a Item> {
        let key = key.key();
        debug_assert!(find(&self.keys, key.name).is_some(), "{} of {}", key.name, self.name);
        Some(&self.table.get(key.name)?.item)
    }

    /// The place of a key's value, or of the section where it is left out.
    pub fn place(&self, key: impl Handle) -> &'a At {
        self.item(key).map_or(self.at, |item| &item.at)
    }

    /// That a key is left out which is required.
    pub fn lacks(&self, key: impl Handle) -> Problem {
        let Key { name, form, .. } = key.key();
        let problem = self.at.problem(format!("{} lacks the key `{name}`", self.name));
        problem.with_label("in this section").with_help(format!("`{name}` is {}", form.expected()))
    }

    /// That a key's value is wrong.
    fn wrong(&self, key: &Key, item: &Item, wrong: Wrong) -> Problem {
        let at = wrong.at.as_ref().unwrap_or(&item.at);
        let problem = at.problem(format!("`{}` in {}: {}", key.name, self.name, wrong.message));
        problem.with_help(wrong.help)
    }

    /// That a key's value, in range by itself, is wrong here.
    pub fn reject(&self, key: impl Handle, message: impl std::fmt::Display) -> Problem {
        let name = key.key().name;
        self.place(key).problem(format!("`{name}` in {}: {message}", self.name))
    }
}

impl Source for Section<'_> {
    type Error = Problem;

    fn value<T: OptionValue>(&self, key: &'static Key) -> Result<Option<T>, Problem> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let read = T::read(item, &key.form);
        read.map(Some).map_err(|wrong| self.wrong(key, item, wrong))
    }

    fn required<T: OptionValue>(&self, key: &'static Key) -> Result<T, Problem> {
        self.value(key)?.ok_or_else(|| self.lacks(key))
    }

    fn is_written(&self, key: &'static Key) -> bool {
        self.item(key).is_some()
    }

    fn section<T: Options<Context = ()>>(&self, nested: Nested<T>) -> Result<T, Problem> {
        match self.nested(nested)? {
            Some(section) => section.read(()),
            None => Section::empty::<T>(nested.key.name).read(()),
        }
    }

    fn refuse(&self, refused: Refused) -> Problem {
        let Refused { key, message, help } = refused;
        self.reject(key, message).with_help(help)
    }
}

/// What is wrong with a value.
#[derive(Debug)]
pub(super) struct Wrong {
    message: String,
    help: String,
    /// If not the value itself: the part of it that is wrong.
    at: Option<At>,
}

fn other(item: &Item, form: &Form) -> Wrong {
    let message = format!("expected {}, found {}", form.expected(), item.found());
    Wrong { message, help: String::new(), at: None }
}

/// Reads a text as a quantity.
fn quantity<T: std::str::FromStr<Err = shallop_core::QuantityError>>(
    item: &Item,
    form: &Form,
) -> Result<T, Wrong> {
    let Some(text) = item.text() else { return Err(other(item, form)) };
    text.parse().map_err(|error: shallop_core::QuantityError| Wrong {
        message: error.to_string(),
        help: format!("allowed: {}", form.expected()),
        at: None,
    })
}

/// Reads a quantity that a form bounds, wherever in the form the bounds are.
macro_rules! bounded {
    ($item:expr, $form:expr, $variant:ident) => {{
        let value = quantity($item, $form)?;
        let bounds = |form: &Form| match form {
            Form::$variant(least, most) => Some(*least..=*most),
            _ => None,
        };
        match $form.part(&bounds) {
            Some(bounds) if !bounds.contains(&value) => Err($item.outside($form)),
            _ => Ok(value),
        }
    }};
}

impl Written for Item {
    type Wrong = Wrong;

    fn boolean(&self, form: &Form) -> Result<bool, Wrong> {
        if let Value::Truth(truth) = self.value { Ok(truth) } else { Err(other(self, form)) }
    }

    fn integer(&self, form: &Form) -> Result<u64, Wrong> {
        let Value::Integer(number) = self.value else { return Err(other(self, form)) };
        let bounds =
            |form: &Form| if let Form::Integer(l, m) = form { Some((*l, *m)) } else { None };
        let (least, most) = form.part(&bounds).unwrap_or((0, u64::MAX));
        let number = u64::try_from(number).ok().filter(|n| (least..=most).contains(n));
        number.ok_or_else(|| self.outside(form))
    }

    fn number(&self, form: &Form) -> Result<f64, Wrong> {
        let number = match self.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) => number,
            _ => return Err(other(self, form)),
        };
        let fits = match *form {
            Form::Number(least, most) => number >= least && number <= most,
            Form::Below(least, most) => number >= least && number < most,
            Form::Above(least, most) => number > least && number <= most,
            _ => true,
        };
        if fits { Ok(number) } else { Err(self.outside(form)) }
    }

    fn time(&self, form: &Form) -> Result<Span, Wrong> {
        bounded!(self, form, Time)
    }

    fn times(&self, form: &Form) -> Result<(Span, Span), Wrong> {
        let Some((low, high)) = Item::text(self).and_then(|text| text.split_once("..")) else {
            return Err(other(self, form));
        };
        if high.contains("..") {
            let message = format!("{} has more than two times", self.found());
            return Err(self.refuse(message, "write it from..to".into()));
        }
        let bounds = |form: &Form| match form {
            Form::TimeRange(least, most) => Some(Form::Time(*least, *most)),
            _ => None,
        };
        let bounds = form.part(&bounds).unwrap_or(Form::Time(Span::ZERO, Span::MAX));
        let end = |text: &str| {
            let item = Self { value: Value::Text(text.trim().to_owned()), at: self.at.clone() };
            item.time(&bounds)
        };
        if low.trim().is_empty() || high.trim().is_empty() {
            let message = format!("{} lacks one of its two times", self.found());
            return Err(self.refuse(message, "write it from..to".into()));
        }
        let (low, high) = (end(low)?, end(high)?);
        if low > high {
            let message = format!("{} ends before it begins", self.found());
            return Err(self.refuse(message, "write it from..to".into()));
        }
        Ok((low, high))
    }

    fn rate(&self, form: &Form) -> Result<BitsPerSec, Wrong> {
        bounded!(self, form, Rate)
    }

    fn size(&self, form: &Form) -> Result<Bytes, Wrong> {
        bounded!(self, form, Size)
    }

    fn buffer(&self, form: &Form) -> Result<BufferSize, Wrong> {
        quantity(self, form)
    }

    fn word(&self, form: &Form) -> Result<&'static str, Wrong> {
        let words = |form: &Form| if let Form::OneOf(words) = form { Some(*words) } else { None };
        let mut words = form.part(&words).unwrap_or_default().iter();
        let found = words.find(|word| Item::text(self) == Some(word));
        found.copied().ok_or_else(|| other(self, form))
    }

    fn text(&self, form: &Form) -> Result<String, Wrong> {
        match Item::text(self) {
            Some(text) if text.trim().is_empty() => Err(self
                .refuse("the text is empty".into(), "write some text between the quotes".into())),
            Some(text) => Ok(text.to_owned()),
            None => Err(other(self, form)),
        }
    }

    fn list<T: OptionValue>(&self, form: &Form) -> Result<Vec<T>, Wrong> {
        // The only form with a list in it is a list, or a choice of forms that has one at its end.
        let (Form::List(inner) | Form::AnyOf([.., Form::List(inner)])) = form else {
            return Err(other(self, form));
        };
        let Value::List(items) = &self.value else { return Err(other(self, form)) };
        if items.is_empty() {
            return Err(self.refuse(
                "the list is empty".into(),
                "write one value or more, or leave the key out".into(),
            ));
        }
        let one = |item: &Self| {
            T::read(item, inner)
                .map_err(|wrong| Wrong { at: wrong.at.or_else(|| Some(item.at.clone())), ..wrong })
        };
        items.iter().map(one).collect()
    }

    fn as_text(&self) -> Option<&str> {
        Item::text(self)
    }

    fn is_list(&self) -> bool {
        matches!(self.value, Value::List(_))
    }

    fn outside(&self, form: &Form) -> Wrong {
        let message = format!("{} is out of range", self.found());
        Wrong { message, help: format!("allowed: {}", form.expected()), at: None }
    }

    fn refuse(&self, message: String, help: String) -> Wrong {
        Wrong { message, help, at: None }
    }
}

/// Opens the sections of a row, each with what it is called in messages.
///
/// # Errors
/// If it is no row, or an empty one.
pub(super) fn rows<'a>(
    of: &Section<'a>,
    key: impl Handle,
) -> Result<Vec<(String, &'a Item)>, Problem> {
    let Some(item) = of.item(key) else { return Ok(Vec::new()) };
    let key = key.key().name;
    let Value::List(items) = &item.value else {
        let message = format!("`{key}` should be sections in double brackets, [[{key}]]");
        return Err(item.problem(message));
    };
    if items.is_empty() {
        let problem = item.problem(format!("`{key}` in {}: the list is empty", of.name));
        return Err(problem.with_help(format!("write one [[{key}]] or more")));
    }
    let inside = if of.name == "[topology]" { "topology." } else { "" };
    let named = |(index, item): (usize, &'a Item)| {
        let name = super::schemes::name(item).filter(|name| !name.trim().is_empty());
        let name =
            name.map_or_else(|| format!("number {}", index + 1), |name| format!("\"{name}\""));
        (format!("[[{inside}{key}]] {name}"), item)
    };
    Ok(items.iter().enumerate().map(named).collect())
}

/// That two of a row have one name.
///
/// # Errors
/// If this name is taken.
pub(super) fn unique<'a>(
    taken: impl IntoIterator<Item = &'a str>,
    name: &str,
    (section, key): (&Section<'_>, &'static Key),
) -> Result<(), Problem> {
    if taken.into_iter().any(|other| other == name) {
        let problem = section.place(key).problem(format!("the name \"{name}\" is taken"));
        let help = match section.item(key) {
            Some(_) => "names are unique, since other keys refer to them",
            None => "give it a `name` of its own",
        };
        return Err(problem.with_help(help));
    }
    Ok(())
}
