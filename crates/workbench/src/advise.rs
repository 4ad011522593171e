//! `shallop advise`: races the candidates of a scenario, and says which one to take. Decisions depend on the results of
//! runs and on the budget in runs. The budget in minutes is made a number of runs once; the number is stored in the
//! results folder, so that a race that is resumed makes equal decisions.

use crate::diagnostic::{Result, plain, study_error, with_help};
use crate::forecast::{Forecast, forecast};
use crate::identity::{Identity, digest};
use crate::jobs::{JobOptions, Progress, run_all};
use crate::printable::shell_word;
use crate::{REPORT, RunArchive, TableForm, render};
use serde::{Deserialize, Serialize};
use shallop_plan::Study;
use shallop_results::advice::{Advice, Candidate, Elsewhere};
use shallop_results::claim_fields::quantity;
use shallop_results::metrics::{Figure, find};
use shallop_results::question::{Question, value};
use shallop_results::race::{Race, SHORT, Sample};
use shallop_results::units::Quantity;
use shallop_results::{Estimate, Job, Shard, summary::Run, table::Grid};
use shallop_scenario::{Changes, explain::rules};
use shallop_store::{read_text, write_file};
use shallop_view::figures::trade_off;
use shallop_view::page::{self, PageTable};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file in the results folder with the budget in runs.
const BUDGET: &str = "budget.json";
pub const ADVICE: &str = "advise.json";
/// Metrics that are kept of each run besides those of the question: the axes of the picture.
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

/// A candidate by its indices in the study.
#[derive(Clone, Debug)]
struct Place {
    point: usize,
    scheme: usize,
    name: String,
}

type Measured = BTreeMap<String, Figure>;

