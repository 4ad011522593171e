//! Rust types as values of keys: how a value is read from a scenario, and how a scenario would write it.

use crate::problem::At;
use crate::tree::{Item, RawValue};
use crate::{RustType, ValueType};
use shallop_core::{BitsPerSec, BufferSize, Bytes, QuantityError, Span};
use std::str::FromStr;

/// A type that a field of options may have.
pub trait Value: Sized {
    /// Class of the type, which decides by which [`ValueType`]s it can be read.
    const RUST_TYPE: RustType;
    /// Type of values of a key whose field has this type, unless the key declares another one.
    const VALUE_TYPE: Option<ValueType> = None;

    /// Reads a value of a key that takes the values `allowed`.
    ///
    /// # Errors
    /// If the value has another type or is out of bounds.
    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue>;

    /// The value as a scenario would write it; `None` for a value that means that the key is not written.
    fn show(&self) -> Option<String>;
}

/// Type of values of a key whose field is a `T`: the declared one, or the default one of `T`.
///
/// # Panics
/// When the program is compiled: if there is neither, or if a `T` cannot be read from values of the declared type.
pub const fn value_type<T: Value>(declared: Option<ValueType>) -> ValueType {
    match (declared, T::VALUE_TYPE) {
        (Some(declared), _) => {
            assert!(declared.is_read_as(T::RUST_TYPE), "another Rust type reads these values");
            declared
        }
        (None, Some(own)) => own,
        (None, None) => panic!("the key needs a type of values: #[key(Integer(1, 10))]"),
    }
}

/// Reason why a value is refused, before its key and location are added.
#[derive(Debug)]
pub struct WrongValue {
    pub reason: String,
    /// Advice with the allowed values; empty if the reason names them.
    pub help: String,
    /// Location of the wrong item, if the value is a list.
    pub at: Option<At>,
}

impl WrongValue {
    #[must_use]
    pub fn new(reason: impl Into<String>, help: impl Into<String>) -> Self {
        Self { reason: reason.into(), help: help.into(), at: None }
    }

    /// Error for a value of another type.
    fn other_type(item: &Item, allowed: &ValueType) -> Self {
        Self::new(format!("expected {}, found {}", allowed.expected(), item.found()), "")
    }

    /// Error for a value of the right type that is out of bounds.
    #[must_use]
    pub fn out_of_range(item: &Item, allowed: &ValueType) -> Self {
        let help = format!("allowed: {}", allowed.expected());
        Self::new(format!("{} is out of range", item.found()), help)
    }
}

/// A field whose value other code reads from the section: the derive macro only adds its key to the known ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread;

impl Value for Unread {
    const RUST_TYPE: RustType = RustType::Any;

    fn read(_: &Item, _: &ValueType) -> Result<Self, WrongValue> {
        Ok(Self)
    }

    fn show(&self) -> Option<String> {
        None
    }
}

/// An enum each variant of which a scenario writes as a word. [`string_enum!`](crate::string_enum) implements the
/// trait.
pub trait StringEnum: Copy + PartialEq + 'static {
    const ALL: &'static [(Self, &'static str)];

    /// The variant that a scenario writes as `word`.
    #[must_use]
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
    }

    /// The word by which a scenario writes this variant.
    #[must_use]
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(value, _)| *value == self).map_or("", |(_, word)| word)
    }
}

/// Implements [`StringEnum`]: `string_enum! { Mode { On = "on", Off = "off" } }`. A key whose field is a `Mode` takes
/// `"on"` or `"off"`.
#[macro_export]
macro_rules! string_enum {
    ($type:ty { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $crate::StringEnum for $type {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $word)),+];
        }
        impl $crate::Value for $type {
            const RUST_TYPE: $crate::RustType = $crate::RustType::Word;
            const VALUE_TYPE: Option<$crate::ValueType> =
                Some($crate::ValueType::OneOf(&[$($word),+]));

            fn read(
                item: &$crate::Item,
                allowed: &$crate::ValueType,
            ) -> Result<Self, $crate::WrongValue> {
                let word = <&'static str as $crate::Value>::read(item, allowed)?;
                let value = <Self as $crate::StringEnum>::from_word(word);
                value.ok_or_else(|| $crate::WrongValue::out_of_range(item, allowed))
            }

            fn show(&self) -> Option<String> {
                Some(format!("\"{}\"", $crate::StringEnum::word(*self)))
            }
        }
    };
}

