//! What scenarios may say of controllers: names, what hosts have where nothing is said, what arrives of what is said.

use std::collections::BTreeSet;

use shallop_control::any::Config;
use shallop_control::options::Value;
use shallop_control::{
    Basis, Host, Marking, Options, bbr, copa, cubic, dctcp, gemini, hystart, reno, vegas,
};
use shallop_core::form::{Form, all};
use shallop_core::{BufferSize, Span};

/// What this kind of controller is on this host with these options.
fn made(name: &str, host: Host, said: &[(&'static str, Value)]) -> Result<Config, String> {
    let (kind, read) = Config::kinds().into_iter().find(|(kind, _)| kind.name == name).expect(name);
    let nothing = Options::new(host, kind.keys);
    let options = said.iter().fold(nothing, |options, &(key, value)| options.with(key, value));
    read(&options)
        .map_err(|refused| format!("{}: {}; {}", refused.key, refused.message, refused.help))
}

fn plain(name: &str, host: Host) -> Config {
    made(name, host, &[]).expect("what is said by nobody cannot be wrong")
}

#[test]
fn names_are_told_apart_and_so_are_the_options_of_each() {
    let kinds = Config::kinds();
    let names: BTreeSet<_> = kinds.iter().map(|(kind, _)| kind.name).collect();
    assert_eq!(names.len(), kinds.len());
    for (kind, _) in kinds {
        let keys: BTreeSet<_> = all(kind.keys).map(|key| key.name).collect();
        assert_eq!(keys.len(), all(kind.keys).count(), "{}", kind.name);
    }
}

#[test]
fn a_host_has_its_own_ways() {
    let of = |name| Host::ALL.map(|host| plain(name, host));
    let linux = reno::Config::LINUX;
    // What ns-3 has like Linux is its `TcpLinuxReno`; Vegas it makes from `TcpNewReno`.
    let (basis, restart) = (Basis::Window, reno::Restart::First);
    let renos = [reno::Config { basis, restart, ..reno::Config::RFC }, linux, linux];
    assert_eq!(of("newreno"), renos.map(Config::Reno));
    assert_eq!(of("ecn-star"), renos.map(Config::Reno));
    let patient = hystart::Classic { delay_max: Span::from_secs(1), ..hystart::Classic::LINUX };
    let slow_start = hystart::Config { limit: u64::MAX, exit: hystart::Exit::Classic(patient) };
    let cubic = cubic::Config::LINUX;
    let cubics = [
        cubic::Config { decrease: 0.8, slow_start: hystart::Config::STANDARD, ..cubic },
        cubic::Config { decrease: 0.7, slow_start, ..cubic },
        cubic,
    ];
    assert_eq!(of("cubic"), cubics.map(Config::Cubic));
    let exact = vegas::Config::EXACT;
    let vegases = [vegas::Config { reno: renos[0], ..exact }, exact, vegas::Config::LINUX];
    assert_eq!(of("vegas"), vegases.map(Config::Vegas));
    let [ns2, ns3, linux] = renos.map(|reno| dctcp::Config { reno, ..dctcp::Config::RFC });
    assert_eq!(of("dctcp"), [dctcp::Config { alpha: 0, ..ns2 }, ns3, linux].map(Config::Dctcp));
    assert_eq!(of("bbr"), [bbr::Config::LINUX; 3].map(Config::Bbr));
    assert_eq!(of("copa"), [copa::Config::PAPER; 3].map(Config::Copa));
    let geminis = renos.map(|reno::Config { basis, slow_start, .. }| {
        Config::Gemini(gemini::Config { basis, slow_start, ..gemini::Config::THESIS })
    });
    assert_eq!(of("gemini"), geminis);
}

#[test]
fn marks_are_asked_for_by_those_that_live_on_them() {
    let asks = |marking| {
        let kinds = Config::kinds().into_iter().filter(move |(kind, _)| kind.marking == marking);
        kinds.map(|(kind, _)| kind.name).collect::<Vec<_>>()
    };
    assert_eq!(asks(Marking::Classic), ["ecn-star"]);
    assert_eq!(asks(Marking::Exact), ["dctcp", "gemini"]);
}

/// A value that this form allows; the last word of a choice.
fn some(form: &Form) -> Value {
    match *form {
        Form::Truth => Value::Truth(true),
        Form::Count(least, _) => Value::Count(least),
        Form::Number(_, most) | Form::Above(_, most) => Value::Number(most),
        Form::Below(least, _) => Value::Number(least),
        Form::Time(least, _) => Value::Time(least),
        Form::Rate(least, _) => Value::Rate(least),
        Form::Size(least, _) => Value::Size(least),
        Form::Buffer => Value::Buffer(BufferSize::Packets(1)),
        Form::Choice(words) => Value::Word(words[words.len() - 1]),
        _ => panic!("no controller has an option like {form:?}"),
    }
}

#[test]
fn every_option_is_read_as_what_its_form_says() {
    for (kind, _) in Config::kinds() {
        for key in all(kind.keys) {
            // A wrong type would be found by an assertion; what is refused is refused with words that name it.
            if let Err(why) = made(kind.name, Host::Linux, &[(key.name, some(&key.form))]) {
                assert!(why.starts_with(key.name), "{}: {why}", kind.name);
            }
        }
    }
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    let number = Value::Number;
    for (name, said, key) in [
        ("vegas", vec![("alpha", Value::Count(9))], "alpha"),
        ("vegas", vec![("beta", Value::Count(1))], "beta"),
        ("dctcp", vec![("gain", number(0.3))], "gain"),
        ("gemini", vec![("alpha_gain", number(0.3))], "alpha_gain"),
        ("gemini", vec![("decrease", number(0.6))], "decrease"),
        ("newreno", vec![("hystart_low_window", Value::Count(9))], "hystart_low_window"),
    ] {
        let why = made(name, Host::Linux, &said).expect_err(name);
        assert!(why.starts_with(&format!("{key}: ")), "{name}: {why}");
    }
}
