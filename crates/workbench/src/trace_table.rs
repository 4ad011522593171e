//! The table of traces, with a row for each flow at each time. It is made of the rows of `series.parquet`, each of
//! which has one value.

use shallop_measure::series::Quantity;
use shallop_store::{Column, Table, Text, Values};

/// The quantities of a trace with their units and definitions, in the order of the columns.
const QUANTITIES: [(Quantity, &str, &str); 6] = [
    (Quantity::Cwnd, "segments", "The congestion window."),
    (Quantity::Ssthresh, "segments", "The slow start threshold; null before the first reduction."),
    (Quantity::Pacing, "bit/s", "The pacing rate, of payload."),
    (Quantity::SmoothedRtt, "s", "The smoothed round-trip time; null before the first sample."),
    (Quantity::Delivered, "segments", "Data segments acknowledged so far."),
    (Quantity::CaState, "", "0: open, 1: disorder, 2: CWR, 3: recovery, 4: loss (TCP_CA_* of Linux)."),
];

/// A flow at a time, with its values in the order of [`QUANTITIES`].
#[derive(Clone, Debug, Default, PartialEq)]
struct TraceRow {
    point: String,
    scheme: String,
    seed: Option<u64>,
    time_s: f64,
    flow: u64,
    values: [Option<f64>; QUANTITIES.len()],
}

/// Puts the values of a flow at a time into one row. State: the last row, whose values may go on in the next batch.
#[derive(Debug, Default)]
pub(super) struct TraceRows {
    last: Option<TraceRow>,
}

impl TraceRows {
    /// Takes a part of `series.parquet`, and returns the rows that are complete.
    pub(super) fn push(&mut self, batch: &Table) -> Table {
        let values = |name: &str| batch.column(name).map(|column| &column.values);
        let text = |name: &str, row: usize| match values(name) {
            Some(Values::Text(text)) => text.row(row),
            _ => None,
        };
        let number = |name: &str, row: usize| match values(name) {
            Some(Values::F64(numbers)) => numbers.get(row).copied().flatten(),
            _ => None,
        };
        let mut complete = Vec::new();
        for row in 0..batch.rows() {
            let what = text("what", row);
            let quantity = QUANTITIES.iter().position(|(it, ..)| Some(it.name()) == what);
            let flow = text("place", row).and_then(|place| place.strip_prefix("flow ")?.parse().ok());
            let Some((quantity, flow)) = quantity.zip(flow) else { continue };
            let seed = match values("seed") {
                Some(Values::U64(seeds)) => seeds.get(row).copied().flatten(),
                _ => None,
            };
            let word = |name: &str| text(name, row).unwrap_or_default().to_owned();
            let mut new = TraceRow {
                point: word("point"),
                scheme: word("scheme"),
                seed,
                time_s: number("time_s", row).unwrap_or_default(),
                flow,
                values: Default::default(),
            };
            if let Some(last) = self.last.take() {
                new.values = last.values;
                if new != last {
                    new.values = Default::default();
                    complete.push(last);
                }
            }
            new.values[quantity] = number("value", row);
            self.last = Some(new);
        }
        table(&complete)
    }

    /// The last row.
    pub(super) fn finish(self) -> Table {
        table(self.last.as_slice())
    }
}

fn table(rows: &[TraceRow]) -> Table {
    let text = |of: fn(&TraceRow) -> &str| rows.iter().map(|row| Some(of(row))).collect::<Text>();
    let seeds: Vec<Option<u64>> = rows.iter().map(|row| row.seed).collect();
    let times: Vec<f64> = rows.iter().map(|row| row.time_s).collect();
    let flows: Vec<u64> = rows.iter().map(|row| row.flow).collect();
    let points = "The name of the point; empty if there is only one.";
    let mut columns = vec![
        Column::new("point", "", points, text(|row| &row.point)),
        Column::new("scheme", "", "The label of the scheme.", text(|row| &row.scheme)),
        Column::new("seed", "", "The run seed.", seeds),
        Column::new("time_s", "s", "The time since the start of the run.", times),
        Column::new("flow", "", "The number of the flow, in order of start.", flows),
    ];
    columns.extend(QUANTITIES.iter().enumerate().map(|(at, (quantity, unit, about))| {
        let values: Vec<Option<f64>> = rows.iter().map(|row| row.values[at]).collect();
        let whole = matches!(quantity, Quantity::Delivered | Quantity::CaState);
        let values = if whole {
            Values::from(values.iter().map(|value| value.map(|it| it as u64)).collect::<Vec<_>>())
        } else {
            Values::from(values)
        };
        Column::new(quantity.name(), unit, about, values)
    }));
    Table::new("traces", columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a series: time, what, place, value.
    fn series(rows: &[(f64, &str, &str, f64)]) -> Table {
        let text =
            |of: fn(&(f64, &str, &str, f64)) -> String| Values::Text(rows.iter().map(|row| Some(of(row))).collect());
        let columns = vec![
            Column::new("point", "", "", text(|_| String::new())),
            Column::new("scheme", "", "", text(|_| "cubic".to_owned())),
            Column::new("seed", "", "", vec![7_u64; rows.len()]),
            Column::new("time_s", "s", "", rows.iter().map(|row| row.0).collect::<Vec<_>>()),
            Column::new("what", "", "", text(|row| row.1.to_owned())),
            Column::new("place", "", "", text(|row| row.2.to_owned())),
            Column::new("value", "", "", rows.iter().map(|row| row.3).collect::<Vec<_>>()),
        ];
        Table::new("series", columns)
    }

    fn column(table: &Table, name: &str) -> Values {
        table.column(name).unwrap().values.clone()
    }

    #[test]
    fn values_of_one_time_are_one_row_also_across_batches() {
        let mut rows = TraceRows::default();
        let first = rows.push(&series(&[
            (0.1, "queue_bytes", "s>r data", 5.0),
            (0.1, "cwnd_segments", "flow 0", 10.0),
            (0.1, "delivered_segments", "flow 0", 3.0),
            (0.1, "cwnd_segments", "flow 12", 11.0),
        ]));
        let second = rows.push(&series(&[
            (0.1, "ca_state", "flow 12", 3.0),
            (0.2, "rate_bps", "flow 0", 1.0),
            (0.2, "cwnd_segments", "flow 12", 12.5),
        ]));
        let last = rows.finish();
        assert_eq!([first.rows(), second.rows(), last.rows()], [1, 1, 1]);
        assert_eq!(column(&first, "delivered_segments"), vec![3_u64].into());
        assert_eq!(column(&first, "ssthresh_segments"), vec![None::<f64>].into());
        assert_eq!(column(&second, "flow"), vec![12_u64].into());
        assert_eq!(column(&second, "cwnd_segments"), vec![11.0].into());
        assert_eq!(column(&second, "ca_state"), vec![3_u64].into());
        assert_eq!(column(&last, "time_s"), vec![0.2].into());
        assert_eq!(column(&last, "ca_state"), vec![None::<u64>].into());
        assert_eq!(column(&last, "seed"), vec![7_u64].into());
    }
}