/// The stored budget.
#[derive(Debug, Serialize, Deserialize)]
struct Budget {
    /// A digest of the question and its candidates.
    question: String,
    runs: u64,
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
        let race = Race::new(places.len(), question.maximise, short.is_some(), budget - seeds * each);
        let Some(mut race) = race else {
            let what = format!("the budget of {budget} runs is too small for {} candidates", places.len());
            return Err(with_help(&what, &"more --minutes or --runs, or fewer candidates"));
        };
        let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); places.len()];
        let mut interrupted = false;
        while let Some(rung) = race.next() {
            let of = short.as_ref().filter(|_| rung.is_short).unwrap_or(&study);
            let wanted: Vec<&Place> = rung.candidates.iter().map(|&at| &places[at]).collect();
            let runs = self.run(of, &wanted, rung.seeds.clone().map(|seed| seed as u64), &question)?;
            interrupted = runs.iter().any(|runs| runs.len() < rung.seeds.len());
            let is_first = measured.iter().all(Vec::is_empty);
            for (&at, runs) in rung.candidates.iter().zip(runs) {
                // Only complete rungs count, or the first one as far as it came.
                if runs.len() < rung.seeds.len() || interrupted && !is_first {
                    continue;
                }
                race.record(at, rung.is_short, runs.iter().map(|run| sample(&question, run)).collect());
                measured[at].retain(|_| rung.seeds.start > 0);
                measured[at].extend(runs);
            }
            if interrupted {
                break;
            }
            race.judge();
        }
        let ranking: Vec<usize> = race.ranking().into_iter().filter(|&at| !measured[at].is_empty()).collect();
        let Some(&best) = ranking.first() else {
            return Err(plain(&"interrupted before a candidate had run; finished runs are kept with --out"));
        };
        let first: Vec<&Place> = ranking.iter().take(FIRST).map(|&at| &places[at]).collect();
        let mut elsewhere = Vec::new();
        if seeds > 0 && !interrupted {
            for (what, set) in ["load × 2", "delays × 2"].into_iter().zip(&self.variants[1..]) {
                elsewhere.push(self.elsewhere(what, set, &first, seeds, &question)?);
            }
            interrupted = self.stop.load(Ordering::Relaxed);
        }
        let candidate = |&at: &usize| {
            let (place, runs) = (&places[at], race.entrants[at].runs());
            let excess = race.entrants[at].excess();
            Candidate {
                name: place.name.clone(),
                scheme: study.points[place.point].plan.schemes[place.scheme].name.clone(),
                point: study.points[place.point].set.clone(),
                standing: race.standing(at),
                metrics: means(&measured[at]),
                excess: excess.is_finite().then_some(excess),
                runs: runs.1 as u64,
                short_runs: runs.0 as u64,
            }
        };
        let keys: BTreeSet<String> = study.points.iter().flat_map(|point| point.set.keys().cloned()).collect();
        let keys: Vec<String> = keys.into_iter().collect();
        let place = &places[best];
        let mut advice = Advice {
            scenario: study.title.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            budget_runs: budget,
            short: short.map(|_| 1.0 / SHORT as f64),
            interrupted,
            finding: String::new(),
            candidates: ranking.iter().map(candidate).collect(),
            rules: rules(&study, (place.point, place.scheme), &keys).map_err(|why| plain(&why))?,
            elsewhere,
            next: self.next(&study, place),
            question,
        };
        advice.say();
        Ok(advice)
    }

    /// The budget in runs of the full duration: as given, as an earlier command stored it, or from a forecast.
    fn budget(&self, study: &Study, question: &Question, places: &[Place]) -> Result<u64> {
        if let Some(runs) = question.runs {
            return Ok(runs);
        }
        let jobs: Vec<Job> = places.iter().map(|place| job(study, place)).collect();
        let of = |job: &Job| Identity::for_run(&study.points[job.point].plan, job.scheme, job.seed).to_string();
        let all: Vec<String> = jobs.iter().map(of).collect();
        let asked = digest(format!("{question:?} {all:?}").as_bytes());
        let stored = self.folder.map(|folder| folder.join(BUDGET));
        let read = |path: &std::path::PathBuf| serde_json::from_str::<Budget>(&read_text(path).ok()?).ok();
        if let Some(known) = stored.as_ref().and_then(read).filter(|known| known.question == asked) {
            return Ok(known.runs);
        }
        let seconds = match forecast(&[(study, jobs)], 1) {
            Forecast::Short => SHORT_SECONDS,
            Forecast::Takes(time) => time.as_secs_f64(),
            Forecast::Unknown(why) => {
                let what = format!("how long a run takes is not known: {why}");
                return Err(with_help(&what, &"give the budget in runs, with --runs"));
            }
        };
        let each = seconds / places.len() as f64;
        let budget = Budget { question: asked, runs: (question.minutes * 60.0 * self.threads as f64 / each) as u64 };
        if let Some(path) = stored {
            let text = serde_json::to_vec(&budget).map_err(|why| plain(&why))?;
            write_file(path, &text).map_err(|why| plain(&why))?;
        }
        Ok(budget.runs)
    }

    /// Runs candidates with these seeds, counted from the first one of the scenario. Results are in the order of the
    /// candidates, and of the seeds up to the first that was interrupted.
    fn run(
        &self, study: &Study, places: &[&Place], seeds: impl Iterator<Item = u64>, question: &Question,
    ) -> Result<Vec<Vec<Measured>>> {
        let first = study.seeds.first().copied().unwrap_or_default();
        let alone = |place: &&Place| {
            let mut point = study.points[place.point].clone();
            point.plan.schemes = vec![point.plan.schemes[place.scheme].clone()];
            point
        };
        let points = places.iter().map(alone).collect();
        let part = Study { points, seeds: seeds.map(|seed| first + seed).collect(), ..study.clone() };
        let archive = self.folder.map(RunArchive::in_results);
        let progress = (self.progress)(&part);
        let options = JobOptions {
            jobs: self.jobs,
            cores: 1,
            archive: archive.as_ref(),
            resume: true,
            shard: Shard::WHOLE,
            stop: self.stop,
        };
        let done = if self.stop.load(Ordering::Relaxed) { Ok(Vec::new()) } else { run_all(&part, options, &*progress) };
        progress.close();
        let done = done.map_err(|why| study_error(&why))?;
        let of = |point: usize, seed: u64| {
            let found = done.iter().find(|run| (run.job.point, run.job.seed) == (point, seed));
            found.map(|run| measure(question, &run.run))
        };
        let each = |point| part.seeds.iter().map_while(|&seed| of(point, seed)).collect();
        Ok((0..places.len()).map(each).collect())
    }

    /// The first candidates under a changed scenario.
    fn elsewhere(
        &self, what: &str, set: &[(String, String)], first: &[&Place], seeds: u64, question: &Question,
    ) -> Result<Elsewhere> {
        let mut row = Elsewhere {
            what: what.to_owned(),
            set: set.iter().cloned().collect(),
            objectives: Vec::new(),
            best: "the scenario has no such key".to_owned(),
        };
        if set.is_empty() {
            return Ok(row);
        }
        let changed = match (self.read)(set) {
            Ok(changed) => changed,
            Err(why) => {
                row.best = format!("not possible: {why}");
                return Ok(row);
            }
        };
        let runs = self.run(&changed, first, 0..seeds, question)?;
        if runs.iter().any(|runs| (runs.len() as u64) < seeds) {
            row.best = "interrupted".to_owned();
            return Ok(row);
        }
        row.objectives = runs.iter().map(|runs| Some(means(runs).get(&question.metric)?.mean)).collect();
        let mut race = Race::of(first.len(), question.maximise);
        for (at, runs) in runs.iter().enumerate() {
            race.record(at, false, runs.iter().map(|run| sample(question, run)).collect());
        }
        let best = race.ranking()[0];
        let misses = if race.entrants[best].excess() > 0.0 { ", which misses a bound" } else { "" };
        row.best = format!("{}{misses}", first[best].name);
        Ok(row)
    }

    /// The command that configures a switch for a candidate.
    fn next(&self, study: &Study, place: &Place) -> String {
        let point = &study.points[place.point];
        let word = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let set =
            point.set.iter().map(|(key, value)| format!(" --set {}", shell_word(&format!("{key}={}", word(value)))));
        let scheme = crate::choice::argument([point.plan.schemes[place.scheme].name.as_str()]);
        format!("shallop config {} --schemes {scheme}{} --os eos", self.scenario, set.collect::<String>())
    }
}

