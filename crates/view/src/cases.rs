//! What is compared: schemes at points, in the order they are reported.

use crate::axis::Axis;
use crate::summary::{Aggregate, Set, Summary};
use crate::text;

/// Time figures have a panel for each scheme at each of some points: no more than this.
const MOST_PANELS: usize = 12;

/// The schemes and points of a summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Cases {
    /// Labels of the schemes.
    pub schemes: Vec<String>,
    /// The points: at least one.
    pub points: Vec<Case>,
    /// What the points differ in.
    pub axis: Axis,
}

/// A point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// Its name; empty if there is one alone.
    pub name: String,
    /// What it sets.
    pub set: Set,
}

impl Cases {
    /// Those of a summary.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let mut schemes: Vec<String> = Vec::new();
        let mut points: Vec<Case> = Vec::new();
        for point in &summary.points {
            points.push(Case { name: point.name.clone(), set: point.set.clone() });
        }
        for Aggregate { scheme, point, .. } in &summary.aggregates {
            if !schemes.contains(scheme) {
                schemes.push(scheme.clone());
            }
            if !points.iter().any(|case| case.set == *point) {
                points.push(Case { name: words(point), set: point.clone() });
            }
        }
        // Points of which no run ended have nothing to show.
        points.retain(|case| summary.aggregates.iter().any(|of| of.point == case.set));
        if points.is_empty() {
            points.push(Case::default());
        }
        let axis = Axis::of(&points);
        Self { schemes, points, axis }
    }

    /// The place of the point that sets this.
    #[must_use]
    pub fn point(&self, set: &Set) -> Option<usize> {
        self.points.iter().position(|case| case.set == *set)
    }

    /// The place of the point of this name; the only point has any.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<usize> {
        let only = (self.points.len() == 1).then_some(0);
        self.points.iter().position(|case| case.name == name).or(only)
    }

    /// The place of this scheme.
    #[must_use]
    pub fn scheme(&self, name: &str) -> Option<usize> {
        self.schemes.iter().position(|scheme| scheme == name)
    }

    /// Up to `most` points that stand for all: the first, the last, and others evenly between.
    #[must_use]
    pub fn some(&self, most: usize) -> Vec<usize> {
        let (all, most) = (self.points.len(), most.max(1));
        if all <= most {
            return (0..all).collect();
        }
        (0..most).map(|place| place * (all - 1) / (most - 1).max(1)).collect()
    }

    /// The points that figures over time show: of each scheme, so it may be few.
    #[must_use]
    pub fn timed(&self) -> Vec<usize> {
        self.some((MOST_PANELS / self.schemes.len().max(1)).clamp(1, 3))
    }

    /// What a panel of a scheme at a point is called.
    #[must_use]
    pub fn panel(&self, point: usize, scheme: usize) -> String {
        let (point, scheme) = (self.brief(point), &self.schemes[scheme]);
        if point.is_empty() { scheme.clone() } else { format!("{scheme} · {point}") }
    }

    /// The name of a point without the tables that its keys are in: they do not fit above a panel.
    #[must_use]
    pub fn brief(&self, point: usize) -> String {
        let brief = |part: &str| match part.split_once('=') {
            Some((key, value)) => {
                let key = key.rsplit('.').next().unwrap_or_default();
                format!("{}={}", key.trim(), value.trim())
            }
            None => part.to_owned(),
        };
        self.points[point].name.split(", ").map(brief).collect::<Vec<_>>().join(", ")
    }

    /// A sentence on the points that are shown, if they are not all.
    #[must_use]
    pub fn shown(&self, points: &[usize]) -> String {
        if points.len() == self.points.len() {
            return String::new();
        }
        let names: Vec<String> = points.iter().map(|&at| self.points[at].name.clone()).collect();
        let all = self.points.len();
        format!(" Of the {all} points {} are shown: {}.", names.len(), text::list(&names))
    }
}

/// A point in words.
fn words(set: &Set) -> String {
    let parts = set.iter().map(|(key, value)| match value.as_str() {
        Some(text) => format!("{key} = {text}"),
        None => format!("{key} = {value}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(points: usize, schemes: usize) -> Cases {
        let case = |name: usize| Case { name: name.to_string(), set: Set::new() };
        let points: Vec<Case> = (0..points).map(case).collect();
        let axis = Axis::of(&points);
        Cases { schemes: vec!["a".into(); schemes], points, axis }
    }

    #[test]
    fn some_points_stand_for_all_and_it_is_said() {
        assert_eq!(cases(2, 1).some(3), [0, 1]);
        assert_eq!(cases(9, 1).some(3), [0, 4, 8]);
        assert_eq!(cases(9, 1).some(1), [0]);
        assert_eq!(cases(9, 1).timed(), [0, 4, 8]);
        assert_eq!(cases(9, 20).timed(), [0]);
        assert_eq!(cases(2, 1).shown(&[0, 1]), "");
        assert_eq!(cases(9, 1).shown(&[0, 8]), " Of the 9 points 2 are shown: 0 and 8.");
    }

    #[test]
    fn names_of_points_are_brief_above_panels() {
        let mut cases = cases(2, 1);
        cases.points[0].name = "topology.senders=2, switch.default.buffer=20KB".into();
        assert_eq!(cases.panel(0, 0), "a · senders=2, buffer=20KB");
        assert_eq!(cases.panel(1, 0), "a · 1");
    }

    #[test]
    fn points_of_results_without_names_are_called_by_what_they_set() {
        let aggregate = |senders: u64| Aggregate {
            scheme: "cubic".into(),
            point: Set::from([("topology.senders".to_owned(), senders.into())]),
            ..Aggregate::default()
        };
        let summary =
            Summary { aggregates: vec![aggregate(20), aggregate(40)], ..Summary::default() };
        let cases = Cases::of(&summary);
        assert_eq!(cases.points[1].name, "topology.senders = 40");
        assert_eq!(cases.named("elsewhere"), None);
        assert_eq!(Cases::of(&Summary::default()).points.len(), 1);
    }
}
