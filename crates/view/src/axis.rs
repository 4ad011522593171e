//! The axis along which the points of a scenario differ: a quantity, if the values of a key are quantities; otherwise
//! names.

use serde_json::Value;

use shallop_results::Point;

/// The layout of points.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// There is one point.
    One,
    /// Points along a quantity; points that also differ in other keys are in panels.
    Quantity {
        /// The key, with its unit in brackets.
        title: String,
        /// The value of each point.
        values: Vec<f64>,
        /// The panel of each point; empty if there is only one.
        panels: Vec<String>,
    },
    /// Points by name.
    Names,
}

impl Axis {
    /// The axis of these points.
    #[must_use]
    pub fn of(points: &[Point]) -> Self {
        if points.len() < 2 {
            return Self::One;
        }
        let mut keys: Vec<&String> = points.iter().flat_map(|point| point.set.keys()).collect();
        keys.sort();
        keys.dedup();
        let varied = |key: &&String| {
            points.iter().any(|point| point.set.get(*key) != points[0].set.get(*key))
        };
        keys.retain(varied);
        let quantities = keys.iter().filter_map(|key| Some((*key, quantities(points, key)?)));
        let different = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_unstable_by(f64::total_cmp);
            values.dedup();
            values.len()
        };
        // Of several keys with the most values, the first one.
        let longest = quantities.rev().max_by_key(|(_, (values, _))| different(values));
        let Some((key, (values, unit))) = longest else { return Self::Names };
        let panels = points.iter().map(|point| panel(point, &keys, key)).collect();
        let axis = Self::Quantity { title: title(key, &unit), values, panels };
        if axis.is_clear() { axis } else { Self::Names }
    }

    /// Whether no two points coincide, and curves have at least two points.
    fn is_clear(&self) -> bool {
        let Self::Quantity { values, panels, .. } = self else { return true };
        let mut places: Vec<(&String, u64)> =
            panels.iter().zip(values.iter().map(|value| value.to_bits())).collect();
        let all = places.len();
        places.sort_unstable();
        places.dedup();
        let mut panels: Vec<&String> = panels.iter().collect();
        panels.sort_unstable();
        panels.dedup();
        places.len() == all && panels.len() * 2 <= all
    }
}

/// The title of a key on an axis: its last two parts.
fn title(key: &str, unit: &str) -> String {
    let mut parts: Vec<&str> = key.rsplit('.').take(2).collect();
    parts.reverse();
    let name = parts.join(" ").replace('_', " ");
    if unit.is_empty() { name } else { format!("{name} ({unit})") }
}

/// The values of a key at all points with their unit, if all are quantities in one unit.
fn quantities(points: &[Point], key: &str) -> Option<(Vec<f64>, String)> {
    let values = points.iter().map(|point| quantity(point.set.get(key)?));
    let values: Vec<(f64, String)> = values.collect::<Option<_>>()?;
    let unit = values[0].1.clone();
    let alike = values.iter().all(|(_, other)| *other == unit);
    alike.then(|| (values.into_iter().map(|(value, _)| value).collect(), unit))
}

/// The number at the start of a value, and the text after it.
fn quantity(value: &Value) -> Option<(f64, String)> {
    if let Some(number) = value.as_f64() {
        return Some((number, String::new()));
    }
    let text = value.as_str()?.trim();
    let end =
        text.find(|letter: char| !matches!(letter, '0'..='9' | '.' | '_')).unwrap_or(text.len());
    let number = text[..end].replace('_', "").parse().ok()?;
    let unit = text[end..].trim();
    // Ranges and lists are no quantities.
    let plain = unit.chars().all(|letter| letter.is_alphabetic() || matches!(letter, '/' | '%'));
    plain.then(|| (number, unit.to_owned()))
}

/// The values of a point for the keys other than that of the axis.
fn panel(point: &Point, keys: &[&String], axis: &str) -> String {
    let others = keys.iter().filter(|key| **key != axis);
    let parts = others.filter_map(|key| {
        let value = point.set.get(*key)?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{} = {value}", title(key, "")))
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn points(sets: &[Value]) -> Vec<Point> {
        let point = |(index, set): (usize, &Value)| Point {
            name: index.to_string(),
            set: serde_json::from_value(set.clone()).unwrap(),
            ..Point::default()
        };
        sets.iter().enumerate().map(point).collect()
    }

    #[test]
    fn one_key_with_numbers_is_a_quantity() {
        let axis = Axis::of(&points(&[
            json!({ "group.all.arrivals.load": 0.2 }),
            json!({ "group.all.arrivals.load": 0.4 }),
        ]));
        let Axis::Quantity { title, values, panels } = axis else { panic!("{axis:?}") };
        assert_eq!(
            (title.as_str(), values, panels),
            ("arrivals load", vec![0.2, 0.4], vec![String::new(); 2])
        );
    }

    #[test]
    fn units_stand_on_the_axis_if_all_are_the_same() {
        let two = |a: &str, b: &str| {
            Axis::of(&points(&[json!({ "topology.rate": a }), json!({ "topology.rate": b })]))
        };
        let Axis::Quantity { title, values, .. } = two("10Gbps", "40 Gbps") else { panic!() };
        assert_eq!((title.as_str(), values), ("topology rate (Gbps)", vec![10.0, 40.0]));
        assert_eq!(two("10Gbps", "500Mbps"), Axis::Names);
        assert_eq!(two("0ms..20ms", "0ms..40ms"), Axis::Names);
        assert_eq!(two("fair", "fifo"), Axis::Names);
    }

    #[test]
    fn the_key_with_the_most_values_is_the_axis_and_others_are_panels() {
        let grid = [(2, "8pkt"), (3, "8pkt"), (4, "8pkt"), (2, "20KB"), (3, "20KB"), (4, "20KB")];
        let sets = grid.map(|(senders, buffer)| {
            json!({ "topology.senders": senders, "switch.default.buffer": buffer })
        });
        let Axis::Quantity { title, panels, .. } = Axis::of(&points(&sets)) else { panic!() };
        assert_eq!(
            (title.as_str(), panels[5].as_str()),
            ("topology senders", "default buffer = 20KB")
        );
    }

    #[test]
    fn points_at_one_place_and_single_points_have_no_curve() {
        assert_eq!(Axis::of(&points(&[json!({})])), Axis::One);
        assert_eq!(
            Axis::of(&points(&[
                json!({ "a": 1 }),
                json!({ "a": 1, "b": "x" }),
                json!({ "b": "y" })
            ])),
            Axis::Names
        );
        assert_eq!(
            Axis::of(&points(&[json!({ "a": 1, "b": "x" }), json!({ "a": 2, "b": "y" })])),
            Axis::Names
        );
    }
}
