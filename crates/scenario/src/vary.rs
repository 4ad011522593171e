//! Sweeps. `--vary KEY=V1,V2` multiplies the points of a scenario by the values of a key, and `--with KEY=W1,W2` behind
//! it moves another key along; `--seeds N` runs each point with N seeds.

use super::plans;
use super::root_options::{PointOptions, Scenario};
use super::set::{self, Change};
use super::tree::{self, on_a_line};
use super::{MAX_POINTS, Options, Variation};
use shallop_options::{At, Item, Problem, RawValue, Section};

/// A varied key, and those that move with it. Each step has the changes of all of them, and a suffix for the names of
/// points.
#[derive(Clone)]
pub(super) struct Axis {
    pub paths: Vec<Vec<String>>,
    pub steps: Vec<(String, Vec<Change>)>,
}

/// Splits `V1,V2,...` at commas that are not inside quotes or brackets.
///
/// # Errors
/// In words, if a value is empty, or a quote or bracket stays open.
pub fn values(text: &str) -> Result<Vec<String>, String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let (mut quote, mut depth, mut escaped) = (None, 0usize, false);
    for letter in text.chars() {
        match quote {
            Some(end) => {
                if letter == end && !escaped {
                    quote = None;
                }
                escaped = letter == '\\' && end == '"' && !escaped;
            }
            // Inside a bare text a quote is a letter like any other.
            None if matches!(letter, '"' | '\'') && (depth > 0 || value.trim().is_empty()) => {
                quote = Some(letter);
            }
            None => match letter {
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    values.push(std::mem::take(&mut value));
                    continue;
                }
                _ => {}
            },
        }
        value.push(letter);
    }
    values.push(value);
    if let Some(quote) = quote {
        return Err(format!("a quote {quote} is opened and not closed; close it"));
    }
    if depth > 0 {
        return Err("a bracket is opened and not closed; close it".to_owned());
    }
    let values: Vec<String> = values.iter().map(|value| value.trim().to_owned()).collect();
    match values.iter().position(String::is_empty) {
        Some(at) => Err(format!("value {} is empty; write values with commas between them, as 20,200", at + 1)),
        None => Ok(values),
    }
}

/// Combines each point with every combination of the values of `space` and of the varied values; the last key varies
/// fastest.
///
/// # Errors
/// If a key is no key, fixed, or given twice; if a value is given twice; if there would be too many points.
pub(super) fn cross(points: Vec<Variation>, space: &[Axis], options: &Options) -> Result<Vec<Variation>, Problem> {
    let axes = [space, &axes(options)?].concat();
    let sizes = axes.iter().map(|axis| axis.steps.len());
    let all = sizes.fold(points.len(), usize::saturating_mul);
    if all > MAX_POINTS {
        let problem = At::default().problem(format!("--vary: more than {MAX_POINTS} points"));
        return Err(problem.with_help("sweep fewer values at a time"));
    }
    let crossed = axes.iter().fold(points, |points, axis| {
        let with = |point: &Variation| {
            let point = point.clone();
            let steps = axis.steps.iter().map(move |(name, changes)| {
                let mut point = point.clone();
                let names = [point.name.as_str(), name];
                let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
                point.name = names.join(", ");
                point.changes.extend(changes.iter().cloned());
                point
            });
            steps.collect::<Vec<_>>()
        };
        points.iter().flat_map(with).collect()
    });
    Ok(crossed)
}

pub(super) fn axes(options: &Options) -> Result<Vec<Axis>, Problem> {
    let mut axes: Vec<Axis> = Vec::new();
    for (key, values) in &options.vary {
        let path = key_path(("--vary", key), options, axes.iter().flat_map(|axis| &axis.paths))?;
        let mut steps: Vec<(String, Vec<Change>)> = Vec::new();
        for (name, change) in self::steps(("--vary", key), &path, values)? {
            let same = |(other, changes): &(String, Vec<Change>)| {
                *other == name || tree::json(&changes[0].item) == tree::json(&change.item)
            };
            if steps.iter().any(same) {
                return Err(change.key.problem("the value is there twice").with_help("give each value once"));
            }
            steps.push((name, vec![change]));
        }
        let mut moved = Axis { paths: vec![path], steps };
        for (_, with, values) in options.with.iter().filter(|(leader, ..)| leader == key) {
            let taken = axes.iter().chain([&moved]).flat_map(|axis| &axis.paths);
            let path = key_path(("--with", with), options, taken)?;
            let others = self::steps(("--with", with), &path, values)?;
            if others.len() != moved.steps.len() {
                let place = At::via(on_a_line(&format!("--with {with}")));
                let message = format!("number of values: {}, and `{key}` has {}", others.len(), moved.steps.len());
                return Err(place.problem(message).with_help("one value for each of the other key"));
            }
            for ((name, changes), (suffix, change)) in moved.steps.iter_mut().zip(others) {
                *name = format!("{name}, {suffix}");
                changes.push(change);
            }
            moved.paths.push(path);
        }
        axes.push(moved);
    }
    Ok(axes)
}

/// The path of a key that an option (`--vary` or `--with`) varies; `taken` has the paths of those before it.
fn key_path<'a>(
    (option, key): (&str, &str), options: &Options, mut taken: impl Iterator<Item = &'a Vec<String>>,
) -> Result<Vec<String>, Problem> {
    let place = At::via(on_a_line(&format!("{option} {key}")));
    let Some(path) = set::steps(key) else {
        let problem = place.problem(format!("`{key}` is no key"));
        return Err(problem.with_help(format!("write it like {option} topology.senders=20,200")));
    };
    if path.first().is_some_and(|first| super::ONE_FOR_ALL.contains(&first.as_str())) {
        let problem = place.problem(format!("`{key}` is one for all points"));
        return Err(problem.with_help("--seeds N runs every point with N seeds"));
    }
    if taken.any(|other| *other == path) {
        let problem = place.problem(format!("`{key}` is varied twice"));
        return Err(problem.with_help(format!("give all its values in one {option}")));
    }
    if options.set.iter().any(|(other, _)| set::steps(other).as_ref() == Some(&path)) {
        return Err(place.problem(format!("`{key}` is set with --set as well")).with_help("give one of the two"));
    }
    Ok(path)
}

