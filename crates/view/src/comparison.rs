//! The schemes and the points that figures compare, in the order of the results.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::axis::Axis;
use crate::text;
use shallop_results::{Aggregate, Point, Summary};

/// The most panels of a figure over time, which has one for each scheme at each of some points.
const MAX_PANELS: usize = 12;

/// The schemes and points of a summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Labels of the schemes.
    pub schemes: Vec<String>,
    /// The points: at least one.
    pub points: Vec<Point>,
    /// The quantity or the names by which the points differ.
    pub axis: Axis,
}

/// The keys that points set, with their values.
type Keys = BTreeMap<String, Value>;

impl Comparison {
    /// The schemes and points of a summary.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let mut schemes: Vec<String> = Vec::new();
        let mut points = summary.points.clone();
        for Aggregate { scheme, point, .. } in &summary.aggregates {
            if !schemes.contains(scheme) {
                schemes.push(scheme.clone());
            }
            if !points.iter().any(|other| other.set == *point) {
                points.push(Point {
                    name: keys_and_values(point),
                    set: point.clone(),
                    ..Point::default()
                });
            }
        }
        // Points without finished runs have no data.
        points.retain(|point| summary.aggregates.iter().any(|of| of.point == point.set));
        if points.is_empty() {
            points.push(Point::default());
        }
        let axis = Axis::of(&points);
        Self { schemes, points, axis }
    }

    /// The index of the point with these keys.
    #[must_use]
    pub fn point(&self, set: &Keys) -> Option<usize> {
        self.points.iter().position(|point| point.set == *set)
    }

    /// The index of the point with this name; a single point has any name.
    #[must_use]
    pub fn point_named(&self, name: &str) -> Option<usize> {
        let only = (self.points.len() == 1).then_some(0);
        self.points.iter().position(|point| point.name == name).or(only)
    }

    /// The index of this scheme.
    #[must_use]
    pub fn scheme(&self, name: &str) -> Option<usize> {
        self.schemes.iter().position(|scheme| scheme == name)
    }

    /// Up to `most` points as a sample of all: the first, the last, and points evenly between.
    #[must_use]
    pub fn sample_points(&self, most: usize) -> Vec<usize> {
        let (all, most) = (self.points.len(), most.max(1));
        if all <= most {
            return (0..all).collect();
        }
        (0..most).map(|place| place * (all - 1) / (most - 1).max(1)).collect()
    }

    /// The points that figures over time show. They are few, as each has a panel per scheme.
    #[must_use]
    pub fn points_over_time(&self) -> Vec<usize> {
        self.sample_points((MAX_PANELS / self.schemes.len().max(1)).clamp(1, 3))
    }

    /// The title of the panel of a scheme at a point.
    #[must_use]
    pub fn panel(&self, point: usize, scheme: usize) -> String {
        let (point, scheme) = (self.short_name(point), &self.schemes[scheme]);
        if point.is_empty() { scheme.clone() } else { format!("{scheme} · {point}") }
    }

    /// The name of a point with the last part of each key only, short enough for a panel.
    #[must_use]
    pub fn short_name(&self, point: usize) -> String {
        let short = |part: &str| match part.split_once('=') {
            Some((key, value)) => {
                let key = key.rsplit('.').next().unwrap_or_default();
                format!("{}={}", key.trim(), value.trim())
            }
            None => part.to_owned(),
        };
        self.points[point].name.split(", ").map(short).collect::<Vec<_>>().join(", ")
    }

    /// A sentence that names the points which are shown, if points are omitted.
    #[must_use]
    pub fn omission_note(&self, points: &[usize]) -> String {
        if points.len() == self.points.len() {
            return String::new();
        }
        let names: Vec<String> = points.iter().map(|&at| self.points[at].name.clone()).collect();
        let all = self.points.len();
        format!(" Of the {all} points {} are shown: {}.", names.len(), text::list(&names))
    }
}

/// The keys and values of a point as text.
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
        let axis = Axis::of(&points);
        Comparison { schemes: vec!["a".into(); schemes], points, axis }
    }

    #[test]
    fn some_points_stand_for_all_and_it_is_said() {
        assert_eq!(comparison(2, 1).sample_points(3), [0, 1]);
        assert_eq!(comparison(9, 1).sample_points(3), [0, 4, 8]);
        assert_eq!(comparison(9, 1).sample_points(1), [0]);
        assert_eq!(comparison(9, 1).points_over_time(), [0, 4, 8]);
        assert_eq!(comparison(9, 20).points_over_time(), [0]);
        assert_eq!(comparison(2, 1).omission_note(&[0, 1]), "");
        assert_eq!(
            comparison(9, 1).omission_note(&[0, 8]),
            " Of the 9 points 2 are shown: 0 and 8."
        );
    }

    #[test]
    fn names_of_points_are_brief_above_panels() {
        let mut comparison = comparison(2, 1);
        comparison.points[0].name = "topology.senders=2, switch.default.buffer=20KB".into();
        assert_eq!(comparison.panel(0, 0), "a · senders=2, buffer=20KB");
        assert_eq!(comparison.panel(1, 0), "a · 1");
    }

    #[test]
    fn points_of_results_without_names_are_called_by_what_they_set() {
        let aggregate = |senders: u64| Aggregate {
            scheme: "cubic".into(),
            point: Keys::from([("topology.senders".to_owned(), senders.into())]),
            ..Aggregate::default()
        };
        let summary =
            Summary { aggregates: vec![aggregate(20), aggregate(40)], ..Summary::default() };
        let comparison = Comparison::of(&summary);
        assert_eq!(comparison.points[1].name, "topology.senders = 40");
        assert_eq!(comparison.point_named("elsewhere"), None);
        assert_eq!(Comparison::of(&Summary::default()).points.len(), 1);
    }
}