/// Implements [`Value`] for each listed type: the value types it reads, the function that reads it, and how it is
/// shown.
macro_rules! values {
    ($($type:ty: $rust:ident $(= $own:expr)?, $read:expr, $show:expr;)*) => {$(
        impl Value for $type {
            const RUST_TYPE: RustType = RustType::$rust;
            $(const VALUE_TYPE: Option<ValueType> = Some($own);)?

            fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
                let read: fn(&Item, &ValueType) -> Result<Self, WrongValue> = $read;
                read(item, allowed)
            }

            fn show(&self) -> Option<String> {
                let show: fn(&Self) -> String = $show;
                Some(show(self))
            }
        }
    )*};
}

values! {
    bool: Boolean = ValueType::Boolean, boolean, ToString::to_string;
    u64: Integer, integer, ToString::to_string;
    u32: Integer, narrow, ToString::to_string;
    u16: Integer, narrow, ToString::to_string;
    u8: Integer, narrow, ToString::to_string;
    usize: Integer, narrow, ToString::to_string;
    f64: Number, number, |number| {
        let small = *number != 0.0 && number.abs() < 1e-4;
        if small { format!("{number:e}") } else { number.to_string() }
    };
    Span: Time, time, |span| if span.is_zero() { "\"0s\"".into() } else { format!("\"{span}\"") };
    (Span, Span): TimeRange, times, |(from, to)| format!("\"{from}..{to}\"");
    BitsPerSec: Rate, rate, |rate| format!("\"{rate}\"");
    Bytes: Size, size, |size| format!("\"{size}\"");
    BufferSize: Buffer = ValueType::Buffer, quantity, |size| format!("\"{size}\"");
    String: Text = ValueType::Text, text, |text| format!("\"{text}\"");
    &'static str: Word, word, |word| format!("\"{word}\"");
}

/// Lets a key be absent: `None` stands for a key that is not written.
impl<T: Value> Value for Option<T> {
    const RUST_TYPE: RustType = T::RUST_TYPE;
    const VALUE_TYPE: Option<ValueType> = T::VALUE_TYPE;

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        T::read(item, allowed).map(Some)
    }

    fn show(&self) -> Option<String> {
        self.as_ref().and_then(Value::show)
    }
}

/// A property of a link in each of its two directions: one value for both, or a list of two, the first for the way from
/// the first node to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EachWay<T>(pub [T; 2]);

impl<T: Copy> EachWay<T> {
    pub const fn both(value: T) -> Self {
        Self([value; 2])
    }
}

impl<T: Value + Copy + PartialEq> Value for EachWay<T> {
    const RUST_TYPE: RustType = RustType::Any;

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        if !matches!(item.value, RawValue::List(_)) {
            let one = if let ValueType::AnyOf([one, ..]) = allowed { one } else { allowed };
            return T::read(item, one).map(Self::both);
        }
        let ways: Vec<T> = Vec::read(item, allowed)?;
        <[T; 2]>::try_from(ways).map(Self).map_err(|ways| {
            let help = "a link has two directions: write one value for both, or two, the first for the way from the \
                        first node to the second";
            WrongValue::new(format!("number of values: {}", ways.len()), help)
        })
    }

    fn show(&self) -> Option<String> {
        let [forth, back] = self.0;
        if forth == back { forth.show() } else { vec![forth, back].show() }
    }
}

impl<T: Value> Value for Vec<T> {
    const RUST_TYPE: RustType = RustType::List;
    const VALUE_TYPE: Option<ValueType> = match T::VALUE_TYPE {
        Some(ValueType::Text) => Some(ValueType::List(&ValueType::Text)),
        _ => None,
    };

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        // A list is the last alternative of a type with several.
        let (ValueType::List(inner) | ValueType::AnyOf([.., ValueType::List(inner)])) = allowed else {
            return Err(WrongValue::other_type(item, allowed));
        };
        let RawValue::List(items) = &item.value else {
            return Err(WrongValue::other_type(item, allowed));
        };
        if items.is_empty() {
            let help = "write one value or more, or leave the key out";
            return Err(WrongValue::new("the list is empty", help));
        }
        let one = |item: &Item| {
            T::read(item, inner).map_err(|wrong| WrongValue { at: wrong.at.or_else(|| Some(item.at.clone())), ..wrong })
        };
        items.iter().map(one).collect()
    }

    fn show(&self) -> Option<String> {
        let items: Vec<String> = self.iter().filter_map(Value::show).collect();
        (!items.is_empty()).then(|| format!("[{}]", items.join(", ")))
    }
}

fn boolean(item: &Item, allowed: &ValueType) -> Result<bool, WrongValue> {
    match item.value {
        RawValue::Boolean(truth) => Ok(truth),
        _ => Err(WrongValue::other_type(item, allowed)),
    }
}

