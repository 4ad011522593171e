//! `--live`: shows queue lengths, drops, marks and rates of flows on the terminal during a run.

use crate::parent::no_thread;
use console::{Alignment, Term, pad_str, style, truncate_str};
use shallop_core::Span;
use shallop_results::table::significant;
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::{LiveSnapshot, printable::printable};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{thread::JoinHandle, time::Duration};

/// The time between two updates of the screen.
const BETWEEN: Duration = Duration::from_millis(250);
/// The width of a bar, in characters.
const BAR: usize = 30;
/// The width of a number, in characters.
const NUMBER: usize = 8;
/// The least width of a name, in characters.
const NAME: usize = 16;
/// Control sequences of xterm: switch to the alternate screen and hide the cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// Control sequence that clears the rest of a line.
const CLEAR: &str = "\x1b[K";

/// The latest two snapshots of the run, for rates.
#[derive(Clone, Debug, Default)]
struct Shown {
    title: String,
    before: LiveSnapshot,
    now: LiveSnapshot,
}

/// The screen of a terminal during a run. A thread of its own draws it.
pub struct LiveScreen {
    shown: Arc<Mutex<Shown>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LiveScreen {
    /// Takes over the terminal; fails if standard output is not one.
    pub fn start() -> Result<Self> {
        if !io::stdout().is_terminal() {
            return Err(plain(&"--live needs a terminal as standard output"));
        }
        let (shown, is_over) = (Arc::<Mutex<Shown>>::default(), Arc::new(AtomicBool::new(false)));
        let theirs = (Arc::clone(&shown), Arc::clone(&is_over));
        let thread = std::thread::Builder::new().spawn(move || show(&theirs.0, &theirs.1));
        let thread = thread.map_err(|why| no_thread(&why))?;
        Ok(Self { shown, is_over, thread: Some(thread) })
    }

    /// Shows another run, which starts now, under this title.
    pub fn begin(&self, title: &str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = Shown { title: printable(title).into_owned(), ..Shown::default() };
    }

    /// Whether the run should deliver a snapshot at this simulated time.
    pub fn wants(&self, at: Span) -> bool {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        at >= shown.now.at + Span::from_ms(BETWEEN.as_millis() as u64)
    }

    /// Shows the next snapshot of the run.
    pub fn tell(&self, snapshot: LiveSnapshot) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.before = std::mem::replace(&mut shown.now, snapshot);
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The run does not depend on the screen.
            let _ = thread.join();
        }
    }
}

/// Draws the screen until the run is over. The terminal is not in raw mode, so that Ctrl-C still sends a signal.
fn show(shown: &Mutex<Shown>, is_over: &AtomicBool) {
    shallop_workbench::rehearsal::keep_off();
    let screen = Term::buffered_stdout();
    // The run goes on even if the screen cannot be written.
    let _ = screen.write_str(ENTER);
    while !is_over.load(Ordering::Relaxed) {
        // The lock is held for the copy only, so that the run does not wait for a slow terminal.
        let latest = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if draw(&screen, &latest).is_err() {
            break;
        }
        std::thread::sleep(BETWEEN);
    }
    let _ = screen.write_str(LEAVE).and_then(|()| screen.flush());
}

fn draw(screen: &Term, shown: &Shown) -> io::Result<()> {
    let (rows, columns) = screen.size();
    let lines = screen_lines(shown, rows.into(), columns.into());
    screen.move_cursor_to(0, 0)?;
    screen.write_str(&lines.join(&format!("{CLEAR}\n")))?;
    screen.clear_to_end_of_screen()?;
    screen.flush()
}

fn mbps(bytes: u64, span: Span) -> f64 {
    shallop_core::Bytes::new(bytes).per(span) / 1e6
}

