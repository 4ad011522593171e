//! Options of controllers: their names, their defaults by host stack, and which values are refused.

use shallop_control::{HostStack, Marking, any::Config};
use shallop_core::BufferSize;
use shallop_options::{At, Entry, Item, Problem, RawValue, Section, ValueType};
use std::{collections::BTreeSet, fmt::Write as _};

/// The parameters of the controller of this name on this host, with these options.
pub fn made(name: &str, host: HostStack, given: &[(&str, RawValue)]) -> Result<Config, Problem> {
    let at = At::default;
    let entry = |(key, value): &(&str, RawValue)| {
        let item = Item { value: value.clone(), at: at() };
        ((*key).to_owned(), Entry { key: at(), item })
    };
    let table = RawValue::Table(given.iter().map(entry).collect());
    let item = Item { value: table, at: at() };
    let section = Section::with_keys("[[scheme]]".to_owned(), Config::keys(name), &item)?;
    Config::read(name, &section, host).expect(name)
}

fn plain(name: &str, host: HostStack) -> Config {
    made(name, host, &[]).expect("defaults are valid")
}

#[test]
fn names_of_controllers_and_of_their_options_are_unique() {
    let names: BTreeSet<_> = Config::kinds().map(|kind| kind.name).collect();
    assert_eq!(names.len(), Config::kinds().count());
    for kind in Config::kinds() {
        let all = Config::keys(kind.name);
        let keys: BTreeSet<_> = all.iter().map(|key| key.name).collect();
        assert_eq!(keys.len(), all.len(), "{}", kind.name);
        assert!(!all.is_empty());
    }
}

#[test]
fn defaults_depend_on_the_host_stack() {
    let mut told = String::new();
    for (kind, host) in Config::kinds().flat_map(|kind| HostStack::SIMULATED.map(|host| (kind, host))) {
        writeln!(told, "{} on {host:?}: {:?}", kind.name, plain(kind.name, host)).expect("a string takes any text");
    }
    insta::assert_snapshot!(told);
}

#[test]
fn ecn_star_asks_for_classic_marks_dctcp_and_gemini_for_exact_ones() {
    let asks = |marking| {
        let kinds = Config::kinds().filter(move |kind| kind.marking == marking);
        kinds.map(|kind| kind.name).collect::<Vec<_>>()
    };
    assert_eq!(asks(Marking::Classic), ["ecn-star"]);
    assert_eq!(asks(Marking::Exact), ["dctcp", "prague", "gemini"]);
}

#[test]
fn of_all_controllers_prague_alone_sends_as_l4s_by_itself() {
    let l4s: Vec<_> = Config::kinds().map(|kind| kind.name).filter(|name| Config::is_l4s(name)).collect();
    assert_eq!(l4s, ["prague"]);
}

/// An allowed value; the last word of several.
fn some(allowed: &ValueType) -> RawValue {
    let text = |value: &dyn std::fmt::Display| RawValue::Text(value.to_string());
    match *allowed {
        ValueType::Boolean => RawValue::Boolean(true),
        ValueType::Integer(least, _) => RawValue::Integer(least.cast_signed()),
        ValueType::Number(_, most) | ValueType::Above(_, most) => RawValue::Float(most),
        ValueType::Below(least, _) => RawValue::Float(least),
        ValueType::Time(least, _) => text(&least),
        ValueType::Rate(least, _) => text(&least),
        ValueType::Size(least, _) => text(&least),
        ValueType::Buffer => text(&BufferSize::Packets(1)),
        ValueType::OneOf(words) => text(&words[words.len() - 1]),
        _ => panic!("no controller has an option like {allowed:?}"),
    }
}

#[test]
fn every_option_is_read_from_an_allowed_value_or_refused_by_its_name() {
    for kind in Config::kinds() {
        for key in Config::keys(kind.name) {
            let given = [(key.name, some(&key.value_type))];
            if let Err(why) = made(kind.name, HostStack::LinuxIdeal, &given) {
                let about = why.key.as_ref().map(|(about, _)| *about);
                assert_eq!(about, Some(key.name), "{}: {why}", kind.name);
                assert!(!why.reason.starts_with("expected"), "{}: {why}", kind.name);
            }
        }
    }
}

#[test]
fn errors_of_inconsistent_options_name_the_key() {
    let (integer, number) = (RawValue::Integer, RawValue::Float);
    for (name, key, value) in [
        ("vegas", "alpha", integer(9)),
        ("vegas", "beta", integer(1)),
        ("dctcp", "gain", number(0.3)),
        ("gemini", "alpha_gain", number(0.3)),
        ("gemini", "decrease", number(0.6)),
        ("newreno", "hystart_low_window", integer(9)),
    ] {
        let why = made(name, HostStack::LinuxIdeal, &[(key, value)]).expect_err(name);
        assert_eq!(why.key.as_ref().map(|(about, _)| *about), Some(key), "{name}: {why}");
    }
}
