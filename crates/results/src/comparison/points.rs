//! Pairs the points of two results.

use super::only;
use crate::{design::Point, summary::Summary};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most names of points that an error message lists.
const MAX_TOLD: usize = 10;

/// Two points to compare: a name for the pair, and the index of each in its results.
pub(super) type PairedPoint = (String, usize, usize);

/// Pairs points with equal keys. If each of the results has one point only, these two are a pair.
pub(super) fn equal(a: &Summary, b: &Summary, unpaired: &mut Vec<String>) -> Result<Vec<PairedPoint>, String> {
    if let ([one], [_]) = (&a.points[..], &b.points[..]) {
        return Ok(vec![(one.name.clone(), 0, 0)]);
    }
    let numbered = a.points.iter().enumerate();
    let both = numbered.filter_map(|(at_a, point)| {
        let at_b = b.points.iter().position(|other| other.set == point.set)?;
        Some((point.name.clone(), at_a, at_b))
    });
    let both: Vec<_> = both.collect();
    only(&names(&a.points), &names(&b.points), "point", unpaired);
    if both.is_empty() { Err("no point is in both results".to_owned()) } else { Ok(both) }
}

fn names(points: &[Point]) -> Vec<&str> {
    points.iter().map(|point| point.name.as_str()).collect()
}

/// Pairs each point of A that `one` names with the point of B that `other` names and that has equal values for all keys
/// that neither text names.
pub(super) fn named(
    a: &Summary, one: &str, b: &Summary, other: &str, unpaired: &mut Vec<String>,
) -> Result<Vec<PairedPoint>, String> {
    let (in_a, keys_a) = matching(&a.points, one, "the first")?;
    let (in_b, keys_b) = matching(&b.points, other, "the second")?;
    let keys: BTreeSet<&String> = keys_a.iter().chain(&keys_b).copied().collect();
    let rest = |point: &Point| -> BTreeMap<String, Value> {
        let others = point.set.iter().filter(|(key, _)| !keys.contains(key));
        others.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let mut pairs: Vec<PairedPoint> = Vec::new();
    for &at_a in &in_a {
        let own = rest(&a.points[at_a]);
        let alike: Vec<usize> = in_b.iter().copied().filter(|&at_b| rest(&b.points[at_b]) == own).collect();
        match alike[..] {
            [] => {}
            [at_b] => {
                let words = own.iter().map(|(key, value)| format!("{key}={}", text(value)));
                pairs.push((words.collect::<Vec<_>>().join(", "), at_a, at_b));
            }
            _ => {
                return Err(format!("\"{other}\" names several points for \"{one}\": name the same keys in both"));
            }
        }
    }
    if pairs.is_empty() {
        let all = "name every key that moves along, too, as `KEY=VALUE,KEY=VALUE`, or the points by their full names";
        return Err(format!("no point of \"{one}\" and none of \"{other}\" are equal in the other keys: {all}"));
    }
    let lone = |points: &'_ [Point], all: &[usize], paired: &BTreeSet<usize>| -> Vec<String> {
        let lone = all.iter().filter(|at| !paired.contains(at));
        lone.map(|&at| points[at].name.clone()).collect()
    };
    let lone_a = lone(&a.points, &in_a, &pairs.iter().map(|pair| pair.1).collect());
    let lone_b = lone(&b.points, &in_b, &pairs.iter().map(|pair| pair.2).collect());
    let words = |all: &[String]| all.join("; ");
    for (lone, own) in [(&lone_a, one), (&lone_b, other)] {
        if !lone.is_empty() {
            unpaired.push(format!("not compared: only \"{own}\" has {}", words(lone)));
        }
    }
    Ok(pairs)
}

/// The indices of the points that `wanted` names, and the keys that it sets. `wanted` is the name of a point, or a list
/// of `KEY=VALUE` in which the end of a key suffices.
fn matching<'a>(points: &'a [Point], wanted: &str, which: &str) -> Result<(Vec<usize>, Vec<&'a String>), String> {
    if let Some(at) = points.iter().position(|point| point.name == wanted) {
        return Ok((vec![at], points[at].set.keys().collect()));
    }
    let none = || {
        let names: Vec<&str> = names(points).into_iter().filter(|name| !name.is_empty()).collect();
        let told = names.iter().take(MAX_TOLD).copied().collect::<Vec<_>>().join("; ");
        let more = names.len().saturating_sub(MAX_TOLD);
        match (names.len(), more) {
            (0, _) => format!("there is no point \"{wanted}\" in {which} results: they have one point only"),
            (_, 0) => {
                format!("there is no point \"{wanted}\" in {which} results: they have {told}")
            }
            _ => format!("there is no point \"{wanted}\" in {which} results: they have {told}; and {more} more"),
        }
    };
    let mut keys: Vec<&String> = Vec::new();
    let mut found: Vec<usize> = (0..points.len()).collect();
    for part in wanted.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(none)?;
        let full = full_key(points, key)?.ok_or_else(none)?;
        found.retain(|&at| points[at].set.get(full).is_some_and(|own| is_value(own, value)));
        keys.push(full);
    }
    if found.is_empty() || keys.is_empty() { Err(none()) } else { Ok((found, keys)) }
}

/// Finds the key of these points that is `key` or ends in `.key`.
fn full_key<'a>(points: &'a [Point], key: &str) -> Result<Option<&'a String>, String> {
    let all: BTreeSet<&String> = points.iter().flat_map(|point| point.set.keys()).collect();
    if let Some(exact) = all.iter().find(|full| full.as_str() == key) {
        return Ok(Some(exact));
    }
    let ends = |full: &&&String| full.strip_suffix(key).is_some_and(|start| start.ends_with('.'));
    let ends: Vec<&String> = all.iter().filter(ends).copied().collect();
    match ends[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => {
            let ends: Vec<&str> = ends.iter().map(|key| key.as_str()).collect();
            Err(format!("`{key}` is the end of several keys: {}", ends.join(", ")))
        }
    }
}

/// A value as a user would type it, without the quotes of a text.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn is_value(own: &Value, typed: &str) -> bool {
    let number = || own.as_f64().zip(typed.parse::<f64>().ok());
    text(own) == typed || number().is_some_and(|(one, other)| one.total_cmp(&other).is_eq())
}
