//! `shallop advise`: races the candidates of a scenario, and says which one to take. Decisions depend on the results of
//! runs and on the budget in runs. The budget in minutes is made a number of runs once; the number is stored in the
//! results folder, so that a race that is resumed makes equal decisions.

use crate::diagnostic::{Result, plain, study_error, with_help};
use crate::forecast::{Forecast, forecast};
use crate::identity::{Identity, digest};
use crate::jobs::{JobOptions, Progress, run_all};
use crate::printable::shell_word;
use crate::{REPORT, RunArchive, TableForm, render};
use indexmap::IndexMap;
use shallop_plan::Study;
use shallop_results::advice::{Advice, Candidate, Elsewhere};
use shallop_results::claim_fields::{figure, quantity};
use shallop_results::metrics::Figure;
use shallop_results::question::{Bounded, Question};
use shallop_results::race::{Race, SHORT, Sample};
use shallop_results::units::Quantity;
use shallop_results::{Estimate, Job, Shard, summary::Run, table::Grid};
use shallop_scenario::{Changes, explain::rules};
use shallop_store::{read_text, write_file};
use shallop_view::figures::trade_off;
use shallop_view::page::{self, PageTable};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{ops::Range, path::Path};

/// The file in the results folder with the budget in runs.
const BUDGET: &str = "budget.txt";
pub const ADVICE: &str = "advise.json";
/// Metrics on the axes of the picture, kept for each run in addition to the metrics of the question.
pub const AXES: [&str; 2] = ["loss_rate", "fct.all.p99_s"];
/// Candidates that are compared at other loads and round trips, and the seeds for that.
const FIRST: usize = 3;
const SEEDS: u64 = 3;
/// The most candidates that a table of text has.
const MOST_ROWS: usize = 24;
/// Seconds below which a forecast says no more than that it is short.
const SHORT_SECONDS: f64 = 5.0;

/// Reads the scenario with further keys set.
pub type Read<'a> = &'a dyn Fn(&[(String, String)]) -> Result<Study>;

/// What to advise on.
pub struct Adviser<'a> {
    pub read: Read<'a>,
    /// Changes that make the scenario shorter, that double its load, and that double its delays.
    pub variants: [Changes; 3],
    /// The words of the command that name the scenario, with the options that change it.
    pub scenario: String,
    pub folder: Option<&'a Path>,
    pub jobs: usize,
    pub threads: usize,
    pub stop: &'a AtomicBool,
    /// Shows the progress of runs.
    pub progress: &'a dyn Fn(&Study) -> Box<dyn Progress>,
}

type Measured = BTreeMap<String, Figure>;

/// A race: the study and its question, with each candidate as its first run and its name.
struct Field {
    study: Study,
    question: Question,
    places: Vec<(Job, String)>,
    /// The results of the longest runs of each candidate.
    measured: Vec<Vec<Measured>>,
}

