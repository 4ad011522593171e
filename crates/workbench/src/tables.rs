//! The tables of results: flows and time series of a run, and the causes of drops of all runs, with the unit and the
//! definition of each column.

use shallop_measure::flow_log::FlowRow;
use shallop_measure::series::{Sample, Samples};
use shallop_results::{Summary, table};
use shallop_store::{Column, Table, Text};

/// The definitions of the columns that identify a run.
pub(super) const POINT: &str = "The name of the point; empty if there is only one.";
/// See [`POINT`].
pub(super) const SCHEME: &str = "The label of the scheme.";
/// See [`POINT`].
pub(super) const SEED: &str = "The run seed.";

/// The flows of a run.
pub(super) fn flow_table(rows: &[FlowRow]) -> Table {
    let text =
        |of: fn(&FlowRow) -> &str| -> Text { rows.iter().map(|row| Some(of(row))).collect() };
    let count = |of: fn(&FlowRow) -> u64| -> Vec<u64> { rows.iter().map(of).collect() };
    let some = |of: fn(&FlowRow) -> f64| -> Vec<f64> { rows.iter().map(of).collect() };
    let numbers: Vec<u64> = rows.iter().map(|row| u64::from(row.flow)).collect();
    let counted: Vec<bool> = rows.iter().map(|row| row.counted).collect();
    let slowdowns: Vec<Option<f64>> = rows.iter().map(|row| row.slowdown).collect();
    let sizes: Vec<Option<u64>> = rows.iter().map(|row| row.size_bytes).collect();
    let times: Vec<Option<f64>> = rows.iter().map(|row| row.fct_s).collect();
    let rate = "IP bytes of data that arrived, with retransmissions, until the end of the flow or of the run.";
    let columns = vec![
        Column::new("flow", "", "The number of the flow in its run, in order of start.", numbers),
        Column::new("group", "", "The group.", text(|row| &row.group)),
        Column::new("from", "", "The host of the sender.", text(|row| &row.from)),
        Column::new("to", "", "The host of the receiver.", text(|row| &row.to)),
        Column::new("start_s", "s", "The start time.", some(|row| row.start_s)),
        Column::new("size_bytes", "B", "Payload to send; null without end.", sizes),
        Column::new(
            "fct_s",
            "s",
            "From the start to the arrival of the last byte; null if incomplete.",
            times,
        ),
        Column::new(
            "slowdown",
            "ratio",
            "That time over the time in an empty network; null if incomplete.",
            slowdowns,
        ),
        Column::new("counted", "", "False in the warm-up and the cool-down.", counted),
        Column::new("received_bytes", "B", "Payload received.", count(|row| row.received_bytes)),
        Column::new("throughput_bps", "bit/s", rate, some(|row| row.throughput_bps)),
        Column::new(
            "sent",
            "packets",
            "Data packets sent, with retransmissions.",
            count(|row| row.sent),
        ),
        Column::new(
            "retransmits",
            "packets",
            "Data packets retransmitted.",
            count(|row| row.retransmits),
        ),
        Column::new("timeouts", "timeouts", "Retransmission timeouts.", count(|row| row.timeouts)),
        Column::new("credits", "packets", "Credits that arrived.", count(|row| row.credits.0)),
        Column::new(
            "credits_used",
            "packets",
            "Credits that released data.",
            count(|row| row.credits.1),
        ),
        Column::new("credits_wasted", "packets", "Credits wasted.", count(|row| row.credits.2)),
    ];
    Table::new("flows", columns)
}

/// The time series of a run.
pub(super) fn series_table(samples: &Samples) -> Table {
    let Samples { samples, places } = samples;
    let quantity: Text = samples.iter().map(|sample| Some(sample.quantity.name())).collect();
    let place = |sample: &Sample| places.get(sample.place as usize).map(String::as_str);
    let place: Text = samples.iter().map(place).collect();
    let quantities = "queue_bytes: now; queue_peak_bytes: the most since the last row; rate_bps: since then, at IP; \
                      window_segments and srtt_s: of rehearsals, as the kernel says.";
    let time: Vec<f64> = samples.iter().map(|sample| sample.time.as_secs_f64()).collect();
    let value: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let columns = vec![
        Column::new("time_s", "s", "The time since the start of the run.", time),
        Column::new("what", "", quantities, quantity),
        Column::new("place", "", "The queue, the group or the flow.", place),
        Column::new(
            "value",
            "B, bit/s, segments or s",
            "The value, in the unit that `what` ends in.",
            value,
        ),
    ];
    Table::new("series", columns)
}