fn bar(part: f64) -> String {
    let full = (part.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    "█".repeat(full)
}

/// The lines of the screen: a title, totals, a table of queues and a table of flows. If some lines do not fit, the last
/// one says how many.
fn screen_lines(shown: &Shown, rows: usize, columns: usize) -> Vec<String> {
    let Shown { title, before, now } = shown;
    let name = columns.saturating_sub(2 * NUMBER + BAR + 4).max(NAME);
    let mut lines = vec![style(title).bold().to_string(), totals(shown), String::new()];
    lines.push(style(row(name, "queue", ["KB now", "most"], "")).bold().to_string());
    let most = now.queues.iter().map(|queue| queue.max).max().unwrap_or(1).max(1);
    for queue in &now.queues {
        let numbers = [queue.held, queue.max].map(|bytes| significant(bytes as f64 / 1e3));
        let bar = style(bar(queue.held as f64 / most as f64)).blue().to_string();
        lines.push(row(name, &printable(&queue.name), numbers.each_ref().map(String::as_str), &bar));
    }
    lines.extend([String::new(), style(row(name, "flow", ["Mb/s", ""], "")).bold().to_string()]);
    let span = now.at.saturating_sub(before.at);
    let sent = |flow: usize| now.flows[flow].saturating_sub(before.flows.get(flow).copied().unwrap_or(0));
    let rates: Vec<f64> = (0..now.flows.len()).map(|flow| mbps(sent(flow), span)).collect();
    let most = rates.iter().copied().fold(1e-9, f64::max);
    for (number, &rate) in rates.iter().enumerate() {
        let bar = style(bar(rate / most)).green().to_string();
        lines.push(row(name, &format!("flow {number}"), [&significant(rate), ""], &bar));
    }
    if lines.len() > rows {
        let hidden = lines.len() + 1 - rows.max(1);
        lines.truncate(rows.saturating_sub(1));
        lines.push(format!("{hidden} lines more: the terminal has {rows} rows"));
    }
    lines.iter().map(|line| truncate_str(line, columns, "").into_owned()).collect()
}

/// The simulated time, the rate of all flows, and packets dropped, lost and marked: in total and since the last update.
fn totals(Shown { before, now, .. }: &Shown) -> String {
    let rate = mbps(now.ip_bytes.saturating_sub(before.ip_bytes), now.at.saturating_sub(before.at));
    format!(
        "{:.2} s   {} Mb/s   dropped {} (+{})   lost {}   marked {} (+{})",
        now.at.as_secs_f64(),
        significant(rate),
        now.dropped,
        now.dropped.saturating_sub(before.dropped),
        now.lost,
        now.marked,
        now.marked.saturating_sub(before.marked),
    )
}

fn row(width: usize, name: &str, [first, second]: [&str; 2], bar: &str) -> String {
    let name = pad_str(name, width, Alignment::Left, Some("…"));
    format!("{name} {first:>NUMBER$} {second:>NUMBER$}  {bar}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;
    use shallop_workbench::QueueNow;

    #[test]
    fn the_screen_has_queues_drops_marks_and_the_rate_of_each_flow() {
        let queue = QueueNow { name: "left>right data".to_owned(), held: 25_000, max: 50_000 };
        let before = LiveSnapshot { at: Span::from_ms(1_000), flows: vec![0], ..LiveSnapshot::default() };
        let now = LiveSnapshot {
            at: Span::from_ms(1_250),
            queues: vec![queue],
            dropped: 7,
            marked: 9,
            ip_bytes: 3_125_000,
            flows: vec![3_125_000, 0],
            ..LiveSnapshot::default()
        };
        let shown = Shown { title: "cubic, seed 1".to_owned(), before, now };
        let text = screen_lines(&shown, 20, 90).join("\n");
        for part in ["cubic, seed 1", "1.25 s   100", "dropped 7 (+7)", "marked 9", "left>right data", "flow 1"] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        let bars = |line: &str| text.lines().find(|it| it.contains(line)).unwrap().matches('█').count();
        assert_eq!((bars("left>right"), bars("flow 0"), bars("flow 1")), (15, 30, 0));
    }
    #[test]
    fn a_small_screen_shows_what_fits_and_counts_the_rest() {
        let queue = QueueNow { name: "left>\u{1b}[2Jright".to_owned(), held: 1, max: 1 };
        let now = LiveSnapshot { queues: vec![queue], flows: vec![1; 40], ..LiveSnapshot::default() };
        let shown = Shown { title: "t".repeat(200), before: LiveSnapshot::default(), now };
        for (rows, columns) in [(24, 80), (10, 30), (1, 1)] {
            let lines = screen_lines(&shown, rows, columns);
            assert_eq!(lines.len(), rows);
            assert!(lines.iter().all(|line| console::measure_text_width(line) <= columns));
            assert!(!lines.concat().contains("\u{1b}[2J"));
        }
        assert_eq!(screen_lines(&shown, 24, 80)[23], "24 lines more: the terminal has 24 rows");
        assert_eq!(screen_lines(&shown, 60, 80).len(), 47);
    }
}