impl Adviser<'_> {
    pub fn advise(&self) -> Result<Advice> {
        let study = (self.read)(&[])?;
        let help = "write a section [advise] with `minimise` or `maximise`, or give --minimise or --maximise";
        let question = study.question.clone().ok_or_else(|| with_help(&"the scenario asks no question", &help))?;
        let places = candidates(&study);
        if places.len() < 2 {
            let help = "write several schemes, values in [advise.space], or --vary KEY=V1,V2,...";
            return Err(with_help(&"there is one candidate only", &help));
        }
        // A part of the duration may make no scenario, for example if flows would start after the end.
        let short = (self.read)(&self.variants[0]).ok();
        let budget = self.budget(&study, &question, &places)?;
        // The first candidates also run at twice the load and the delays.
        let each = (2 * FIRST) as u64;
        let seeds = [SEEDS, 1].into_iter().find(|seeds| seeds * each * 4 <= budget).unwrap_or(0);
        let Some(mut race) = Race::new(places.len(), question.maximise, short.is_some(), budget - seeds * each) else {
            let what = format!("the budget of {budget} runs is too small for {} candidates", places.len());
            return Err(with_help(&what, &"more --minutes or --runs, or fewer candidates"));
        };
        let mut field = Field { measured: vec![Vec::new(); places.len()], study, question, places };
        let mut interrupted = self.race(&mut race, &mut field, short.as_ref())?;
        let mut ranking = race.ranking();
        ranking.retain(|&at| !field.measured[at].is_empty());
        let Some(&best) = ranking.first() else {
            return Err(plain(&"interrupted before a candidate had run; finished runs are kept with --out"));
        };
        let mut used = race.used();
        let mut elsewhere = Vec::new();
        if seeds > 0 && !interrupted {
            let first = &ranking[..FIRST.min(ranking.len())];
            for (what, set) in ["load × 2", "delays × 2"].into_iter().zip(&self.variants[1..]) {
                let row = self.elsewhere((what, set), &field, first, seeds as usize)?;
                used += (row.objectives.len() * seeds as usize) as f64;
                elsewhere.push(row);
            }
            interrupted = self.stop.load(Ordering::Relaxed);
        }
        let (job, name) = &field.places[best];
        let points = &field.study.points;
        let keys: BTreeSet<String> = points.iter().flat_map(|point| point.set.keys().cloned()).collect();
        let keys: Vec<String> = keys.into_iter().collect();
        let mut advice = Advice {
            scenario: field.study.title.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            budget_runs: budget,
            used_runs: used,
            ended: race.end.to_owned(),
            short: short.map(|_| 1.0 / SHORT as f64),
            interrupted,
            finding: String::new(),
            candidates: ranking.iter().map(|&at| field.candidate(&race, at)).collect(),
            rules: rules(&field.study, (job.point, job.scheme), &keys)
                .map_err(|why| plain(&format!("{name}: {why}")))?,
            elsewhere,
            next: self.next(&field.study, *job),
            question: field.question,
        };
        advice.say(field.places.len());
        Ok(advice)
    }

    /// Runs the race. Returns whether it was interrupted.
    fn race(&self, race: &mut Race, field: &mut Field, short: Option<&Study>) -> Result<bool> {
        while let Some(rung) = race.rung() {
            let of = short.filter(|_| rung.is_short).unwrap_or(&field.study);
            let all = self.run(of, field, &rung.candidates, rung.seeds.clone())?;
            let interrupted = all.iter().any(|runs| runs.len() < rung.seeds.len());
            let is_first = field.measured.iter().all(Vec::is_empty);
            for (&at, runs) in rung.candidates.iter().zip(all) {
                // Only complete rungs count, or the first one as far as it came.
                if runs.len() == rung.seeds.len() && (is_first || !interrupted) {
                    race.record(at, rung.is_short, runs.iter().map(|run| sample(&field.question, run)).collect());
                    field.measured[at].retain(|_| rung.seeds.start > 0);
                    field.measured[at].extend(runs);
                }
            }
            if interrupted {
                return Ok(true);
            }
            if !rung.is_short {
                field.check()?;
            }
            race.judge();
        }
        field.check().map(|()| false)
    }

    /// The budget in runs of the full duration: as given, as an earlier command stored it, or from a forecast.
    fn budget(&self, study: &Study, question: &Question, places: &[(Job, String)]) -> Result<u64> {
        if let Some(runs) = question.runs {
            return Ok(runs);
        }
        let jobs: Vec<Job> = places.iter().map(|place| place.0).collect();
        let all: Vec<Identity> = jobs.iter().map(|job| identity(study, *job)).collect();
        let asked = digest(format!("{question:?} {all:?}").as_bytes());
        let stored = self.folder.map(|folder| folder.join(BUDGET));
        let text = stored.as_ref().and_then(|path| read_text(path).ok()).unwrap_or_default();
        if let Some(runs) = text.strip_prefix(&asked).and_then(|runs| runs.trim().parse().ok()) {
            return Ok(runs);
        }
        let seconds = match forecast(&[(study, jobs)], 1) {
            Forecast::Short => SHORT_SECONDS,
            Forecast::Takes(time) => time.as_secs_f64(),
            Forecast::Unknown(why) => {
                let what = format!("how long a run takes is not known: {why}");
                return Err(with_help(&what, &"give the budget in runs, with --runs"));
            }
        };
        let runs = (question.minutes * 60.0 * self.threads as f64 * places.len() as f64 / seconds) as u64;
        if let Some(path) = stored {
            write_file(path, format!("{asked} {runs}\n").as_bytes()).map_err(|why| plain(&why))?;
        }
        Ok(runs)
    }

    /// Runs candidates with these seeds, counted from the first one of the scenario. Results are in the order of the
    /// candidates, and of the seeds up to the first that was interrupted.
    fn run(&self, study: &Study, field: &Field, at: &[usize], seeds: Range<usize>) -> Result<Vec<Vec<Measured>>> {
        let alone = |&at: &usize| {
            let job = field.places[at].0;
            let mut point = study.points[job.point].clone();
            point.plan.schemes = vec![point.plan.schemes[job.scheme].clone()];
            point
        };
        let seeds = seeds.map(|seed| field.places[0].0.seed + seed as u64).collect();
        let part = Study { points: at.iter().map(alone).collect(), seeds, ..study.clone() };
        let archive = self.folder.map(RunArchive::in_results);
        let options = JobOptions {
            jobs: self.jobs,
            cores: 1,
            archive: archive.as_ref(),
            resume: true,
            shard: Shard::WHOLE,
            stop: self.stop,
        };
        if self.stop.load(Ordering::Relaxed) {
            return Ok(vec![Vec::new(); at.len()]);
        }
        let progress = (self.progress)(&part);
        let done = run_all(&part, options, &*progress);
        progress.close();
        let done = done.map_err(|why| study_error(&why))?;
        let of = |point: usize, seed: u64| {
            let found = done.iter().find(|run| (run.job.point, run.job.seed) == (point, seed));
            found.map(|run| measure(&field.question, &run.run))
        };
        Ok((0..at.len()).map(|point| part.seeds.iter().map_while(|&seed| of(point, seed)).collect()).collect())
    }

    /// The first candidates under a changed scenario.
    fn elsewhere(
        &self, (what, set): (&str, &Changes), field: &Field, first: &[usize], seeds: usize,
    ) -> Result<Elsewhere> {
        let row = |objectives: Vec<_>, best| Elsewhere {
            what: what.to_owned(),
            set: set.iter().cloned().collect(),
            misses: vec![Vec::new(); objectives.len()],
            objectives,
            best,
        };
        let changed = match (self.read)(set) {
            _ if set.is_empty() => return Ok(row(Vec::new(), "the scenario has no such key".to_owned())),
            Err(why) => return Ok(row(Vec::new(), format!("not possible: {why}"))),
            Ok(changed) => changed,
        };
        let all = self.run(&changed, field, first, 0..seeds)?;
        if all.iter().any(|runs| runs.len() < seeds) {
            return Ok(row(Vec::new(), "interrupted".to_owned()));
        }
        let mut race = Race::of(first.len(), field.question.maximise);
        for (at, runs) in all.iter().enumerate() {
            race.record(at, false, runs.iter().map(|run| sample(&field.question, run)).collect());
        }
        let best = race.ranking()[0];
        let fails = if race.entrants[best].excess() > 0.0 { ", which misses a bound" } else { "" };
        let objectives = all.iter().map(|runs| Some(means(runs).get(&field.question.metric)?.mean)).collect();
        let broken = |runs: &Vec<Measured>| {
            let means = means(runs);
            let value = |bound: &Bounded| means.get(&bound.metric).map(|estimate| estimate.mean);
            let bounds = field.question.bounds.iter().filter(|bound| bound.excess(value(bound)) > 0.0);
            bounds.map(|bound| bound.metric.clone()).collect()
        };
        let named = format!("{}{fails}", field.places[first[best]].1);
        Ok(Elsewhere { misses: all.iter().map(broken).collect(), ..row(objectives, named) })
    }

    /// The command that configures a switch for a candidate.
    fn next(&self, study: &Study, job: Job) -> String {
        let point = &study.points[job.point];
        let word = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut words = vec![format!("shallop config {}", self.scenario)];
        words.push("--schemes".to_owned());
        words.push(crate::choice::argument([point.plan.schemes[job.scheme].name.as_str()]));
        for (key, value) in &point.set {
            words.extend(["--set".to_owned(), shell_word(&format!("{key}={}", word(value))).into_owned()]);
        }
        words.push("--os eos".to_owned());
        words.join(" ")
    }
}

