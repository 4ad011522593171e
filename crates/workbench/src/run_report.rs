//! The results of a study as text: a title, tables, warnings and the paths of files.

use super::diagnostic::name;
use super::printable::{printable, wrapped};
use super::run_study::StudyTask;
use super::text_table::{TableForm, markdown_text, render};
use super::{REPORT, RunArchive};
use shallop_results::table::{self, Grid, Rows};
use shallop_results::warning_lines;
use shallop_results::{Reuse, Shard};
use shallop_results::{drops::drops, group_table::groups, legend::longest_queues, links, program_table::programs};
use shallop_results::{rehearsal_table::rehearsals, summary::Summary};
use shallop_view::Headline;
use std::{borrow::Cow, fmt::Write};

/// The longest line of a sentence, in columns.
pub const WIDTH: usize = 120;

impl StudyTask {
    /// The title, the sentences and the tables, then [`StudyTask::notes`].
    pub fn text(&self, summary: &Summary, shard: Shard, rows: Rows, form: TableForm) -> String {
        let id = self.id.as_ref().map_or_else(String::new, |id| format!("{id}: "));
        let quick = if self.study.quick { " (quick)" } else { "" };
        let title = printable(&self.study.title);
        let mut text = match form {
            TableForm::Markdown => format!("## {id}{}{quick}\n\n", markdown_text(&title)),
            _ => format!("{id}{title}{quick}\n\n"),
        };
        if shard.is_whole() {
            text.push_str(&headline(summary, form));
        }
        text.push_str(&tables(summary, rows, form));
        text.push_str(&self.notes(summary, shard));
        text
    }

    /// Lines that say how many runs are missing and where the files are.
    pub fn notes(&self, summary: &Summary, shard: Shard) -> String {
        let mut text = String::new();
        let all = shard.select(self.study.jobs()).len();
        if summary.interrupted {
            let _ = writeln!(text, "Interrupted: {} of {all} runs ended.", summary.runs.len());
        }
        let _ = match self.folder.as_ref() {
            Some(folder) if !shard.is_whole() => writeln!(
                text,
                "Shard {shard}: {} of {all} runs are in {}. When the runs of all shards are\n\
                 there, the command without --shard and --identity makes the tables of all.",
                summary.runs.len(),
                name(RunArchive::in_results(folder).folder())
            ),
            Some(folder) if !summary.runs.is_empty() => {
                writeln!(text, "The report is {}.", name(&folder.join(REPORT)))
            }
            _ => Ok(()),
        };
        text
    }
}

/// The sentences at the head of a report, one per line, and their caveat.
fn headline(summary: &Summary, form: TableForm) -> String {
    let Headline { sentences, caveat, .. } = Headline::from_summary(summary);
    let width = if let TableForm::Text(Some(width)) = form { width.min(WIDTH) } else { WIDTH };
    let lines: Vec<String> = sentences
        .iter()
        .chain((!caveat.is_empty()).then_some(&caveat))
        .map(|line| match form {
            TableForm::Markdown => markdown_text(&printable(line)),
            _ => wrapped(&printable(line), width),
        })
        .collect();
    if lines.is_empty() { String::new() } else { format!("{}\n\n", lines.join("\n")) }
}

/// Breaks a line of text at spaces, if it is for a terminal that is narrower.
fn fitted(line: &str, form: TableForm) -> String {
    match form {
        TableForm::Text(Some(width)) => wrapped(line, width),
        _ => line.to_owned(),
    }
}

/// The warnings of a summary, one per line.
pub fn warnings(summary: &Summary) -> String {
    let mut lines = warning_lines::warnings(&summary.points, &table::placed(summary));
    lines.extend(summary.reused.iter().map(Reuse::line));
    lines.iter().flat_map(|line| [printable(line), Cow::Borrowed("\n")]).collect()
}

/// The legend of the summaries' tables: the meaning of each column.
pub fn legend<'a>(summaries: impl IntoIterator<Item = &'a Summary>, rows: Rows, form: TableForm) -> String {
    let grids = summaries.into_iter().map(|summary| runs_table(summary, rows));
    fitted(&shallop_results::legend::legend(&grids.collect::<Vec<_>>()), form)
}

fn runs_table(summary: &Summary, rows: Rows) -> Grid {
    table::table(&summary.points, &table::placed(summary), rows)
}

/// A table below its title, with a note on what it leaves out; empty if it has no rows.
fn titled(title: &str, grid: &Grid, note: String, form: TableForm) -> String {
    if grid.rows.is_empty() {
        return String::new();
    }
    let between = if form == TableForm::Markdown { "\n\n" } else { "\n" };
    let marks = grid.notes().into_iter().map(str::to_owned);
    let note: String =
        marks.chain([note]).filter(|line| !line.is_empty()).map(|line| fitted(&line, form) + "\n").collect();
    format!("{title}{between}{}{between}{note}\n", render(grid, form))
}

fn tables(summary: &Summary, rows: Rows, form: TableForm) -> String {
    let (mut text, sweep) = (String::new(), rows == Rows::Sweep);
    let (points, all) = (&summary.points, table::placed(summary));
    let runs = table::counted(&all);
    // Markdown takes a line directly below a table for a row of it.
    let between = if form == TableForm::Markdown { "\n\n" } else { "\n" };
    if !all.is_empty() {
        let grid = runs_table(summary, rows);
        text.push_str(&render(&grid, form));
        text.push_str(between);
        let longest = longest_queues(&runs);
        if !longest.is_empty() {
            text.push_str(&fitted(&printable(&longest), form));
            text.push('\n');
        }
        for note in grid.notes() {
            text.push_str(&fitted(note, form));
            text.push('\n');
        }
        text.push_str(&fitted(&warnings(summary), form));
        text.push('\n');
        let drops = drops(points, &runs);
        if !sweep && summary.claims.is_empty() && !drops.rows.is_empty() {
            text.push_str("Why data packets were dropped, at all ports together\n");
            text.push_str(between.strip_prefix('\n').unwrap_or_default());
            text.push_str(&render(&drops, form));
            text.push_str("\n\n");
        }
        if summary.claims.is_empty() {
            let (flows, note) = groups(points, &runs);
            text.push_str(&titled("Groups of flows", &flows, note, form));
            let (title, (links, note)) = links::printed(points, &runs, sweep);
            if !sweep {
                let programs = ("Programs", programs(points, &all));
                let rehearsals = ("Rehearsals", rehearsals(points, &all));
                for (title, (grid, note)) in [programs, rehearsals] {
                    text.push_str(&titled(title, &grid, note, form));
                }
            }
            text.push_str(&titled(title, &links, note, form));
        }
    }
    if !summary.claims.is_empty() {
        text.push_str(&render(&table::claims(&summary.claims), form));
        text.push_str("\n\n");
        text.push_str(&table::tally(&summary.claims));
        text.push('\n');
    }
    text
}
