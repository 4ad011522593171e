//! Options without a scenario: a source of values by key.

use shallop_core::form::{Form, Key};
use shallop_core::options::{self, Nested, Refused, Source, Value, Written};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    Boolean(bool),
    Integer(u64),
    Number(f64),
    Time(Span),
    Rate(BitsPerSec),
    Size(Bytes),
    Buffer(BufferSize),
    Word(&'static str),
}

/// Message and help of an error. A value of the wrong type is a mistake of the test and panics.
type Wrong = (String, String);

impl Written for Given {
    type Wrong = Wrong;

    fn boolean(&self, _: &Form) -> Result<bool, Wrong> {
        if let Self::Boolean(value) = self { Ok(*value) } else { panic!("{self:?}") }
    }
    fn integer(&self, _: &Form) -> Result<u64, Wrong> {
        if let Self::Integer(value) = self { Ok(*value) } else { panic!("{self:?}") }
    }
    fn number(&self, _: &Form) -> Result<f64, Wrong> {
        if let Self::Number(value) = self { Ok(*value) } else { panic!("{self:?}") }
    }
    fn time(&self, _: &Form) -> Result<Span, Wrong> {
        if let Self::Time(value) = self { Ok(*value) } else { panic!("{self:?}") }
    }
    fn times(&self, _: &Form) -> Result<(Span, Span), Wrong> {
        panic!("{self:?}")
    }
    fn rate(&self, _: &Form) -> Result<BitsPerSec, Wrong> {
        if let Self::Rate(value) = self { Ok(*value) } else { panic!("{self:?}") }
    }
    fn size(&self, _: &Form) -> Result<Bytes, Wrong> {
        if let Self::Size(value) = self { Ok(*value) } else { panic!("{self:?}") }
    }
    fn buffer(&self, _: &Form) -> Result<BufferSize, Wrong> {
        if let Self::Buffer(value) = self { Ok(*value) } else { panic!("{self:?}") }
    }
    fn word(&self, _: &Form) -> Result<&'static str, Wrong> {
        if let Self::Word(value) = self { Ok(value) } else { panic!("{self:?}") }
    }
    fn text(&self, _: &Form) -> Result<String, Wrong> {
        panic!("{self:?}")
    }
    fn list<T: Value>(&self, _: &Form) -> Result<Vec<T>, Wrong> {
        panic!("{self:?}")
    }
    fn as_text(&self) -> Option<&str> {
        None
    }
    fn is_list(&self) -> bool {
        false
    }
    fn outside(&self, form: &Form) -> Wrong {
        (format!("{self:?}"), form.expected())
    }
    fn refuse(&self, message: String, help: String) -> Wrong {
        (message, help)
    }
}

/// Keys with their values.
pub struct Options<'a>(pub &'a [(&'static str, Given)]);

impl Source for Options<'_> {
    type Error = String;

    fn value<T: Value>(&self, key: &'static Key) -> Result<Option<T>, String> {
        let Some((name, given)) = self.0.iter().find(|(name, _)| *name == key.name) else {
            return Ok(None);
        };
        let read = T::read(given, &key.form);
        read.map(Some).map_err(|(message, help)| format!("{name}: {message}; {help}"))
    }
    fn required<T: Value>(&self, key: &'static Key) -> Result<T, String> {
        self.value(key)?.ok_or_else(|| format!("{} is missing", key.name))
    }
    fn is_written(&self, key: &'static Key) -> bool {
        self.0.iter().any(|(name, _)| *name == key.name)
    }
    fn section<T: options::Options<Context = ()>>(&self, _: Nested<T>) -> Result<T, String> {
        T::read(&Options(&[]), ())
    }
    fn refuse(&self, refused: Refused) -> String {
        format!("{}: {}; {}", refused.key.name, refused.message, refused.help)
    }
}
