//! The congestion window of one CUBIC flow over time, in a kernel and in the simulator: a figure, and a section of
//! docs/agreement.md. Both are made of the recorded traces of examples/traces.toml.

use std::{fmt::Write as _, path::Path};

/// The table of traces that `shallop export --table traces` has written.
pub const RECORD: &str = "docs/reproduction/traces.csv";
pub(super) const FIGURE: &str = "docs/figures/cwnd.svg";
const SCHEMES: [&str; 2] = ["kernel", "simulator"];
/// Colour and width of the lines: the kernel's wider one is behind the simulator's.
const STROKES: [(&str, f64); 2] = [("#e79a6f", 4.5), ("#1f5f9b", 1.3)];

/// The columns of a trace that are used, row by row.
#[derive(Clone, Debug, Default)]
struct Trace {
    time_s: Vec<f64>,
    cwnd: Vec<f64>,
    /// Whether the window was being reduced: states CWR, recovery and loss.
    is_reduced: Vec<bool>,
    srtt_s: Vec<Option<f64>>,
    delivered: Vec<f64>,
}

/// The recorded traces of both schemes.
#[derive(Clone, Debug)]
pub(super) struct Traces([Trace; 2]);

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

impl Traces {
    /// Reads the record in the repository at this root.
    ///
    /// # Errors
    /// If it cannot be read, or lacks a column or a scheme.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let failed = |why: csv::Error| format!("{RECORD}: {why}");
        let mut reader = csv::Reader::from_path(root.join(RECORD)).map_err(failed)?;
        let names = reader.headers().map_err(failed)?.clone();
        let place = |name: &str| {
            let found = names.iter().position(|column| column == name);
            found.ok_or_else(|| format!("{RECORD} lacks the column {name}"))
        };
        let scheme = place("scheme")?;
        let columns = ["time_s", "cwnd_segments", "ca_state", "srtt_s", "delivered_segments"];
        let columns = columns.map(place).into_iter().collect::<Result<Vec<usize>, _>>()?;
        let mut traces = Self([Trace::default(), Trace::default()]);
        for row in reader.records() {
            let row = row.map_err(failed)?;
            let known = SCHEMES.iter().position(|name| row.get(scheme) == Some(name));
            let Some(trace) = known.map(|at| &mut traces.0[at]) else { continue };
            let number = |column: usize| row.get(columns[column])?.parse::<f64>().ok();
            let [time_s, cwnd, state, srtt_s, delivered] = [0, 1, 2, 3, 4].map(number);
            let whole = time_s.zip(cwnd).zip(delivered);
            let Some(((time_s, cwnd), delivered)) = whole else { continue };
            trace.time_s.push(time_s);
            trace.cwnd.push(cwnd);
            trace.delivered.push(delivered);
            trace.is_reduced.push(state.is_some_and(|state| state >= 2.0));
            trace.srtt_s.push(srtt_s);
        }
        match traces.0.iter().position(|trace| trace.time_s.is_empty()) {
            Some(empty) => Err(format!("{RECORD} has no rows of the scheme {}", SCHEMES[empty])),
            None => Ok(traces),
        }
    }

    /// The section of the page.
    pub(super) fn section(&self) -> String {
        let mut text = include_str!("agreement/one_flow.md").to_owned();
        let mut row = |name: &str, digits: usize, of: &dyn Fn(&Trace) -> f64| {
            let [kernel, simulator] = [of(&self.0[0]), of(&self.0[1])];
            let _ = writeln!(text, "| {name} | {kernel:.digits$} | {simulator:.digits$} |");
        };
        row("congestion window, mean, segments", 1, &|it| mean(it.cwnd.iter().copied()));
        row("reductions of the window", 0, &|it| it.reductions() as f64);
        row("smoothed round trip, mean, ms", 2, &|it| 1e3 * mean(it.srtt_s.iter().flatten().copied()));
        row("segments delivered", 0, &|it| it.delivered.last().copied().unwrap_or_default());
        text
    }

    pub(super) fn figure(&self) -> String {
        let all = || self.0.iter();
        let length = all().flat_map(|it| &it.time_s).copied().fold(0.0, f64::max);
        let largest = all().flat_map(|it| &it.cwnd).copied().fold(0.0, f64::max);
        let (length, top) = (length.ceil(), (largest / 50.0).ceil() * 50.0);
        let x = |time: f64| LEFT + time / length * WIDTH;
        let y = |cwnd: f64| BOTTOM - cwnd / top * HEIGHT;
        let mut grid = String::new();
        for step in 0..=5 {
            let (time, cwnd) = (length * f64::from(step) / 5.0, top * f64::from(step) / 5.0);
            let (right, below) = (LEFT + WIDTH, BOTTOM + 18.0);
            let _ = writeln!(grid, "  <path d=\"M{LEFT} {0:.1}H{right}\" stroke=\"#ddd9cf\"/>", y(cwnd));
            let _ = writeln!(
                grid,
                "  <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{cwnd:.0}</text>",
                LEFT - 8.0,
                y(cwnd) + 4.0
            );
            let _ =
                writeln!(grid, "  <text x=\"{:.1}\" y=\"{below}\" text-anchor=\"middle\">{time:.0}</text>", x(time));
        }
        let mut lines = String::new();
        for ((trace, (colour, width)), (name, at)) in all().zip(STROKES).zip(SCHEMES.iter().zip([150, 330])) {
            let points = trace.time_s.iter().zip(&trace.cwnd);
            let points: Vec<String> = points.map(|(&time, &cwnd)| format!("{:.1},{:.1}", x(time), y(cwnd))).collect();
            let points = points.join(" ");
            let stroke = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"");
            let _ = writeln!(lines, "  <polyline {stroke} points=\"{points}\"/>");
            let (end, label) = (at + 30, at + 38);
            let _ = writeln!(lines, "  <path d=\"M{at} 24H{end}\" {stroke}/>");
            let _ = writeln!(lines, "  <text x=\"{label}\" y=\"28\">{name}</text>");
        }
        format!("{HEAD}{grid}{lines}</svg>\n")
    }
}

const LEFT: f64 = 60.0;
const WIDTH: f64 = 680.0;
const BOTTOM: f64 = 270.0;
const HEIGHT: f64 = 225.0;
const HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 320\" role=\"img\" \
     aria-labelledby=\"t d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#1d1c19\">\n  \
     <title id=\"t\">The congestion window of one CUBIC flow, in a kernel and in the simulator</title>\n  \
     <desc id=\"d\">Two lines of the window in segments over time in seconds. Made by make write-docs.</desc>\n  \
     <rect x=\"0\" y=\"0\" width=\"760\" height=\"320\" rx=\"8\" fill=\"#fbfaf7\" stroke=\"#c9c5bb\"/>\n  \
     <text x=\"400\" y=\"308\" text-anchor=\"middle\">time, s</text>\n  \
     <text x=\"20\" y=\"157\" transform=\"rotate(-90 20 157)\" text-anchor=\"middle\">cwnd, segments</text>\n";

impl Trace {
    /// How often a reduction of the window began.
    fn reductions(&self) -> usize {
        let begins = |pair: &&[bool]| !pair[0] && pair[1];
        self.is_reduced.windows(2).filter(begins).count()
    }
}