impl Field {
    /// An error if no run has the objective.
    fn check(&self) -> Result<()> {
        let metric = &self.question.metric;
        if self.measured.iter().flatten().any(|run| run.contains_key(metric)) {
            return Ok(());
        }
        let help = "flows without end have no completion times, and a queue without packets no delay";
        Err(with_help(&format!("no run has a value of {metric}"), &help))
    }

    fn candidate(&self, race: &Race, at: usize) -> Candidate {
        let ((job, name), entrant) = (&self.places[at], &race.entrants[at]);
        let (point, (short, full)) = (&self.study.points[job.point], entrant.runs());
        Candidate {
            name: name.clone(),
            scheme: point.plan.schemes[job.scheme].name.clone(),
            point: point.set.clone(),
            standing: race.standing(at),
            metrics: means(&self.measured[at]),
            excess: Some(entrant.excess()).filter(|excess| excess.is_finite()),
            runs: full as u64,
            short_runs: short as u64,
        }
    }
}

fn identity(study: &Study, job: Job) -> Identity {
    Identity::for_run(&study.points[job.point].plan, job.scheme, job.seed)
}

/// Every scheme at every point, with its name; runs that cannot differ once.
fn candidates(study: &Study) -> Vec<(Job, String)> {
    let mut found: IndexMap<String, (Job, String)> = IndexMap::new();
    let several = study.points[0].plan.schemes.len() > 1;
    let seed = study.seeds.first().copied().unwrap_or_default();
    for (point, at) in study.points.iter().enumerate() {
        // The last two steps of each key will do.
        let short = at.set.keys().fold(at.name.clone(), |name, key| {
            let cut = key.rmatch_indices('.').nth(1).map_or(0, |(dot, _)| dot + 1);
            name.replace(&format!("{key}="), &format!("{}=", &key[cut..]))
        });
        for (scheme, of) in at.plan.schemes.iter().enumerate() {
            let job = Job { point, scheme, seed };
            let words = [of.name.as_str(), &short].into_iter().skip(usize::from(!several));
            let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
            let known = found.entry(identity(study, job).to_string()).or_insert((job, name));
            if several && known.0 != job {
                // The keys that differ change nothing here.
                known.1.clone_from(&of.name);
            }
        }
    }
    found.into_values().collect()
}