/// The causes of drops of all runs, from [`Run::drops_by_cause`](shallop_results::Run::drops_by_cause).
pub(super) fn drops_table(summary: &Summary) -> Table {
    let runs = table::placed(summary);
    let rows: Vec<_> = runs
        .iter()
        .flat_map(|&(point, run)| run.drops_by_cause.iter().map(move |drop| (point, run, drop)))
        .collect();
    let points: Text =
        rows.iter().map(|(point, ..)| Some(summary.points[*point].name.as_str())).collect();
    let schemes: Text = rows.iter().map(|(_, run, _)| Some(run.scheme.as_str())).collect();
    let seeds: Vec<u64> = rows.iter().map(|(_, run, _)| run.seed).collect();
    let places: Text = rows.iter().map(|(.., drop)| Some(drop.place.as_str())).collect();
    let classes: Text = rows.iter().map(|(.., drop)| Some(drop.class.as_str())).collect();
    let causes: Text = rows.iter().map(|(.., drop)| Some(drop.cause.as_str())).collect();
    let packets: Vec<u64> = rows.iter().map(|(.., drop)| drop.packets).collect();
    let columns = vec![
        Column::new("point", "", POINT, points),
        Column::new("scheme", "", SCHEME, schemes),
        Column::new("seed", "", SEED, seeds),
        Column::new("place", "", "The port, as the nodes from and to which it leads.", places),
        Column::new("class", "", "The class of the packets.", classes),
        Column::new("cause", "", "The cause of the drops.", causes),
        Column::new("packets", "packets", "The number of packets.", packets),
    ];
    Table::new("drops_by_cause", columns)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shallop_results::Run;
    use shallop_store::{Values, from_parquet, to_parquet};

    use super::*;

    #[test]
    fn drops_of_all_runs_have_a_row_for_each_port_class_and_cause() {
        let run = |scheme: &str, seed: u64, load: f64, drops: &[(&str, &str, u64)]| {
            let drop = |drop: &(&str, &str, u64)| {
                let (place, cause, packets) = *drop;
                json!({ "place": place, "class": "data", "cause": cause, "packets": packets })
            };
            let drops: Vec<_> = drops.iter().map(drop).collect();
            let mut run = serde_json::to_value(Run::default()).unwrap_or_default();
            run["scheme"] = scheme.into();
            run["seed"] = seed.into();
            run["point"] = json!({ "load": load });
            run["drops_by_cause"] = drops.into();
            run
        };
        let point = |name: &str, load: f64| json!({ "name": name, "set": { "load": load }, "schemes": ["cubic"] });
        let summary = json!({
            "scenario": "A", "version": "1", "quick": false, "seeds": [1, 2], "aggregates": [],
            "points": [point("low", 0.2), point("high", 0.8)],
            "runs": [
                run("cubic", 1, 0.2, &[]),
                run("cubic", 2, 0.2, &[("a>b", "wire_loss", 1)]),
                run("cubic", 1, 0.8, &[("a>b", "buffer_full", 70), ("b>c", "red", 9)]),
            ],
        });
        let summary: Summary = serde_json::from_value(summary).expect("the schema of summary.json");
        let table = drops_table(&summary);
        let rows = |name: &str| match &table.column(name).expect(name).values {
            Values::Text(text) => {
                text.iter().map(Option::unwrap_or_default).collect::<Vec<_>>().join(" ")
            }
            other => format!("{other:?}"),
        };
        assert_eq!(rows("point"), "low high high");
        assert_eq!(rows("place"), "a>b a>b b>c");
        assert_eq!(rows("cause"), "wire_loss buffer_full red");
        assert_eq!(
            table.column("seed").map(|column| &column.values),
            Some(&vec![2u64, 1, 1].into())
        );
        assert_eq!(
            table.column("packets").map(|column| &column.values),
            Some(&vec![1u64, 70, 9].into())
        );
        let bytes = to_parquet(&table).expect("a table");
        assert_eq!(from_parquet("drops", bytes).expect("what was written"), table);
    }
}