fn job(study: &Study, place: &Place) -> Job {
    Job { point: place.point, scheme: place.scheme, seed: study.seeds.first().copied().unwrap_or_default() }
}

/// Every scheme at every point, runs that cannot differ once.
fn candidates(study: &Study) -> Vec<Place> {
    let mut seen: BTreeMap<Identity, Place> = BTreeMap::new();
    let mut order = Vec::new();
    let several = study.points[0].plan.schemes.len() > 1;
    for (point, at) in study.points.iter().enumerate() {
        for (scheme, of) in at.plan.schemes.iter().enumerate() {
            let short = short_name(&at.name, at.set.keys());
            let words = [of.name.as_str(), &short].into_iter().skip(usize::from(!several));
            let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
            let place = Place { point, scheme, name };
            let Job { seed, .. } = job(study, &place);
            let identity = Identity::for_run(&at.plan, scheme, seed);
            match seen.get_mut(&identity) {
                // The keys that differ change nothing here.
                Some(known) if several => known.name.clone_from(&of.name),
                Some(_) => {}
                None => {
                    order.push(identity.clone());
                    seen.insert(identity, place);
                }
            }
        }
    }
    order.iter().filter_map(|identity| seen.remove(identity)).collect()
}

/// The name of a point with the last two steps of each key.
fn short_name<'a>(name: &str, keys: impl Iterator<Item = &'a String>) -> String {
    keys.fold(name.to_owned(), |name, key| {
        let cut = key.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
        name.replace(&format!("{key}="), &format!("{}=", &key[cut..]))
    })
}

/// The metrics of a run that the advice is about.
fn measure(question: &Question, run: &Run) -> Measured {
    let bounds = question.bounds.iter().map(|bound| bound.metric.as_str());
    let paths = bounds.chain([question.metric.as_str()]).chain(AXES);
    paths.filter_map(|path| Some((path.to_owned(), value(run, path)?))).collect()
}

fn sample(question: &Question, run: &Measured) -> Sample {
    let value = |path: &str| run.get(path).map(|figure| figure.value);
    let none = if question.maximise { f64::NEG_INFINITY } else { f64::INFINITY };
    let excess = question.bounds.iter().map(|bound| bound.excess(value(&bound.metric))).collect();
    Sample { objective: value(&question.metric).unwrap_or(none), excess }
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
    let objective = advice.question.metric.as_str();
    let title = |metric: &str| find(metric).map_or_else(|| metric.to_owned(), |metric| metric.title());
    let [loss, time] = AXES.map(title);
    let picture = trade_off::figure(advice, [(AXES[0], &loss), (AXES[1], &time)]);
    let other = || trade_off::figure(advice, [(AXES[0], &loss), (objective, objective)]);
    let mut figures = if picture.rows.is_empty() { vec![other()] } else { vec![picture] };
    figures.retain(|figure| !figure.rows.is_empty());
    let tables = tables(advice).map(|(title, Grid { header, rows, words })| PageTable {
        title: title.to_owned(),
        header,
        rows,
        words,
        ..PageTable::default()
    });
    let next = format!("Next: `{}`", advice.next);
    let says = [advice.finding.as_str(), next.as_str()];
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
    parts.push(format!("Next: {}", advice.next));
    parts.join("\n\n")
}
