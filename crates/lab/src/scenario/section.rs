//! A section of a scenario, read key by key. Keys that are not its own are found when it is opened; every value is held
//! against the form its key has in the format.

use shallop_control::options::{self, Host, Options};
use shallop_core::form::{Form, Keys, Kinds, Part, all, find};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};

use super::problem::{Problem, advice, list};
use super::tree::{At, Item, Table, Value};

/// A section whose keys are all known.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    /// What it is called in messages: `[topology]`, `[[group]] "all"`.
    pub name: String,
    keys: Vec<Part>,
    table: &'a Table,
    /// Which of several kinds it is; empty if there is but one.
    pub kind: &'static str,
    /// Where it begins.
    pub at: &'a At,
}

impl<'a> Section<'a> {
    /// Opens a section.
    ///
    /// # Errors
    /// If it is no table, or has a key that these are not.
    pub fn open(name: impl Into<String>, keys: &[Part], item: &'a Item) -> Result<Self, Problem> {
        let name = name.into();
        let Some(table) = item.table() else {
            let help = format!("keys: {}", list(all(keys).map(|key| key.name)));
            let message = format!("{name} should be a table, found {}", item.found());
            return Err(item.problem(message).with_help(help));
        };
        let stranger = table.iter().find(|(key, _)| find(keys, key).is_none());
        if let Some((key, entry)) = stranger {
            let help = advice(key, all(keys).map(|key| key.name));
            let problem = entry.key.problem(format!("unknown key `{key}` in {name}"));
            return Err(problem.with_label("not a key of this section").with_help(help));
        }
        Ok(Self { name, keys: keys.to_vec(), table, kind: "", at: &item.at })
    }

    /// Opens a section of one of several kinds. A key of another kind is told as such.
    ///
    /// # Errors
    /// As [`Section::open`], and if it does not say its kind, or an unknown one.
    pub fn of_kind(name: &str, kinds: &Kinds, item: &'a Item) -> Result<Self, Problem> {
        let Some(tag) = item.get(kinds.tag) else {
            if item.table().is_none() {
                return Self::open(name, &[], item);
            }
            let problem = item.problem(format!("{name} lacks the key `{}`", kinds.tag));
            return Err(problem.with_help(format!("one of {}", list(kinds.names()))));
        };
        let Some((kind, keys)) = tag.text().and_then(|kind| kinds.named(kind)) else {
            let help = advice(tag.text().unwrap_or_default(), kinds.names());
            let message = format!("{name} has an unknown `{}`: {}", kinds.tag, tag.found());
            return Err(tag.problem(message).with_help(help));
        };
        let section = Self::open(name, &keys, item).map_err(|problem| {
            let stranger =
                item.table().into_iter().flatten().find(|(k, _)| find(&keys, k).is_none());
            let Some((key, _)) = stranger else { return problem };
            let has = |(name, keys): (_, Vec<Part>)| find(&keys, key).map(|_| name);
            let others: Vec<&str> = (kinds.all)().into_iter().filter_map(has).collect();
            if others.is_empty() {
                return problem;
            }
            let help = format!("`{key}` belongs to {}; {}", list(others), problem.help);
            problem.with_help(help)
        })?;
        Ok(Self { kind, ..section })
    }