/// Whether `--set`, `--vary`, `--with` or the `set` of a point changes `[topology]`, so that the network is not, or not
/// at all points, the one that the scenario describes.
pub(super) fn changes_network(root: &Item, options: &Options) -> bool {
    let topology = Scenario::KEY.topology;
    let is_of_it = |path: &[String]| path.first().is_some_and(|first| first == topology.name);
    let (set, with) = (options.set.iter().map(|(key, _)| key), options.with.iter().map(|(_, key, _)| key));
    let mut keys = options.vary.iter().map(|(key, _)| key).chain(with).chain(set);
    let points = root.at_key(Scenario::KEY.point).map(Item::items).unwrap_or_default();
    keys.any(|key| set::steps(key).is_some_and(|path| is_of_it(&path)))
        || points.iter().filter_map(|point| point.at_key(PointOptions::KEY.set)).any(|set| {
            let changes = set::changes("`set`", set).unwrap_or_default();
            changes.iter().any(|change| is_of_it(&change.path))
        })
}

/// Whether two values are the halves of a number with a decimal comma and a unit, such as `2,5ms`.
fn is_decimal_comma(pair: &[String]) -> bool {
    let [whole, rest] = pair else { return false };
    let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    whole.bytes().all(|byte| byte.is_ascii_digit())
        && unit.len() < rest.len()
        && unit.trim_start().starts_with(|c: char| c.is_alphabetic())
}

/// The change that each value of a varied key makes, with the name `KEY=VALUE`. `option` is `--vary` or `--with`.
fn steps((option, key): (&str, &str), path: &[String], values: &[String]) -> Result<Vec<(String, Change)>, Problem> {
    if let Some([whole, rest]) = values.windows(2).find(|pair| is_decimal_comma(pair)) {
        let place = At::via(format!("{option} {key}={whole},{rest}"));
        let problem = place.problem(format!("{whole} has no unit, and {rest} has one"));
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        return Err(problem.with_help(format!(
            "commas separate values: write {whole}.{rest} for one value with a decimal point, or {whole}{unit},{rest}"
        )));
    }
    if values.is_empty() {
        let problem = At::via(format!("{option} {key}")).problem("no values");
        return Err(problem.with_help(format!("write it like {option} topology.senders=20,200")));
    }
    let step = |text: &String| {
        let item = tree::parse_value(text, &At::via(on_a_line(&format!("{option} {key}={text}"))));
        let value = if let RawValue::Text(text) = &item.value { text } else { text };
        (format!("{key}={value}"), Change { path: path.to_owned(), key: item.at.clone(), item })
    };
    Ok(values.iter().map(step).collect())
}

/// The change of `seeds` to `count` seeds, consecutive from the first seed of the scenario on.
///
/// # Errors
/// If there are none, too many, or numbers run out.
pub(super) fn seeds(base: &Item, asked: &[Change], count: u32) -> Result<Change, Problem> {
    let place = At::via(format!("--seeds {count}"));
    let mut root = base.clone();
    let of_seeds = |change: &&Change| {
        let keys = [Scenario::KEY.seed.name, Scenario::KEY.seeds.name];
        change.path.first().is_some_and(|first| keys.contains(&first.as_str()))
    };
    for change in asked.iter().filter(of_seeds) {
        set::apply(&mut root, change)?;
    }
    let first = plans::seeds(&Section::open::<Scenario>("the scenario", &root)?)?;
    let first = first.first().copied().unwrap_or_default();
    if count == 0 {
        return Err(place.problem("there must be a seed").with_help("--seeds 1 or more"));
    }
    let ends = i64::try_from(first).ok().and_then(|first| {
        let end = first.checked_add(i64::from(count))?;
        Some((first, end))
    });
    let Some((first, end)) = ends else {
        return Err(place.problem(format!("there are not so many seeds from {first} on")));
    };
    let one = |number: i64| Item { value: RawValue::Integer(number), at: place.clone() };
    let list = RawValue::List((first..end).map(one).collect());
    let item = Item { value: list, at: place.clone() };
    Ok(Change { path: vec![Scenario::KEY.seeds.name.to_owned()], key: place, item })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(values(text), Ok(expected.iter().map(|value| (*value).to_owned()).collect()));
    }

    #[test]
    fn commas_separate_values_but_not_inside_quotes_and_brackets() {
        check("20KB, 200KB", &["20KB", "200KB"]);
        check("1", &["1"]);
        check("\"a,b\",'c,\"d',e", &["\"a,b\"", "'c,\"d'", "e"]);
        check("\"a\\\",b\",2", &["\"a\\\",b\"", "2"]);
        check("[\"0s..1s\", \"1s..2s\"],[\"0s..2s\"]", &["[\"0s..1s\", \"1s..2s\"]", "[\"0s..2s\"]"]);
        check("5',6\"", &["5'", "6\""]);
    }

    #[test]
    fn what_stays_open_or_empty_is_told() {
        for (text, words) in
            [("", "value 1"), ("1,,2", "value 2"), ("1,", "value 2"), ("\"a,b", "quote"), ("[1,2", "bracket")]
        {
            let said = values(text).unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
    }
}
