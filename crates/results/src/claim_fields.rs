//! The numbers of a run that claims can be about, by their paths in scenario files: metrics of a run, of a window or of
//! a group; numbers of a queue or a memory pool; fractions of a port or a set of links.

use crate::metrics::{self, Figure, Number, SHARES_BY_NAME, Shares};
use crate::summary::{Group, GroupWindow, Pool, Queue, Run, Window};
use crate::units::Quantity;

/// The name of a field of `T` (a queue, a pool, a window), and the function that reads it.
type Field<T> = (&'static str, fn(&T) -> Option<f64>);

macro_rules! getters {
    ($entry:ty: $($field:ident),+) => {
        &[$((stringify!($field), |entry: &$entry| Number::number(entry.$field))),+]
    };
}

const OF_WINDOWS: &[Field<Window>] = getters!(Window: throughput_bps, jain, metered_loss);
const OF_GROUPS_IN_WINDOWS: &[Field<GroupWindow>] = getters!(GroupWindow: throughput_bps);
const OF_QUEUES: &[Field<Queue>] = getters!(Queue: max_bytes, mean_bytes, p50_bytes, p99_bytes, p9999_bytes);
const OF_POOLS: &[Field<Pool>] =
    getters!(Pool: ports, size_bytes, max_bytes, mean_bytes, p50_bytes, p99_bytes, p9999_bytes);
/// Metrics that each group has as well as the run, by the first step of the path: "fct" stands for `fct.all.p99_s` and
/// others.
const OF_GROUPS: [&str; 9] =
    ["flows", "throughput_bps", "goodput_bps", "loss_rate", "retransmits", "timeouts", "rtt", "jain", "fct"];
const LOSS_BY_PLACE: (&str, Shares) = ("loss_by_place", |run| &run.loss_by_place);
const DROPS_BY_PLACE: &str = "drops_by_place";
/// Classes of packets that carry data.
const DATA: [&str; 3] = ["data", "unscheduled", "legacy"];

/// The part of a run that a path of a claim leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A group: the rest of the path, `GROUP.METRIC`.
    Group(&'a str),
    /// The data queue of a port: the rest of the path, `PORT.FIELD`. `*.mean_bytes` is the mean over all ports.
    Queue(&'a str),
    /// A memory pool: the rest of the path, `PLACE.FIELD`.
    Pool(&'a str),
    /// A fraction, such as the loss, of the port or set of links with this name.
    Share(&'a str),
    /// The number of data packets that the port with this name dropped.
    Drops(&'a str),
    /// The run as a whole: the path is the path of a metric, such as `loss_rate`.
    Run,
}

impl<'a> Part<'a> {
    /// Takes the part from the first step of the path: `groups`, `queues`, `pools`, or a map of fractions.
    #[must_use]
    pub fn from_path(path: &'a str) -> Self {
        let Some((list, rest)) = path.split_once('.') else { return Self::Run };
        match list {
            "groups" if rest.contains('.') => Self::Group(rest),
            "queues" => Self::Queue(rest),
            "pools" => Self::Pool(rest),
            DROPS_BY_PLACE => Self::Drops(rest),
            list if shares(list).is_some() => Self::Share(rest),
            _ => Self::Run,
        }
    }
}

fn shares(list: &str) -> Option<Shares> {
    let mut all = SHARES_BY_NAME.iter().chain([&LOSS_BY_PLACE]);
    all.find(|(name, _)| *name == list).map(|(_, shares)| *shares)
}

/// The fields that a part has, sorted by name; if `window`, the fields that it has in windows.
pub fn fields(part: Part, window: bool) -> Vec<&'static str> {
    fn names<T>(fields: &[Field<T>]) -> Vec<&'static str> {
        fields.iter().map(|(name, _)| *name).collect()
    }
    let of_run = metrics::all().map(|metric| metric.path);
    let first = |path: &&str| OF_GROUPS.contains(&path.split('.').next().unwrap_or_default());
    let mut found = match part {
        Part::Group(_) if window => names(OF_GROUPS_IN_WINDOWS),
        Part::Group(_) => of_run.filter(first).collect(),
        _ if window => names(OF_WINDOWS),
        Part::Queue(_) => names(OF_QUEUES),
        Part::Pool(_) => names(OF_POOLS),
        Part::Share(_) | Part::Drops(_) => Vec::new(),
        Part::Run => of_run.collect(),
    };
    found.sort_unstable();
    found
}

/// The physical quantity, and so the unit, of the number at `path`.
pub fn quantity(path: &str) -> Quantity {
    let is_of = |name: &&str| path.ends_with(&format!(".{name}"));
    match Part::from_path(path) {
        Part::Group(_) => {
            fields(Part::from_path(path), false).into_iter().find(is_of).map_or(Quantity::Share, quantity)
        }
        Part::Queue(_) | Part::Pool(_) if path.ends_with("_bytes") => Quantity::Bytes,
        Part::Pool(_) if path.rsplit('.').next() == Some("ports") => Quantity::Count("ports"),
        Part::Queue(_) | Part::Pool(_) | Part::Share(_) => Quantity::Share,
        Part::Drops(_) => Quantity::Packets,
        Part::Run => metrics::find(path).map_or(Quantity::Share, |metric| metric.quantity),
    }
}

/// The number at `path` of a run, or of the window of the run with this start and end in seconds.
///
/// # Errors
/// If the run does not have it, and why.
pub fn figure(run: &Run, path: &str, window: Option<(f64, f64)>) -> Result<Figure, String> {
    let missing = || format!("{path} does not apply here");
    let unknown = || format!("a run has no number {path}");
    let exact = |value: Option<f64>| value.and_then(Figure::exact).ok_or_else(missing);
    let part = Part::from_path(path);
    if let Some((from, to)) = window {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let window = run.windows.iter().find(|it| near(it.from_s, from) && near(it.to_s, to));
        let window = window.ok_or_else(|| format!("the run has no window from {from} s to {to} s"))?;
        if let Part::Group(rest) = part {
            let number = |group: &GroupWindow, name: &str| getter(OF_GROUPS_IN_WINDOWS, name)?(group);
            return exact(entry(rest, &window.groups, |group| &group.name, number));
        }
        return exact(getter(OF_WINDOWS, path).ok_or_else(unknown)?(window));
    }
    match part {
        Part::Group(rest) => {
            let number = |group: &Group, name: &str| metrics::find(name)?.figure(&group.as_run());
            entry(rest, &run.groups, |group| &group.name, number).ok_or_else(missing)
        }
        Part::Queue("*.mean_bytes") => exact(mean_over_ports(run)),
        Part::Queue(rest) => {
            let number = |queue: &Queue, name: &str| {
                let above = || queue.above.get(name.strip_prefix("above.")?).copied();
                getter(OF_QUEUES, name).map_or_else(above, |get| get(queue))
            };
            // Of the queues of a port only the data queue is meant.
            let data = run.queues.iter().filter(|queue| queue.class == "data");
            let found = entry(rest, data, |queue| &queue.place, number);
            exact(found.or_else(|| sent_data(run, rest).then_some(0.0)))
        }
        Part::Pool(rest) => {
            let number = |pool: &Pool, name: &str| {
                let above = || pool.above.get(name.strip_prefix("above.")?).copied();
                getter(OF_POOLS, name).map_or_else(above, |get| get(pool))
            };
            exact(entry(rest, &run.pools, |pool| &pool.place, number))
        }
        Part::Share(name) => {
            let list = path.strip_suffix(name).unwrap_or_default().trim_end_matches('.');
            let found = shares(list).and_then(|shares| shares(run).get(name).copied());
            // A port that lost nothing is not in the list.
            let lossless = list == LOSS_BY_PLACE.0 && sent_data(run, name);
            let found = found.or_else(|| lossless.then_some(0.0));
            found.and_then(Figure::exact).ok_or_else(unknown)
        }
        Part::Drops(place) => {
            let of_place = run.drops_by_cause.iter().filter(|drop| drop.place == place);
            let data: u64 = of_place.filter(|drop| DATA.contains(&drop.class.as_str())).map(|drop| drop.packets).sum();
            let listed = data > 0 || sent_data(run, place) && !run.left_out.contains_key("drops_by_cause");
            listed.then_some(data as f64).and_then(Figure::exact).ok_or_else(unknown)
        }
        Part::Run => metrics::find(path).ok_or_else(unknown)?.figure(run).ok_or_else(missing),
    }
}

fn getter<T>(fields: &[Field<T>], name: &str) -> Option<fn(&T) -> Option<f64>> {
    fields.iter().find(|(field, _)| *field == name).map(|(_, get)| *get)
}

/// Finds the entry whose name `rest` begins with, and reads its number that the remainder of `rest` names. Both names
/// may have dots, so `rest` cannot be split at a dot.
fn entry<'a, T: 'a, R>(
    rest: &str, entries: impl IntoIterator<Item = &'a T>, name: impl Fn(&T) -> &String,
    number: impl Fn(&T, &str) -> Option<R>,
) -> Option<R> {
    entries.into_iter().find_map(|entry| {
        let path = rest.strip_prefix(name(entry).as_str())?.strip_prefix('.')?;
        number(entry, path)
    })
}

/// The mean of `mean_bytes` over the data queues of all switch ports that carried data; `None` if the run does not list
/// all of these queues.
fn mean_over_ports(run: &Run) -> Option<f64> {
    let ports = run.utilization_by_place.len() as f64;
    let listed = !["queues", "utilization_by_place"].iter().any(|list| run.left_out.contains_key(*list));
    let data = run.queues.iter().filter(|queue| queue.class == "data");
    (listed && ports > 0.0).then(|| data.map(|queue| queue.mean_bytes).sum::<f64>() / ports)
}

/// Whether the port that `path` begins with carried data. If so, its loss or queue is 0 where the run lists none: only
/// ports with a loss or a queue are listed. Other ports are not claimed about, or misspelt.
fn sent_data(run: &Run, path: &str) -> bool {
    let is_of = |rest: &str| rest.is_empty() || rest.starts_with('.');
    run.utilization_by_place.keys().any(|port| path.strip_prefix(port.as_str()).is_some_and(is_of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::DropCount;
    use std::collections::BTreeMap;

    #[test]
    fn queues_and_pools_go_by_their_places() {
        let queue = |class: &str, max_bytes| Queue {
            place: "a>b".to_owned(),
            class: class.to_owned(),
            max_bytes,
            mean_bytes: 3.0,
            above: BTreeMap::from([("1.5MB".to_owned(), 0.25)]),
            ..Queue::default()
        };
        let run = Run {
            queues: vec![queue("credit", 1), queue("data", 7)],
            pools: vec![Pool { place: "a/0".to_owned(), max_bytes: 9, ..Pool::default() }],
            utilization_by_place: [("a>b".to_owned(), 0.5), ("b>a".to_owned(), 0.1)].into(),
            ..Run::default()
        };
        let at = |path: &str| figure(&run, path, None).ok().map(|figure| figure.value);
        assert_eq!(at("queues.a>b.max_bytes"), Some(7.0));
        assert_eq!(at("queues.a>b.above.1.5MB"), Some(0.25), "a level may have a dot");
        assert_eq!(at("queues.b>a.max_bytes"), Some(0.0), "nothing was ever queued there");
        assert_eq!(at("queues.b>c.max_bytes"), None, "no such port carried anything");
        assert_eq!(at("queues.*.mean_bytes"), Some(1.5), "two ports, one of which never had a queue");
        assert_eq!(at("queues.*.max_bytes"), None);
        assert_eq!(at("pools.a/0.max_bytes"), Some(9.0));
        assert_eq!(at("pools.a/1.max_bytes"), None, "every pool is in the list");
    }

    #[test]
    fn drops_of_a_port_are_of_all_causes_and_of_data_only() {
        let drop = |place: &str, class: &str, packets| DropCount {
            place: place.to_owned(),
            class: class.to_owned(),
            packets,
            ..DropCount::default()
        };
        let mut run = Run {
            drops_by_cause: vec![drop("a>b", "data", 3), drop("a>b", "legacy", 4), drop("a>b", "ack", 5)],
            utilization_by_place: [("a>b".to_owned(), 0.5), ("b>a".to_owned(), 0.1)].into(),
            ..Run::default()
        };
        let at = |run: &Run, port: &str| figure(run, &format!("drops_by_place.{port}"), None).ok().map(|it| it.value);
        assert_eq!((at(&run, "a>b"), at(&run, "b>a"), at(&run, "b>c")), (Some(7.0), Some(0.0), None));
        run.left_out.insert("drops_by_cause".to_owned(), 1);
        assert_eq!((at(&run, "a>b"), at(&run, "b>a")), (Some(7.0), None), "the list may lack the port");
    }

    #[test]
    fn groups_have_the_metrics_of_runs() {
        let group = Group { name: "a.b".to_owned(), loss_rate: 0.25, ..Group::default() };
        let run = Run { groups: vec![group], ..Run::default() };
        let at = |path: &str| figure(&run, path, None).map(|figure| figure.value);
        assert_eq!(at("groups.a.b.loss_rate"), Ok(0.25));
        assert!(at("groups.a.b.jain").is_err_and(|why| why.contains("does not apply")));
        assert_eq!(fields(Part::Run, true), ["jain", "metered_loss", "throughput_bps"]);
        let groups = fields(Part::Group(""), false);
        assert!(groups.contains(&"fct.small.p99_s") && !groups.contains(&"credit.loss_rate"));
        assert_eq!(fields(Part::Group(""), true), ["throughput_bps"]);
    }

    #[test]
    fn quantities_follow_from_paths() {
        for (path, unit) in [
            ("groups.web.fct.small.p99_s", "s"),
            ("groups.web.throughput_bps", "bit/s"),
            ("queues.a>b.p99_bytes", "B"),
            ("queues.a>b.above.720KB", "fraction"),
            ("loss_by_set.all", "fraction"),
            ("drops.data", "packets"),
            ("drops_by_place.a>b", "packets"),
        ] {
            assert_eq!(quantity(path).stored(), unit, "{path}");
        }
    }
}
