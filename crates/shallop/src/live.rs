//! `--live`: what queues hold, drops, marks and rates of flows, while a run goes on.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table};
use shallop_core::Span;
use shallop_results::table::significant;
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::{Moment, printable::printable};

/// The time between two pictures.
const BETWEEN: Duration = Duration::from_millis(250);
/// Characters of a bar.
const BAR: usize = 30;

/// The latest two states of the run in progress.
#[derive(Clone, Debug, Default)]
struct Shown {
    title: String,
    before: Moment,
    now: Moment,
}

/// The screen.
pub struct Live {
    shown: Arc<Mutex<Shown>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Takes the screen of this terminal.
    ///
    /// # Errors
    /// If there is none.
    pub fn start() -> Result<Self> {
        if !std::io::stdout().is_terminal() {
            return Err(plain(&"--live needs a terminal, and standard output is none"));
        }
        let (shown, is_over) = (Arc::<Mutex<Shown>>::default(), Arc::new(AtomicBool::new(false)));
        let theirs = (Arc::clone(&shown), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || show(&theirs.0, &theirs.1));
        Ok(Self { shown, is_over, thread: Some(thread) })
    }

    /// Another run begins.
    pub fn begin(&self, title: &str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = Shown { title: printable(title).into_owned(), ..Shown::default() };
    }

    /// Whether the state of the run at this time is wanted.
    pub fn wants(&self, at: Span) -> bool {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        at >= shown.now.at + Span::from_ms(BETWEEN.as_millis() as u64)
    }

    /// The state of the run.
    pub fn tell(&self, moment: Moment) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.before = std::mem::replace(&mut shown.now, moment);
    }
}

impl Drop for Live {
    /// Gives the screen back.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A picture less is no loss.
            let _ = thread.join();
        }
    }
}

/// Draws until it is over. Signals still come from the keyboard: the terminal is not in raw mode.
fn show(shown: &Mutex<Shown>, is_over: &AtomicBool) {
    use ratatui::crossterm::{cursor, execute, terminal};
    shallop_workbench::rehearsal::keep_off();
    let mut out = std::io::stdout();
    // Without a screen the run goes on.
    let _ = execute!(out, terminal::EnterAlternateScreen, cursor::Hide);
    let backend = ratatui::backend::CrosstermBackend::new(std::io::stdout());
    if let Ok(mut screen) = ratatui::Terminal::new(backend) {
        while !is_over.load(Ordering::Relaxed) {
            // A terminal may be slow, and the run must not wait for it: the lock is held for the copy alone.
            let latest = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if screen.draw(|frame| draw(frame, &latest)).is_err() {
                break;
            }
            std::thread::sleep(BETWEEN);
        }
    }
    let _ = execute!(out, terminal::LeaveAlternateScreen, cursor::Show);
}

/// The rate of these IP bytes, in Mb/s.
fn mbps(bytes: u64, span: Span) -> f64 {
    shallop_core::Bytes::new(bytes).per(span) / 1e6
}

fn bar(part: f64) -> String {
    let full = (part.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    "█".repeat(full)
}

fn draw(frame: &mut Frame<'_>, shown: &Shown) {
    let Shown { title, before, now } = shown;
    let span = now.at.saturating_sub(before.at);
    let rows = [
        Constraint::Length(4),
        Constraint::Length(now.queues.len() as u16 + 3),
        Constraint::Min(3),
    ];
    let [top, queues, flows] = Layout::vertical(rows).areas(frame.area());
    let rate = mbps(now.ip_bytes.saturating_sub(before.ip_bytes), span);
    let each = |now: u64, before: u64| now.saturating_sub(before);
    let text = format!(
        "{:.2} s   {} Mb/s   dropped {} (+{})   lost {}   marked {} (+{})",
        now.at.as_secs_f64(),
        significant(rate),
        now.dropped,
        each(now.dropped, before.dropped),
        now.lost,
        now.marked,
        each(now.marked, before.marked),
    );
    let block = Block::bordered().title(title.as_str().bold());
    frame.render_widget(Paragraph::new(text).block(block), top);
    let most = now.queues.iter().map(|queue| queue.max).max().unwrap_or(1).max(1);
    let row = |queue: &shallop_workbench::QueueNow| {
        let part = queue.held as f64 / most as f64;
        let numbers = [queue.held, queue.max].map(|bytes| significant(bytes as f64 / 1e3));
        let [held, max] = numbers;
        Row::new([Cell::from(queue.name.clone()), held.into(), max.into(), bar(part).blue().into()])
    };
    let header = ["queue", "KB now", "most", ""];
    table(frame, queues, header, now.queues.iter().map(row));
    let rates: Vec<f64> = (0..now.flows.len())
        .map(|flow| mbps(each(now.flows[flow], before.flows.get(flow).copied().unwrap_or(0)), span))
        .collect();
    let most = rates.iter().copied().fold(1e-9, f64::max);
    let row = |(number, &rate): (usize, &f64)| {
        let cells = [format!("flow {number}"), significant(rate), String::new()].map(Cell::from);
        Row::new(cells.into_iter().chain([Cell::from(bar(rate / most).green())]))
    };
    table(frame, flows, ["flow", "Mb/s", "", ""], rates.iter().enumerate().map(row));
}

fn table<'a>(
    frame: &mut Frame<'_>,
    area: Rect,
    header: [&'a str; 4],
    rows: impl Iterator<Item = Row<'a>>,
) {
    let widths = [
        Constraint::Min(16),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(BAR as u16),
    ];
    let header = Row::new(header).style(Style::new().bold());
    frame.render_widget(Table::new(rows, widths).header(header).block(Block::bordered()), area);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use shallop_workbench::QueueNow;

    use super::*;

    #[test]
    fn the_screen_has_queues_drops_marks_and_the_rate_of_each_flow() {
        let queue = QueueNow { name: "left>right data".to_owned(), held: 25_000, max: 50_000 };
        let before = Moment { at: Span::from_ms(1_000), flows: vec![0], ..Moment::default() };
        let now = Moment {
            at: Span::from_ms(1_250),
            queues: vec![queue],
            dropped: 7,
            marked: 9,
            ip_bytes: 3_125_000,
            flows: vec![3_125_000, 0],
            ..Moment::default()
        };
        let shown = Shown { title: "cubic, seed 1".to_owned(), before, now };
        let mut terminal = Terminal::new(TestBackend::new(90, 20)).unwrap();
        terminal.draw(|frame| draw(frame, &shown)).unwrap();
        let text = terminal.backend().to_string();
        for part in [
            "cubic, seed 1",
            "1.25 s   100",
            "dropped 7 (+7)",
            "marked 9",
            "left>right data",
            "flow 1",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        let bars =
            |line: &str| text.lines().find(|it| it.contains(line)).unwrap().matches('█').count();
        assert_eq!((bars("left>right"), bars("flow 0"), bars("flow 1")), (15, 30, 0));
    }
}
