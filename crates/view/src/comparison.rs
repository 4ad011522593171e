//! The schemes and the points that figures compare, in the order of the results.

use crate::{axis::Axis, text};
use serde_json::Value;
use shallop_results::{Aggregate, Point, Summary};
use std::collections::BTreeMap;

/// The most panels of a figure over time, which has one for each scheme at each of some points.
const MAX_PANELS: usize = 12;

/// The schemes and points of a summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Labels of the schemes.
    pub schemes: Vec<String>,
    /// The points: at least one.
    pub points: Vec<Point>,
    /// The label of each point: how it differs from the other points, short enough for a panel or an axis; empty if
    /// there is only one.
    pub labels: Vec<String>,
    /// The quantity or the names by which the points differ.
    pub axis: Axis,
}

/// The keys that points set, with their values.
type Keys = BTreeMap<String, Value>;

impl Comparison {
    /// The schemes and points of a summary.
    #[must_use]
    pub fn from_summary(summary: &Summary) -> Self {
        let mut schemes: Vec<String> = Vec::new();
        let mut points = summary.points.clone();
        for Aggregate { scheme, point, .. } in &summary.aggregates {
            if !schemes.contains(scheme) {
                schemes.push(scheme.clone());
            }
            if !points.iter().any(|other| other.set == *point) {
                points.push(Point { name: keys_and_values(point), set: point.clone(), ..Point::default() });
            }
        }
        // Points without finished runs have no data.
        points.retain(|point| summary.aggregates.iter().any(|of| of.point == point.set));
        if points.is_empty() {
            points.push(Point::default());
        }
        let (axis, labels) = (Axis::for_points(&points), labels(&points));
        Self { schemes, points, labels, axis }
    }

    /// The index of the point with these keys.
    pub fn point(&self, set: &Keys) -> Option<usize> {
        self.points.iter().position(|point| point.set == *set)
    }

    /// The index of the point with this name; a single point has any name.
    pub fn point_named(&self, name: &str) -> Option<usize> {
        let only = (self.points.len() == 1).then_some(0);
        self.points.iter().position(|point| point.name == name).or(only)
    }

    /// The index of this scheme.
    pub fn scheme(&self, name: &str) -> Option<usize> {
        self.schemes.iter().position(|scheme| scheme == name)
    }

    /// Up to `most` points as a sample of all: the first, the last, and points evenly between.
    pub fn sample_points(&self, most: usize) -> Vec<usize> {
        let (all, most) = (self.points.len(), most.max(1));
        if all <= most {
            return (0..all).collect();
        }
        (0..most).map(|place| place * (all - 1) / (most - 1).max(1)).collect()
    }

    /// The points that figures over time show. They are few, as each has a panel per scheme.
    pub fn points_over_time(&self) -> Vec<usize> {
        self.sample_points((MAX_PANELS / self.schemes.len().max(1)).clamp(1, 3))
    }

    /// The title of the panel of a scheme at a point.
    pub fn panel(&self, point: usize, scheme: usize) -> String {
        let (point, scheme) = (&self.labels[point], &self.schemes[scheme]);
        if point.is_empty() { scheme.clone() } else { format!("{scheme} · {point}") }
    }

    /// A sentence that names the points which are shown, if points are omitted.
    pub fn omission_note(&self, points: &[usize]) -> String {
        if points.len() == self.points.len() {
            return String::new();
        }
        let names: Vec<String> = points.iter().map(|&at| self.labels[at].clone()).collect();
        let all = self.points.len();
        let verb = if names.len() == 1 { "is" } else { "are" };
        format!(" Of the {all} points {} {verb} shown: {}.", names.len(), text::list(&names))
    }
}

/// Whether a key has the same value at all points, or is set at none.
pub(crate) fn same_at_all(points: &[Point], key: &str) -> bool {
    points.iter().all(|point| point.set.get(key) == points[0].set.get(key))
}

