//! The axis along which the points of a scenario differ: a quantity, if some key has a quantity at every point;
//! otherwise the names of points.

use crate::comparison::{same_at_all, short_key};
use serde_json::Value;
use shallop_core::units::{BitsPerSec, Bytes, Span};
use shallop_results::Point;
use shallop_results::units::{self, Unit};

/// How figures place the points of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// There is only one point, so that figures have no axis for points.
    One,
    /// The points differ in a quantity, which is the axis. Points that also differ in other keys are in separate
    /// panels.
    Quantity {
        /// Title of the axis: the key, with its unit in brackets.
        title: String,
        /// By point: the value on the axis.
        values: Vec<f64>,
        /// By point: the name of its panel; empty if there is only one panel.
        panels: Vec<String>,
    },
    /// The points are listed by name, because no key has a quantity at every point.
    Names,
}

impl Axis {
    /// Chooses the axis for these points.
    #[must_use]
    pub fn for_points(points: &[Point]) -> Self {
        if points.len() < 2 {
            return Self::One;
        }
        let keys = different_keys(points);
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
        let axis = Self::Quantity { title: title(&keys, key, &unit), values, panels };
        if axis.is_clear() { axis } else { Self::Names }
    }

    /// Whether the axis suits the points: no two points coincide, and curves have at least two points.
    fn is_clear(&self) -> bool {
        let Self::Quantity { values, panels, .. } = self else { return true };
        let mut places: Vec<(&String, u64)> = panels.iter().zip(values.iter().map(|value| value.to_bits())).collect();
        let all = places.len();
        places.sort_unstable();
        places.dedup();
        let mut panels: Vec<&String> = panels.iter().collect();
        panels.sort_unstable();
        panels.dedup();
        places.len() == all && panels.len() * 2 <= all
    }
}

/// The keys by which the points differ.
fn different_keys(points: &[Point]) -> Vec<&String> {
    let mut keys: Vec<&String> = points.iter().flat_map(|point| point.set.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| !same_at_all(points, key));
    keys
}

/// The values of the first key by which the points differ, if it is a quantity and all others rise with it, as those
/// that `--with` moves along.
pub(crate) fn moved_together(points: &[Point]) -> Option<Vec<f64>> {
    let keys = different_keys(points);
    let (first, others) = keys.split_first()?;
    let (values, _) = quantities(points, first)?;
    let rises = |key: &&String| {
        let Some((other, _)) = quantities(points, key) else { return false };
        let mut both: Vec<(f64, f64)> = values.iter().copied().zip(other).collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        both.windows(2).all(|pair| (pair[0].0 < pair[1].0) == (pair[0].1 < pair[1].1))
    };
    others.iter().all(rises).then_some(values)
}

/// The title of a key on an axis: the last two parts of the key, or more if another key that varies ends like that.
fn title(keys: &[&String], key: &str, unit: &str) -> String {
    let name = short_key(keys, key, 2).replace(['.', '_'], " ");
    if unit.is_empty() { name } else { format!("{name} ({unit})") }
}

/// The values of a key at all points, and the name of their unit, if all are quantities of one kind. Rates, times and
/// sizes may be in several units; other numbers must be followed by the same word.
fn quantities(points: &[Point], key: &str) -> Option<(Vec<f64>, String)> {
    let values: Vec<&Value> = points.iter().map(|point| point.set.get(key)).collect::<Option<_>>()?;
    let sizes = |text: &str| text.parse::<Bytes>().ok().map(|bytes| bytes.get() as f64);
    let times = |text: &str| text.parse::<Span>().ok().map(|span| span.as_ps() as f64 * 1e-12);
    let rates = |text: &str| text.parse::<BitsPerSec>().ok().map(|rate| rate.get() as f64);
    in_one_unit(&values, sizes, units::SIZES)
        .or_else(|| in_one_unit(&values, times, units::TIMES))
        .or_else(|| in_one_unit(&values, rates, units::RATES))
        .or_else(|| {
            // Buffers for each Gb/s of a port: "20KB/Gbps" beside "2MB/Gbps".
            let per_rate = |text: &str| sizes(text.strip_suffix("/Gbps")?);
            let (values, unit) = in_one_unit(&values, per_rate, units::SIZES)?;
            Some((values, format!("{unit}/Gbps")))
        })
        .or_else(|| {
            let values = values.into_iter().map(number).collect::<Option<Vec<_>>>()?;
            let unit = values[0].1.clone();
            let alike = values.iter().all(|(_, other)| *other == unit);
            alike.then(|| (values.into_iter().map(|(value, _)| value).collect(), unit))
        })
}

/// Values on an axis are below this, in the unit of the axis.
const MOST_ON_AXIS: f64 = 1e5;

/// Converts values of one kind to the unit that suits the smallest, or the next one in which all are below
/// [`MOST_ON_AXIS`]; `None` if `read` fails for any of them.
fn in_one_unit(
    values: &[&Value], read: impl Fn(&str) -> Option<f64>, units: &'static [Unit],
) -> Option<(Vec<f64>, String)> {
    let values: Vec<f64> = values.iter().map(|value| read(value.as_str()?)).collect::<Option<_>>()?;
    let least = values.iter().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let unit = Unit::for_largest([least], units);
    let mut above = units.iter().rev().skip_while(|other| other.size < unit.size);
    let unit = above.find(|unit| largest < MOST_ON_AXIS * unit.size).copied().unwrap_or(unit);
    Some((values.into_iter().map(|value| unit.put(value)).collect(), unit.name.to_owned()))
}

