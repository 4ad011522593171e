//! Sweeps. `--vary KEY=V1,V2` multiplies the points of a scenario by the values of a key; `--seeds N` runs each point
//! with N seeds.

use shallop_options::{At, Item, Problem, RawValue, Section};

use super::plans;
use super::root_options::Scenario;
use super::set::{self, Change};
use super::tree::{self, on_a_line};
use super::{MAX_POINTS, Options, Variation};

/// A varied key. Each of its values is a change, with a suffix for the names of points.
struct Axis {
    path: Vec<String>,
    steps: Vec<(String, Change)>,
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

/// Combines each point with every combination of the varied values; the last key varies fastest.
///
/// # Errors
/// If a key is no key, fixed, or given twice; if a value is given twice; if there would be too many points.
pub(super) fn cross(points: Vec<Variation>, options: &Options) -> Result<Vec<Variation>, Problem> {
    let axes = axes(options)?;
    let sizes = axes.iter().map(|axis| axis.steps.len());
    let all = sizes.fold(points.len(), usize::saturating_mul);
    if all > MAX_POINTS {
        let problem = At::default().problem(format!("--vary: more than {MAX_POINTS} points"));
        return Err(problem.with_help("sweep fewer values at a time"));
    }
    let crossed = axes.iter().fold(points, |points, axis| {
        let with = |point: &Variation| {
            let point = point.clone();
            let steps = axis.steps.iter().map(move |(name, change)| {
                let mut point = point.clone();
                let names = [point.name.as_str(), name];
                let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
                point.name = names.join(", ");
                point.changes.push(change.clone());
                point
            });
            steps.collect::<Vec<_>>()
        };
        points.iter().flat_map(with).collect()
    });
    Ok(crossed)
}

fn axes(options: &Options) -> Result<Vec<Axis>, Problem> {
    let mut axes: Vec<Axis> = Vec::new();
    for (key, values) in &options.vary {
        let place = At::via(on_a_line(&format!("--vary {key}")));
        let Some(path) = set::steps(key) else {
            let problem = place.problem(format!("`{key}` is no key"));
            return Err(problem.with_help("write it like --vary topology.senders=20,200"));
        };
        if path.first().is_some_and(|first| super::ONE_FOR_ALL.contains(&first.as_str())) {
            let problem = place.problem(format!("`{key}` is one for all points"));
            return Err(problem.with_help("--seeds N runs every point with N seeds"));
        }
        if axes.iter().any(|other| other.path == path) {
            let problem = place.problem(format!("`{key}` is varied twice"));
            return Err(problem.with_help("give all its values in one --vary"));
        }
        if options.set.iter().any(|(other, _)| set::steps(other).as_ref() == Some(&path)) {
            let problem = place.problem(format!("`{key}` is set with --set as well"));
            return Err(problem.with_help("give one of the two"));
        }
        axes.push(Axis { steps: steps(key, &path, values)?, path });
    }
    Ok(axes)
}

/// Whether two values are the halves of a number with a decimal comma and a unit, such as `2,5ms`.
fn is_decimal_comma(pair: &[String]) -> bool {
    let [whole, rest] = pair else { return false };
    let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    whole.bytes().all(|byte| byte.is_ascii_digit())
        && unit.len() < rest.len()
        && unit.trim_start().starts_with(|c: char| c.is_alphabetic())
}

/// The change that each value of a varied key makes, with the name `KEY=VALUE`.
fn steps(key: &str, path: &[String], values: &[String]) -> Result<Vec<(String, Change)>, Problem> {
    let mut steps: Vec<(String, Change)> = Vec::new();
    if let Some([whole, rest]) = values.windows(2).find(|pair| is_decimal_comma(pair)) {
        let place = At::via(format!("--vary {key}={whole},{rest}"));
        let problem = place.problem(format!("{whole} has no unit, and {rest} has one"));
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        return Err(problem.with_help(format!(
            "commas separate values: write {whole}.{rest} for one value with a decimal point, or {whole}{unit},{rest}"
        )));
    }
    for text in values {
        let via = on_a_line(&format!("--vary {key}={text}"));
        let item = tree::parse_value(text, &At::via(via));
        let at = item.at.clone();
        let name = match &item.value {
            RawValue::Text(text) => format!("{key}={text}"),
            _ => format!("{key}={text}"),
        };
        let same = |(other, change): &(String, Change)| *other == name || tree::json(&change.item) == tree::json(&item);
        if steps.iter().any(same) {
            return Err(at.problem("the value is there twice").with_help("give each value once"));
        }
        steps.push((name, Change { path: path.to_owned(), key: at, item }));
    }
    if steps.is_empty() {
        let problem = At::via(format!("--vary {key}")).problem("no values");
        return Err(problem.with_help("write it like --vary topology.senders=20,200"));
    }
    Ok(steps)
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