fn integer(item: &Item, allowed: &ValueType) -> Result<u64, WrongValue> {
    let RawValue::Integer(number) = item.value else {
        return Err(WrongValue::other_type(item, allowed));
    };
    let bounds = allowed.alternative(|allowed| match allowed {
        ValueType::Integer(least, most) => Some(*least..=*most),
        _ => None,
    });
    let bounds = bounds.unwrap_or(0..=u64::MAX);
    let number = u64::try_from(number).ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| WrongValue::out_of_range(item, allowed))
}

fn narrow<T: TryFrom<u64>>(item: &Item, allowed: &ValueType) -> Result<T, WrongValue> {
    let number = integer(item, allowed)?;
    T::try_from(number).map_err(|_| WrongValue::out_of_range(item, allowed))
}

fn number(item: &Item, allowed: &ValueType) -> Result<f64, WrongValue> {
    let number = match item.value {
        RawValue::Integer(number) => number as f64,
        RawValue::Float(number) => number,
        _ => return Err(WrongValue::other_type(item, allowed)),
    };
    let fits = match *allowed {
        ValueType::Number(least, most) => number >= least && number <= most,
        ValueType::Below(least, most) => number >= least && number < most,
        ValueType::Above(least, most) => number > least && number <= most,
        _ => true,
    };
    if fits { Ok(number) } else { Err(WrongValue::out_of_range(item, allowed)) }
}

/// Parses a text as a quantity, such as a time or a rate.
fn quantity<T: FromStr<Err = QuantityError>>(item: &Item, allowed: &ValueType) -> Result<T, WrongValue> {
    let Some(text) = item.text() else { return Err(WrongValue::other_type(item, allowed)) };
    text.parse()
        .map_err(|error: QuantityError| WrongValue::new(error.to_string(), format!("allowed: {}", allowed.expected())))
}

/// Reads a quantity and checks the bounds of the alternative (`Time`, `Rate`, ...) with the given variant.
macro_rules! bounded {
    ($item:expr, $allowed:expr, $variant:ident) => {{
        let value = quantity($item, $allowed)?;
        let bounds = $allowed.alternative(|allowed| match allowed {
            ValueType::$variant(least, most) => Some(*least..=*most),
            _ => None,
        });
        match bounds {
            Some(bounds) if !bounds.contains(&value) => Err(WrongValue::out_of_range($item, $allowed)),
            _ => Ok(value),
        }
    }};
}

fn time(item: &Item, allowed: &ValueType) -> Result<Span, WrongValue> {
    bounded!(item, allowed, Time)
}

fn rate(item: &Item, allowed: &ValueType) -> Result<BitsPerSec, WrongValue> {
    bounded!(item, allowed, Rate)
}

fn size(item: &Item, allowed: &ValueType) -> Result<Bytes, WrongValue> {
    bounded!(item, allowed, Size)
}

fn times(item: &Item, allowed: &ValueType) -> Result<(Span, Span), WrongValue> {
    let wrong = |what: &str| Err(WrongValue::new(format!("{} {what}", item.found()), "write it from..to"));
    let Some((low, high)) = item.text().and_then(|text| text.split_once("..")) else {
        return Err(WrongValue::other_type(item, allowed));
    };
    if high.contains("..") {
        return wrong("has more than two times");
    }
    let bounds = allowed.alternative(|allowed| match allowed {
        ValueType::TimeRange(least, most) => Some(ValueType::Time(*least, *most)),
        _ => None,
    });
    let bounds = bounds.unwrap_or(ValueType::Time(Span::ZERO, Span::MAX));
    let end = |text: &str| {
        let value = RawValue::Text(text.trim().to_owned());
        time(&Item { value, at: item.at.clone() }, &bounds)
    };
    if low.trim().is_empty() || high.trim().is_empty() {
        return wrong("lacks one of its two times");
    }
    let (low, high) = (end(low)?, end(high)?);
    if low > high { wrong("ends before it begins") } else { Ok((low, high)) }
}

fn word(item: &Item, allowed: &ValueType) -> Result<&'static str, WrongValue> {
    let words = allowed.alternative(|allowed| match allowed {
        ValueType::OneOf(words) => Some(*words),
        _ => None,
    });
    let mut words = words.unwrap_or_default().iter().copied();
    let found = words.find(|word| item.text() == Some(word));
    found.ok_or_else(|| WrongValue::other_type(item, allowed))
}