    /// What a key says as it was written.
    pub fn item(&self, key: &str) -> Option<&'a Item> {
        debug_assert!(find(&self.keys, key).is_some(), "{key} is no key of {}", self.name);
        Some(&self.table.get(key)?.item)
    }

    /// The place of a key's value, or of the section where it is left out.
    pub fn place(&self, key: &str) -> &'a At {
        self.item(key).map_or(self.at, |item| &item.at)
    }

    /// What a key says.
    ///
    /// # Errors
    /// If it is not what the key may say.
    pub fn get<T: Read>(&self, key: &str) -> Result<Option<T>, Problem> {
        let (Some(item), Some(known)) = (self.item(key), find(&self.keys, key)) else {
            return Ok(None);
        };
        let read = T::read(item, &known.form);
        read.map(Some).map_err(|wrong| self.wrong(key, item, wrong))
    }

    /// What a key says that may not be left out.
    ///
    /// # Errors
    /// As [`Section::get`], and if it is left out.
    pub fn must<T: Read>(&self, key: &str) -> Result<T, Problem> {
        self.get(key)?.ok_or_else(|| self.lacks(key))
    }

    /// What a key says, or this.
    ///
    /// # Errors
    /// As [`Section::get`].
    pub fn or<T: Read>(&self, key: &str, default: T) -> Result<T, Problem> {
        Ok(self.get(key)?.unwrap_or(default))
    }

    /// What it says of a controller with these keys, on this host.
    ///
    /// # Errors
    /// If one of them is not what it may say.
    pub fn options(&self, host: Host, keys: Keys) -> Result<Options, Problem> {
        all(keys).try_fold(Options::new(host, keys), |options, key| {
            let said = self.get(key.name)?;
            Ok(said.into_iter().fold(options, |options, said| options.with(key.name, said)))
        })
    }

    /// That a key is left out which is needed.
    pub fn lacks(&self, key: &str) -> Problem {
        let expected = find(&self.keys, key).map(|key| key.form.expected()).unwrap_or_default();
        let problem = self.at.problem(format!("{} lacks the key `{key}`", self.name));
        problem.with_label("in this section").with_help(format!("`{key}` is {expected}"))
    }

    /// That a key's value is wrong.
    pub fn wrong(&self, key: &str, item: &Item, wrong: Wrong) -> Problem {
        let at = wrong.at.as_ref().unwrap_or(&item.at);
        let problem = at.problem(format!("`{key}` in {}: {}", self.name, wrong.message));
        problem.with_help(wrong.help)
    }

    /// That a key's value, in range by itself, is wrong here.
    pub fn reject(&self, key: &str, message: impl std::fmt::Display) -> Problem {
        self.place(key).problem(format!("`{key}` in {}: {message}", self.name))
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

/// Something a value can be read as.
pub(super) trait Read: Sized {
    /// Reads it; the form has the bounds.
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong>;
}

fn other(item: &Item, form: &Form) -> Wrong {
    let message = format!("expected {}, found {}", form.expected(), item.found());
    Wrong { message, help: String::new(), at: None }
}

fn outside(item: &Item, form: &Form) -> Wrong {
    let message = format!("{} is out of range", item.found());
    Wrong { message, help: format!("allowed: {}", form.expected()), at: None }
}

impl Read for String {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        match item.text() {
            Some(text) if text.trim().is_empty() => {
                Err(Wrong { message: "the text is empty".into(), help: String::new(), at: None })
            }
            Some(text) => Ok(text.to_owned()),
            None => Err(other(item, form)),
        }
    }
}

impl Read for bool {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        if let Value::Truth(truth) = item.value { Ok(truth) } else { Err(other(item, form)) }
    }
}

impl Read for u64 {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        let Value::Integer(number) = item.value else { return Err(other(item, form)) };
        let bounds = |form: &Form| if let Form::Count(l, m) = form { Some((*l, *m)) } else { None };
        let (least, most) = form.part(&bounds).unwrap_or((0, u64::MAX));
        let number = Self::try_from(number).ok().filter(|n| (least..=most).contains(n));
        number.ok_or_else(|| outside(item, form))
    }
}

impl Read for u32 {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        let number = u64::read(item, form)?;
        Self::try_from(number).map_err(|_| outside(item, form))
    }
}

impl Read for usize {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        let number = u64::read(item, form)?;
        Self::try_from(number).map_err(|_| outside(item, form))
    }
}

impl Read for f64 {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        let number = match item.value {
            Value::Integer(number) => number as Self,
            Value::Float(number) => number,
            _ => return Err(other(item, form)),
        };
        let fits = match *form {
            Form::Number(least, most) => number >= least && number <= most,
            Form::Below(least, most) => number >= least && number < most,
            Form::Above(least, most) => number > least && number <= most,
            _ => true,
        };
        if fits { Ok(number) } else { Err(outside(item, form)) }
    }
}

/// One of the words a key may say.
impl Read for &'static str {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        let words = if let Form::Choice(words) = form { words } else { &[][..] };
        let found = words.iter().find(|word| item.text() == Some(word));
        found.copied().ok_or_else(|| other(item, form))
    }
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

/// The bounds of a quantity, wherever in the form they are.
macro_rules! bounded {
    ($($quantity:ident, $form:ident;)*) => {$(
        impl Read for $quantity {
            fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
                let value: Self = quantity(item, form)?;
                let bounds = |form: &Form| match form {
                    Form::$form(least, most) => Some(*least..=*most),
                    _ => None,
                };
                match form.part(&bounds) {
                    Some(bounds) if !bounds.contains(&value) => Err(outside(item, form)),
                    _ => Ok(value),
                }
            }
        }
    )*};
}
bounded! {
    Span, Time;
    BitsPerSec, Rate;
    Bytes, Size;
}