/// The last `least` parts of a key, or as many more as no other of these keys ends with.
pub(crate) fn short_key<'a>(keys: &[&String], key: &'a str, least: usize) -> &'a str {
    let starts = key.rmatch_indices('.').map(|(at, _)| at + 1).skip(least - 1);
    let is_own = |part: &str| {
        let others = keys.iter().filter(|other| other.as_str() != key);
        !others.into_iter().any(|other| other.ends_with(part))
    };
    starts.map(|at| &key[at..]).find(|part| is_own(part)).unwrap_or(key)
}

/// The label of each point: a name that somebody gave it, or the keys in which points differ, with their values.
fn labels(points: &[Point]) -> Vec<String> {
    let mut keys: Vec<&String> = points.iter().flat_map(|point| point.set.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| !same_at_all(points, key));
    let label = |point: &Point| {
        // Sweeps name points by all keys with their values.
        if keys.is_empty() || !point.name.split(", ").all(|part| part.contains('=')) {
            return point.name.clone();
        }
        let parts = keys.iter().filter_map(|key| {
            let value = point.set.get(*key)?;
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Some(format!("{}={value}", short_key(&keys, key, 1)))
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    points.iter().map(label).collect()
}

fn keys_and_values(set: &Keys) -> String {
    let parts = set.iter().map(|(key, value)| match value.as_str() {
        Some(text) => format!("{key} = {text}"),
        None => format!("{key} = {value}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(points: usize, schemes: usize) -> Comparison {
        let case = |name: usize| Point { name: name.to_string(), ..Point::default() };
        let points: Vec<Point> = (0..points).map(case).collect();
        let (axis, labels) = (Axis::for_points(&points), labels(&points));
        Comparison { schemes: vec!["a".into(); schemes], points, labels, axis }
    }

    #[test]
    fn some_points_stand_for_all_and_it_is_said() {
        assert_eq!(comparison(2, 1).sample_points(3), [0, 1]);
        assert_eq!(comparison(9, 1).sample_points(3), [0, 4, 8]);
        assert_eq!(comparison(9, 1).sample_points(1), [0]);
        assert_eq!(comparison(9, 1).points_over_time(), [0, 4, 8]);
        assert_eq!(comparison(9, 20).points_over_time(), [0]);
        assert_eq!(comparison(2, 1).omission_note(&[0, 1]), "");
        assert_eq!(comparison(9, 1).omission_note(&[0, 8]), " Of the 9 points 2 are shown: 0 and 8.");
    }

    #[test]
    fn labels_of_points_say_what_differs() {
        let of = |names: &[&str]| {
            let point = |name: &&str| {
                let pair = |part: &str| {
                    let (key, value) = part.split_once('=')?;
                    Some((key.to_owned(), Value::from(value)))
                };
                let set = name.split(", ").filter_map(pair).collect();
                Point { name: (*name).to_owned(), set, ..Point::default() }
            };
            labels(&names.iter().map(point).collect::<Vec<_>>())
        };
        let sweep =
            ["topology.senders=2, switch.default.buffer=20KB", "topology.senders=4, switch.default.buffer=20KB"];
        assert_eq!(of(&sweep), ["senders=2", "senders=4"]);
        let ends = ["switch.near.buffer=8pkt, switch.far.buffer=1MB", "switch.near.buffer=1MB, switch.far.buffer=8pkt"];
        assert_eq!(of(&ends), ["far.buffer=1MB, near.buffer=8pkt", "far.buffer=8pkt, near.buffer=1MB"]);
        assert_eq!(of(&["90 %", "a=1"]), ["90 %", "a=1"]);
        assert_eq!(of(&[""]), [""]);
    }

    #[test]
    fn points_of_results_without_names_are_called_by_what_they_set() {
        let aggregate = |senders: u64| Aggregate {
            scheme: "cubic".into(),
            point: Keys::from([("topology.senders".to_owned(), senders.into())]),
            ..Aggregate::default()
        };
        let summary = Summary { aggregates: vec![aggregate(20), aggregate(40)], ..Summary::default() };
        let comparison = Comparison::from_summary(&summary);
        assert_eq!(comparison.points[1].name, "topology.senders = 40");
        assert_eq!(comparison.point_named("elsewhere"), None);
        assert_eq!(Comparison::from_summary(&Summary::default()).points.len(), 1);
    }
}