fn text(item: &Item, allowed: &ValueType) -> Result<String, WrongValue> {
    match item.text() {
        Some(text) if text.trim().is_empty() => {
            Err(WrongValue::new("the text is empty", "write some text between the quotes"))
        }
        Some(text) => Ok(text.to_owned()),
        None => Err(WrongValue::other_type(item, allowed)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use crate::{At, Entry, HostStack, Item, Options, Problem, RawValue, Section, ValueType};
    use shallop_core::Span;

    /// Keys that two structs have in common.
    #[derive(Clone, Copy, Debug, PartialEq, Options)]
    #[options(first: u32, defaults)]
    pub struct Common {
        /// The first window, in segments.
        #[key(Integer(1, 100), default = first, was = "begin")]
        pub initial_window: u32,
        /// The least window, in segments.
        #[key(Integer(1, 100), default = initial_window / 2)]
        pub least_window: u32,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Options)]
    #[options(stack: HostStack, defaults, check)]
    struct Config {
        #[part(match stack { HostStack::Ns2 => 2, _ => 10 })]
        common: Common,
        #[fixed(matches!(stack, HostStack::Ns2))]
        old: bool,
        /// A time limit whose default depends on the host stack.
        #[key(
            Time(Span::ZERO, Span::MAX),
            default = match stack { HostStack::Ns3 => Some(Span::from_ms(1)), _ => None },
            or = "no limit"
        )]
        limit: Option<Span>,
        /// A switch.
        #[key(default = false, shown = format!("{} or {}", true, false))]
        on: bool,
    }

    impl Config {
        fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
            let refused = self.on && section.is_written(Self::KEY.limit);
            if refused { Err(section.reject(Self::KEY.limit, "not with `on`")) } else { Ok(()) }
        }
    }

    fn read(values: &[(&str, RawValue)]) -> Result<Config, String> {
        let item = |value: &RawValue| Item { value: value.clone(), at: At::default() };
        let entry = |value| Entry { key: At::default(), item: item(value) };
        let table = values.iter().map(|(key, value)| ((*key).to_owned(), entry(value))).collect();
        let item = item(&RawValue::Table(table));
        let section = Section::open::<Config>("[config]", &item).map_err(|why| why.message())?;
        section.read(HostStack::Ns2).map_err(|why| why.message())
    }

    #[test]
    fn defaults_depend_on_the_stack_and_on_fields_above() {
        let common = |initial_window| Common { initial_window, least_window: initial_window / 2 };
        let ns2 = Config { common: common(2), old: true, limit: None, on: false };
        assert_eq!(Config::defaults(HostStack::Ns2), ns2);
        assert_eq!(read(&[]), Ok(ns2));
        let limit = Some(Span::from_ms(1));
        let ns3 = Config { common: common(10), old: false, limit, on: false };
        assert_eq!(Config::defaults(HostStack::Ns3), ns3);
        let written = read(&[("initial_window", RawValue::Integer(8))]);
        assert_eq!(written.map(|config| config.common.least_window), Ok(4));
    }

    #[test]
    fn an_error_names_the_key_and_the_section() {
        let limit = ("limit", RawValue::Text("1ms".to_owned()));
        for (values, message) in [
            (vec![("begin", RawValue::Integer(1))], "`begin` in [config] is called"),
            (vec![("initial_window", RawValue::Integer(0))], "`initial_window` in [config]: 0 is"),
            (vec![("on", RawValue::Boolean(true)), limit], "`limit` in [config]: not with `on`"),
        ] {
            let said = read(&values).unwrap_err();
            assert!(said.starts_with(message), "{said}");
        }
    }

    #[test]
    fn keys_are_described_in_their_order_with_the_defaults_of_the_stack() {
        let described = |stack| {
            let all = Config::describe(stack).into_iter();
            all.map(|it| (it.key.name, it.default.unwrap())).collect::<Vec<_>>()
        };
        let own = |values: [&str; 4]| {
            let names = ["initial_window", "least_window", "limit", "on"];
            names.into_iter().zip(values.map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(described(HostStack::Ns2), own(["2", "1", "no limit", "true or false"]));
        assert_eq!(described(HostStack::Ns3), own(["10", "5", "\"1ms\"", "true or false"]));
        let values = Config::defaults(HostStack::Ns3).values();
        let values: Vec<_> = values.into_iter().map(|(key, value)| (key.name, value)).collect();
        assert_eq!(values[2..], [("limit", Some("\"1ms\"".into())), ("on", Some("false".into()))]);
    }

    #[test]
    fn a_key_has_its_name_its_type_and_its_earlier_names() {
        let key = Common::KEY.initial_window;
        assert_eq!((key.name, key.formerly), ("initial_window", &["begin"][..]));
        assert!(matches!(key.value_type, ValueType::Integer(1, 100)) && !key.required);
        assert_eq!(key.about.trim(), "The first window, in segments.");
    }
}