impl Read for BufferSize {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        quantity(item, form)
    }
}

/// An option of a controller, by its form.
impl Read for options::Value {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        Ok(match form {
            Form::Truth => Self::Truth(bool::read(item, form)?),
            Form::Count(..) => Self::Count(u64::read(item, form)?),
            Form::Number(..) | Form::Below(..) | Form::Above(..) => {
                Self::Number(f64::read(item, form)?)
            }
            Form::Time(..) => Self::Time(Span::read(item, form)?),
            Form::Rate(..) => Self::Rate(BitsPerSec::read(item, form)?),
            Form::Size(..) => Self::Size(Bytes::read(item, form)?),
            Form::Buffer => Self::Buffer(BufferSize::read(item, form)?),
            Form::Choice(_) => Self::Word(<&str>::read(item, form)?),
            _ => return Err(other(item, form)),
        })
    }
}

/// Two times, the first not after the second.
impl Read for (Span, Span) {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        let Some((low, high)) = item.text().and_then(|text| text.split_once("..")) else {
            return Err(other(item, form));
        };
        let bounds = |form: &Form| match form {
            Form::Between(least, most) => Some(Form::Time(*least, *most)),
            _ => None,
        };
        let bounds = form.part(&bounds).unwrap_or(Form::Time(Span::ZERO, Span::MAX));
        let end = |text: &str| {
            let item = Item { value: Value::Text(text.trim().to_owned()), at: item.at.clone() };
            Span::read(&item, &bounds)
        };
        let (low, high) = (end(low)?, end(high)?);
        if low > high {
            let message = format!("{} ends before it begins", item.found());
            return Err(Wrong { message, help: "write it from..to".into(), at: None });
        }
        Ok((low, high))
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        // The only form with a list in it is a list, or a choice of forms that has one at its end.
        let (Form::List(inner) | Form::Either([.., Form::List(inner)])) = form else {
            return Err(other(item, form));
        };
        let Value::List(items) = &item.value else { return Err(other(item, form)) };
        if items.is_empty() {
            return Err(Wrong {
                message: "the list is empty".into(),
                help: String::new(),
                at: None,
            });
        }
        let one = |item: &Item| {
            T::read(item, inner)
                .map_err(|wrong| Wrong { at: wrong.at.or_else(|| Some(item.at.clone())), ..wrong })
        };
        items.iter().map(one).collect()
    }
}

/// One time, or two to draw between.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times {
    /// Always this.
    One(Span),
    /// Drawn uniformly.
    Drawn(Span, Span),
}

impl Read for Times {
    fn read(item: &Item, form: &Form) -> Result<Self, Wrong> {
        if item.text().is_some_and(|text| text.contains("..")) {
            return <(Span, Span)>::read(item, form).map(|(low, high)| Self::Drawn(low, high));
        }
        Span::read(item, form).map(Self::One)
    }
}

/// Opens the sections of a row, each with what it is called in messages.
///
/// # Errors
/// If it is no row, or an empty one.
pub(super) fn rows<'a>(of: &Section<'a>, key: &str) -> Result<Vec<(String, &'a Item)>, Problem> {
    let Some(item) = of.item(key) else { return Ok(Vec::new()) };
    let Value::List(items) = &item.value else {
        let message = format!("`{key}` should be sections in double brackets, [[{key}]]");
        return Err(item.problem(message));
    };
    let inside = if of.name == "[topology]" { "topology." } else { "" };
    let named = |(index, item): (usize, &'a Item)| {
        let name = item.get("name").or_else(|| item.get("transport")).and_then(Item::text);
        let name = name.map_or_else(|| format!("number {index}"), |name| format!("\"{name}\""));
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
    section: &Section<'_>,
) -> Result<(), Problem> {
    if taken.into_iter().any(|other| other == name) {
        let problem = section.place("name").problem(format!("the name \"{name}\" is taken"));
        let help = match section.item("name") {
            Some(_) => "names are unique, since other keys refer to them",
            None => "give it a `name` of its own",
        };
        return Err(problem.with_help(help));
    }
    Ok(())
}