/// The metrics of a run that the advice is about.
fn measure(question: &Question, run: &Run) -> Measured {
    let bounds = question.bounds.iter().map(|bound| bound.metric.as_str());
    let paths = bounds.chain([question.metric.as_str()]).chain(AXES);
    paths.filter_map(|path| Some((path.to_owned(), figure(run, path, None).ok()?))).collect()
}

fn sample(question: &Question, run: &Measured) -> Sample {
    let value = |path: &str| run.get(path).map(|figure| figure.value);
    let none = if question.maximise { f64::NEG_INFINITY } else { f64::INFINITY };
    let objective = value(&question.metric);
    // A run without the objective is worse than one that misses a bound.
    let excess = |bound: &Bounded| objective.map_or(f64::INFINITY, |_| bound.excess(value(&bound.metric)));
    Sample { objective: objective.unwrap_or(none), excess: question.bounds.iter().map(excess).collect() }
}

fn means(runs: &[Measured]) -> BTreeMap<String, Estimate> {
    let paths: BTreeSet<&String> = runs.iter().flat_map(BTreeMap::keys).collect();
    let mean = |path: &String| {
        let figures: Vec<Figure> = runs.iter().filter_map(|run| run.get(path).copied()).collect();
        let most = if matches!(quantity(path), Quantity::Share | Quantity::JainIndex) { 1.0 } else { f64::INFINITY };
        Estimate::from_figures(&figures, (0.0, most))
    };
    paths.into_iter().filter_map(|path| Some((path.clone(), mean(path)?))).collect()
}

/// Writes `advise.json` and the page to a results folder.
pub fn publish(folder: &Path, advice: &Advice) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(advice).map_err(|why| plain(&why))?;
    text.push(b'\n');
    write_file(folder.join(ADVICE), &text).map_err(|why| plain(&why))?;
    // Flows without end have no completion times.
    let objective = advice.question.metric.as_str();
    let pictures = [AXES[1], objective].map(|metric| trade_off::figure(advice, [AXES[0], metric]));
    let figures: Vec<_> = pictures.into_iter().filter(|figure| !figure.rows.is_empty()).take(1).collect();
    let tables = tables(advice).map(|(title, Grid { header, rows, words })| PageTable {
        title: title.to_owned(),
        header,
        rows,
        words,
        ..PageTable::default()
    });
    let next = if advice.next.is_empty() { String::new() } else { format!("Next: `{}`", advice.next) };
    let cost = advice.cost();
    let says = [&advice.finding, &next, &cost].map(String::as_str).into_iter().filter(|text| !text.is_empty());
    let says: Vec<&str> = says.collect();
    let html = page::answer(&advice.scenario, &advice.version, ADVICE, &says, &tables.collect::<Vec<_>>(), &figures);
    write_file(folder.join(REPORT), html.as_bytes()).map_err(|why| plain(&why))
}

fn tables(advice: &Advice) -> impl Iterator<Item = (&'static str, Grid)> {
    let all = [
        ("Candidates", advice.ranking()),
        ("Rules for these keys", advice.rules()),
        ("At other loads and round trips", advice.elsewhere()),
    ];
    all.into_iter().filter(|(_, grid)| !grid.rows.is_empty())
}

/// The advice as text: the ranking, the finding, the tables and the next command.
pub fn text(advice: &Advice, form: TableForm) -> String {
    let mut ranking = advice.ranking();
    let more = ranking.rows.len().saturating_sub(MOST_ROWS);
    ranking.rows.truncate(MOST_ROWS);
    let more = if more > 0 { format!("\n… {more} more: --json and --out have all") } else { String::new() };
    let mut parts = vec![render(&ranking, form) + &more, advice.finding.clone()];
    parts.extend(tables(advice).skip(1).map(|(_, grid)| render(&grid, form)));
    if !advice.next.is_empty() {
        parts.push(format!("Next: {}", advice.next));
    }
    parts.push(advice.cost());
    parts.join("\n\n")
}