/// Splits a value into the number with which it starts and the text after it.
fn number(value: &Value) -> Option<(f64, String)> {
    if let Some(number) = value.as_f64() {
        return Some((number, String::new()));
    }
    let text = value.as_str()?.trim();
    let end = text.find(|letter: char| !matches!(letter, '0'..='9' | '.' | '_')).unwrap_or(text.len());
    let number = text[..end].replace('_', "").parse().ok()?;
    let unit = text[end..].trim();
    // Ranges and lists are no quantities.
    let plain = unit.chars().all(|letter| letter.is_alphabetic() || matches!(letter, '/' | '%'));
    plain.then(|| (number, unit.to_owned()))
}

/// The name of a point's panel: its values of all keys but the one on the axis.
fn panel(point: &Point, keys: &[&String], axis: &str) -> String {
    let others = keys.iter().filter(|key| **key != axis);
    let parts = others.filter_map(|key| {
        let value = point.set.get(*key)?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{} = {value}", title(keys, key, "")))
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        let axis = Axis::for_points(&points(&[
            json!({ "group.all.arrivals.load": 0.2 }),
            json!({ "group.all.arrivals.load": 0.4 }),
        ]));
        let Axis::Quantity { title, values, panels } = axis else { panic!("{axis:?}") };
        assert_eq!((title.as_str(), values, panels), ("arrivals load", vec![0.2, 0.4], vec![String::new(); 2]));
    }

    #[test]
    fn units_stand_on_the_axis_if_all_are_the_same() {
        let two = |a: &str, b: &str| {
            Axis::for_points(&points(&[json!({ "topology.rate": a }), json!({ "topology.rate": b })]))
        };
        let Axis::Quantity { title, values, .. } = two("10Gbps", "40 Gbps") else { panic!() };
        assert_eq!((title.as_str(), values), ("topology rate (Gb/s)", vec![10.0, 40.0]));
        assert_eq!(two("0ms..20ms", "0ms..40ms"), Axis::Names);
        assert_eq!(two("fair", "fifo"), Axis::Names);
    }

    #[test]
    fn values_in_several_units_are_on_one_axis() {
        let cases = [
            ("buffer", ["200KB", "3MB", "512KiB"], "buffer (KB)", [200.0, 3000.0, 524.288]),
            ("rate", ["500Mbps", "10Gbps", "1_000Kbps"], "rate (Mb/s)", [500.0, 10_000.0, 1.0]),
            ("delay", ["40ms", "1.5s", "200us"], "delay (ms)", [40.0, 1500.0, 0.2]),
            ("mark", ["8pkt", "33pkt", "250pkt"], "mark (pkt)", [8.0, 33.0, 250.0]),
            ("mark", ["20KB/Gbps", "40KB/Gbps", "1KB/Gbps"], "mark (KB/Gbps)", [20.0, 40.0, 1.0]),
            ("buffer", ["20KB/Gbps", "2MB/Gbps", "1KB/Gbps"], "buffer (KB/Gbps)", [20.0, 2000.0, 1.0]),
        ];
        for (key, texts, name, expected) in cases {
            let axis = Axis::for_points(&points(&texts.map(|text| json!({ key: text }))));
            let Axis::Quantity { title, values, .. } = axis else { panic!("{texts:?}: {axis:?}") };
            assert_eq!((title.as_str(), values), (name, expected.to_vec()));
        }
        // Packets are no fixed number of bytes.
        assert_eq!(Axis::for_points(&points(&[json!({ "buffer": "8pkt" }), json!({ "buffer": "20KB" })])), Axis::Names);
    }

    #[test]
    fn the_key_with_the_most_values_is_the_axis_and_others_are_panels() {
        let grid = [(2, "8pkt"), (3, "8pkt"), (4, "8pkt"), (2, "20KB"), (3, "20KB"), (4, "20KB")];
        let sets =
            grid.map(|(senders, buffer)| json!({ "topology.senders": senders, "switch.default.buffer": buffer }));
        let Axis::Quantity { title, panels, .. } = Axis::for_points(&points(&sets)) else { panic!() };
        assert_eq!((title.as_str(), panels[5].as_str()), ("topology senders", "default buffer = 20KB"));
    }

    #[test]
    fn points_at_one_place_and_single_points_have_no_curve() {
        assert_eq!(Axis::for_points(&points(&[json!({})])), Axis::One);
        assert_eq!(
            Axis::for_points(&points(&[json!({ "a": 1 }), json!({ "a": 1, "b": "x" }), json!({ "b": "y" })])),
            Axis::Names
        );
        assert_eq!(Axis::for_points(&points(&[json!({ "a": 1, "b": "x" }), json!({ "a": 2, "b": "y" })])), Axis::Names);
    }
}
